#include "cli/options.h"

#include <algorithm>

namespace cove::cli {
namespace {

constexpr size_t kHelpColumn = 30;

// Parses the words in order.
class OptionReader {
 public:
  OptionReader(const std::vector<OptionInfo>& table, const std::vector<std::string>& args, Operands operands)
      : table_(table), args_(args), operands_(operands) {}

  Result<ParsedOptions> read() {
    while (at_ < args_.size()) {
      const std::string& word = args_[at_];
      bool operand = word.size() < 2 || word[0] != '-';  // "-" alone is a word: standard input
      if (operand && operands_ == Operands::EndOptions) break;
      ++at_;
      if (operand) {
        parsed_.rest.push_back(word);
        continue;
      }
      if (word == "--") break;
      if (word[1] == '-')
        COVE_TRY(read_long(word));
      else
        COVE_TRY(read_letters(word));
    }
    parsed_.rest.insert(parsed_.rest.end(), args_.begin() + static_cast<ptrdiff_t>(at_), args_.end());
    return std::move(parsed_);
  }

 private:
  Result<void> read_long(const std::string& word) {
    size_t equals = word.find('=');
    std::string spelling = word.substr(0, equals);
    auto option = std::find_if(table_.begin(), table_.end(), [&](const OptionInfo& info) {
      return info.name == std::string_view(spelling).substr(2);
    });
    if (option == table_.end()) return unknown(spelling);
    if (equals == std::string::npos) return take(*option, spelling);
    if (option->argument.empty()) return fail(Code::Invalid, concat("option ", spelling, " takes no value"));
    add(*option, spelling, word.substr(equals + 1));
    return {};
  }

  // -it is -i -t; -eA=1 is -e A=1: the rest of the word is the value of the first letter that wants one.
  Result<void> read_letters(const std::string& word) {
    for (size_t letter = 1; letter < word.size(); ++letter) {
      std::string spelling = concat('-', word[letter]);
      auto option = std::find_if(table_.begin(), table_.end(),
                                 [&](const OptionInfo& info) { return info.letter == word[letter]; });
      if (option == table_.end()) return unknown(word.size() == 2 ? spelling : concat(spelling, " (in ", word, ")"));
      bool value_follows = !option->argument.empty() && letter + 1 < word.size();
      if (!value_follows) {
        COVE_TRY(take(*option, spelling));
        continue;
      }
      add(*option, spelling, word.substr(letter + (word[letter + 1] == '=' ? 2 : 1)));
      return {};
    }
    return {};
  }

  // If the option takes a value and the word has none, the next word is the value.
  Result<void> take(const OptionInfo& option, const std::string& spelling) {
    if (option.argument.empty()) {
      add(option, spelling, "");
      return {};
    }
    if (at_ == args_.size())
      return fail(Error(Code::Invalid, concat("option ", spelling, " needs a value"))
                      .hint(concat("write it as ", spelling, " ", option.argument)));
    add(option, spelling, args_[at_++]);
    return {};
  }

  void add(const OptionInfo& option, const std::string& spelling, std::string value) {
    parsed_.given.push_back({static_cast<size_t>(&option - table_.data()), spelling, std::move(value)});
  }

  std::unexpected<Error> unknown(const std::string& spelling) const {
    std::vector<std::string> names;
    for (const OptionInfo& option : table_) names.emplace_back(option.name);
    std::string near = spelling.starts_with("--") ? closest(spelling.substr(2), names) : "";
    Error error(Code::Invalid, concat("unknown option ", spelling));
    if (!near.empty()) return fail(std::move(error).hint(concat("did you mean --", near, "?")));
    return fail(std::move(error));
  }

  const std::vector<OptionInfo>& table_;
  const std::vector<std::string>& args_;
  Operands operands_;
  size_t at_ = 0;
  ParsedOptions parsed_;
};

std::string help_line(const OptionInfo& option) {
  std::string line = option.letter == '\0' ? "      " : concat("  -", option.letter, ", ");
  line += concat("--", option.name);
  if (!option.argument.empty()) line += concat(" ", option.argument);
  bool fits = line.size() + 2 <= kHelpColumn;
  line += fits ? std::string(kHelpColumn - line.size(), ' ') : "\n" + std::string(kHelpColumn, ' ');
  for (char c : option.help) line += c == '\n' ? "\n" + std::string(kHelpColumn, ' ') : std::string(1, c);
  return line + "\n";
}

}  // namespace

Result<ParsedOptions> parse_options(const std::vector<OptionInfo>& table, const std::vector<std::string>& args,
                                    Operands operands) {
  return OptionReader(table, args, operands).read();
}

std::string options_help(const std::vector<OptionInfo>& table) {
  std::string text;
  std::string_view group;
  for (const OptionInfo& option : table) {
    if (option.group != group) text += concat("\n", option.group, ":\n");
    group = option.group;
    text += help_line(option);
  }
  return text;
}

}  // namespace cove::cli
