#include "engine/network/webhook.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <atomic>
#include <thread>

#include "base/encoding.h"
#include "base/log.h"
#include "base/text.h"
#include "sys/file.h"

namespace cove::engine {
namespace {

constexpr int kTries = 3;
constexpr std::chrono::seconds kBetween{2};
constexpr long kConnectSeconds = 5;
constexpr long kSeconds = 10;
constexpr size_t kKeyBytes = 32;

Result<std::string> key_in(const std::string& folder) {
  const std::string path = folder + "/webhook.key";
  if (Result<std::string> key = sys::read_file(path, 4096)) return std::string(trim(*key));
  std::string bytes(kKeyBytes, '\0');
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return fail_errno("getrandom");
  const std::string key = to_hex(bytes);
  UniqueFd file = COVE_TRY(sys::open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  COVE_TRY(sys::write_all(file.get(), key + "\n"));
  return key;
}

size_t drop_answer(char*, size_t size, size_t count, void*) { return size * count; }

struct Post {
  CURL* handle = ::curl_easy_init();
  curl_slist* headers = nullptr;
  ~Post() {
    ::curl_slist_free_all(headers);
    if (handle) ::curl_easy_cleanup(handle);
  }
};

class Webhook {
 public:
  Webhook(std::string url, std::string folder) : url_(std::move(url)), folder_(std::move(folder)) {}

  void add(std::string body) {
    if (waiting_.fetch_add(1) >= kMostWaitingHooks) {
      --waiting_;
      return log::warning("a network request was not sent to the webhook: too many wait", {});
    }
    jobs_.add([this, body = std::move(body)] {
      deliver(body);
      --waiting_;
    });
  }

 private:
  void deliver(const std::string& body) {
    Result<void> sent = send(body);
    for (int i = 1; !sent && i < kTries; ++i) {
      std::this_thread::sleep_for(kBetween);
      sent = send(body);
    }
    if (!sent) log::warning("a network request was not sent to the webhook", {{"why", sent.error().message()}});
  }

  Result<void> send(const std::string& body) {
    if (key_.empty()) key_ = COVE_TRY(key_in(folder_));
    Post post;
    if (!post.handle) return fail(Code::Internal, "curl_easy_init");
    const std::string signature = "Cove-Signature: " + webhook_signature(key_, body);
    for (const char* header : {"Content-Type: application/json", signature.c_str()})
      post.headers = ::curl_slist_append(post.headers, header);
    auto set = [&](CURLoption option, auto value) { ::curl_easy_setopt(post.handle, option, value); };
    set(CURLOPT_URL, url_.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_HTTPHEADER, post.headers);
    set(CURLOPT_POSTFIELDS, body.c_str());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    set(CURLOPT_WRITEFUNCTION, drop_answer);
    set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    set(CURLOPT_TIMEOUT, kSeconds);
    set(CURLOPT_NOSIGNAL, 1L);
    CURLcode done = ::curl_easy_perform(post.handle);
    if (done != CURLE_OK)
      return fail(Code::Unavailable, concat(url_, ": ", std::string_view(::curl_easy_strerror(done))));
    long status = 0;
    ::curl_easy_getinfo(post.handle, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 200 && status < 300) return {};
    return fail(Code::Unavailable, concat(url_, " answered ", status));
  }

  const std::string url_;
  const std::string folder_;
  std::string key_;
  std::atomic<size_t> waiting_ = 0;
  BackgroundJobs jobs_;
};

}  // namespace

std::string webhook_signature(const std::string& key, const std::string& body) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  ::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(body.data()),
         body.size(), digest, &length);
  return "sha256=" + to_hex({reinterpret_cast<const char*>(digest), length});
}

TellWebhook make_webhook(const Config& config) {
  if (config.network.webhook.empty()) return {};
  auto webhook = std::make_shared<Webhook>(config.network.webhook, config.server_folder);
  return [webhook](const NetworkRequest& request) { webhook->add(to_json(request)); };
}

}  // namespace cove::engine
