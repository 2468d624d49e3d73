#include "api/rest/conditions.h"

#include "base/text.h"

namespace cove::api {
namespace {

// Weak tags are as good as strong ones here: both are compared by their text.
bool lists(std::string_view header, const std::optional<std::string>& tag) {
  if (!tag) return false;
  if (trim(header) == "*") return true;
  for (const std::string& each : split(header, ',')) {
    std::string_view named = trim(each);
    if (named.starts_with("W/")) named.remove_prefix(2);
    if (named == *tag) return true;
  }
  return false;
}

std::unexpected<Problem> not_as_wanted(const std::optional<std::string>& tag, std::string_view header) {
  return refuse(Problem(412, "precondition",
                        concat("nothing was done: ", tag ? concat("the ETag is ", *tag) : "there is nothing there",
                               ", which ", header, " rules out"))
                    .advise("read it again and decide anew"));
}

}  // namespace

Outcome check_unchanged(const http::Request& request, const std::optional<std::string>& tag) {
  auto match = request.header("if-match");
  if (match && !lists(*match, tag)) return not_as_wanted(tag, "If-Match");
  auto none_match = request.header("if-none-match");
  if (none_match && lists(*none_match, tag)) return not_as_wanted(tag, "If-None-Match");
  return {};
}

Checked<bool> is_known(const http::Request& request, const std::string& tag) {
  auto match = request.header("if-match");
  if (match && !lists(*match, tag)) return not_as_wanted(tag, "If-Match");
  auto none_match = request.header("if-none-match");
  return none_match && lists(*none_match, tag);
}

bool is_conditional(const http::Request& request) {
  return request.header("if-match") || request.header("if-none-match");
}

}  // namespace cove::api
