#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/language.h"

namespace cove {

// What the host image offers of languages: programs of this machine that are visible in it, with their versions. A
// program is asked for its version once, inside; the answer holds as long as the file is the same. Thread-safe.
class HostOffers {
 public:
  // What a shell script prints in a sandbox of the host image.
  using Ask = std::function<Result<std::string>(const std::string& script)>;
  // `cache`: a file that answers are kept in; empty: they are kept in memory only.
  HostOffers(Ask ask, std::string cache);

  // In the order of the language's commands. Where nobody can be asked, versions are not known.
  std::vector<LanguageOffer> of(const Language& language);
  // The same for many, with one question.
  std::vector<std::vector<LanguageOffer>> of(const std::vector<const Language*>& languages);

 private:
  struct Program;
  struct Looked {
    std::string stamp;
    std::vector<LanguageOffer> offers;
  };

  static std::vector<Program> programs_of(const Language& language);
  std::optional<std::vector<std::vector<LanguageOffer>>> known(const std::vector<const Language*>& languages);
  void ask_for(const std::vector<Program>& programs);
  void take_answers(const std::string& answers, const std::vector<std::string>& asked);
  std::vector<LanguageOffer> offers_of(const std::vector<Program>& programs) const;
  const std::string& stamp();
  void read_cache();
  void write_cache() const;

  const Ask ask_;
  const std::string cache_;
  std::mutex asking_;                            // taken before the other one
  std::mutex mutex_;                             // of all below
  std::map<std::string, std::string> versions_;  // by the identity of the program's file
  std::map<std::string, Looked> looked_;         // by language
  std::string stamp_;
  std::chrono::steady_clock::time_point stamped_;
};

// The first version number in what a program says of itself; empty where there is none.
std::string version_in(std::string_view text);

}  // namespace cove
