// Whole folders, as tar.
#include <sys/stat.h>

#include <set>

#include "api/rest/place.h"
#include "api/rest/query.h"
#include "base/text.h"
#include "sys/file.h"
#include "tar/reader.h"
#include "tar/writer.h"

namespace cove::api {
namespace {

using Lease = engine::Engine::FileLease;

constexpr size_t kMostRemembered = 10'000;
constexpr unsigned kUmask = 022;  // of the sandbox's file server

// --- out -------------------------------------------------------------------------------------------------------------

tar::Entry member(const FileEntry& entry, tar::Kind kind, const std::string& name) {
  return {.name = name,
          .kind = kind,
          .mode = static_cast<uint32_t>(entry.mode) & 07777,
          .mtime = static_cast<int64_t>(entry.mtime_ns) / 1'000'000'000,
          .uid = entry.uid,
          .gid = entry.gid};
}

struct Packed {
  uint64_t files = 0;
  uint64_t bytes = 0;
};

class Packer {
 public:
  Packer(View& view, tar::Writer& tar) : view_(view), tar_(tar) {}

  // A folder's entries with all that is below them; names are relative to it.
  Result<void> add_folder(const std::string& folder, const std::string& prefix) {
    for (const FileEntry& entry : COVE_TRY(view_.list(folder))) {
      std::string path = concat(folder, "/", entry.name);
      COVE_TRY(add(entry, path, prefix + entry.name));
    }
    return {};
  }

  Result<void> add(const FileEntry& entry, const std::string& path, const std::string& name) {
    if (S_ISREG(entry.mode)) return add_file(entry, path, name);
    if (S_ISLNK(entry.mode)) return add_link(entry, path, name);
    if (!S_ISDIR(entry.mode)) return {};  // pipes, sockets and devices mean nothing elsewhere
    COVE_TRY(tar_.add(member(entry, tar::Kind::Folder, name + "/")));
    return add_folder(path, name + "/");
  }

  const Packed& packed() const { return packed_; }

 private:
  Result<void> add_file(const FileEntry& entry, const std::string& path, const std::string& name) {
    Result<UniqueFd> file = view_.open(path, O_RDONLY | O_NOFOLLOW);
    if (!file && file.error().code() == Code::NotFound) return {};  // gone meanwhile
    UniqueFd fd = COVE_TRY(std::move(file));
    struct stat info = COVE_TRY(sys::fstat(fd.get()));
    if (!S_ISREG(info.st_mode)) return {};  // it has become something else
    auto size = static_cast<uint64_t>(info.st_size);
    tar::Entry file_member = member(entry, tar::Kind::File, name);
    file_member.size = size;
    COVE_TRY(tar_.add(file_member));
    ++packed_.files;
    packed_.bytes += size;
    COVE_TRY(tar_.write_from(fd.get(), size));  // what a file has lost meanwhile is zeros
    return {};
  }

  Result<void> add_link(const FileEntry& entry, const std::string& path, const std::string& name) {
    Result<std::string> target = view_.readlink(path);
    if (!target && target.error().code() == Code::NotFound) return {};
    tar::Entry link = member(entry, tar::Kind::Symlink, name);
    link.link = COVE_TRY(std::move(target));
    return tar_.add(link);
  }

  View& view_;
  tar::Writer& tar_;
  Packed packed_;
};

Outcome read_archive(Call& call) {
  std::string wanted = COVE_TRY(path_parameter(call.request()));
  Lease lease = COVE_TRY(lease_files(call, Scope::Read));
  std::string path = absolute_path(*lease.view, wanted);
  FileEntry entry = COVE_TRY(checked_file(lease.view->stat(path, Links::Follow)));
  // What can be seen to fail at once is told before the answer begins.
  if (S_ISDIR(entry.mode)) COVE_TRY(checked_file(lease.view->list(path)));
  COVE_TRY(call.exchange.begin(200, {{"Content-Type", "application/x-tar"}}, std::nullopt));
  tar::Writer tar = COVE_TRY(tar::Writer::create([&call](std::string_view data) { return call.exchange.write(data); }));
  Packer packer(*lease.view, tar);
  if (S_ISDIR(entry.mode))
    COVE_TRY(packer.add_folder(path == "/" ? "" : path, ""));
  else
    COVE_TRY(packer.add(entry, path, name_of(path)));
  COVE_TRY(tar.finish());
  note_file(call, lease, "file.read",
            {{"path", path}, {"archive", true}, {"files", packer.packed().files}, {"bytes", packer.packed().bytes}});
  COVE_TRY(call.exchange.end());
  return {};
}

// --- in --------------------------------------------------------------------------------------------------------------

// Unpacks into a folder and nowhere else: no entry goes through a link below it, whoever made that.
class Unpacker {
 public:
  Unpacker(View& view, std::string folder, tar::Reader& tar) : view_(view), folder_(std::move(folder)), tar_(tar) {}

  Outcome unpack() {
    COVE_TRY(checked_file(view_.mkdir(folder_, 0755, Depth::Recursive)));
    COVE_TRY(check_folder(folder_, Links::Follow));
    while (true) {
      Result<std::optional<tar::Entry>> entry = tar_.next();
      if (!entry) return refuse(body_problem(entry.error()));
      if (!*entry) break;
      (*entry)->mode &= 0777;  // nobody's set-id bits
      COVE_TRY(take(**entry));
    }
    // Last, because nothing can be put into a folder without the right to write.
    for (const auto& [path, mode] : modes_) COVE_TRY(checked_file(view_.chmod(path, mode)));
    return {};
  }

  const Packed& unpacked() const { return unpacked_; }

 private:
  using Kind = tar::Kind;

  Outcome take(const tar::Entry& entry) {
    std::string inner = COVE_TRY(inner_path(entry.name));
    if (inner.empty() || entry.kind == Kind::Other) return {};
    COVE_TRY(make_parents(inner));
    std::string path = concat(folder_, "/", inner);
    if (entry.kind == Kind::Folder) return take_folder(inner, path, entry.mode);
    if (entry.kind == Kind::Symlink) return take_symlink(path, entry.link);
    if (entry.kind == Kind::HardLink) return take_hard_link(path, entry);
    UniqueFd file = COVE_TRY(create(path));
    Result<uint64_t> bytes = tar_.copy_to(file.get());
    if (!bytes) return refuse(data_problem(bytes.error()));
    return finish_file(path, entry.mode, *bytes);
  }

  // Of what is read, or of where it is written to.
  static Problem data_problem(const Error& error) {
    return error.errnum() != 0 ? file_problem(error) : body_problem(error);
  }

  Outcome finish_file(const std::string& path, unsigned mode, uint64_t bytes) {
    if (mode != 0644) COVE_TRY(checked_file(view_.chmod(path, mode)));
    ++unpacked_.files;
    unpacked_.bytes += bytes;
    return {};
  }

  // A new file; what was there before makes way.
  Checked<UniqueFd> create(const std::string& path) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    Result<UniqueFd> file = view_.open(path, kFlags, 0644);
    if (file || file.error().code() != Code::Exists) return checked_file(std::move(file));
    COVE_TRY(checked_file(view_.remove(path, Depth::One)));
    return checked_file(view_.open(path, kFlags, 0644));
  }

  Outcome take_symlink(const std::string& path, const std::string& target) {
    Result<void> made = view_.symlink(target, path);
    if (made || made.error().code() != Code::Exists) return checked_file(std::move(made));
    COVE_TRY(checked_file(view_.remove(path, Depth::One)));
    return checked_file(view_.symlink(target, path));
  }

  Outcome take_hard_link(const std::string& path, const tar::Entry& entry) {
    std::string inner = COVE_TRY(inner_path(entry.link));
    COVE_TRY(make_parents(inner));
    UniqueFd original = COVE_TRY(checked_file(view_.open(concat(folder_, "/", inner), O_RDONLY | O_NOFOLLOW)));
    if (!S_ISREG(COVE_TRY(sys::fstat(original.get())).st_mode)) return invalid(concat(inner, " is not a regular file"));
    UniqueFd copy = COVE_TRY(create(path));
    uint64_t bytes = 0;
    std::vector<char> piece(256 * kKiB);
    while (ssize_t count = ::read(original.get(), piece.data(), piece.size())) {
      if (count < 0) return refuse(Error::from_errno(errno, concat("read ", inner)));
      COVE_TRY(checked_file(sys::write_all(copy.get(), {piece.data(), static_cast<size_t>(count)})));
      bytes += static_cast<uint64_t>(count);
    }
    return finish_file(path, entry.mode, bytes);
  }

  Outcome take_folder(const std::string& inner, const std::string& path, unsigned mode) {
    constexpr unsigned kWritable = 0700;
    COVE_TRY(make_folder(inner, path, mode | kWritable));
    if ((mode | kWritable) != mode || (mode & kUmask) != 0)
      if (modes_.size() < kMostRemembered) modes_.emplace_back(path, mode);
    return {};
  }

  Outcome make_parents(const std::string& inner) {
    for (size_t slash = inner.find('/'); slash != std::string::npos; slash = inner.find('/', slash + 1)) {
      std::string folder = inner.substr(0, slash);
      COVE_TRY(make_folder(folder, concat(folder_, "/", folder), 0755));
    }
    return {};
  }

  Outcome make_folder(const std::string& inner, const std::string& path, unsigned mode) {
    if (known_.contains(inner)) return {};
    Result<void> made = view_.mkdir(path, mode, Depth::One);
    if (!made && made.error().code() != Code::Exists) return checked_file(std::move(made));
    if (!made) COVE_TRY(check_folder(path, Links::Keep));
    if (known_.size() == kMostRemembered) known_.clear();
    known_.insert(inner);
    return {};
  }

  Outcome check_folder(const std::string& path, Links links) {
    FileEntry entry = COVE_TRY(checked_file(view_.stat(path, links)));
    if (S_ISDIR(entry.mode)) return {};
    return invalid(
        concat(path, S_ISLNK(entry.mode) ? " is a link, through which nothing is unpacked" : " is not a folder"));
  }

  View& view_;
  std::string folder_;
  tar::Reader& tar_;
  Packed unpacked_;
  std::set<std::string> known_;  // folders below that are none but folders
  std::vector<std::pair<std::string, unsigned>> modes_;
};

Outcome write_archive(Call& call) {
  std::string wanted = COVE_TRY(path_parameter(call.request()));
  Lease lease = COVE_TRY(lease_files(call, Scope::Run));
  std::string path = absolute_path(*lease.view, wanted);
  Result<tar::Reader> tar = tar::Reader::create([&call](std::span<char> buffer) { return call.exchange.read(buffer); });
  if (!tar) return refuse(body_problem(tar.error()));
  Unpacker unpacker(*lease.view, path, *tar);
  COVE_TRY(unpacker.unpack());
  const Packed& unpacked = unpacker.unpacked();
  note_file(call, lease, "file.written",
            {{"path", path}, {"archive", true}, {"files", unpacked.files}, {"bytes", unpacked.bytes}});
  return call.respond(200, dump(Json{{"files", unpacked.files}, {"bytes", unpacked.bytes}}));
}

}  // namespace

void add_archive(Routes& routes) {
  routes.add("GET", "/v1/sandboxes/{id}/archive", kTokenRead, read_archive, {"path", "user"});
  routes.add("PUT", "/v1/sandboxes/{id}/archive", kTokenRun, write_archive, {"path", "user"});
}

}  // namespace cove::api
