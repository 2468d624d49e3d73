#include "run/languages.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/text.h"
#include "image/catalogue.h"
#include "sys/file.h"

namespace cove {
namespace {

constexpr const char* kHost = "host";

std::string short_name(const std::string& image) { return image.substr(0, image.find('@')); }

bool is_file(View& view, const std::string& path) {
  Result<FileEntry> entry = view.stat(path, Links::Follow);
  return entry && S_ISREG(static_cast<mode_t>(entry->mode)) && (entry->mode & 0111) != 0;
}

bool has_program(View& view, const std::string& program, const std::vector<std::string>& folders) {
  if (program.find('/') != std::string::npos || program.starts_with('{')) return true;
  return std::ranges::any_of(folders,
                             [&](const std::string& folder) { return is_file(view, concat(folder, "/", program)); });
}

}  // namespace

const char* kind_name(LanguageState::Kind kind) {
  switch (kind) {
    case LanguageState::Kind::Ready:
      return "ready";
    case LanguageState::Kind::ToPull:
      return "pull";
    case LanguageState::Kind::Absent:
      return "absent";
  }
  return "absent";
}

Languages::Languages(LanguageTable table, Stored stored, HostOffers::Ask ask, std::string cache)
    : table_(std::move(table)), stored_(std::move(stored)), host_(std::move(ask), std::move(cache)) {}

std::vector<LanguageOffer> Languages::table_offers(const Language& language,
                                                   std::vector<LanguageAbsence>& absent) const {
  std::vector<LanguageOffer> offers;
  for (const LanguageVersion& version : language.versions) {
    if (is_host_image(version.image)) continue;
    if (stored_(version.image))
      offers.push_back({version.version, version.image, "", version.command});
    else
      absent.push_back({version.version, version.image});
  }
  return offers;
}

// Its programs have their usual names unless the table says otherwise.
Result<LanguagePlan> Languages::plan_for_unknown(const Language& language, const std::string& version,
                                                 const std::string& image) {
  LanguagePlan plan{{language.name, version, short_name(image), ""}, {}};
  for (const CommandLine& command : language.commands) {
    const bool versioned = command.program().find(kVersionMark) != std::string::npos;
    if (versioned != version.empty()) plan.commands.push_back(with_version(command, version));
  }
  // The version in the image is unknown, so commands that work with any version come first.
  std::ranges::stable_partition(plan.commands, [](const CommandLine& command) { return command.least.empty(); });
  if (!plan.commands.empty()) return plan;
  return fail(
      Error(Code::NotFound,
            concat("the version of ", language.name, " in the image ", short_name(image), " is unknown"))
          .hint(concat("omit the version, or set languages.", language.name, ".versions.\"", version, "\".image")));
}

Result<LanguagePlan> Languages::plan(const LanguageWish& wish, const std::string& image) {
  const Language& language = *COVE_TRY(find_language(table_, wish.name));
  if (is_host_image(image)) return plan_for_host(language, wish.version);
  std::vector<LanguageAbsence> absent;
  std::vector<LanguageOffer> offers = table_offers(language, absent);
  if (image.empty()) {
    // If the table has the version, this machine's programs need not be examined.
    const std::string& wanted = wish.version.empty() ? language.default_version : wish.version;
    Result<LanguageChoice> known = fail(Code::NotFound, "");
    if (!wanted.empty()) known = choose_language(language, wanted, offers, {}, "");
    if (known) return LanguagePlan{std::move(known->use), {std::move(known->command)}};
    for (LanguageOffer& offer : host_.of(language)) offers.push_back(std::move(offer));
  } else {
    std::erase_if(offers, [&](const LanguageOffer& offer) {
      return pinned_digest(stored_(offer.image).value_or("")) != pinned_digest(image);
    });
    if (offers.empty()) return plan_for_unknown(language, wish.version, image);
  }
  LanguageChoice choice = COVE_TRY(choose_language(language, wish.version, offers, absent, short_name(image)));
  return LanguagePlan{std::move(choice.use), {std::move(choice.command)}};
}

// Other images are examined only if the host image does not have it.
Result<LanguagePlan> Languages::plan_for_host(const Language& language, const std::string& version) {
  std::vector<LanguageOffer> offers = host_.of(language);
  Result<LanguageChoice> choice = choose_language(language, version, offers, {}, kHost);
  if (choice) return LanguagePlan{std::move(choice->use), {std::move(choice->command)}};
  std::vector<LanguageAbsence> absent;
  std::vector<LanguageOffer> others = table_offers(language, absent);
  others.insert(others.end(), offers.begin(), offers.end());
  return fail(std::move(choice).error().hint(hint_of(language, others, absent)));
}

std::vector<LanguageState> Languages::states_of(const Language& language, std::vector<LanguageOffer> host) const {
  std::vector<LanguageAbsence> absent;
  std::vector<LanguageOffer> offers = table_offers(language, absent);
  offers.insert(offers.end(), std::make_move_iterator(host.begin()), std::make_move_iterator(host.end()));
  std::vector<LanguageState> states;
  for (const LanguageOffer& offer : offers)
    states.push_back({offer.version, LanguageState::Kind::Ready, offer.image, offer.path, offer.command, false});
  if (auto usual = choose_language(language, "", offers, absent, ""))
    for (LanguageState& state : states)
      state.usual =
          state.version == usual->use.version && state.image == usual->use.image && state.command == usual->command;
  for (const LanguageAbsence& each : absent)
    for (const LanguageVersion& version : language.versions)
      if (version.version == each.version)
        states.push_back({each.version, LanguageState::Kind::ToPull, each.image, "", version.command, false});
  if (states.empty() && !language.commands.empty())
    states.push_back({"", LanguageState::Kind::Absent, kHost, "", language.commands.front(), false});
  return states;
}

std::vector<std::vector<LanguageState>> Languages::list() {
  std::vector<const Language*> all;
  for (const Language& language : table_) all.push_back(&language);
  std::vector<std::vector<LanguageOffer>> host = host_.of(all);
  std::vector<std::vector<LanguageState>> list;
  for (size_t i = 0; i < table_.size(); ++i) list.push_back(states_of(table_[i], std::move(host[i])));
  return list;
}

Result<CommandLine> pick_command(View& view, const LanguagePlan& plan, const std::string& path_variable) {
  if (plan.commands.size() == 1) return plan.commands.front();
  std::vector<std::string> folders = split(path_variable, ':'), names;
  for (const CommandLine& command : plan.commands) {
    if (has_program(view, command.program(), folders) && has_program(view, command.run.front(), folders))
      return command;
    names.push_back(command.program());
  }
  return fail(Error(Code::NotFound, concat("the image ", plan.use.image, " has no program that runs ", plan.use.name))
                  .hint(concat("expected one of: ", join(names, ", "))));
}

bool names_class(const LanguagePlan& plan) {
  return std::ranges::any_of(plan.commands, [](const CommandLine& command) {
    return std::ranges::any_of(command.run, [](const std::string& word) { return word.find("{class}") != word.npos; });
  });
}

std::string main_class_of(View& view, const std::string& file) {
  constexpr size_t kLongest = size_t{4} << 20;
  Result<UniqueFd> opened = view.open(file, O_RDONLY | O_NONBLOCK);
  if (!opened) return java_class("");
  Result<std::string> code = sys::read_all(opened->get(), kLongest);
  return java_class(code ? *code : "");
}

}  // namespace cove
