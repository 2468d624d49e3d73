#include "init/descendants.h"

#include <dirent.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "init/process_files.h"

namespace cove::init {

// The name of the program, in parentheses, may contain any character.
bool read_origin(std::string_view stat, Origin& origin) {
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return false;
  const std::string rest(stat.substr(name_end + 1));
  char state = 0;
  int parent = 0, group = 0, session = 0;
  if (std::sscanf(rest.c_str(), " %c %d %d %d", &state, &parent, &group, &session) != 4) return false;
  origin = {std::atoi(std::string(stat.substr(0, name_end)).c_str()), parent, group, session};
  return origin.pid > 0 && state != 'Z' && state != 'X';
}

std::vector<Origin> list_origins() {
  std::vector<Origin> origins;
  DIR* folder = ::opendir("/proc");
  if (!folder) return origins;
  std::string stat;
  while (const dirent* entry = ::readdir(folder)) {
    const int pid = std::atoi(entry->d_name);
    Origin origin;
    if (pid > 1 && read_process_file(of_process(pid, "stat"), stat) && read_origin(stat, origin))
      origins.push_back(origin);
  }
  ::closedir(folder);
  return origins;
}

void add_related(const std::vector<Origin>& all, std::set<pid_t>& related) {
  for (bool found = true; found;) {
    found = false;
    for (const Origin& each : all)
      if (related.contains(each.parent) || related.contains(each.session))
        found = related.insert(each.pid).second || found;
  }
}

}  // namespace cove::init
