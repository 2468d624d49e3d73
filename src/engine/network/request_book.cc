#include "engine/network/request_book.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace cove::engine {
namespace {

constexpr const char* kPending = "pending";
constexpr const char* kApproved = "approved";

Json json_of(const NetworkRequest& request) {
  return json_object({{"id", request.id},
                      {"sandbox_id", request.sandbox_id},
                      {"session", request.session},
                      {"project", request.project},
                      {"host", request.host},
                      {"port", request.port},
                      {"rule", request.rule},
                      {"layer", request.layer},
                      {"reason", request.reason},
                      {"state", request.state},
                      {"approved", request.approved},
                      {"decided_by", request.decided_by},
                      {"note", request.note},
                      {"count", request.count},
                      {"created_ms", request.created_ms},
                      {"decided_ms", request.decided_ms}});
}

// How to change a decision.
std::string way_back(const NetworkRequest& request) {
  if (request.state != kApproved) return concat("to allow it: cove net allow ", request.sandbox_id, " ", request.rule);
  if (request.approved == approval_name(Approval::Session))
    return concat("to take it back: cove net allow --rm ", request.sandbox_id, " ", request.rule);
  if (request.approved == approval_name(Approval::Always))
    return concat("to take it back: DELETE /v1/projects/", request.project,
                  "/network/rules?subject=…&rule=", request.rule);
  return "what is denied from now on is a new request";
}

}  // namespace

const char* approval_name(Approval approval) {
  constexpr const char* kNames[] = {"once", "session", "always"};
  return kNames[static_cast<size_t>(approval)];
}

std::optional<Approval> parse_approval(std::string_view name) {
  for (Approval approval : {Approval::Once, Approval::Session, Approval::Always})
    if (name == approval_name(approval)) return approval;
  return std::nullopt;
}

RequestBook::Noted RequestBook::note(NetworkRequest request) {
  auto same = std::ranges::find_if(requests_, [&](const NetworkRequest& each) {
    return each.state != kApproved && each.host == request.host && each.port == request.port &&
           each.rule == request.rule;
  });
  if (same != requests_.end()) {
    same->count += request.count;
    return {&*same, false, ""};
  }
  Noted noted;
  if (requests_.size() >= Networks::kMostRequests) {
    auto decided = std::ranges::find_if(requests_, [](const NetworkRequest& each) { return each.state != kPending; });
    if (decided == requests_.end()) return {};
    noted.gone = decided->id;
    requests_.erase(decided);
  }
  requests_.push_back(std::move(request));
  noted.request = &requests_.back();
  noted.is_new = true;
  return noted;
}

Result<NetworkRequest*> RequestBook::find(const Networks::RequestName& name) {
  auto found = std::ranges::find_if(requests_, [&](const NetworkRequest& each) {
    return name.id.empty() ? each.rule == name.rule && each.state == kPending : each.id == name.id;
  });
  if (found == requests_.end())
    return fail(Code::NotFound, concat("there is no network request '", name.id.empty() ? name.rule : name.id, "'"));
  if (name.rule.empty() || name.rule == found->rule) return &*found;
  return fail(Error(Code::Conflict,
                    concat("the network request '", found->id, "' is for ", found->rule, ", and not for ", name.rule))
                  .hint("approve exactly what it asks for")
                  .at("/rule"));
}

Result<void> check_pending(const NetworkRequest& request) {
  if (request.state == kPending) return {};
  return fail(Error(Code::Conflict, concat("the network request '", request.id, "' was already ", request.state, " by ",
                                           request.decided_by))
                  .hint(way_back(request)));
}

std::string to_json(const NetworkRequest& request) { return json_of(request).dump(); }

NetworkRequestRecord record_of(const NetworkRequest& request) {
  return {request.id, request.sandbox_id, request.created_ms, to_json(request)};
}

Result<NetworkRequest> request_of(const NetworkRequestRecord& record) try {
  Json json = COVE_TRY(Json::parse(record.request));
  NetworkRequest request;
  request.id = record.id;
  request.sandbox_id = record.sandbox_id;
  request.created_ms = record.created_ms;
  request.session = json.value("session", "");
  request.project = json.value("project", "");
  request.host = json.value("host", "");
  request.port = json.value("port", uint16_t{0});
  request.rule = json.value("rule", "");
  request.layer = json.value("layer", "");
  request.reason = json.value("reason", "");
  request.state = json.value("state", kPending);
  request.approved = json.value("approved", "");
  request.decided_by = json.value("decided_by", "");
  request.note = json.value("note", "");
  request.count = json.value("count", uint64_t{1});
  request.decided_ms = json.value("decided_ms", int64_t{0});
  return request;
} catch (const Json::exception& why) {
  return fail(Code::Internal,
              concat("the record of network request ", record.id, " cannot be read: ", std::string_view(why.what())));
}

}  // namespace cove::engine
