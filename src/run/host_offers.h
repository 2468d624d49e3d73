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

// The languages available in the host image: programs of this machine that are visible in it, with their versions. A
// program is run once inside to get its version, which is cached as long as the file is unchanged. Thread-safe.
class HostOffers {
 public:
  // Returns the output of a shell script in a sandbox of the host image.
  using Ask = std::function<Result<std::string>(const std::string& script)>;
  // `cache`: a file for known versions; empty: they are kept only in memory.
  HostOffers(Ask ask, std::string cache);

  // In the order of the language's commands. Versions are unknown if no sandbox can be started.
  std::vector<LanguageOffer> of(const Language& language);
  // The same for several languages, with one script.
  std::vector<std::vector<LanguageOffer>> of(const std::vector<const Language*>& languages);

 private:
  struct Program;
  struct CachedPrograms {
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
  std::mutex asking_;                                           // locked before mutex_
  std::mutex mutex_;                                            // protects all below
  std::map<std::string, std::string> versions_;                 // by the identity of the program's file
  std::map<std::string, CachedPrograms> programs_by_language_;  // by language
  std::string stamp_;
  std::chrono::steady_clock::time_point stamped_;
};

// The first version number in a program's output; empty if there is none.
std::string version_in(std::string_view text);

}  // namespace cove
