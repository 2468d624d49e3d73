#include "init/passwd.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>

namespace cove::init {
namespace {

constexpr unsigned kHighestId = 65535;

using Fields = std::vector<std::string_view>;

Fields split(std::string_view text, char separator) {
  Fields fields;
  while (true) {
    size_t end = text.find(separator);
    fields.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return fields;
    text.remove_prefix(end + 1);
  }
}

bool parse_id(std::string_view text, unsigned& id) {
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), id);
  return status == std::errc() && end == text.data() + text.size() && id <= kHighestId;
}

// The first line with `key` in field `column` and at least `least` fields.
bool find_line(std::string_view file, size_t column, std::string_view key, size_t least, Fields& found) {
  for (std::string_view line : split(file, '\n')) {
    Fields fields = split(line, ':');
    if (fields.size() >= least && fields[column] == key) return found = std::move(fields), true;
  }
  return false;
}

bool find_passwd_entry(std::string_view wanted, std::string_view passwd, User& user) {
  Fields fields;
  unsigned uid = 0;
  bool numeric = parse_id(wanted, uid);
  if (!find_line(passwd, numeric ? 2 : 0, wanted, 7, fields)) {
    if (!numeric) return false;
    user.name = std::string(wanted);
    user.uid = user.gid = uid;
    return true;
  }
  user.name = std::string(fields[0]);
  user.home = std::string(fields[5]);
  user.shell = std::string(fields[6]);
  return parse_id(fields[2], user.uid) && parse_id(fields[3], user.gid);
}

bool find_group(std::string_view wanted, std::string_view group, unsigned& gid) {
  Fields fields;
  if (parse_id(wanted, gid)) return true;
  return find_line(group, 0, wanted, 3, fields) && parse_id(fields[2], gid);
}

void add_groups(std::string_view group, User& user) {
  for (std::string_view line : split(group, '\n')) {
    Fields fields = split(line, ':');
    unsigned gid = 0;
    if (fields.size() < 4 || !parse_id(fields[2], gid) || user.groups.size() >= 64) continue;
    for (std::string_view member : split(fields[3], ','))
      if (member == user.name) user.groups.push_back(gid);
  }
}

std::string read_bounded(const char* path) {
  constexpr size_t kMost = 1 << 20;
  std::string data;
  // Non-blocking, because a hostile root inside can put a FIFO here.
  int fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return data;
  char buffer[4096];
  ssize_t count;
  while (data.size() < kMost && (count = ::read(fd, buffer, sizeof buffer)) > 0)
    data.append(buffer, static_cast<size_t>(count));
  ::close(fd);
  return data;
}

}  // namespace

bool find_user(std::string_view wanted, std::string_view passwd, std::string_view group, User& user) {
  size_t colon = wanted.find(':');
  if (!find_passwd_entry(wanted.substr(0, colon), passwd, user)) return false;
  if (colon != std::string_view::npos && !find_group(wanted.substr(colon + 1), group, user.gid)) return false;
  add_groups(group, user);
  return true;
}

bool find_user(std::string_view wanted, User& user) {
  return find_user(wanted, read_bounded("/etc/passwd"), read_bounded("/etc/group"), user);
}

}  // namespace cove::init
