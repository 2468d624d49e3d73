#include "cli/code_body.h"

#include <unistd.h>

#include "base/encoding.h"
#include "base/text.h"
#include "cli/table.h"
#include "sys/file.h"

namespace cove::cli {

Result<std::string> parse_language_name(const std::string& text) {
  if (!text.empty()) return text;
  return fail(Error(Code::Invalid, "the language is empty").hint("cove languages lists them"));
}

Result<std::string> read_text(int fd, const std::string& what) {
  Result<std::string> text = sys::read_all(fd, kMostInput + 1);
  if (!text) return fail(Error::from_errno(text.error().errnum(), concat("read ", what)));
  if (text->size() > kMostInput)
    return fail(Error(Code::Invalid, concat(what, " is larger than ", format_bytes(kMostInput)))
                    .hint("cove run takes input of any length"));
  return text;
}

Result<void> check_arguments(const std::vector<std::string>& words) {
  for (const std::string& word : words)
    if (!is_utf8(word))
      return fail(Error(Code::Invalid, concat("the argument '", printable(word), "' is not UTF-8"))
                      .hint("pass it on standard input"));
  return {};
}

Result<void> add_code(Json& body, const std::string& language, const std::vector<std::string>& words) {
  const bool from_input = words[0] == "-";
  const std::string what = from_input ? "the code" : words[0];
  UniqueFd file = from_input ? UniqueFd() : COVE_TRY_NOTE("--lang", sys::open(words[0], O_RDONLY));
  std::string code = COVE_TRY(read_text(from_input ? STDIN_FILENO : file.get(), what));
  if (!is_utf8(code)) return fail(Code::Invalid, concat(what, " is not UTF-8"));
  const std::vector<std::string> arguments(words.begin() + 1, words.end());
  COVE_TRY(check_arguments(arguments));
  body["language"] = language;
  body["code"] = std::move(code);
  if (!arguments.empty()) body["args"] = arguments;
  return {};
}

}  // namespace cove::cli
