#include "net/gateway/internal_page.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <map>

#include "http1/framing.h"
#include "http1/head.h"
#include "http1/request.h"
#include "net/gateway/internal_answer.h"

namespace cove::net {
namespace {

constexpr size_t kMostConnections = 32;
constexpr size_t kMostHead = 16 * 1024;
constexpr size_t kMostBody = 16 * 1024;
constexpr std::chrono::seconds kPatience{10};

// One request, as it comes; one connection has one.
struct Conversation {
  UniqueFd fd;
  http1::HeadReader head{kMostHead};
  bool has_head = false;
  InternalRequest request;
  size_t missing = 0;  // of the body
  std::string out;
  uint64_t timer = 0;
};

class LivePage : public InternalPage {
 public:
  explicit LivePage(SandboxContext& context) : context_(context), loop_(context.loop()) {}
  ~LivePage() override {
    while (!open_.empty()) remove(open_.begin()->first);
  }

  void serve(UniqueFd client, std::string first_bytes) override {
    if (open_.size() >= kMostConnections) return;
    uint64_t number = ++last_;
    int fd = client.get();
    if (!loop_.add(fd, EPOLLIN, [this, number](uint32_t events) { go_on(number, events); })) return;
    Conversation& conversation = open_[number];
    conversation.fd = std::move(client);
    conversation.timer = loop_.after(kPatience, [this, number] { remove(number); });
    take(number, first_bytes);
  }

 private:
  void go_on(uint64_t number, uint32_t events) {
    Conversation& conversation = open_.at(number);
    if (events & (EPOLLERR | EPOLLHUP)) return remove(number);
    if (!conversation.out.empty()) return write(number);
    std::array<char, 4096> buffer;
    ssize_t size = ::recv(conversation.fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) return remove(number);
    take(number, {buffer.data(), static_cast<size_t>(size)});
  }

  void take(uint64_t number, std::string_view bytes) {
    Conversation& conversation = open_.at(number);
    if (!conversation.has_head) {
      auto whole = conversation.head.feed(bytes);
      if (!whole) return answer(number, refused_request(whole.error().status, whole.error().reason));
      if (!*whole) return;
      conversation.has_head = true;
      if (auto begun = begin(conversation); !begun)
        return answer(number, refused_request(begun.error().status, begun.error().reason));
    }
    std::string_view body = bytes.substr(0, conversation.missing);
    conversation.request.body += body;
    conversation.missing -= body.size();
    if (conversation.missing == 0) answer(number, answers_.answer(context_, conversation.request));
  }

  static std::expected<void, http1::Malformed> begin(Conversation& conversation) {
    auto line = http1::parse_request_line(conversation.head.first_line());
    if (!line) return std::unexpected(line.error());
    const auto& headers = conversation.head.headers();
    auto framing = http1::told_framing(headers, line->http11, http1::RepeatedLength::Refused);
    if (!framing) return std::unexpected(framing.error());
    if (*framing && (*framing)->kind != http1::Framing::Kind::Length)
      return http1::malformed(411, "the body must have a Content-Length");
    if (*framing && (*framing)->length > kMostBody) return http1::malformed(413, "the body is too large");
    conversation.missing = *framing ? (*framing)->length : 0;
    conversation.request.method = line->method;
    conversation.request.target = line->target;
    conversation.request.accept = http1::find_header(headers, "Accept").value_or("");
    return {};
  }

  void answer(uint64_t number, std::string text) {
    Conversation& conversation = open_.at(number);
    conversation.out = std::move(text);
    write(number);
  }

  void write(uint64_t number) {
    Conversation& conversation = open_.at(number);
    ssize_t size =
        ::send(conversation.fd.get(), conversation.out.data(), conversation.out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size < 0 && errno != EAGAIN && errno != EINTR) return remove(number);
    if (size > 0) conversation.out.erase(0, static_cast<size_t>(size));
    if (conversation.out.empty()) return remove(number);
    loop_.change(conversation.fd.get(), EPOLLOUT);
  }

  void remove(uint64_t number) {
    auto found = open_.find(number);
    loop_.cancel(found->second.timer);
    loop_.remove(found->second.fd.get());
    // Its body, where it was refused, would make closing a reset, which may overtake the answer.
    std::array<char, 4096> rest;
    for (int i = 0; i < 16 && ::recv(found->second.fd.get(), rest.data(), rest.size(), MSG_DONTWAIT) > 0; ++i);
    open_.erase(found);
  }

  SandboxContext& context_;
  Loop& loop_;
  uint64_t last_ = 0;
  std::map<uint64_t, Conversation> open_;
  InternalAnswers answers_;
};

}  // namespace

std::unique_ptr<InternalPage> InternalPage::create(SandboxContext& context) {
  return std::make_unique<LivePage>(context);
}

}  // namespace cove::net
