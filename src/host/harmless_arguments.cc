#include "host/harmless_arguments.h"

#include <algorithm>

#include "base/text.h"

namespace cove::harmless {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// 5, +5, -5, 5k, 2GiB.
bool is_number(std::string_view word) {
  if (word.starts_with('+') || word.starts_with('-')) word.remove_prefix(1);
  size_t digits = static_cast<size_t>(std::ranges::find_if_not(word, is_digit) - word.begin());
  std::string_view unit = word.substr(digits);
  return digits > 0 && digits <= 18 && unit.size() <= 3 && std::ranges::all_of(unit, is_letter);
}

bool looks_like_option(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

std::unexpected<Error> not_allowed(const Rule& rule, std::string_view option) {
  return fail(Code::Invalid, concat("'", option, "' of ", rule.name, " is not on the list"));
}

// Parses the words like the program.
class Arguments {
 public:
  Arguments(const Rule& rule, const std::vector<std::string>& words) : rule_(rule), words_(words) {}

  Result<std::vector<PathOperand>> read() {
    if (rule_.operands == Operands::Echo) return read_echo();
    if (rule_.operands == Operands::FindExpression) return read_find();
    COVE_TRY(read_words());
    if (operands_.size() < rule_.least) return fail(Code::Invalid, concat(rule_.name, " needs an operand"));
    if (operands_.size() > rule_.most || (rule_.operands == Operands::None && !operands_.empty()))
      return fail(Code::Invalid, concat(rule_.name, " has too many operands"));
    COVE_TRY(sort_operands());
    return paths_;
  }

 private:
  Result<void> read_words() {
    bool ended = false;
    while (next_ < words_.size()) {
      const std::string& word = words_[next_++];
      if (ended || !looks_like_option(word)) {
        operands_.push_back(word);
      } else if (word == "--") {
        ended = true;
      } else {
        COVE_TRY(word.starts_with("--") ? take_long(word) : take_short(word));
      }
    }
    return {};
  }

  Result<void> take_long(const std::string& word) {
    size_t equals = std::min(word.find('='), word.size());
    std::string_view name = std::string_view(word).substr(2, equals - 2);
    // One character would be looked up as a short option.
    if (name.size() < 2) return not_allowed(rule_, word);
    note_pattern(name);
    if (equals < word.size()) return check_value(word, name, std::string_view(word).substr(equals + 1));
    if (lists(rule_.flags, name)) return {};
    return take_next_value(word, name);
  }

  Result<void> take_short(const std::string& word) {
    std::string_view letters = std::string_view(word).substr(1);
    if (rule_.minus_number && std::ranges::all_of(letters, is_digit)) return {};
    while (!letters.empty()) {
      std::string_view letter = letters.substr(0, 1);
      letters.remove_prefix(1);
      note_pattern(letter);
      if (lists(rule_.flags, letter)) continue;
      return letters.empty() ? take_next_value(word, letter) : check_value(word, letter, letters);
    }
    return {};
  }

  Result<void> take_next_value(const std::string& option, std::string_view name) {
    if (!has_value(name)) return not_allowed(rule_, option);
    if (next_ == words_.size()) return fail(Code::Invalid, concat("'", option, "' needs a value"));
    const std::string& value = words_[next_++];
    // Even if the program parses it differently, it must not find an option there.
    if (looks_like_option(value) && !is_number(value))
      return fail(Code::Invalid, concat("the value of '", option, "' looks like an option"));
    return check_value(option, name, value);
  }

  bool has_value(std::string_view name) const { return lists(rule_.numbers, name) || lists(rule_.texts, name); }

  Result<void> check_value(const std::string& option, std::string_view name, std::string_view value) const {
    if (!has_value(name)) return not_allowed(rule_, option);
    if (lists(rule_.numbers, name) && !is_number(value))
      return fail(Code::Invalid, concat("'", value, "' after '", option, "' is not a number"));
    return {};
  }

  void note_pattern(std::string_view name) { has_pattern_ = has_pattern_ || lists(rule_.patterns, name); }

  Result<void> sort_operands() {
    size_t first = 0;
    if (rule_.operands == Operands::PatternThenTrees && !has_pattern_) {
      if (operands_.empty()) return fail(Code::Invalid, concat(rule_.name, " needs a pattern"));
      first = 1;
    }
    for (size_t i = first; i < operands_.size(); ++i) COVE_TRY(take_operand(operands_[i]));
    return {};
  }

  Result<void> take_operand(const std::string& word) {
    switch (rule_.operands) {
      case Operands::Texts:
        return {};
      case Operands::TimeFormat:
        if (!word.starts_with('+')) return fail(Code::Invalid, concat("'", word, "' would set the clock"));
        return {};
      case Operands::Files:
        if (word == "-") return {};  // the input, which is empty
        return take_path(word, PathKind::File);
      case Operands::Entries:
        return take_path(word, PathKind::Entry);
      default:
        return take_path(word, PathKind::Tree);
    }
  }

  // '-' is the input for some programs and a file for others; '+5' was an option once.
  Result<void> take_path(const std::string& word, PathKind kind) {
    if (word == "-" || word.starts_with('+')) return fail(Code::Invalid, concat("'", word, "' may not be a file"));
    paths_.push_back({word, kind});
    return {};
  }

  // Words that look like options are options, up to the first other word; -n is the only one that all shells support.
  Result<std::vector<PathOperand>> read_echo() {
    for (const std::string& word : words_) {
      if (!looks_like_option(word)) break;
      if (word != "-n") return not_allowed(rule_, word);
    }
    return paths_;
  }

  Result<std::vector<PathOperand>> read_find() {
    while (next_ < words_.size() && !begins_expression(words_[next_]))
      COVE_TRY(take_path(words_[next_++], PathKind::Tree));
    while (next_ < words_.size()) {
      const std::string& word = words_[next_++];
      if (word == "(" || word == ")" || word == "!") continue;
      if (!looks_like_option(word)) return fail(Code::Invalid, concat("find does not expect '", word, "' there"));
      std::string_view name = std::string_view(word).substr(1);
      if (!lists(rule_.flags, name)) COVE_TRY(take_next_value(word, name));
    }
    return paths_;
  }

  static bool begins_expression(std::string_view word) {
    return word.starts_with('-') || word.starts_with('(') || word.starts_with(')') || word.starts_with('!') ||
           word.starts_with(',');
  }

  const Rule& rule_;
  const std::vector<std::string>& words_;
  size_t next_ = 0;
  std::vector<std::string> operands_;
  std::vector<PathOperand> paths_;
  bool has_pattern_ = false;
};

}  // namespace

Result<std::vector<PathOperand>> read_arguments(const Rule& rule, const std::vector<std::string>& arguments) {
  return Arguments(rule, arguments).read();
}

}  // namespace cove::harmless
