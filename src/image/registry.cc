#include "image/registry.h"

#include <curl/curl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <thread>

#include "base/json.h"
#include "base/text.h"
#include "image/proxies.h"
#include "image/public_address.h"
#include "unpack/sha256.h"

namespace cove {
namespace {

constexpr long kConnectSeconds = 15;
constexpr long kSilentSeconds = 60;
constexpr long kMostRedirects = 5;
constexpr int kAttempts = 5;
constexpr size_t kLargestToken = 1 << 20;
constexpr const char* kManifestTypes =
    "Accept: application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json";

void start_curl() {
  static std::once_flag once;
  std::call_once(once, [] { ::curl_global_init(CURL_GLOBAL_DEFAULT); });
}

struct FreeCurl {
  void operator()(CURL* curl) const { ::curl_easy_cleanup(curl); }
};
struct FreeList {
  void operator()(curl_slist* list) const { ::curl_slist_free_all(list); }
};

bool worth_another_try(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2_STREAM:
      return true;
    default:
      return false;
  }
}

std::string advice_on(CURLcode code) {
  switch (code) {
    case CURLE_SSL_CONNECT_ERROR:
      return "a registry with plain HTTP must be listed in images.insecure_registries";
    case CURLE_PEER_FAILED_VERIFICATION:
      return "this machine does not trust its certificate: add the authority that signed it to the machine's "
             "certificates";
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_OPERATION_TIMEDOUT:
      return "check the registry's name and port, and that this machine can reach it";
    default:
      return "";
  }
}

bool is_busy(long status) { return status == 429 || status == 502 || status == 503 || status == 504; }

std::string small(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  return text;
}

// Bearer realm="https://…",service="…",scope="…"
std::map<std::string, std::string> parse_challenge(std::string_view text) {
  std::map<std::string, std::string> fields;
  size_t at = text.find(' ');
  fields["scheme"] = small(std::string(text.substr(0, at)));
  while (at != text.npos && at < text.size()) {
    at = text.find_first_not_of(" ,\t", at);
    size_t equals = at == text.npos ? at : text.find('=', at);
    if (equals == text.npos) break;
    std::string name = small(std::string(text.substr(at, equals - at)));
    size_t begin = equals + 1;
    const bool quoted = begin < text.size() && text[begin] == '"';
    size_t end = text.find(quoted ? '"' : ',', begin + (quoted ? 1 : 0));
    fields[name] = text.substr(begin + (quoted ? 1 : 0), end == text.npos ? end : end - begin - (quoted ? 1 : 0));
    at = end == text.npos ? end : end + 1;
  }
  return fields;
}

Error not_public(const sockaddr& address) {
  return Error(Code::Denied, concat("connect to ", address_text(address),
                                    ": with a key, images can be pulled only from public addresses"))
      .hint("ask the administrator to add the registry to images.private_registries, or pull it over the Unix socket");
}

std::string escaped(const std::string& text) {
  char* words = ::curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size()));
  std::string out = words ? words : "";
  ::curl_free(words);
  return out;
}

}  // namespace

struct Registry::Request {
  std::string url;
  std::string accept = {};
  std::string form = {};  // sent, where there is one
  uint64_t offset = 0;
  size_t most = kLargestManifest;  // of the kept response
  const BlobSink* sink = nullptr;  // receives the body instead of keeping it
  uint64_t size = 0;               // with a sink: of the whole blob
  const std::atomic<bool>* cancelled = nullptr;

  // The state during a transfer.
  std::vector<sockaddr_storage> proxies = {};
  CURL* curl = nullptr;
  uint64_t received = 0;  // of the blob, including what was fetched before
  std::string kept = {};
  std::string challenge = {};
  std::optional<Error> failure = {};
  bool begun = false;

  size_t take(std::string_view piece) {
    long status = 0;
    ::curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (!sink || (status != 200 && status != 206)) {
      if (kept.size() + piece.size() > most)
        return failure = Error(Code::Invalid, concat("the answer is longer than ", format_bytes(most))), 0;
      kept += piece;
      return piece.size();
    }
    if (!begun) {
      begun = true;
      if (status == 200 && received > 0) {
        received = 0;
        if (Result<void> again = sink->restart(); !again) return failure = again.error(), 0;
      }
    }
    if (piece.size() > size - std::min(size, received))
      return failure = Error(Code::Invalid, "the blob is longer than the size in its manifest"), 0;
    if (Result<void> taken = sink->take(piece); !taken) return failure = taken.error(), 0;
    received += piece.size();
    return piece.size();
  }
};

// Called for every connection after the name is resolved, so names and redirects cannot bypass it. A proxy may be in a
// private network, and decides itself where it connects.
static curl_socket_t open_public_socket(void* data, curlsocktype, curl_sockaddr* address) {
  auto& request = *static_cast<Registry::Request*>(data);
  if (is_public_address(address->addr) || has_address(request.proxies, address->addr))
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  request.failure = not_public(address->addr);
  return CURL_SOCKET_BAD;
}

struct Registry::Answer {
  long status = 0;
  std::string text;
  std::string challenge;
};

Registry::Registry(ImageReference reference, RegistryLogin login, RegistryRules rules,
                   const std::atomic<bool>& cancelled)
    : reference_(std::move(reference)), login_(std::move(login)), reach_(rules.reach), cancelled_(cancelled) {
  start_curl();
  plain_ = is_loopback(reference_.registry) ||
           std::ranges::find(rules.insecure, reference_.registry) != rules.insecure.end();
}

Registry::~Registry() = default;

std::string Registry::url(const std::string& kind, const std::string& name) const {
  return concat(plain_ && !wants_tls_ ? "http" : "https", "://", reference_.registry, "/v2/", reference_.repository,
                "/", kind, "/", name);
}

Result<Registry::Answer> Registry::perform(Request& request, const std::string& token, bool basic) {
  std::unique_ptr<CURL, FreeCurl> curl(::curl_easy_init());
  if (!curl) return fail(Code::Internal, "curl cannot be used");
  CURL* handle = request.curl = curl.get();
  request.begun = false;
  request.kept.clear();
  request.challenge.clear();
  request.failure.reset();
  std::string user = concat(login_.username, ":", login_.password);
  std::string range = concat(request.received, "-");
  char problem[CURL_ERROR_SIZE] = "";
  ::curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  ::curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  ::curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, problem);
  ::curl_easy_setopt(handle, CURLOPT_USERAGENT, "cove/" COVE_VERSION);
  ::curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  ::curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  ::curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, kSilentSeconds);
  ::curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, 512L << 10);
  // A form contains credentials.
  ::curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, request.form.empty() ? 1L : 0L);
  if (!request.form.empty()) ::curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request.form.c_str());
  ::curl_easy_setopt(handle, CURLOPT_MAXREDIRS, kMostRedirects);
  // A transfer over TLS is not redirected to plain HTTP.
  ::curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, plain_ ? "http,https" : "https");
  ::curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR, plain_ ? "http,https" : "https");
  if (is_loopback(reference_.registry)) ::curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
  if (reach_ == Reach::Public) {
    request.proxies = find_proxies();
    ::curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, &request);
    ::curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, open_public_socket);
  }
  if (request.received > 0) ::curl_easy_setopt(handle, CURLOPT_RANGE, range.c_str());
  std::unique_ptr<curl_slist, FreeList> headers(
      request.accept.empty() ? nullptr : ::curl_slist_append(nullptr, request.accept.c_str()));
  if (headers) ::curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
  if (!token.empty()) {
    ::curl_easy_setopt(handle, CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BEARER));
    ::curl_easy_setopt(handle, CURLOPT_XOAUTH2_BEARER, token.c_str());
  } else if (basic) {
    ::curl_easy_setopt(handle, CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
    ::curl_easy_setopt(handle, CURLOPT_USERPWD, user.c_str());
  }
  ::curl_easy_setopt(handle, CURLOPT_WRITEDATA, &request);
  ::curl_easy_setopt(
      handle, CURLOPT_WRITEFUNCTION, +[](char* data, size_t, size_t size, void* self) -> size_t {
        return static_cast<Request*>(self)->take({data, size});
      });
  ::curl_easy_setopt(handle, CURLOPT_HEADERDATA, &request);
  ::curl_easy_setopt(
      handle, CURLOPT_HEADERFUNCTION, +[](char* data, size_t, size_t size, void* self) -> size_t {
        constexpr std::string_view kName = "www-authenticate:";
        std::string_view line(data, size);
        if (line.size() > kName.size() && small(std::string(line.substr(0, kName.size()))) == kName)
          static_cast<Request*>(self)->challenge = trim(line.substr(kName.size()));
        return size;
      });
  ::curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  ::curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &request);
  ::curl_easy_setopt(
      handle, CURLOPT_XFERINFOFUNCTION, +[](void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) -> int {
        auto* cancelled = static_cast<Request*>(self)->cancelled;
        return cancelled && *cancelled ? 1 : 0;
      });
  CURLcode code = ::curl_easy_perform(handle);
  Answer answer;
  ::curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &answer.status);
  answer.text = std::move(request.kept);
  answer.challenge = request.challenge;
  if (request.failure) return fail(*request.failure);
  if (code == CURLE_OK) return answer;
  if (code == CURLE_ABORTED_BY_CALLBACK) return fail(Code::Unavailable, "it was cancelled");
  Error error(worth_another_try(code) ? Code::Unavailable : Code::Invalid,
              concat("connect to ", reference_.registry, ": ",
                     std::string_view(problem[0] ? problem : ::curl_easy_strerror(code))));
  std::string advice = advice_on(code);
  return fail(advice.empty() ? std::move(error) : std::move(error).hint(std::move(advice)));
}

// The response of TLS servers to a plain request; other bad requests get the same status.
bool Registry::asks_for_tls(const Answer& answer) {
  return answer.status == 400 && answer.text.find("HTTPS") != std::string::npos;
}

// Adds the credentials that the registry requires; retries if it is busy or temporarily unreachable.
Result<Registry::Answer> Registry::ask(Request& request) {
  request.received = request.offset;
  request.cancelled = &cancelled_;
  bool asked_for_token = false;
  for (int attempt = 1;; ++attempt) {
    std::string token;
    bool basic = false;
    {
      std::lock_guard lock(mutex_);
      token = token_;
      basic = basic_;
    }
    uint64_t before = request.received;
    Result<Answer> answer = perform(request, token, basic);
    if (answer && request.url.starts_with("http://") && asks_for_tls(*answer)) {
      wants_tls_ = true;
      request.url.insert(std::string_view("http").size(), "s");
      continue;
    }
    if (answer && answer->status == 401 && !asked_for_token && !answer->challenge.empty()) {
      asked_for_token = true;
      Result<std::string> bought = fetch_token(answer->challenge);
      if (!bought) return std::unexpected(bought.error());
      std::lock_guard lock(mutex_);
      token_ = *bought;
      basic_ = bought->empty();
      continue;
    }
    const bool again = answer ? is_busy(answer->status) : answer.error().code() == Code::Unavailable;
    const bool called_off = request.cancelled && *request.cancelled;
    if (!again || called_off) return answer;
    // Continues as long as data arrives.
    if (request.received > before) attempt = 0;
    if (attempt >= kAttempts) return answer;
    std::this_thread::sleep_for(std::chrono::milliseconds(100 << attempt));
  }
}

// Empty if the registry requires a name and a password with each request.
Result<std::string> Registry::fetch_token(const std::string& challenge) {
  std::map<std::string, std::string> fields = parse_challenge(challenge);
  if (fields["scheme"] == "basic") {
    if (!login_.username.empty() && login_.token.empty()) return std::string();
    return fail(Error(Code::Denied, concat("registry ", reference_.registry, " requires a name and a password"))
                    .hint("use `docker login` or `podman login`; cove pull uses their credentials"));
  }
  std::string realm = fields["realm"];
  const bool allowed = realm.starts_with("https://") || (plain_ && realm.starts_with("http://"));
  if (fields["scheme"] != "bearer" || !allowed)
    return fail(Code::Unsupported,
                concat("registry ", reference_.registry, " requires an unknown or insecure kind of login"));
  std::string scope = fields["scope"].empty() ? concat("repository:", reference_.repository, ":pull") : fields["scope"];
  std::string query = concat("scope=", escaped(scope));
  if (!fields["service"].empty()) query += concat("&service=", escaped(fields["service"]));
  Request request;
  if (login_.token.empty()) {
    request.url = concat(realm, realm.find('?') == realm.npos ? "?" : "&", query);
  } else {
    request.url = realm;
    request.form = concat(query, "&client_id=cove&grant_type=refresh_token&refresh_token=", escaped(login_.token));
  }
  request.most = kLargestToken;
  const bool by_name = login_.token.empty() && !login_.username.empty();
  Answer answer = COVE_TRY_NOTE("request a token", perform(request, {}, by_name));
  if (answer.status != 200)
    return fail(
        Error(Code::Denied, concat("the token server of ", reference_.registry, " refused with status ", answer.status))
            .hint("use `docker login` or `podman login`; cove pull uses their credentials"));
  Json json = Json::parse(answer.text).value_or(Json());
  for (const char* name : {"token", "access_token"})
    if (json.is_object() && json.contains(name) && json[name].is_string() && !json[name].as_string().empty())
      return json[name].get<std::string>();
  return fail(Code::Invalid, concat("the token server of ", reference_.registry, " returned no token"));
}

Result<void> Registry::check_answer(const Answer& answer, const std::string& what) const {
  if (answer.status == 200 || answer.status == 206) return {};
  std::string place = concat(reference_.registry, "/", reference_.repository);
  if (answer.status == 404) return fail(Code::NotFound, concat("no such ", what, " of ", place));
  if (answer.status == 401 || answer.status == 403)
    return fail(Error(Code::Denied, concat("registry ", reference_.registry, " denies access to ",
                                           reference_.repository, ", or it does not exist"))
                    .hint("use `docker login` or `podman login`; cove pull uses their credentials"));
  Code code = is_busy(answer.status) || answer.status >= 500 ? Code::Unavailable : Code::Invalid;
  return fail(code, concat("registry ", reference_.registry, " answered with status ", answer.status));
}

Result<Registry::Fetched> Registry::manifest(const std::string& tag_or_digest) {
  Request request;
  request.url = url("manifests", tag_or_digest);
  request.accept = kManifestTypes;
  Answer answer = COVE_TRY_NOTE("fetch the manifest", ask(request));
  if (answer.status == 404)
    return fail(Error(Code::NotFound, concat("registry ", reference_.registry, " has no image ", reference_.repository,
                                             is_digest(tag_or_digest) ? "@" : ":", tag_or_digest))
                    .hint("check its name and its tag"));
  COVE_TRY(check_answer(answer, concat("manifest ", tag_or_digest)));
  unpack::Sha256 digest;
  digest.update(answer.text);
  Fetched fetched{std::move(answer.text), concat("sha256:", digest.hex())};
  if (is_digest(tag_or_digest) && fetched.digest != tag_or_digest)
    return fail(Code::Invalid, concat("the manifest ", tag_or_digest, " does not match its digest: ", fetched.digest));
  return fetched;
}

Result<std::string> Registry::blob(const Descriptor& descriptor) {
  Request request;
  request.url = url("blobs", descriptor.digest);
  request.most = descriptor.size;
  Answer answer = COVE_TRY_NOTE(concat("fetch ", descriptor.digest), ask(request));
  COVE_TRY(check_answer(answer, concat("blob ", descriptor.digest)));
  unpack::Sha256 digest;
  digest.update(answer.text);
  if (concat("sha256:", digest.hex()) != descriptor.digest)
    return fail(Code::Invalid, concat("the blob ", descriptor.digest, " does not match its digest"));
  return std::move(answer.text);
}

Result<void> Registry::blob(const Descriptor& descriptor, uint64_t offset, const BlobSink& sink) {
  if (offset >= descriptor.size && descriptor.size > 0) return {};
  Request request;
  request.url = url("blobs", descriptor.digest);
  request.offset = offset;
  request.sink = &sink;
  request.size = descriptor.size;
  Answer answer = COVE_TRY_NOTE(concat("fetch layer ", descriptor.digest), ask(request));
  COVE_TRY(check_answer(answer, concat("blob ", descriptor.digest)));
  if (request.received != descriptor.size)
    return fail(Code::Invalid, concat("the layer ", descriptor.digest, " is shorter than the size in its manifest"));
  return {};
}

}  // namespace cove
