// The main class of a Java program, as its own launcher finds it in a source file: the first of the top level, unless
// another is public.
#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "model/language.h"

namespace cove {
namespace {

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

// What is neither comment nor text of the program, one word or sign at a time.
class Tokens {
 public:
  explicit Tokens(std::string_view code) : rest_(code) {}

  // Empty at the end.
  std::string_view next() {
    while (!rest_.empty()) {
      if (std::isspace(static_cast<unsigned char>(rest_[0])))
        rest_.remove_prefix(1);
      else if (rest_.starts_with("//"))
        skip_behind("\n");
      else if (rest_.starts_with("/*"))
        skip_behind("*/");
      else if (rest_.starts_with("\"\"\""))
        rest_.remove_prefix(3), skip_behind("\"\"\"");
      else if (rest_[0] == '"' || rest_[0] == '\'')
        skip_text(rest_[0]);
      else
        return take();
    }
    return {};
  }

 private:
  std::string_view take() {
    size_t size = 1;
    if (in_word(rest_[0]))
      while (size < rest_.size() && (in_word(rest_[size]) || rest_[size] == '.')) ++size;
    std::string_view token = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return token;
  }
  void skip_behind(std::string_view mark) {
    size_t at = rest_.find(mark);
    rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at + mark.size());
  }
  void skip_text(char quote) {
    size_t at = 1;
    while (at < rest_.size() && rest_[at] != quote && rest_[at] != '\n') at += rest_[at] == '\\' ? 2 : 1;
    rest_.remove_prefix(std::min(rest_.size(), at + 1));
  }

  std::string_view rest_;
};

}  // namespace

std::string java_class(std::string_view code) {
  constexpr std::array<std::string_view, 4> kKinds = {"class", "interface", "enum", "record"};
  Tokens tokens(code);
  std::string package, first;
  bool is_public = false;
  int depth = 0;
  for (std::string_view token = tokens.next(); !token.empty(); token = tokens.next()) {
    if (token == "{") ++depth;
    if (token == "}") --depth, is_public = false;
    if (depth != 0) continue;
    if (token == ";") is_public = false;
    if (token == "public") is_public = true;
    if (token == "package") package = concat(tokens.next(), ".");
    if (std::ranges::find(kKinds, token) == kKinds.end()) continue;
    std::string name(tokens.next());
    if (is_public) return package + name;
    if (first.empty()) first = name;
  }
  return package + (first.empty() ? "Main" : first);
}

}  // namespace cove
