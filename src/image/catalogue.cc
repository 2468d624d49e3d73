#include "image/catalogue.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "image/reference.h"
#include "sys/beneath.h"
#include "sys/file.h"

namespace cove {
namespace {

constexpr const char* kFile = "/catalogue.json";
constexpr size_t kLargest = 256 << 20;
constexpr int kVersion = 1;
constexpr size_t kShortestId = 6;

Json config_json(const ImageConfig& config) {
  return {{"platform", to_text(config.platform)},
          {"created", config.created},
          {"env", config.env},
          {"entrypoint", config.entrypoint},
          {"cmd", config.cmd},
          {"cwd", config.cwd},
          {"user", config.user},
          {"labels", config.labels}};
}

ImageConfig config_of(const Json& json) {
  ImageConfig config;
  config.platform = parse_platform(json.at("platform").get<std::string>()).value_or(Platform());
  json.at("created").get_to(config.created);
  json.at("env").get_to(config.env);
  json.at("entrypoint").get_to(config.entrypoint);
  json.at("cmd").get_to(config.cmd);
  json.at("cwd").get_to(config.cwd);
  json.at("user").get_to(config.user);
  json.at("labels").get_to(config.labels);
  return config;
}

Json image_json(const StoredImage& image) {
  Json layers = Json::array();
  for (const StoredLayer& layer : image.layers)
    layers.push_back({{"digest", layer.digest},
                      {"key", layer.key},
                      {"diff_id", layer.diff_id},
                      {"size", layer.size},
                      {"unpacked_size", layer.unpacked_size},
                      {"entries", layer.entries}});
  return {{"config_digest", image.config_digest},
          {"config", config_json(image.config)},
          {"layers", std::move(layers)},
          {"notes", image.notes},
          {"stored_ms", image.stored_ms}};
}

StoredImage image_of(const std::string& digest, const Json& json) {
  StoredImage image;
  image.digest = digest;
  json.at("config_digest").get_to(image.config_digest);
  image.config = config_of(json.at("config"));
  for (const Json& each : json.at("layers")) {
    StoredLayer layer;
    each.at("digest").get_to(layer.digest);
    each.at("key").get_to(layer.key);
    each.at("diff_id").get_to(layer.diff_id);
    each.at("size").get_to(layer.size);
    each.at("unpacked_size").get_to(layer.unpacked_size);
    each.at("entries").get_to(layer.entries);
    image.config.diff_ids.push_back(layer.diff_id);
    image.layers.push_back(std::move(layer));
  }
  json.at("notes").get_to(image.notes);
  json.at("stored_ms").get_to(image.stored_ms);
  return image;
}

Catalogue catalogue_of(const Json& json) {
  Catalogue catalogue;
  // A digest becomes part of paths, and the writer of the file may be less trusted than the reader.
  for (const auto& [digest, image] : json.at("images").items())
    if (is_digest(digest)) catalogue.images[digest] = image_of(digest, image);
  json.at("names").get_to(catalogue.names);
  return catalogue;
}

// A few names with another tag or from another registry.
std::vector<std::string> relatives(const Catalogue& catalogue, const ImageReference& reference) {
  constexpr size_t kFew = 5;
  std::vector<std::string> found;
  for (const auto& [name, digest] : catalogue.names) {
    Result<ImageReference> other = parse_reference(name);
    if (found.size() < kFew && other && other->repository == reference.repository) found.push_back(name);
  }
  return found;
}

std::string advice_for(const Catalogue& catalogue, const std::string& word, const std::string& usual_registry,
                       ImageUse use) {
  const std::string all = "cove images lists the available ones";
  Result<ImageReference> reference = parse_reference(word);
  if (!reference || is_digest(word)) return all;
  std::vector<std::string> others = relatives(catalogue, *reference);
  if (!others.empty()) return concat("similar: ", join(others, ", "), "; ", all);
  if (use == ImageUse::Manage) return all;
  const bool complete = !reference->registry.empty() || !usual_registry.empty();
  return concat("cove pull ", complete ? "" : "REGISTRY/", word.substr(0, 300), " pulls it; ", all);
}

// Empty if there is none.
Result<NamedImage> find_by_id(const Catalogue& catalogue, const std::string& word) {
  NamedImage found;
  std::string digits = word.starts_with("sha256:") ? digest_hex(word) : word;
  if (digits.size() < kShortestId || digits.find_first_not_of("0123456789abcdef") != digits.npos) return found;
  for (const auto& [digest, image] : catalogue.images) {
    if (!digest_hex(digest).starts_with(digits)) continue;
    if (found.image) return fail(Code::Invalid, concat("more than one image digest begins with ", digits));
    found.image = &image;
  }
  return found;
}

// Empty if there is none.
NamedImage find_by_name(const Catalogue& catalogue, const std::vector<ImageReference>& candidates) {
  for (const ImageReference& candidate : candidates) {
    auto named = catalogue.names.find(to_text(candidate));
    if (named != catalogue.names.end())
      if (auto image = catalogue.images.find(named->second); image != catalogue.images.end())
        return NamedImage{named->first, &image->second};
    if (candidate.digest.empty()) continue;
    auto image = catalogue.images.find(candidate.digest);
    if (image != catalogue.images.end()) {
      ImageReference name = candidate;
      name.digest.clear();
      return NamedImage{to_text(name), &image->second};
    }
  }
  return {};
}

}  // namespace

uint64_t StoredImage::size() const {
  uint64_t sum = 0;
  for (const StoredLayer& layer : layers) sum += layer.size;
  return sum;
}

uint64_t StoredImage::unpacked_size() const {
  uint64_t sum = 0;
  for (const StoredLayer& layer : layers) sum += layer.unpacked_size;
  return sum;
}

std::vector<std::string> Catalogue::names_of(const std::string& digest) const {
  std::vector<std::string> found;
  for (const auto& [name, target] : names)
    if (target == digest) found.push_back(name);
  return found;
}

std::string NamedImage::pinned() const {
  if (name.empty()) return image->digest;
  return concat(name.substr(0, name.find('@')), "@", image->digest);
}

std::string pinned_digest(const std::string& reference) {
  size_t at = reference.rfind('@');
  std::string digest = at == std::string::npos ? reference : reference.substr(at + 1);
  return is_digest(digest) ? digest : std::string();
}

bool is_host_image(const std::string& reference) { return reference == "host" || reference.starts_with("host@"); }

std::string user_of_image(const ImageConfig& config) {
  if (config.user.empty()) return "root";
  size_t colon = config.user.find(':');
  if (colon == config.user.npos) return config.user;
  auto is_number = [](std::string_view text) { return parse_integer(text, 0, UINT32_MAX - 1).has_value(); };
  const bool numbers = is_number(config.user.substr(0, colon)) && is_number(config.user.substr(colon + 1));
  return numbers ? config.user : config.user.substr(0, colon);
}

Result<NamedImage> find_image(const Catalogue& catalogue, const std::string& word, const std::string& usual_registry,
                              ImageUse use) {
  NamedImage found;
  if (!is_digest(word)) {
    std::vector<ImageReference> candidates = {COVE_TRY(parse_reference(word))};
    if (Result<ImageReference> completed = complete_reference(candidates[0], usual_registry))
      candidates.push_back(*completed);
    found = find_by_name(catalogue, candidates);
  }
  if (!found.image) found = COVE_TRY(find_by_id(catalogue, word));
  if (found.image) return found;
  return fail(Error(Code::NotFound, concat("no such image: ", word.substr(0, 300)))
                  .hint(advice_for(catalogue, word, usual_registry, use)));
}

Result<Catalogue> read_catalogue(const std::string& folder) {
  Result<UniqueFd> top = sys::open(folder, O_PATH | O_DIRECTORY);
  if (!top && top.error().code() == Code::NotFound) return Catalogue();
  return read_catalogue(COVE_TRY(std::move(top)).get(), ".");
}

Result<Catalogue> read_catalogue(int top, const std::string& folder) {
  Result<std::string> text = sys::read_beneath(top, folder + kFile, kLargest);
  if (!text && text.error().code() == Code::NotFound) return Catalogue();
  if (!text) return std::unexpected(text.error());
  Json json = Json::parse(*text).value_or(Json());
  try {
    if (json.at("version").get<int>() != kVersion)
      return fail(Code::Conflict, concat(folder, kFile, " was written by another version of Cove"));
    return catalogue_of(json);
  } catch (const Json::exception& broken) {
    return fail(Error(Code::Internal, concat("read ", folder, kFile, ": ", std::string_view(broken.what())))
                    .hint("move the file away, and pull the images again"));
  }
}

Result<void> write_catalogue(const std::string& folder, const Catalogue& catalogue) {
  Json json = {{"version", kVersion}, {"images", Json::object()}, {"names", catalogue.names}};
  for (const auto& [digest, image] : catalogue.images) json["images"][digest] = image_json(image);
  std::string text = json.dump(1) + "\n";
  std::string half_made = concat(folder, kFile, ".new");
  UniqueFd file = COVE_TRY(sys::open(half_made, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0644));
  COVE_TRY(sys::write_all(file.get(), text));
  if (::fdatasync(file.get()) < 0) return fail_errno(concat("fdatasync ", half_made));
  COVE_TRY(sys::rename(half_made, folder + kFile));
  UniqueFd place = COVE_TRY(sys::open(folder, O_RDONLY | O_DIRECTORY));
  if (::fsync(place.get()) < 0) return fail_errno(concat("fsync ", folder));
  return {};
}

}  // namespace cove
