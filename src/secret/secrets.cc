#include "secret/secrets.h"

#include <algorithm>
#include <chrono>

#include "base/crash_point.h"
#include "base/json.h"
#include "base/text.h"
#include "base/wire.h"
#include "secret/placeholder.h"

namespace cove {
namespace {

constexpr size_t kLongestName = 128;
constexpr size_t kMostSecrets = 1000;  // of a project
constexpr size_t kMostPlaces = 64;
constexpr const char* kSeedAbout = "cove secret seed";

int64_t now_ms() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

// What a sealed value belongs to: put into another row, or given other hosts, it cannot be opened.
std::string about(const SecretRecord& record) {
  wire::Writer text;
  text.text("cove secret").text(record.project).text(record.agent).text(record.name);
  text.text(record.use).text(record.hosts).text(record.places).text(record.placeholder);
  return text.data();
}

std::vector<std::string> texts_of(const std::string& json) {
  Json parsed = Json::parse(json).value_or(Json::array());
  std::vector<std::string> texts;
  for (const Json& each : parsed)
    if (each.is_string()) texts.push_back(each.get<std::string>());
  return texts;
}

SecretInfo info_of(const SecretRecord& record) {
  return {.name = record.name,
          .project = record.project,
          .agent = record.agent,
          .use = parse_secret_use(record.use).value_or(SecretUse::Env),
          .hosts = texts_of(record.hosts),
          .places = texts_of(record.places),
          .created_ms = record.created_ms,
          .updated_ms = record.updated_ms};
}

SecretRecord record_of(const SecretInfo& info) {
  return {.project = info.project,
          .agent = info.agent,
          .name = info.name,
          .use = secret_use_name(info.use),
          .hosts = Json(info.hosts).dump(),
          .places = Json(info.places).dump(),
          .placeholder = "",
          .sealed = "",
          .created_ms = info.created_ms,
          .updated_ms = info.updated_ms};
}

std::unexpected<Error> invalid(const SecretInfo& info, std::string_view what, std::string pointer) {
  return fail(Error(Code::Invalid, concat("secret '", info.name, "': ", what)).at(std::move(pointer)));
}

std::unexpected<Error> needs_brokered(const SecretInfo& info, std::string_view what, std::string pointer) {
  return fail(Error(Code::Invalid, concat("secret '", info.name, "': only a brokered secret has ", what))
                  .hint("add --brokered (\"use\": \"brokered\")")
                  .at(std::move(pointer)));
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

Result<void> check_name(const SecretInfo& info) {
  const std::string& name = info.name;
  const bool is_name = !name.empty() && is_letter(name[0]) &&
                       std::ranges::all_of(name, [](char c) { return is_letter(c) || is_digit(c); });
  if (is_name && name.size() <= kLongestName) return {};
  return fail(Error(Code::Invalid, concat("'", name.substr(0, kLongestName), "' cannot be the name of a secret"))
                  .hint(concat("it is the name of a variable: letters, digits and _, at most ", kLongestName))
                  .at("/name"));
}

Result<void> check_value(const SecretInfo& info, const std::string& value) {
  if (value.empty()) return invalid(info, "its value is empty", "/value");
  if (value.size() > kLargestSecret)
    return invalid(info, concat("its value has ", value.size(), " bytes, and at most ", kLargestSecret, " are kept"),
                   "/value");
  if (value.find('\0') != value.npos)
    return invalid(info, "its value has a NUL, which a variable cannot hold", "/value");
  return {};
}

bool is_place(const std::string& place) {
  return !place.empty() && place.size() <= kLongestName && std::ranges::all_of(place, [](char c) {
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
  });
}

// It becomes a part of a request.
Result<void> check_brokered(const SecretInfo& info, const std::string& value) {
  if (info.hosts.empty())
    return fail(Error(Code::Invalid, concat("secret '", info.name, "': a brokered secret needs hosts"))
                    .hint("name those that may get it: --host api.example.org")
                    .at("/hosts"));
  if (value.size() < kLeastBrokered)
    return invalid(info, concat("a brokered value needs at least ", kLeastBrokered, " bytes"), "/value");
  for (char c : value)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f)
      return invalid(info, "a brokered value cannot have line ends or other control characters", "/value");
  if (info.places.size() > kMostPlaces) return invalid(info, "it names too many headers", "/header");
  for (const std::string& place : info.places)
    if (!is_place(place)) return invalid(info, concat("'", place.substr(0, 64), "' is not a header"), "/header");
  return {};
}

Result<void> check(const SecretInfo& info, const std::string& value) {
  COVE_TRY(check_name(info));
  COVE_TRY(check_value(info, value));
  if (info.use == SecretUse::Brokered) return check_brokered(info, value);
  if (!info.hosts.empty()) return needs_brokered(info, "hosts", "/hosts");
  if (!info.places.empty()) return needs_brokered(info, "a header or query", "/header");
  return {};
}

Error no_key(const KeyFiles& keys) {
  const char* which = keys.first || keys.second ? "is not the one they were encrypted with" : "is missing";
  return Error(Code::Unavailable, concat("secrets cannot be read: their key ", which))
      .hint(
          "put secrets.key back from a backup, or give the former credential as cove-secrets-key-old, and restart "
          "the server; where the key is lost, remove the secrets and set them again");
}

}  // namespace

const char* secret_use_name(SecretUse use) { return use == SecretUse::Env ? "env" : "brokered"; }

std::optional<SecretUse> parse_secret_use(const std::string& name) {
  for (SecretUse use : {SecretUse::Env, SecretUse::Brokered})
    if (name == secret_use_name(use)) return use;
  return std::nullopt;
}

const std::vector<std::string>& usual_secret_places() {
  static const std::vector<std::string> kUsual = {"authorization",  "x-api-key",     "api-key",
                                                  "x-goog-api-key", "private-token", "x-auth-token"};
  return kUsual;
}

Result<std::unique_ptr<Secrets>> Secrets::open(Store& store, KeyPlaces places) {
  std::unique_ptr<Secrets> secrets(new Secrets(store, std::move(places)));
  if (Result<void> loaded = secrets->load(); !loaded) secrets->broken_ = std::move(loaded).error();
  return secrets;
}

// --- keys ------------------------------------------------------------------------------------------------------------

Result<void> Secrets::load() {
  std::optional<SecretSeed> seed = COVE_TRY(store_.secret_seed());
  if (!seed) return {};
  KeyFiles keys = COVE_TRY(read_keys(places_));
  if (keys.first && keys.first->id() == seed->key_id) {
    if (places_.credential.empty()) drop_staged_key_file(places_.folder);
    return take_key(*keys.first, seed->sealed);
  }
  if (keys.second && keys.second->id() == seed->key_id) {
    COVE_TRY(take_key(*keys.second, seed->sealed));
    if (places_.credential.empty()) return promote_key_file(places_.folder);
    // The administrator has replaced the credential, or has given the first one.
    if (keys.first) return change_key(*keys.first);
    return {};
  }
  return fail(no_key(keys));
}

Result<void> Secrets::take_key(SecretKey key, const std::string& sealed_seed) {
  std::string bytes = COVE_TRY_NOTE("read the seed of the secrets", key.open(sealed_seed, kSeedAbout));
  if (bytes.size() != SecretKey::kSize) return fail(Code::Internal, "the seed of the secrets is damaged");
  seed_ = SecretKey::of_bytes(bytes);
  wipe(bytes);
  key_ = std::move(key);
  return {};
}

// Made at the first use, and on the disk before anything is sealed with it.
Result<void> Secrets::need_key() {
  if (key_) return {};
  // Without secrets nothing is lost with the key.
  if (broken_ && !COVE_TRY(store_.list_secrets("")).empty()) return fail(*broken_);
  KeyFiles keys = COVE_TRY(read_keys(places_));
  if (!keys.first) {
    keys.first = SecretKey::random();
    COVE_TRY(create_key_file(places_.folder, *keys.first));
  }
  const SecretKey seed = SecretKey::random();
  COVE_TRY(store_.reseal_secrets({keys.first->id(), keys.first->seal(seed.bytes(), kSeedAbout)}, {}));
  key_ = keys.first;
  seed_ = seed;
  broken_.reset();
  return {};
}

Result<void> Secrets::change_key(const SecretKey& next) {
  std::vector<SecretRecord> records = COVE_TRY(store_.list_secrets(""));
  for (SecretRecord& record : records) {
    std::string value = COVE_TRY(open_value(record));
    record.sealed = next.seal(value, about(record));
    wipe(value);
  }
  COVE_TRY(store_.reseal_secrets({next.id(), next.seal(seed_->bytes(), kSeedAbout)}, records));
  key_ = next;
  return {};
}

// The old key stays until all is sealed with the new one, and either is found after a crash.
Result<void> Secrets::rotate() {
  std::lock_guard lock(mutex_);
  if (!places_.credential.empty())
    return fail(Error(Code::Unsupported, "the key of the secrets is a credential, which the server only reads")
                    .hint("replace the credential cove-secrets-key, give the former one as cove-secrets-key-old, and "
                          "restart the server"));
  COVE_TRY(need_key());
  const SecretKey next = SecretKey::random();
  COVE_TRY(stage_key_file(places_.folder, next));
  crash_point("secrets.rotate.staged");
  COVE_TRY(change_key(next));
  crash_point("secrets.rotate.sealed");
  COVE_TRY(promote_key_file(places_.folder));
  crash_point("secrets.rotate.done");
  return {};
}

Result<std::string> Secrets::derive(const std::string& purpose) {
  std::lock_guard lock(mutex_);
  COVE_TRY(need_key());
  return seed_->derive(purpose);
}

// --- values ----------------------------------------------------------------------------------------------------------

Result<std::string> Secrets::open_value(const SecretRecord& record) {
  return COVE_TRY_NOTE(concat("read secret '", record.name, "'"), key_->open(record.sealed, about(record)));
}

// The one there is, where it still fits.
Result<std::string> Secrets::placeholder_for(const SecretInfo& info, const std::string& value) {
  Result<SecretRecord> before = store_.find_secret(info.project, info.agent, info.name);
  if (before && before->placeholder == value)
    return invalid(info, "this is its placeholder, and not a value", "/value");
  if (before && !before->placeholder.empty() && same_shape(before->placeholder, value)) return before->placeholder;
  std::vector<std::string> others;
  for (const SecretRecord& record : COVE_TRY(store_.list_secrets(info.project))) {
    others.push_back(record.placeholder);
    if (Result<std::string> other = open_value(record)) others.push_back(std::move(*other));
  }
  std::erase_if(others, [](const std::string& other) { return other.size() < kLeastBrokered; });
  std::string placeholder = make_placeholder(value, {others.begin(), others.end()});
  for (std::string& other : others) wipe(other);
  return placeholder;
}

Result<SecretInfo> Secrets::set(SecretInfo info, std::string value, std::span<const EventDraft> events) {
  std::lock_guard lock(mutex_);
  if (info.use == SecretUse::Brokered && info.places.empty()) info.places = usual_secret_places();
  COVE_TRY(check(info, value));
  COVE_TRY(need_key());
  Result<SecretRecord> before = store_.find_secret(info.project, info.agent, info.name);
  if (!before && COVE_TRY(store_.list_secrets(info.project)).size() >= kMostSecrets)
    return fail(Code::Exhausted, concat("project ", info.project, " has ", kMostSecrets, " secrets already"));
  info.updated_ms = now_ms();
  info.created_ms = before ? before->created_ms : info.updated_ms;
  SecretRecord record = record_of(info);
  if (info.use == SecretUse::Brokered) record.placeholder = COVE_TRY(placeholder_for(info, value));
  record.sealed = key_->seal(value, about(record));
  wipe(value);
  COVE_TRY(store_.put_secret(record, events));
  return info;
}

Result<std::vector<SecretInfo>> Secrets::list(const std::string& project, const std::string& agent) {
  std::vector<SecretInfo> infos;
  for (const SecretRecord& record : COVE_TRY(store_.list_secrets(project)))
    if (agent.empty() || record.agent.empty() || record.agent == agent) infos.push_back(info_of(record));
  return infos;
}

Result<void> Secrets::remove(const std::string& project, const std::string& agent, const std::string& name,
                             std::span<const EventDraft> events) {
  std::lock_guard lock(mutex_);
  COVE_TRY(store_.remove_secret(project, agent, name, events));
  return {};
}

Result<SecretRecord> Secrets::find_record(const std::string& project, const std::string& agent,
                                          const std::string& name) {
  if (!agent.empty())
    if (Result<SecretRecord> own = store_.find_secret(project, agent, name);
        own || own.error().code() != Code::NotFound)
      return own;
  Result<SecretRecord> record = store_.find_secret(project, "", name);
  if (record || record.error().code() != Code::NotFound) return record;
  return fail(std::move(record).error().hint(concat("set it first: cove secret set ", name)));
}

Result<std::vector<SecretValue>> Secrets::values(const std::string& project, const std::string& agent,
                                                 const std::vector<std::string>& names) {
  std::lock_guard lock(mutex_);
  std::vector<SecretValue> values;
  if (names.empty()) return values;
  COVE_TRY(find(project, agent, names));
  COVE_TRY(need_key());
  for (const std::string& name : names) {
    const SecretRecord record = COVE_TRY(find_record(project, agent, name));
    values.push_back({info_of(record), COVE_TRY(open_value(record)), record.placeholder});
  }
  return values;
}

Result<std::vector<SecretInfo>> Secrets::find(const std::string& project, const std::string& agent,
                                              const std::vector<std::string>& names) {
  std::vector<SecretInfo> infos;
  for (const std::string& name : names) infos.push_back(info_of(COVE_TRY(find_record(project, agent, name))));
  return infos;
}

}  // namespace cove
