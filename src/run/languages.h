#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/language.h"
#include "run/host_offers.h"
#include "runtime/view.h"

namespace cove {

// How code is run in an image.
struct LanguagePlan {
  LanguageUse use;
  std::vector<CommandLine> commands;  // several if the image must be examined to choose one
};

// A version of a language in `cove languages`.
struct LanguageState {
  enum class Kind { Ready, ToPull, Absent };
  std::string version;  // empty: unknown
  Kind kind = Kind::Ready;
  std::string image;
  std::string path;
  CommandLine command;
  bool usual = false;  // the default version
};
const char* kind_name(LanguageState::Kind kind);  // "ready", "pull", "absent"

// The table of languages, and which of them are available. Thread-safe.
class Languages {
 public:
  // NAME@DIGEST of a stored image.
  using Stored = std::function<std::optional<std::string>(const std::string& image)>;
  Languages(LanguageTable table, Stored stored, HostOffers::Ask ask, std::string cache);

  const LanguageTable& table() const { return table_; }
  // `image`: the required image, "host" or NAME@DIGEST; empty: any. NotFound like choose_language.
  Result<LanguagePlan> plan(const LanguageWish& wish, const std::string& image);
  std::vector<std::vector<LanguageState>> list();  // in the table's order

 private:
  std::vector<LanguageOffer> table_offers(const Language& language, std::vector<LanguageAbsence>& absent) const;
  Result<LanguagePlan> plan_for_host(const Language& language, const std::string& version);
  static Result<LanguagePlan> plan_for_unknown(const Language& language, const std::string& version,
                                               const std::string& image);
  std::vector<LanguageState> states_of(const Language& language, std::vector<LanguageOffer> host) const;

  const LanguageTable table_;
  const Stored stored_;
  HostOffers host_;
};

// The first command whose programs exist in a sandbox. NotFound names them.
Result<CommandLine> pick_command(View& view, const LanguagePlan& plan, const std::string& path_variable);
// Whether programs are started by a class name.
bool names_class(const LanguagePlan& plan);
// The class name of the Java program in a file in a sandbox. The compiler reports a file that cannot be read.
std::string main_class_of(View& view, const std::string& file);

}  // namespace cove
