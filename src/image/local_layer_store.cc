#include "image/local_layer_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/crash_point.h"
#include "base/id.h"
#include "base/log.h"
#include "base/text.h"
#include "image/image_top.h"
#include "image/reference.h"
#include "image/skeleton.h"
#include "image/unpacker.h"
#include "sys/beneath.h"
#include "sys/file.h"
#include "sys/own_folder.h"

namespace cove {
namespace {

constexpr std::string_view kHalfMade = "tmp-";
constexpr size_t kLongestInfo = 64 << 10;
// Incremented when the output of build_image_top changes, so that existing images get a new top layer.
constexpr std::string_view kTop = "/top-3";

// Attributes that overlayfs reads and that only privileged users can set.
Result<void> mark_opaque(const std::string& layer, const std::vector<std::string>& folders) {
  if (folders.empty()) return {};
  UniqueFd root = COVE_TRY(sys::open(layer, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  for (const std::string& path : folders) {
    UniqueFd folder = COVE_TRY(sys::open_folder_beneath(root.get(), path.empty() ? "." : path, O_RDONLY));
    if (::fsetxattr(folder.get(), "trusted.overlay.opaque", "y", 1, 0) < 0)
      return fail_errno(concat("mark ", path, " as opaque"));
  }
  return {};
}

// A folder that is being filled is locked by its creator, so that a sweep does not remove it.
Result<UniqueFd> make_own(const std::string& path) {
  COVE_TRY(sys::mkdir(path, 0711));
  UniqueFd folder = COVE_TRY(sys::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) < 0) return fail_errno(concat("flock ", path));
  return folder;
}

bool is_somebodys(const std::string& path) {
  Result<UniqueFd> folder = sys::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  return folder && ::flock(folder->get(), LOCK_EX | LOCK_NB) < 0;
}

Result<void> remove_as_owner(const std::string& path, const sys::IdPlan& ids) {
  if (!sys::lstat(path)) return {};
  return sys::do_as_owner_of(ids, [&] { return sys::remove_tree(path); });
}

std::unexpected<Error> no_layer(const std::string& key) {
  return fail(Error(Code::NotFound, concat("layer ", key, " does not exist")).hint("pull the image again"));
}

// The layers of an image's root, the topmost first.
Result<std::vector<std::string>> keys_of(const std::string& root) {
  std::vector<std::string> keys = split(COVE_TRY(sys::read_file(root + "/layers", kLongestInfo)), '\n');
  std::erase_if(keys, [](const std::string& key) { return !is_hex_key(key); });
  return keys;
}

}  // namespace

Result<LocalLayerStore> LocalLayerStore::open(std::string folder, std::string programs) {
  for (const char* part : {"", "/layers", "/roots"}) {
    Result<void> made = sys::mkdir(folder + part, 0700);
    if (!made && made.error().code() == Code::NotFound) made = sys::make_folders(folder + part, 0700);
    if (!made && made.error().code() != Code::Exists) return std::unexpected(made.error());
    COVE_TRY(sys::stat_own_folder(folder + part, sys::kStateFolder));
  }
  return LocalLayerStore(std::move(folder), std::move(programs));
}

std::string LocalLayerStore::layer_path(const std::string& key) const { return concat(folder_, "/layers/", key); }
std::string LocalLayerStore::root_path(const std::string& digest) const { return concat(folder_, "/roots/", digest); }

Result<std::optional<unpack::Report>> LocalLayerStore::find_layer(const std::string& key) const {
  Result<std::string> text = sys::read_file(layer_path(key) + "/info", kLongestInfo);
  if (!text && text.error().code() == Code::NotFound) return std::optional<unpack::Report>();
  if (!text) return std::unexpected(text.error());
  unpack::Report report;
  wire::Reader in(*text);
  if (!report.decode(in)) return fail(Code::Internal, concat(layer_path(key), "/info is malformed"));
  return std::optional(std::move(report));
}

Result<unpack::Report> LocalLayerStore::unpack(const UnpackRequest& request, const sys::IdPlan& ids) const {
  if (std::optional<unpack::Report> there = COVE_TRY(find_layer(request.key))) return *there;
  std::string half_made = concat(folder_, "/", kHalfMade, make_id());
  UniqueFd own = COVE_TRY(make_own(half_made));
  COVE_TRY(sys::mkdir(half_made + "/fs", 0755));
  UnpackOrder order;
  order.program = programs_ + "/cove-unpack";
  order.folder = half_made + "/fs";
  for (const std::string& parent : request.parents) {
    if (!COVE_TRY(find_layer(parent))) return no_layer(parent);
    order.parents.push_back(layer_path(parent) + "/fs");
  }
  order.archive = request.archive;
  order.lowest = request.lowest;
  order.max_bytes = request.max_bytes;
  order.max_entries = request.max_entries;
  crash_point("image.unpack.begun");
  Result<unpack::Report> report = run_unpacker(order, ids);
  crash_point("image.unpack.done");
  const bool depends = report && report->needs_parents;
  Result<void> kept;
  if (report && depends && !request.lowest)
    kept = remove_as_owner(half_made, ids);
  else if (report)
    kept = publish(half_made, depends ? request.dependent_key : request.key, *report);
  if (report && kept) return report;
  static_cast<void>(remove_as_owner(half_made, ids));
  return report ? std::unexpected(kept.error()) : std::move(report);
}

Result<void> LocalLayerStore::publish(const std::string& half_made, const std::string& key,
                                      const unpack::Report& report) const {
  COVE_TRY(mark_opaque(half_made + "/fs", report.opaque_folders));
  unpack::Report info = report;
  info.opaque_folders.clear();
  COVE_TRY(sys::write_file(half_made + "/info", info.encode(), 0600));
  crash_point("image.unpack.publish");
  Result<void> moved = sys::rename(half_made, layer_path(key));
  // Another process was faster.
  if (!moved && sys::exists(layer_path(key) + "/info"))
    return fail(Code::Exists, concat("layer ", key, " exists already"));
  return moved;
}

Result<unpack::Report> LocalLayerStore::examine(const std::string& key, const sys::IdPlan& ids) const {
  if (!COVE_TRY(find_layer(key))) return no_layer(key);
  UnpackOrder order;
  order.program = programs_ + "/cove-unpack";
  order.folder = layer_path(key) + "/fs";
  return run_unpacker(order, ids);
}

Result<void> LocalLayerStore::assemble(const std::string& digest, const std::vector<std::string>& keys,
                                       const sys::IdPlan& ids) const {
  if (sys::exists(root_path(digest) + "/layers")) return renew_top(digest, ids);
  for (const std::string& key : keys)
    if (!COVE_TRY(find_layer(key))) return no_layer(key);
  std::string half_made = concat(folder_, "/", kHalfMade, make_id());
  UniqueFd own = COVE_TRY(make_own(half_made));
  COVE_TRY(sys::mkdir(half_made + "/dev", 0755));
  Result<void> made = make_top(concat(half_made, kTop), keys, ids);
  if (made) made = build_devices(half_made + "/dev");
  if (made) made = sys::write_file(half_made + "/layers", join(keys, "\n"), 0600);
  crash_point("image.assemble");
  if (made) made = sys::rename(half_made, root_path(digest));
  if (made) return {};
  static_cast<void>(remove_as_owner(half_made, ids));
  return sys::exists(root_path(digest) + "/layers") ? Result<void>() : made;
}

// Built in a new empty folder.
Result<void> LocalLayerStore::make_top(const std::string& path, const std::vector<std::string>& keys,
                                       const sys::IdPlan& ids) const {
  COVE_TRY(sys::mkdir(path, 0755));
  TopOrder top;
  top.sudo = COVE_TRY_NOTE("read the sudo client", sys::read_file(programs_ + "/cove-sudo"));
  top.owner_id = [&](uint32_t inside) { return ids.rootless || ids.shared ? ids.builder_id(inside) : inside; };
  // By descriptor, because the mount may cover paths of the host.
  UniqueFd folder = COVE_TRY(sys::open(path, O_RDONLY | O_DIRECTORY));
  top.folder = sys::fd_path(folder.get());
  std::vector<std::string> layers;
  for (const std::string& key : keys) layers.push_back(layer_path(key) + "/fs");
  return with_layers_mounted(layers, ids, [&](int root) {
    top.image = root;
    return build_image_top(top);
  });
}

// The existing one is kept, because sandboxes may have it mounted.
Result<void> LocalLayerStore::renew_top(const std::string& digest, const sys::IdPlan& ids) const {
  std::string path = root_path(digest);
  if (sys::exists(concat(path, kTop))) return {};
  std::string half_made = concat(folder_, "/", kHalfMade, make_id());
  UniqueFd own = COVE_TRY(make_own(half_made));
  Result<void> made = make_top(concat(half_made, kTop), COVE_TRY(keys_of(path)), ids);
  if (made) made = sys::rename(concat(half_made, kTop), concat(path, kTop));
  static_cast<void>(remove_as_owner(half_made, ids));
  return sys::exists(concat(path, kTop)) ? Result<void>() : made;
}

Result<ImageRoot> LocalLayerStore::find(const std::string& digest, UniqueFd& hold) const {
  std::string path = root_path(digest);
  Result<UniqueFd> folder = sys::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!folder && folder.error().code() == Code::NotFound)
    return fail(Error(Code::NotFound, concat("the image sha256:", digest, " does not exist")).hint("pull it again"));
  if (!folder) return std::unexpected(folder.error());
  if (::flock(folder->get(), LOCK_SH | LOCK_NB) < 0)
    return fail(Code::Unavailable, concat("the image sha256:", digest, " is being removed"));
  ImageRoot image;
  image.reference = concat("sha256:", digest);
  image.folder = path;
  image.dev = path + "/dev";
  image.dev_nodes = dev_nodes(image.dev);
  ImageMount mount;
  mount.lowers.push_back(concat(path, kTop));
  if (!sys::exists(mount.lowers[0]))
    return fail(Error(Code::Conflict, concat("the image sha256:", digest, " was stored by another version of Cove"))
                    .hint("start the server, which updates it"));
  for (const std::string& key : COVE_TRY(keys_of(path))) mount.lowers.push_back(layer_path(key) + "/fs");
  image.mounts.push_back(std::move(mount));
  hold = std::move(*folder);
  return image;
}

// First renamed atomically; the removal may take longer.
Result<void> LocalLayerStore::remove_aside(const std::string& path, const sys::IdPlan& ids) const {
  std::string helper = concat(folder_, "/", kHalfMade, make_id());
  Result<UniqueFd> own = sys::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (own) static_cast<void>(::flock(own->get(), LOCK_EX | LOCK_NB));
  COVE_TRY(sys::rename(path, helper));
  crash_point("image.remove");
  return remove_as_owner(helper, ids);
}

Result<void> LocalLayerStore::sweep(const std::set<std::string>& roots, const std::set<std::string>& layers,
                                    const sys::IdPlan& ids) const {
  Result<void> swept;
  std::set<std::string> needed = layers;
  for (const std::string& digest : COVE_TRY(sys::list_folder(folder_ + "/roots"))) {
    UniqueFd held = COVE_TRY(sys::open(root_path(digest), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    const bool in_use = ::flock(held.get(), LOCK_EX | LOCK_NB) < 0;
    if (!roots.contains(digest) && !in_use) {
      COVE_TRY(remove_aside(root_path(digest), ids));
      continue;
    }
    if (in_use && !roots.contains(digest))
      swept = fail(Code::Conflict, concat("the image sha256:", digest, " is in use"));
    for (const std::string& key : keys_of(root_path(digest)).value_or(std::vector<std::string>())) needed.insert(key);
    if (Result<void> renewed = renew_top(digest, ids); !renewed)
      log::warning("an image cannot be used", {{"image", digest}, {"why", renewed.error().message()}});
  }
  for (const std::string& key : COVE_TRY(sys::list_folder(folder_ + "/layers")))
    if (!needed.contains(key)) COVE_TRY(remove_aside(layer_path(key), ids));
  for (const std::string& name : COVE_TRY(sys::list_folder(folder_))) {
    if (!name.starts_with(kHalfMade)) continue;
    if (!is_somebodys(concat(folder_, "/", name)))
      COVE_TRY(remove_as_owner(concat(folder_, "/", name), ids));
    else if (swept)
      swept = fail(Code::Exists, concat(folder_, "/", name, " is being created"));
  }
  return swept;
}

}  // namespace cove
