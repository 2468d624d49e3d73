#include "init/view.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <glob.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>

#include "init/channel.h"
#include "init/protocol.h"

namespace cove::init {
namespace {

using wire::Reader;
using wire::Type;
using wire::Writer;

constexpr size_t kEntriesPerMessage = 100;
constexpr std::string_view kUploadPrefix = ".cove-upload-";  // as in api/rest/files.cc

bool is_upload(const std::string& path, int flags) {
  std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  return (flags & O_EXCL) != 0 && name.starts_with(kUploadPrefix);
}

wire::Entry describe(std::string name, const struct stat& info) {
  return {std::move(name),
          info.st_mode,
          static_cast<uint64_t>(info.st_size),
          static_cast<uint64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(info.st_mtim.tv_nsec),
          info.st_uid,
          info.st_gid};
}

// Sends entries in portions; blocks for the reader, which is the host.
class EntryStream {
 public:
  explicit EntryStream(int socket) : socket_(socket) {}
  void add(const wire::Entry& entry) {
    entry.encode(portion_);
    if (++count_ >= kEntriesPerMessage || portion_.data().size() > wire::kMaxMessage / 2) flush();
  }
  void flush() {
    if (count_ == 0) return;
    Writer message(Type::Entries);
    message.number(count_);
    static_cast<void>(sys::send_message(socket_, message.data() + portion_.data()));
    portion_ = Writer();
    count_ = 0;
  }

 private:
  int socket_;
  Writer portion_;
  size_t count_ = 0;
};

int remove_one(const char* path, const struct stat*, int, struct FTW*) { return ::remove(path); }

int make_parents(const std::string& path, mode_t mode) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    if (::mkdir(path.substr(0, slash).c_str(), mode) < 0 && errno != EEXIST) return -1;
  return 0;
}

class View {
 public:
  explicit View(int socket) : socket_(socket) {}

  // The caller is gone: removes its unfinished upload.
  void end() {
    if (!upload_.empty()) ::unlink(upload_.c_str());
  }

  void handle(const sys::Message& message) {
    Reader in(message.data);
    switch (in.type<Type>()) {
      case Type::Open:
        return open(in);
      case Type::Stat:
        return stat(in);
      case Type::List:
        return list(in);
      case Type::Mkdir:
        return mkdir(in);
      case Type::Remove:
        return remove(in);
      case Type::Rename:
        return rename(in);
      case Type::Chmod:
        return chmod(in);
      case Type::Glob:
        return glob(in);
      case Type::Readlink:
        return readlink(in);
      case Type::Symlink:
        return symlink(in);
      case Type::Watch:
        return watch(in);
      case Type::Unwatch:
        return unwatch(in);
      default:
        return done(EINVAL);
    }
  }

 private:
  void done(int errnum) { reply(Writer(Type::Done).number(static_cast<uint64_t>(errnum))); }
  void outcome(int status) { done(status < 0 ? errno : 0); }
  void reply(const Writer& message, const std::vector<int>& fds = {}) {
    static_cast<void>(sys::send_message(socket_, message.data(), fds));
  }

  void open(Reader& in) {
    std::string path = in.text();
    auto flags = static_cast<int>(in.number());
    auto mode = static_cast<mode_t>(in.number());
    if (!in.done()) return done(EINVAL);
    // Non-blocking: the path may be a FIFO.
    UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, mode));
    if (!fd) return done(errno);
    if (is_upload(path, flags)) upload_ = path;
    reply(Writer(Type::Done).number(0), {fd.get()});
  }

  void stat(Reader& in) {
    std::string path = in.text();
    bool follow = in.number() != 0;
    struct stat info;
    if (!in.done()) return done(EINVAL);
    if (::fstatat(AT_FDCWD, path.c_str(), &info, follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0) return done(errno);
    Writer message(Type::Done);
    message.number(0);
    describe(path, info).encode(message);
    reply(message);
  }

  void list(Reader& in) {
    std::string path = in.text();
    if (!in.done()) return done(EINVAL);
    std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), &::closedir);
    if (!folder) return done(errno);
    EntryStream stream(socket_);
    while (dirent* entry = ::readdir(folder.get())) {
      struct stat info;
      std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (::fstatat(::dirfd(folder.get()), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0)
        stream.add(describe(entry->d_name, info));
    }
    stream.flush();
    done(0);
  }

  void mkdir(Reader& in) {
    std::string path = in.text();
    auto mode = static_cast<mode_t>(in.number());
    bool parents = in.number() != 0;
    if (!in.done()) return done(EINVAL);
    if (parents && make_parents(path, 0755) < 0) return done(errno);
    int status = ::mkdir(path.c_str(), mode);
    outcome(parents && status < 0 && errno == EEXIST ? 0 : status);
  }

  void remove(Reader& in) {
    std::string path = in.text();
    bool recursive = in.number() != 0;
    if (!in.done()) return done(EINVAL);
    outcome(recursive ? ::nftw(path.c_str(), remove_one, 32, FTW_DEPTH | FTW_PHYS) : ::remove(path.c_str()));
  }

  void rename(Reader& in) {
    std::string from = in.text();
    std::string to = in.text();
    if (!in.done()) return done(EINVAL);
    // An upload replaces an old file by exchange: with a rename over it btrfs would write out the new file.
    int status = from == upload_ ? ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) : -1;
    if (status == 0)
      ::unlink(from.c_str());
    else
      status = ::rename(from.c_str(), to.c_str());
    if (status == 0 && from == upload_) upload_.clear();
    outcome(status);
  }

  void chmod(Reader& in) {
    std::string path = in.text();
    auto mode = static_cast<mode_t>(in.number());
    if (!in.done()) return done(EINVAL);
    outcome(::chmod(path.c_str(), mode));
  }

  void glob(Reader& in) {
    std::string pattern = in.text();
    std::string folder = in.text();
    if (!in.done()) return done(EINVAL);
    if (!folder.empty() && ::chdir(folder.c_str()) < 0) return done(errno);
    glob_t found = {};
    int status = ::glob(pattern.c_str(), GLOB_NOSORT | GLOB_BRACE, nullptr, &found);
    EntryStream stream(socket_);
    for (size_t i = 0; status == 0 && i < found.gl_pathc; ++i) {
      struct stat info;
      if (::lstat(found.gl_pathv[i], &info) == 0) stream.add(describe(found.gl_pathv[i], info));
    }
    stream.flush();
    ::globfree(&found);
    done(status == 0 || status == GLOB_NOMATCH ? 0 : EIO);
  }

  void readlink(Reader& in) {
    std::string path = in.text();
    if (!in.done()) return done(EINVAL);
    char target[4096];
    ssize_t size = ::readlink(path.c_str(), target, sizeof target);
    if (size < 0) return done(errno);
    reply(Writer(Type::Done).number(0).text(std::string_view(target, static_cast<size_t>(size))));
  }

  void symlink(Reader& in) {
    std::string target = in.text();
    std::string path = in.text();
    if (!in.done()) return done(EINVAL);
    outcome(::symlink(target.c_str(), path.c_str()));
  }

  // The host reads the events itself, from the descriptor that is sent once.
  void watch(Reader& in) {
    std::string path = in.text();
    auto mask = static_cast<uint32_t>(in.number());
    if (!in.done()) return done(EINVAL);
    bool first = !inotify_.valid();
    if (first) inotify_.reset(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (!inotify_) return done(errno);
    int watched = ::inotify_add_watch(inotify_.get(), path.c_str(), mask);
    if (watched < 0) {
      int errnum = errno;
      if (first) inotify_.reset();
      return done(errnum);
    }
    reply(Writer(Type::Done).number(0).number(static_cast<uint64_t>(watched)),
          first ? std::vector<int>{inotify_.get()} : std::vector<int>{});
  }

  void unwatch(Reader& in) {
    auto watched = static_cast<int>(in.number());
    if (!in.done() || !inotify_) return done(EINVAL);
    outcome(::inotify_rm_watch(inotify_.get(), watched));
  }

  int socket_;
  UniqueFd inotify_;
  std::string upload_;  // the temporary name of the file that is being written
};

}  // namespace

void serve_view(UniqueFd socket, const User& user, const Filters& filters, bool single_id) {
  FenceOutcome fences = become(user, filters, single_id);
  if (!fences.ok) {
    send(socket.get(), Writer(Type::Done).number(static_cast<uint64_t>(errno)));
    ::_exit(1);
  }
  ::umask(022);
  if (::chdir(user.home.c_str()) < 0 && ::chdir("/") < 0) ::_exit(1);
  View view(socket.get());
  while (true) {
    Result<sys::Message> message = sys::receive_message(socket.get(), wire::kMaxMessage);
    if (!message || message->data.empty()) break;
    view.handle(*message);
  }
  view.end();
  ::_exit(0);
}

}  // namespace cove::init
