#include "client/unpack.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/text.h"
#include "sys/file.h"

namespace cove::client {
namespace {

constexpr size_t kMaxDepth = 256;

// "./a//b/" → a, b; nothing where it leads elsewhere.
std::optional<std::vector<std::string>> parts_of(const std::string& name) {
  std::vector<std::string> parts;
  if (name.starts_with('/') || name.find('\0') != std::string::npos) return std::nullopt;
  for (std::string& part : split(name, '/')) {
    if (part == "..") return std::nullopt;
    if (!part.empty() && part != ".") parts.push_back(std::move(part));
  }
  if (parts.size() > kMaxDepth) return std::nullopt;
  return parts;
}

Result<UniqueFd> open_folder(int parent, const std::string& name) {
  return sys::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

Result<UniqueFd> enter_or_make(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), 0777) < 0 && errno != EEXIST) return fail_errno(concat("mkdir ", name));
  return open_folder(parent, name);
}

Result<void> copy_all(int from, int to, const std::string& name) {
  while (true) {
    ssize_t count = ::sendfile(to, from, nullptr, 1 << 30);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno(concat("copy to ", name));
    if (count == 0) return {};
  }
}

class Unpacker {
 public:
  Unpacker(tar::Reader& archive, int folder, const LeftOut& left_out, const Progress& progress)
      : archive_(archive), folder_(folder), left_out_(left_out), progress_(progress) {}

  Result<Unpacked> all() {
    while (std::optional<tar::Entry> entry = COVE_TRY(archive_.next())) COVE_TRY_NOTE(entry->name, take(*entry));
    return done_;
  }

 private:
  Result<void> take(const tar::Entry& entry) {
    std::optional<std::vector<std::string>> parts = parts_of(entry.name);
    if (!parts) return leave_out(entry, "its name leads elsewhere");
    if (parts->empty()) return {};
    std::string name = std::move(parts->back());
    parts->pop_back();
    UniqueFd parent = COVE_TRY(walk(*parts));
    switch (entry.kind) {
      case tar::Kind::Folder:
        return make_folder(parent.get(), name, entry);
      case tar::Kind::File:
        return write_file(parent.get(), name, entry);
      case tar::Kind::Symlink:
        return make_link(parent.get(), name, entry);
      case tar::Kind::HardLink:
        return copy_linked(parent.get(), name, entry);
      case tar::Kind::Other:
        return leave_out(entry, "it is neither a file nor a folder");
    }
    return {};
  }

  Result<void> leave_out(const tar::Entry& entry, const std::string& why) {
    left_out_(entry.name, why);
    return {};
  }

  // By descriptor, one folder after the other: what an earlier entry has made a link is not walked through.
  Result<UniqueFd> walk(const std::vector<std::string>& parts) {
    UniqueFd at = COVE_TRY(sys::dup(folder_));
    for (const std::string& part : parts) at = COVE_TRY(enter_or_make(at.get(), part));
    return at;
  }

  Result<void> make_folder(int parent, const std::string& name, const tar::Entry& entry) {
    UniqueFd made = COVE_TRY(enter_or_make(parent, name));
    // The owner can go on writing into it.
    static_cast<void>(::fchmod(made.get(), (entry.mode & 0777) | 0700));
    return {};
  }

  // A new file in place of what stands there, so that neither a link nor another name of a file is written through.
  Result<UniqueFd> create(int parent, const std::string& name, uint32_t mode) {
    if (::unlinkat(parent, name.c_str(), 0) < 0 && errno != ENOENT) return fail_errno(concat("replace ", name));
    UniqueFd file = COVE_TRY(sys::openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode & 0777));
    return file;
  }

  Result<void> write_file(int parent, const std::string& name, const tar::Entry& entry) {
    UniqueFd file = COVE_TRY(create(parent, name, entry.mode));
    done_.bytes += COVE_TRY(archive_.copy_to(file.get(), progress_));
    ++done_.files;
    timespec times[2] = {{0, UTIME_OMIT}, {entry.mtime, 0}};
    static_cast<void>(::futimens(file.get(), times));
    return {};
  }

  Result<void> make_link(int parent, const std::string& name, const tar::Entry& entry) {
    if (!stays_below(entry.name, entry.link))
      return leave_out(entry, concat("it is a link that leads out, to ", entry.link));
    if (::unlinkat(parent, name.c_str(), 0) < 0 && errno != ENOENT) return fail_errno(concat("replace ", name));
    if (::symlinkat(entry.link.c_str(), parent, name.c_str()) < 0) return fail_errno(concat("symlink ", name));
    return {};
  }

  // Another name of a file that came before: a copy of it.
  Result<void> copy_linked(int parent, const std::string& name, const tar::Entry& entry) {
    std::optional<std::vector<std::string>> parts = parts_of(entry.link);
    if (!parts || parts->empty()) return leave_out(entry, "it is a link that leads out");
    std::string source_name = std::move(parts->back());
    parts->pop_back();
    UniqueFd folder = COVE_TRY(walk(*parts));
    UniqueFd source = COVE_TRY(sys::openat(folder.get(), source_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    struct stat info = COVE_TRY(sys::fstat(source.get()));
    if (!S_ISREG(info.st_mode)) return leave_out(entry, "it is a link to what is no file");
    UniqueFd file = COVE_TRY(create(parent, name, info.st_mode));
    ++done_.files;
    return copy_all(source.get(), file.get(), name);
  }

  tar::Reader& archive_;
  int folder_;
  const LeftOut& left_out_;
  const Progress& progress_;
  Unpacked done_;
};

}  // namespace

// ".." only in front: there it goes up from real folders. Behind a name it would go up from wherever that name leads
// to.
bool stays_below(const std::string& name, const std::string& target) {
  std::optional<std::vector<std::string>> parts = parts_of(name);
  if (!parts || parts->empty() || target.empty() || target.starts_with('/')) return false;
  size_t depth = parts->size() - 1;
  bool named = false;
  for (const std::string& part : split(target, '/')) {
    if (part == ".." && (named || depth == 0)) return false;
    if (part == "..") --depth;
    if (part != ".." && part != "." && !part.empty()) named = true;
  }
  return true;
}

Result<Unpacked> unpack(tar::Reader::Source archive, int folder, const LeftOut& left_out, const Progress& progress) {
  tar::Reader reader = COVE_TRY(tar::Reader::create(std::move(archive)));
  return Unpacker(reader, folder, left_out, progress).all();
}

}  // namespace cove::client
