#include "layer/folder_layer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "base/text.h"
#include "sys/file.h"
#include "sys/own_folder.h"
#include "sys/tree.h"

namespace cove {
namespace {

constexpr uint64_t kBlock = 512;  // the unit of st_blocks on every file system
constexpr std::string_view kOneRun = "run-";

Result<std::string> make_layers_folder(const std::string& state) {
  if (!sys::exists(state)) COVE_TRY_NOTE("create the state folder", sys::make_folders(state));
  COVE_TRY(sys::stat_own_folder(state, sys::kStateFolder));
  std::string layers = state + "/layers";
  if (::mkdir(layers.c_str(), 0700) < 0 && errno != EEXIST) return fail_errno(concat("mkdir ", layers));
  COVE_TRY(sys::stat_own_folder(layers, sys::kStateFolder));
  return layers;
}

Result<std::string> find_layers_folder(const std::string& state) {
  COVE_TRY(sys::stat_own_folder(state, sys::kStateFolder));
  std::string layers = state + "/layers";
  COVE_TRY(sys::stat_own_folder(layers, sys::kStateFolder));
  return layers;
}

Result<UniqueFd> open_folder(int parent, const std::string& name) {
  return sys::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

void sweep(int layers) {
  for (const std::string& name : sys::list_folder(layers).value_or(std::vector<std::string>())) {
    if (!name.starts_with(kOneRun)) continue;
    Result<UniqueFd> layer = open_folder(layers, name);
    if (layer && ::flock(layer->get(), LOCK_EX | LOCK_NB) == 0) static_cast<void>(sys::remove_tree_at(layers, name));
  }
}

}  // namespace

Result<std::unique_ptr<FolderLayer>> FolderLayer::create(const std::string& state, const std::string& id,
                                                         Lifetime lifetime) {
  std::string layers = COVE_TRY(make_layers_folder(state));
  std::unique_ptr<FolderLayer> layer(new FolderLayer());
  layer->parent_ = COVE_TRY(sys::open(layers, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  // Locked, so that no layer is swept before its owner has locked it.
  while (::flock(layer->parent_.get(), LOCK_EX) < 0)
    if (errno != EINTR) return fail_errno(concat("flock ", layers));
  sweep(layer->parent_.get());
  std::string name = lifetime == Lifetime::OneRun ? concat(kOneRun, id) : id;
  COVE_TRY(sys::mkdirat(layer->parent_.get(), name, 0755));
  layer->name_ = name;
  layer->path_ = concat(layers, "/", name);
  layer->folder_ = COVE_TRY(open_folder(layer->parent_.get(), name));
  if (::flock(layer->folder_.get(), LOCK_EX) < 0) return fail_errno(concat("flock ", layer->path_));
  ::flock(layer->parent_.get(), LOCK_UN);
  return layer;
}

Result<std::unique_ptr<FolderLayer>> FolderLayer::find(const std::string& state, const std::string& id) {
  std::string layers = COVE_TRY_NOTE(concat("open layer ", id), find_layers_folder(state));
  std::unique_ptr<FolderLayer> layer(new FolderLayer());
  layer->kept_ = true;
  layer->parent_ = COVE_TRY(sys::open(layers, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  layer->folder_ = COVE_TRY_NOTE(concat("open layer ", id), open_folder(layer->parent_.get(), id));
  layer->name_ = id;
  layer->path_ = concat(layers, "/", id);
  return layer;
}

Result<std::vector<std::string>> FolderLayer::list(const std::string& state) {
  Result<std::string> layers = find_layers_folder(state);
  if (!layers && layers.error().code() == Code::NotFound) return std::vector<std::string>();
  std::vector<std::string> names = COVE_TRY(sys::list_folder(COVE_TRY(std::move(layers))));
  std::erase_if(names, [](const std::string& name) { return name.starts_with(kOneRun); });
  return names;
}

FolderLayer::~FolderLayer() {
  if (!kept_) static_cast<void>(remove());
}

LayerMount FolderLayer::mount() const {
  LayerMount mount;
  mount.kind = LayerKind::Folder;
  mount.folder = path_;
  return mount;
}

Result<uint64_t> FolderLayer::usage() const {
  uint64_t blocks = 0;
  uint64_t files = 0;
  std::set<ino_t> linked;
  auto add = [&](int, const std::string&, const struct stat& info) -> Result<void> {
    if (++files > kMostFiles) return fail(Code::Exhausted, concat("layer ", name_, " has too many files to measure"));
    bool counted = !S_ISDIR(info.st_mode) && info.st_nlink > 1 && !linked.insert(info.st_ino).second;
    if (!counted) blocks += static_cast<uint64_t>(info.st_blocks);
    return {};
  };
  UniqueFd top = COVE_TRY(open_folder(folder_.get(), "."));
  COVE_TRY_NOTE(concat("measure layer ", name_), sys::walk_tree(std::move(top), sys::ClosedFolders::Fail, add));
  return blocks * kBlock;
}

Result<void> FolderLayer::remove() {
  if (!folder_) return {};
  folder_.reset();
  Result<void> removed = sys::remove_tree_at(parent_.get(), name_);
  return removed || removed.error().code() == Code::NotFound ? Result<void>() : removed;
}

}  // namespace cove
