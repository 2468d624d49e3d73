#pragma once

#include <string>
#include <vector>

#include "api/rest/call.h"

// Lists that are in memory whole, a page at a time: {"items": […], "next": …}, by the parameters `limit` and `after`.
namespace cove::api {

// `key` tells an item from the others of its list, whatever is added or removed meanwhile.
struct PageItem {
  std::string key;
  std::string json;
};

// Where a page begins: behind the item with that key or, where it is gone, at its place.
struct PagePlace {
  size_t index = 0;
  std::string key;
};
std::string to_page_cursor(const PagePlace& place);
Result<PagePlace> parse_page_cursor(const std::string& text);

std::string page_of(const std::vector<PageItem>& all, const PagePlace& after, size_t limit);
Outcome respond_page(Call& call, const std::vector<PageItem>& all);

}  // namespace cove::api
