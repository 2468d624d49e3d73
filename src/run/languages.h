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

// How code is to be run in an image.
struct LanguagePlan {
  LanguageUse use;
  std::vector<CommandLine> commands;  // one; several where only a look into the image can tell which
};

// A version of a language as `cove languages` lists it.
struct LanguageState {
  enum class Kind { Ready, ToPull, Absent };
  std::string version;  // empty: not known
  Kind kind = Kind::Ready;
  std::string image;
  std::string path;
  CommandLine command;
  bool usual = false;  // this one is used where no version is asked for
};
const char* kind_name(LanguageState::Kind kind);  // "ready", "pull", "absent"

// The table of languages, and what of it is there. Thread-safe.
class Languages {
 public:
  // NAME@DIGEST of an image that is there.
  using Stored = std::function<std::optional<std::string>(const std::string& image)>;
  Languages(LanguageTable table, Stored stored, HostOffers::Ask ask, std::string cache);

  const LanguageTable& table() const { return table_; }
  // `image`: the one that it has to be in, "host" or NAME@DIGEST; empty: any. NotFound as choose_language says.
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

// The first of them whose programs are in a sandbox. NotFound names them.
Result<CommandLine> pick_command(View& view, const LanguagePlan& plan, const std::string& path_variable);
// Whether programs are started by the name of a class.
bool names_class(const LanguagePlan& plan);
// That of the Java program in a file in a sandbox. Of a file that cannot be read its compiler will tell.
std::string main_class_of(View& view, const std::string& file);

}  // namespace cove
