#include "init/program_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/unique_fd.h"
#include "init/hash_plan.h"
#include "init/process_files.h"

namespace cove::init {
namespace {

using copy::Header;
using copy::kPage;
using copy::Refusal;

constexpr uint64_t kMostBytes = 32 << 20;
constexpr uint64_t kMostReach = 4ull << 30;  // of its memory, with what it has not touched
constexpr uint32_t kDroppable = 0x08;        // MAP_DROPPABLE, from Linux 6.11 on

// An area as /proc/PID/smaps has it.
struct MapsLine {
  uint64_t start = 0, end = 0, offset = 0, inode = 0;
  std::string_view rights, name, flags;
};

bool parse_line(std::string_view text, MapsLine& line) {
  char rights[5] = {};
  int name = 0;
  const std::string whole(text);
  if (std::sscanf(whole.c_str(), "%lx-%lx %4s %lx %*s %lu %n", &line.start, &line.end, rights, &line.offset,
                  &line.inode, &name) < 5)
    return false;
  line.rights = text.substr(text.find(' ') + 1, 4);
  line.name = name > 0 && static_cast<size_t>(name) < text.size() ? text.substr(static_cast<size_t>(name)) : "";
  return true;
}

std::string_view take_line(std::string_view& text) {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

// The next area; its flags end what is said of it.
bool take_area(std::string_view& text, MapsLine& line) {
  constexpr std::string_view kFlags = "VmFlags:";
  if (!parse_line(take_line(text), line)) return false;
  while (!text.empty()) {
    std::string_view detail = take_line(text);
    if (!detail.starts_with(kFlags)) continue;
    line.flags = detail.substr(kFlags.size());
    return true;
  }
  return false;
}

bool has_flag(std::string_view flags, std::string_view flag) {
  for (size_t at = 0; at + 2 <= flags.size(); at += 3)
    if (flags.substr(at + 1, 2) == flag) return true;
  return false;
}

// Whether nothing is special about its memory but what a copy can have, too.
bool is_plain(std::string_view flags) {
  constexpr std::string_view kPlain = " rd wr ex sh mr mw me ms gd ac sd nr dw wf dp dd";
  for (size_t at = 0; at + 2 < flags.size(); at += 3)
    if (flags[at] != ' ' || !has_flag(kPlain, flags.substr(at + 1, 2))) return false;
  return true;
}

bool is_file_at(const std::string& path, uint64_t inode, struct stat& info) {
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_ino == inode;
}

// Below /usr, which is two overlays, the kernel names a file by its path in the lower one.
int file_index(const MapsLine& line, Header& header) {
  struct stat info;
  std::string path(line.name);
  if (!is_file_at(path, line.inode, info)) path = "/usr" + path;
  if (!is_file_at(path, line.inode, info) || path.size() >= copy::kLongestPath) return -1;
  for (uint32_t i = 0; i < header.files; ++i)
    if (path == header.file[i].path) return static_cast<int>(i);
  if (header.files == copy::kMostFiles) return -1;
  copy::File& file = header.file[header.files];
  std::memcpy(file.path, path.c_str(), path.size() + 1);
  file.inode = info.st_ino;
  file.size = static_cast<uint64_t>(info.st_size);
  file.changed_s = info.st_mtim.tv_sec;
  file.changed_ns = info.st_mtim.tv_nsec;
  file.touched_s = info.st_ctim.tv_sec;
  file.touched_ns = info.st_ctim.tv_nsec;
  return static_cast<int>(header.files++);
}

bool add_area(const MapsLine& line, Header& header) {
  const bool shared = line.rights[3] == 's';
  if (!is_plain(line.flags) || header.areas == copy::kMostAreas || (shared && line.rights[1] == 'w')) return false;
  copy::Area& area = header.area[header.areas++];
  area = {.start = line.start, .end = line.end, .offset = line.offset, .file = -1};
  area.protection = (line.rights[0] == 'r' ? PROT_READ : 0u) | (line.rights[1] == 'w' ? PROT_WRITE : 0u) |
                    (line.rights[2] == 'x' ? PROT_EXEC : 0u);
  area.flags = shared ? MAP_SHARED : MAP_PRIVATE;
  if (line.inode != 0) {
    area.file = file_index(line, header);
    return area.file >= 0;
  }
  if (shared) return false;
  area.flags |= MAP_ANONYMOUS | (line.name == "[stack]" ? MAP_GROWSDOWN : 0);
  // What no child may have, as the state of random numbers, no copy has either: it finds zeros, as a child would.
  if (has_flag(line.flags, "dp"))
    area.flags = kDroppable | MAP_ANONYMOUS;
  else if (has_flag(line.flags, "wf"))
    area.advice = MADV_WIPEONFORK;
  return true;
}

bool is_wiped(const copy::Area& area) {
  return area.advice == MADV_WIPEONFORK || (area.flags & kDroppable) == kDroppable;
}

bool add_special(const MapsLine& line, Header& header) {
  if (header.specials == copy::kMostSpecials) return false;
  // One after the other, and nothing behind the code: so they lie in the next process, too.
  const bool first = header.specials == 0;
  const copy::Special before = first ? copy::Special{line.start, 0} : header.special[header.specials - 1];
  if (header.vdso != 0 || before.start + before.size != line.start) return false;
  header.special[header.specials++] = {line.start, line.end - line.start};
  if (line.name == "[vdso]") header.vdso = line.start;
  return true;
}

bool is_executed(pid_t pid, const copy::File& file) {
  struct stat executed, there;
  return ::stat(of_process(pid, "exe").c_str(), &executed) == 0 && ::stat(file.path, &there) == 0 &&
         executed.st_dev == there.st_dev && executed.st_ino == there.st_ino;
}

}  // namespace

Refusal take_areas(pid_t pid, Header& header) {
  std::string text;
  if (!read_process_file(of_process(pid, "smaps"), text)) return Refusal::Memory;
  for (std::string_view rest = text; !rest.empty();) {
    MapsLine line;
    if (!take_area(rest, line)) return Refusal::System;
    if (line.name == "[vsyscall]") continue;  // every process has it
    const bool special = line.name.starts_with("[vvar") || line.name == "[vdso]";
    if (!(special ? add_special(line, header) : add_area(line, header))) return Refusal::Memory;
  }
  for (header.program = 0; header.program < header.files; ++header.program)
    if (is_executed(pid, header.file[header.program])) break;
  return header.vdso != 0 && header.program < header.files ? Refusal::None : Refusal::Memory;
}

namespace {

// Its own pages; those that are a file's as they are need not be copied.
Refusal find_pages_of(int pagemap, copy::Area& area, Header& header) {
  constexpr uint64_t kPresent = 1ull << 63, kSwapped = 1ull << 62, kOfFile = 1ull << 61;
  std::vector<uint64_t> entries((area.end - area.start) / kPage);
  const auto size = static_cast<ssize_t>(entries.size() * sizeof(uint64_t));
  if (::pread(pagemap, entries.data(), static_cast<size_t>(size),
              static_cast<off_t>(area.start / kPage * sizeof(uint64_t))) != size)
    return Refusal::System;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!(entries[i] & (kPresent | kSwapped)) || (entries[i] & kOfFile)) continue;
    area.filled = 1;
    const uint64_t page = area.start + i * kPage;
    copy::Run* last = header.runs == 0 ? nullptr : &header.run[header.runs - 1];
    if (last && last->start + last->size == page) {
      last->size += kPage;
      continue;
    }
    if (header.runs == copy::kMostRuns) return Refusal::Memory;
    header.run[header.runs++] = {page, kPage};
  }
  return Refusal::None;
}

}  // namespace

Refusal find_pages(pid_t pid, Header& header) {
  UniqueFd pagemap(::open(of_process(pid, "pagemap").c_str(), O_RDONLY | O_CLOEXEC));
  if (!pagemap) return Refusal::System;
  uint64_t reach = 0;
  for (uint32_t i = 0; i < header.areas; ++i) {
    if (is_wiped(header.area[i]) || (header.area[i].flags & MAP_SHARED)) continue;
    reach += header.area[i].end - header.area[i].start;
    if (reach > kMostReach) return Refusal::Memory;
    Refusal refusal = find_pages_of(pagemap.get(), header.area[i], header);
    if (refusal != Refusal::None) return refusal;
  }
  return Refusal::None;
}

namespace {

// Reads the pages into memory, all after each other.
bool read_pages(pid_t pid, const Header& header, char* to, uint64_t size) {
  constexpr uint32_t kAtOnce = 512;
  for (uint32_t next = 0; next < header.runs;) {
    iovec remote[kAtOnce];
    iovec local = {to, 0};
    uint32_t count = 0;
    for (; count < kAtOnce && next < header.runs; ++count, ++next) {
      remote[count] = {reinterpret_cast<void*>(header.run[next].start), header.run[next].size};
      local.iov_len += header.run[next].size;
    }
    if (local.iov_len > size) return false;
    if (::process_vm_readv(pid, &local, 1, remote, count, 0) != static_cast<ssize_t>(local.iov_len)) return false;
    to += local.iov_len;
    size -= local.iov_len;
  }
  return size == 0;
}

class Mapping {
 public:
  Mapping(int fd, uint64_t offset, uint64_t size) : size_(size) {
    void* start =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, static_cast<off_t>(offset));
    if (start != MAP_FAILED) start_ = static_cast<char*>(start);
  }
  ~Mapping() {
    if (start_) ::munmap(start_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  char* start() const { return start_; }

 private:
  uint64_t size_;
  char* start_ = nullptr;
};

// The text that begins with this; empty where there is none.
std::string_view find_text(const char* pages, uint64_t size, std::string_view start) {
  constexpr size_t kLongest = 512;
  const auto* found = static_cast<const char*>(::memmem(pages, size, start.data(), start.size()));
  if (!found) return {};
  return {found, ::strnlen(found, std::min(kLongest, size - static_cast<size_t>(found - pages)))};
}

template <typename T>
bool write_all(int out, const std::vector<T>& values, uint64_t& offset) {
  const size_t size = values.size() * sizeof(T);
  if (::pwrite(out, values.data(), size, static_cast<off_t>(offset)) != static_cast<ssize_t>(size)) return false;
  offset += size;
  return true;
}

Refusal write_plan(std::string_view said, const char* pages, uint64_t end, Header& header, int out) {
  std::optional<HashFacts> facts = HashFacts::parse(said);
  std::optional<HashPlan> plan = facts ? plan_hashes(*facts, ProgramPages(header, pages)) : std::nullopt;
  if (!plan) return Refusal::Hashes;
  header.hashes = plan->head;
  header.hashes.offset = end;
  const bool whole = write_all(out, plan->texts, end) && write_all(out, plan->tuples, end) &&
                     write_all(out, plan->items, end) && write_all(out, plan->places, end) &&
                     write_all(out, plan->tables, end) && write_all(out, plan->sets, end);
  return whole ? Refusal::None : Refusal::System;
}

}  // namespace

Refusal write_pages(pid_t pid, std::string_view mark, Header& header, int out) {
  uint64_t size = 0;
  for (uint32_t i = 0; i < header.runs; ++i) size += header.run[i].size;
  if (size == 0 || size > kMostBytes) return Refusal::Memory;
  header.data_offset = (copy::kHeaderOffset + sizeof header + kPage - 1) / kPage * kPage;
  if (::ftruncate(out, static_cast<off_t>(header.data_offset + size)) < 0) return Refusal::System;
  Mapping pages(out, header.data_offset, size);
  if (!pages.start() || !read_pages(pid, header, pages.start(), size)) return Refusal::System;
  const std::string_view said = find_text(pages.start(), size, mark);
  if (said.empty()) return Refusal::Unmarked;
  if (!mark.ends_with(HashFacts::kStart)) return Refusal::None;
  return write_plan(said.substr(mark.size()), pages.start(), header.data_offset + size, header, out);
}

}  // namespace cove::init
