#include "model/language.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace cove {
namespace {

std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  return small;
}

uint64_t number_at(std::string_view text, size_t& at) {
  uint64_t number = 0;
  for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])); ++at)
    number = number * 10 + static_cast<uint64_t>(text[at] - '0');
  while (at < text.size() && !std::isdigit(static_cast<unsigned char>(text[at]))) ++at;
  return number;
}

std::string named(const Language& language, const std::string& version) {
  return version.empty() ? language.name : concat(language.name, " ", version);
}

std::string place_of(const LanguageOffer& offer) {
  return offer.image == "host" ? std::string("in the host image") : concat("in the image ", offer.image);
}

// "3.11.2 in the host image; 3.10 after cove pull python:3.10-slim".
std::string to_be_had(const std::vector<LanguageOffer>& offers, const std::vector<LanguageAbsence>& absent) {
  std::vector<std::string> words;
  for (const LanguageOffer& offer : offers)
    words.push_back(concat(offer.version.empty() ? "one" : offer.version, " ", place_of(offer)));
  for (const LanguageAbsence& each : absent) words.push_back(concat(each.version, " after cove pull ", each.image));
  return join(words, "; ");
}

std::unexpected<Error> not_there(const Language& language, const std::string& version,
                                 const std::vector<LanguageOffer>& offers, const std::vector<LanguageAbsence>& absent,
                                 const std::string& where) {
  Error error(Code::NotFound, where.empty() ? concat(named(language, version), " is not to be had here")
                                            : concat("the image ", where, " has no ", named(language, version)));
  return fail(std::move(error).hint(hint_of(language, offers, absent)));
}

// The newest that fits; one of the table goes before one of the host's that fits as well.
const LanguageOffer* newest(const std::vector<LanguageOffer>& offers, const std::string& version) {
  const LanguageOffer* best = nullptr;
  for (const LanguageOffer& offer : offers) {
    if (!version.empty() && !is_version(version, offer.version)) continue;
    const bool same =
        best != nullptr && (is_version(best->version, offer.version) || is_version(offer.version, best->version));
    if (best == nullptr || (!same && is_older(best->version, offer.version))) best = &offer;
  }
  return best;
}

const LanguageOffer* first_of_host(const std::vector<LanguageOffer>& offers) {
  auto found = std::ranges::find(offers, "host", &LanguageOffer::image);
  return found == offers.end() ? nullptr : &*found;
}

std::string note_of(const Language& language, const LanguageOffer& offer) {
  std::string ran = offer.version.empty() ? std::string("another version") : offer.version;
  return concat(language.name, " ", language.default_version, ", the usual one, is not here: it runs with ", ran, " ",
                place_of(offer));
}

}  // namespace

Result<const Language*> find_language(const LanguageTable& table, std::string_view name_or_alias) {
  std::string name = lower(name_or_alias);
  std::vector<std::string> names, spellings;
  for (const Language& language : table) {
    if (language.name == name || std::ranges::find(language.aliases, name) != language.aliases.end()) return &language;
    names.push_back(language.name);
    spellings.push_back(language.name);
    spellings.insert(spellings.end(), language.aliases.begin(), language.aliases.end());
  }
  std::string near = closest(name, spellings);
  return fail(
      Error(Code::Invalid, concat("unknown language '", name_or_alias, "'"))
          .hint(near.empty() ? concat("the languages are: ", join(names, ", ")) : concat("did you mean ", near, "?")));
}

std::string to_text(const LanguageWish& wish) {
  return wish.version.empty() ? wish.name : concat(wish.name, "@", wish.version);
}

Result<LanguageWish> parse_language(const LanguageTable& table, std::string_view text) {
  size_t at = text.find('@');
  const Language* language = COVE_TRY(find_language(table, text.substr(0, at)));
  if (at == std::string_view::npos) return LanguageWish{language->name, ""};
  std::string_view version = text.substr(at + 1);
  if (version.empty() || version.size() > 64 || version.find_first_of(" \t\n/@") != std::string_view::npos)
    return fail(Error(Code::Invalid, concat("'", text, "' names no version"))
                    .hint(concat("write ", language->name, ", or ", language->name, "@VERSION")));
  return LanguageWish{language->name, std::string(version)};
}

std::string hint_of(const Language& language, const std::vector<LanguageOffer>& offers,
                    const std::vector<LanguageAbsence>& absent) {
  std::string others = to_be_had(offers, absent);
  if (!others.empty()) return concat("there is ", others);
  const std::string& program = language.commands.empty() ? language.name : language.commands.front().program();
  return concat("install ", program, " on this machine, or name an image for it in the configuration: languages.",
                language.name, ".versions");
}

bool is_version(std::string_view wanted, std::string_view version) {
  return version.starts_with(wanted) && (version.size() == wanted.size() || version[wanted.size()] == '.');
}

bool is_older(std::string_view a, std::string_view b) {
  size_t at_a = 0, at_b = 0;
  while (at_a < a.size() || at_b < b.size()) {
    uint64_t of_a = number_at(a, at_a), of_b = number_at(b, at_b);
    if (of_a != of_b) return of_a < of_b;
  }
  return false;
}

Result<LanguageChoice> choose_language(const Language& language, const std::string& version,
                                       const std::vector<LanguageOffer>& offers,
                                       const std::vector<LanguageAbsence>& absent, const std::string& where) {
  std::string note;
  const LanguageOffer* chosen = nullptr;
  if (!version.empty() || !language.default_version.empty())
    chosen = newest(offers, version.empty() ? language.default_version : version);
  if (chosen == nullptr && version.empty()) {
    chosen = first_of_host(offers);
    if (chosen == nullptr) chosen = newest(offers, "");
    if (chosen != nullptr && !language.default_version.empty()) note = note_of(language, *chosen);
  }
  if (chosen == nullptr) return not_there(language, version, offers, absent, where);
  return LanguageChoice{{language.name, chosen->version, chosen->image, std::move(note)}, chosen->command};
}

CommandLine with_version(CommandLine command, std::string_view version) {
  for (auto* words : {&command.compile, &command.run})
    for (std::string& word : *words)
      if (size_t at = word.find(kVersionMark); at != std::string::npos) word.replace(at, kVersionMark.size(), version);
  return command;
}

std::vector<std::string> filled(const std::vector<std::string>& words, const CodePlaces& places) {
  std::string name = places.file.substr(places.file.rfind('/') + 1);
  const std::pair<std::string_view, std::string> values[] = {{"{file}", places.file},
                                                             {"{out}", places.out},
                                                             {"{dir}", places.folder},
                                                             {"{class}", places.class_name},
                                                             {"{stem}", name.substr(0, name.rfind('.'))}};
  std::vector<std::string> done = words;
  for (std::string& word : done)
    for (const auto& [mark, value] : values)
      for (size_t at = 0; (at = word.find(mark, at)) != std::string::npos; at += value.size())
        word.replace(at, mark.size(), value);
  return done;
}

}  // namespace cove
