#include "engine/sandbox/start_view.h"

#include <algorithm>

#include "base/text.h"

namespace cove::engine {
namespace {

constexpr std::string_view kUpload = ".cove-upload-";  // what an upload is called before it has its name

class StartView : public View {
 public:
  StartView(std::unique_ptr<View> view, std::function<void()> changed)
      : view_(std::move(view)), changed_(std::move(changed)) {}

  Result<UniqueFd> open(const std::string& path, int flags, mode_t mode) override {
    if ((flags & O_ACCMODE) != O_RDONLY) change(path);
    return view_->open(path, flags, mode);
  }
  Result<FileEntry> stat(const std::string& path, Links links) override { return view_->stat(path, links); }
  Result<std::vector<FileEntry>> list(const std::string& path) override { return view_->list(path); }
  Result<void> mkdir(const std::string& path, mode_t mode, Depth depth) override {
    change(path);
    return view_->mkdir(path, mode, depth);
  }
  Result<void> remove(const std::string& path, Depth depth) override {
    change(path);
    return view_->remove(path, depth);
  }
  // A folder brings with it whatever it has.
  Result<void> rename(const std::string& from, const std::string& to) override {
    change(to);
    const bool upload = from.substr(from.rfind('/') + 1).starts_with(kUpload);
    if (!upload) changed_();
    return view_->rename(from, to);
  }
  Result<void> chmod(const std::string& path, mode_t mode) override {
    change(path);
    return view_->chmod(path, mode);
  }
  Result<std::string> readlink(const std::string& path) override { return view_->readlink(path); }
  // By a link, any path may be another.
  Result<void> symlink(const std::string& target, const std::string& path) override {
    changed_();
    return view_->symlink(target, path);
  }
  Result<int> watch(const std::string& path, uint32_t mask) override { return view_->watch(path, mask); }
  Result<void> unwatch(int watched) override { return view_->unwatch(watched); }
  int events_fd() const override { return view_->events_fd(); }
  Result<std::vector<FileEntry>> glob(const std::string& pattern, const std::string& folder) override {
    return view_->glob(pattern, folder);
  }

 private:
  void change(const std::string& path) {
    if (is_read_at_start(path)) changed_();
  }

  std::unique_ptr<View> view_;
  std::function<void()> changed_;
};

}  // namespace

bool is_read_at_start(const std::string& path) {
  const std::string within = path + "/";
  if (!within.starts_with("/home/") && !within.starts_with("/tmp/") && !within.starts_with("/workspace/")) return true;
  std::vector<std::string> parts = split(path, '/');
  if (parts.back().starts_with(kUpload)) parts.pop_back();
  // Node looks for the one beside the script, and above it.
  return parts.back() == "package.json" ||
         std::ranges::any_of(parts, [](const std::string& part) { return part.starts_with('.'); });
}

std::unique_ptr<View> watch_start(std::unique_ptr<View> view, std::function<void()> changed) {
  return std::make_unique<StartView>(std::move(view), std::move(changed));
}

}  // namespace cove::engine
