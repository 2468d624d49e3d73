#include "config/edit.h"

#include <algorithm>

#include "base/text.h"
#include "config/table.h"

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace cove {
namespace {

Result<const ConfigEntry*> find_setting(const std::string& name) {
  std::vector<std::string> names;
  for (const ConfigEntry& entry : config_table()) {
    if (entry.name == name) return &entry;
    names.push_back(entry.name);
  }
  std::string near = closest(name, names);
  return fail(Error(Code::NotFound, concat("unknown setting '", name, "'"))
                  .hint(near.empty() ? "cove config show lists all settings" : concat("did you mean ", near, "?")));
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string toml_value(const ConfigEntry& entry, const std::string& value) {
  if (!entry.list) {
    const bool bare = value == "true" || value == "false" || parse_integer(value, 0, INT64_MAX).has_value();
    return bare ? value : quoted(value);
  }
  std::vector<std::string> items;
  for (const std::string& item : split(value, ','))
    if (!trim(item).empty()) items.push_back(quoted(trim(item)));
  return concat("[", join(items, ", "), "]");
}

// The offset of a position in the text: lines and columns count from 1, columns in characters.
size_t offset_of(const std::string& text, const toml::source_position& position) {
  size_t at = 0;
  for (toml::source_index line = 1; line < position.line; ++line) at = text.find('\n', at) + 1;
  for (toml::source_index column = 1; column < position.column && at < text.size(); ++column) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
  }
  return at;
}

// Inserts after the header of the section, or at the top; adds the section at the end if it does not exist.
std::string inserted(const std::string& text, const ConfigEntry& entry, const std::string& line,
                     const toml::table* section) {
  if (entry.section().empty()) return line + text;
  if (section == nullptr)
    return concat(text, text.empty() || text.ends_with('\n') ? "" : "\n", "[", entry.section(), "]\n", line);
  size_t end = text.find('\n', offset_of(text, section->source().begin));
  if (end == std::string::npos) return concat(text, "\n", line);
  return concat(text.substr(0, end + 1), line, text.substr(end + 1));
}

}  // namespace

Result<std::string> with_setting(const std::string& text, const std::string& name, const std::string& value) {
  const ConfigEntry& entry = *COVE_TRY(find_setting(name));
  toml::parse_result parsed = toml::parse(text);
  if (!parsed)
    return fail(Code::Invalid, concat("line ", parsed.error().source().begin.line, ": ", parsed.error().description()));
  const std::string key = name.substr(name.rfind('.') + 1);
  const toml::table* section = entry.section().empty() ? &parsed.table() : parsed.table()[entry.section()].as_table();
  const toml::node* node = section == nullptr ? nullptr : section->get(key);
  if (node == nullptr) return inserted(text, entry, concat(key, " = ", toml_value(entry, value), "\n"), section);
  const size_t begin = offset_of(text, node->source().begin), end = offset_of(text, node->source().end);
  return concat(text.substr(0, begin), toml_value(entry, value), text.substr(end));
}

}  // namespace cove
