#include "api/rest/paging.h"

#include <algorithm>

#include "api/rest/query.h"
#include "api/rest/response_json.h"
#include "base/encoding.h"
#include "base/text.h"

namespace cove::api {
namespace {

// Cursors need no escapes in a URL.
constexpr std::string_view kBase64 = "+/=";
constexpr std::string_view kInUrls = "-_.";

std::string translated(std::string text, std::string_view from, std::string_view to) {
  for (char& c : text)
    if (size_t at = from.find(c); at != std::string_view::npos) c = to[at];
  return text;
}

size_t begin_of(const std::vector<PageItem>& all, const PagePlace& after) {
  if (after.index == 0) return 0;
  const auto found = std::ranges::find(all, after.key, &PageItem::key);
  if (found != all.end()) return static_cast<size_t>(found - all.begin()) + 1;
  return std::min(after.index - 1, all.size());
}

}  // namespace

std::string to_page_cursor(const PagePlace& place) {
  return translated(to_base64(concat(place.index, ".", place.key)), kBase64, kInUrls);
}

Result<PagePlace> parse_page_cursor(const std::string& text) {
  if (text.empty()) return PagePlace{};
  const std::string plain = from_base64(translated(text, kInUrls, kBase64)).value_or("");
  const size_t dot = plain.find('.');
  Result<int64_t> index = parse_integer(plain.substr(0, dot), 1, INT32_MAX);
  if (dot == std::string::npos || !index)
    return fail(Error(Code::Invalid, concat("'after': '", text, "' is not a cursor of this list"))
                    .hint("pass on 'next' of the answer before, as it is"));
  return PagePlace{static_cast<size_t>(*index), plain.substr(dot + 1)};
}

std::string page_of(const std::vector<PageItem>& all, const PagePlace& after, size_t limit) {
  const size_t begin = begin_of(all, after);
  const size_t end = begin + std::min(limit, all.size() - begin);
  std::vector<std::string> items;
  for (size_t i = begin; i < end; ++i) items.push_back(all[i].json);
  return page_json(items, end == all.size() ? "" : to_page_cursor({end, all[end - 1].key}));
}

Outcome respond_page(Call& call, const std::vector<PageItem>& all) {
  PagePlace after = COVE_TRY(parse_page_cursor(text_parameter(call.request(), "after")));
  return call.respond(200, page_of(all, after, COVE_TRY(limit_parameter(call.request()))));
}

}  // namespace cove::api
