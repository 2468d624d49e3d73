#include "host/harmless_words.h"

#include <algorithm>

#include "base/encoding.h"
#include "base/text.h"

namespace cove::harmless {
namespace {

constexpr size_t kMostText = 4096;
constexpr size_t kMostWords = 256;
constexpr size_t kMostWord = 4096;
constexpr size_t kMostBytes = 32768;
// Besides letters and digits: characters without a special meaning in any shell, at any position in a word.
constexpr std::string_view kPlain = "_-./,:+@%";
// Characters with a special meaning in some shell inside double quotes or for history.
constexpr std::string_view kActiveInQuotes = "$`\\!";

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }
bool is_plain(char c) { return is_letter_or_digit(c) || kPlain.find(c) != kPlain.npos; }
bool is_printable(char c) { return c >= ' ' && c <= '~'; }
bool is_control(char c) { return (c >= 0 && c < ' ') || c == 0x7f; }

std::unexpected<Error> not_plain(char c) {
  if (is_control(c)) return fail(Code::Invalid, "the text has a control character");
  if (!is_printable(c)) return fail(Code::Invalid, "the text has a character outside of ASCII");
  return fail(Code::Invalid, concat("'", c, "' is a shell metacharacter"));
}

class Text {
 public:
  explicit Text(std::string_view text) : rest_(text) {}

  void skip_blanks() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
  }
  bool at_end() const { return rest_.empty(); }

  Result<std::string> word() {
    bool quoted = rest_[0] == '\'' || rest_[0] == '"';
    std::string word = COVE_TRY(quoted ? quoted_word() : plain_word());
    if (!rest_.empty() && rest_[0] != ' ') return fail(Code::Invalid, "quotes are only supported around a whole word");
    return word;
  }

 private:
  Result<std::string> plain_word() {
    size_t size = 0;
    while (size < rest_.size() && is_plain(rest_[size])) ++size;
    if (size < rest_.size() && rest_[size] != ' ' && rest_[size] != '\'' && rest_[size] != '"')
      return not_plain(rest_[size]);
    return take(size);
  }

  Result<std::string> quoted_word() {
    char quote = rest_[0];
    rest_.remove_prefix(1);
    size_t size = 0;
    for (; size < rest_.size() && rest_[size] != quote; ++size)
      if (!is_printable(rest_[size]) || kActiveInQuotes.find(rest_[size]) != kActiveInQuotes.npos)
        return not_plain(rest_[size]);
    if (size == rest_.size()) return fail(Code::Invalid, "a quote is not closed");
    std::string word = take(size);
    rest_.remove_prefix(1);
    return word;
  }

  std::string take(size_t size) {
    std::string taken(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
};

}  // namespace

Result<std::vector<std::string>> split_plain_words(std::string_view text) {
  if (text.size() > kMostText) return fail(Code::Invalid, concat("the text is longer than ", kMostText, " bytes"));
  Text rest(text);
  std::vector<std::string> words;
  for (rest.skip_blanks(); !rest.at_end(); rest.skip_blanks()) words.push_back(COVE_TRY(rest.word()));
  return words;
}

Result<void> check_words(const std::vector<std::string>& words) {
  if (words.size() > kMostWords) return fail(Code::Invalid, concat("there are more than ", kMostWords, " words"));
  size_t bytes = 0;
  for (const std::string& word : words) {
    bytes += word.size();
    if (word.size() > kMostWord || bytes > kMostBytes) return fail(Code::Invalid, "the command is too long");
    if (std::ranges::any_of(word, is_control)) return fail(Code::Invalid, "a word has a control character");
    if (!is_utf8(word)) return fail(Code::Invalid, "a word is not UTF-8");
  }
  return {};
}

}  // namespace cove::harmless
