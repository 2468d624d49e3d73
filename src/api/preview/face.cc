#include "api/preview/face.h"

#include <cerrno>

#include "api/preview/admission.h"
#include "api/preview/cookies.h"
#include "api/preview/forwarding.h"
#include "api/preview/pages.h"
#include "api/rest/auth.h"
#include "base/text.h"

namespace cove::api {
namespace {

// One request for a preview.
class Visit {
 public:
  Visit(Api& api, http::Exchange& exchange, Passage passage)
      : api_(api),
        exchange_(exchange),
        passage_(std::move(passage)),
        shown_(shown_by(exchange.request(), origin())),
        reader_(shown_.navigates ? Reader::Browser : Reader::Program) {}

  void serve() {
    const std::string& method = exchange_.request().method;
    if (method == "CONNECT" || method == "TRACE")
      return tell({.status = 405, .title = concat("the method ", method, " is not allowed here")});
    if (!find()) return tell({.status = 404, .title = concat("there is no sandbox ", passage_.name.sandbox)});
    const int64_t link_end = end_of(shown_.parameter);
    if (!shown_.parameter.empty() && shown_.navigates && (link_end > 0 || has_cookie())) return send_on(link_end);
    if (!may_enter(link_end)) return tell_denied();
    exchange_.vouch();
    forward();
  }

 private:
  std::string origin() const { return concat(passage_.scheme, "://", passage_.authority); }

  bool find() {
    Result<SandboxRecord> record = api_.engine.store().find_sandbox("", passage_.name.sandbox);
    if (!record || record->id != passage_.name.sandbox) return false;
    caller_.actor = concat("preview:", record->id);
    caller_.project = record->project;
    caller_.scopes = Scopes({Scope::Run});
    caller_.only_sandbox = record->id;
    Result<engine::SandboxInfo> info = api_.engine.find(caller_, record->id);
    if (!info) return false;
    if (auto rule = info->ports.find(passage_.name.port); rule != info->ports.end()) rule_ = rule->second;
    return true;
  }

  int64_t end_of(const std::string& token) const {
    return token_end(api_.secret, token, passage_.name, rule_, now_ms());
  }

  bool has_cookie() const {
    return !shown_.foreign &&
           std::ranges::any_of(shown_.cookies, [&](const std::string& cookie) { return end_of(cookie) > 0; });
  }

  bool may_enter(int64_t link_end) {
    if (rule_.access == engine::PortAccess::Public || link_end > 0 || has_cookie()) return true;
    if (end_of(shown_.bearer) > 0) return true;
    if (rule_.access == engine::PortAccess::Token) return false;
    return has_key();
  }

  // A key of the sandbox's project, a token of the sandbox, or the server's own user at the Unix socket.
  bool has_key() {
    const bool own = shown_.bearer.starts_with(kKeyPrefix) || shown_.bearer.starts_with(kTokenPrefix);
    if (!own && !exchange_.request().peer.local) return false;
    Checked<Caller> caller = authenticate(api_, exchange_, own ? Admits::Tokens : Admits::Keys);
    return caller && caller->scopes.allow(Scope::Run) && (caller->local || caller->project == caller_.project) &&
           (caller->only_sandbox.empty() || caller->only_sandbox == passage_.name.sandbox);
  }

  // To the same page without the token, which would otherwise be in the history, in logs and in referrers.
  void send_on(int64_t token_ends) {
    http::Headers headers = {{"Location", concat(origin(), target_inside(exchange_.request()))},
                             {"Cache-Control", "no-store"},
                             {"Referrer-Policy", "no-referrer"}};
    if (token_ends > 0) headers.emplace_back("Set-Cookie", cookie_of(shown_.parameter, token_ends));
    static_cast<void>(exchange_.respond(303, headers, ""));
  }

  std::string cookie_of(const std::string& token, int64_t ends_ms) const {
    const bool secure = passage_.scheme == "https";
    return concat(secure ? kSecurePreviewCookie : kPreviewCookie, "=", token,
                  "; Path=/; HttpOnly; SameSite=Lax; Max-Age=", std::max<int64_t>(1, (ends_ms - now_ms()) / 1000),
                  secure ? "; Secure" : "");
  }

  void forward() {
    Result<engine::Engine::Connection> connection =
        api_.engine.connect(caller_, passage_.name.sandbox, passage_.name.port);
    if (!connection) return tell_unreachable(connection.error());
    Result<void> passed = Forwarding(exchange_, std::move(connection->socket), passage_).run();
    if (passed || exchange_.begun()) return;
    const Error& error = passed.error();
    tell({.status = error.code() == Code::Invalid ? 400 : 502,
          .title = error.code() == Code::Invalid ? error.message() : concat(place(), ": ", error.message())});
  }

  std::string place() const { return concat("port ", passage_.name.port, " of sandbox ", passage_.name.sandbox); }

  void tell_unreachable(const Error& error) {
    if (error.errnum() == ECONNREFUSED) return tell_no_listener();
    Notice notice{.status = 503, .title = error.message(), .hint = error.hint()};
    if (error.code() == Code::NotFound) notice.status = 404;
    if (error.code() == Code::Unsupported) notice.status = 501;
    if (error.errnum() == ETIMEDOUT) notice.status = 504;
    tell(notice);
  }

  void tell_no_listener() {
    Notice notice{.status = 502, .title = concat("nothing listens at ", place()), .passing = true};
    notice.hint = concat("start a server in the sandbox that listens at port ", passage_.name.port,
                         ", on 127.0.0.1 or on all addresses");
    // Who may see one port of a public sandbox need not know of the others.
    if (rule_.access != engine::PortAccess::Public)
      if (auto ports = api_.engine.ports(caller_, passage_.name.sandbox)) notice.ports = std::move(*ports);
    tell(notice);
  }

  void tell_denied() {
    tell({.status = 401,
          .title = concat(place(), " is not open to you"),
          .hint = concat("`cove ports ", passage_.name.sandbox,
                         "` prints a link that opens it; programs send an API key: ", "Authorization: Bearer cove_…")});
  }

  void tell(const Notice& notice) { tell_notice(exchange_, notice, reader_); }

  Api& api_;
  http::Exchange& exchange_;
  Passage passage_;
  Shown shown_;
  Reader reader_;
  Caller caller_;
  engine::PortRule rule_;
};

}  // namespace

bool serve_preview(Api& api, http::Exchange& exchange) {
  const PreviewSite& site = api.engine.config().preview.site;
  const http::Request& request = exchange.request();
  std::string_view host = request.header("host").value_or("");
  auto name = parse_preview_host(site, host);
  if (!name) return false;
  const bool secure = request.peer.encrypted || site.scheme == "https";
  Visit(api, exchange, {*name, secure ? "https" : "http", std::string(host)}).serve();
  return true;
}

void refuse_other_hosts(Api& api, http::Exchange& exchange) {
  const PreviewSite& site = api.engine.config().preview.site;
  tell_notice(exchange,
              {.status = 421,
               .title = concat("previews are at PORT-SANDBOX.", site.domain, "; this address serves nothing else"),
               .hint = "`cove ports SANDBOX` prints their links"},
              Reader::Program);
}

}  // namespace cove::api
