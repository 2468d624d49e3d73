#include "run/host_offers.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>

#include "base/text.h"
#include "sys/file.h"

namespace cove {
namespace {

constexpr std::string_view kNotExecutable = "!";
constexpr size_t kMaxCache = 1 << 20;
constexpr const char* kFolders[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"};

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

// Changes when a program is added or removed.
std::string stamp_of_folders() {
  std::string stamp;
  for (const char* folder :
       {kFolders[0], kFolders[1], kFolders[2], kFolders[3], kFolders[4], kFolders[5], "/etc/alternatives"}) {
    struct stat info = {};
    if (::stat(folder, &info) == 0)
      stamp += concat(info.st_ino, ":", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, " ");
  }
  return stamp;
}

struct File {
  std::string path;      // the path inside
  std::string identity;  // of the file it resolves to
};

// A file that is visible in the host image and that an unprivileged user may execute.
std::optional<File> visible(const std::string& path) {
  std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  struct stat info = {};
  if (!real || ::stat(real.get(), &info) < 0 || !S_ISREG(info.st_mode) || (info.st_mode & 0001) == 0)
    return std::nullopt;
  std::string_view where = real.get();
  for (std::string_view root : {"/usr/", "/bin/", "/sbin/", "/lib", "/opt/"})
    if (where.starts_with(root))
      return File{path, concat(where, " ", info.st_dev, " ", info.st_ino, " ", info.st_size, " ", info.st_mtim.tv_sec,
                               ".", info.st_mtim.tv_nsec)};
  return std::nullopt;
}

std::optional<File> find_program(const std::string& name) {
  if (name.starts_with('/')) return visible(name);
  for (const char* folder : kFolders)
    if (auto file = visible(concat(std::string_view(folder), "/", name))) return file;
  return std::nullopt;
}

// The versions for which a program with such a name exists: "python3.11" for "python{version}".
std::set<std::string> versions_of(const std::string& name) {
  std::set<std::string> versions;
  size_t at = name.find(kVersionMark);
  std::string before = name.substr(0, at), behind = name.substr(at + kVersionMark.size());
  for (const char* folder : kFolders) {
    auto names = sys::list_folder(folder);
    if (!names) continue;
    for (const std::string& each : *names) {
      if (each.size() <= before.size() + behind.size() || !each.starts_with(before) || !each.ends_with(behind))
        continue;
      std::string version = each.substr(before.size(), each.size() - before.size() - behind.size());
      if (is_digit(version.front()) && version.find_first_not_of("0123456789.") == std::string::npos)
        versions.insert(std::move(version));
    }
  }
  return versions;
}

bool is_placed(const std::string& word) { return word.starts_with('{'); }

}  // namespace

std::string version_in(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (!is_digit(text[at])) continue;
    size_t end = at;
    while (end < text.size() &&
           (is_digit(text[end]) || (text[end] == '.' && end + 1 < text.size() && is_digit(text[end + 1]))))
      ++end;
    return std::string(text.substr(at, end - at));
  }
  return {};
}

struct HostOffers::Program {
  CommandLine command;
  File file;
  std::string version_option;
};

HostOffers::HostOffers(Ask ask, std::string cache) : ask_(std::move(ask)), cache_(std::move(cache)) { read_cache(); }

std::vector<HostOffers::Program> HostOffers::programs_of(const Language& language) {
  std::vector<Program> programs;
  auto add = [&](const CommandLine& command) {
    auto file = find_program(command.program());
    bool runs = command.compile.empty() || is_placed(command.run.front()) || find_program(command.run.front());
    if (file && runs) programs.push_back({command, std::move(*file), language.version_option});
  };
  std::vector<CommandLine> commands = language.commands;
  for (const LanguageVersion& version : language.versions)
    if (version.image == "host") commands.push_back(version.command);
  for (const CommandLine& command : commands) {
    if (command.program().find(kVersionMark) == std::string::npos) {
      add(command);
      continue;
    }
    for (const std::string& version : versions_of(command.program())) add(with_version(command, version));
  }
  return programs;
}

// Determines unknown versions, with one script. Callers that need only known versions do not wait for it.
void HostOffers::ask_for(const std::vector<Program>& programs) {
  std::string script;
  std::vector<std::string> asked;
  {
    std::lock_guard lock(mutex_);
    for (const Program& program : programs) {
      const std::string& identity = program.file.identity;
      if (versions_.contains(identity) || std::ranges::find(asked, identity) != asked.end()) continue;
      // "N code words": the words on one line.
      script += concat("answer=$('", program.file.path, "' ", program.version_option, " 2>&1 </dev/null); printf '",
                       asked.size(), " %s %s\\n' $? \"$(printf %s \"$answer\" | tr '\\n' ' ' | cut -c1-200)\"\n");
      asked.push_back(identity);
    }
  }
  if (asked.empty()) return;
  Result<std::string> answers = ask_(script);
  if (answers) take_answers(*answers, asked);
}

void HostOffers::take_answers(const std::string& answers, const std::vector<std::string>& asked) {
  std::lock_guard lock(mutex_);
  for (const std::string& line : split(answers, '\n')) {
    std::vector<std::string> words = split(line, ' ');
    auto number = parse_integer(words[0], 0, static_cast<int64_t>(asked.size()) - 1);
    if (!number || words.size() < 2) continue;
    const bool runs = words[1] != "126" && words[1] != "127";
    std::string_view said = std::string_view(line).substr(words[0].size() + 1 + words[1].size());
    versions_[asked[static_cast<size_t>(*number)]] = runs ? version_in(said) : std::string(kNotExecutable);
  }
  write_cache();
}

std::vector<LanguageOffer> HostOffers::offers_of(const std::vector<Program>& programs) const {
  std::vector<LanguageOffer> offers;
  std::set<std::string> seen;
  for (const Program& program : programs) {
    auto found = versions_.find(program.file.identity);
    std::string version = found == versions_.end() ? "" : found->second;
    if (version == kNotExecutable || is_older(version, program.command.least)) continue;
    if (seen.insert(program.file.identity).second)
      offers.push_back({std::move(version), "host", program.file.path, program.command});
  }
  return offers;
}

std::vector<LanguageOffer> HostOffers::of(const Language& language) { return of(std::vector{&language}).front(); }

std::optional<std::vector<std::vector<LanguageOffer>>> HostOffers::known(
    const std::vector<const Language*>& languages) {
  std::lock_guard lock(mutex_);
  const std::string& now = stamp();
  std::vector<std::vector<LanguageOffer>> all;
  for (const Language* language : languages) {
    auto looked = programs_by_language_.find(language->name);
    if (looked == programs_by_language_.end() || looked->second.stamp != now) return std::nullopt;
    all.push_back(looked->second.offers);
  }
  return all;
}

std::vector<std::vector<LanguageOffer>> HostOffers::of(const std::vector<const Language*>& languages) {
  if (auto all = known(languages)) return std::move(*all);
  std::lock_guard asking(asking_);
  if (auto all = known(languages)) return std::move(*all);
  std::vector<std::vector<Program>> programs;
  std::vector<Program> wanted;
  const std::string before = stamp_of_folders();
  for (const Language* language : languages) {
    programs.push_back(programs_of(*language));
    wanted.insert(wanted.end(), programs.back().begin(), programs.back().end());
  }
  ask_for(wanted);
  std::lock_guard lock(mutex_);
  std::vector<std::vector<LanguageOffer>> all;
  for (size_t i = 0; i < languages.size(); ++i) {
    all.push_back(offers_of(programs[i]));
    // Failures are retried the next time.
    const bool whole =
        std::ranges::all_of(programs[i], [&](const Program& each) { return versions_.contains(each.file.identity); });
    programs_by_language_[languages[i]->name] = {whole ? before : std::string("?"), all.back()};
  }
  return all;
}

// Programs that are installed while the server runs are found a second later.
const std::string& HostOffers::stamp() {
  constexpr std::chrono::seconds kFresh(1);
  auto now = std::chrono::steady_clock::now();
  if (stamp_.empty() || now - stamped_ > kFresh) {
    stamp_ = stamp_of_folders();
    stamped_ = now;
  }
  return stamp_;
}

// One line for each file: its version, then its identity.
void HostOffers::read_cache() {
  if (cache_.empty()) return;
  Result<std::string> text = sys::read_file(cache_, kMaxCache);
  if (!text) return;
  for (const std::string& line : split(*text, '\n'))
    if (size_t space = line.find(' '); space != std::string::npos)
      versions_[line.substr(space + 1)] = line.substr(0, space);
}

// Losing a race only causes an extra query.
void HostOffers::write_cache() const {
  if (cache_.empty()) return;
  std::string text;
  for (const auto& [identity, version] : versions_) text += concat(version, " ", identity, "\n");
  static_cast<void>(sys::write_file(cache_, text, 0600));
}

}  // namespace cove
