// A run that is plain from its beginning to its end. No C library is there: see head_start.h.
#include "client/quick_run.h"

#if defined(__x86_64__)

#include <asm/unistd.h>
#include <poll.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>

namespace cove::client {
namespace {

constexpr uint64_t kIdSize = 20;

// Text to be read from its beginning; what does not fit makes it bad for good.
class Reading {
 public:
  Reading(const char* at, const char* end) : at_(at), end_(end) {}

  const char* at() const { return at_; }
  bool good() const { return good_; }

  Reading& skip(std::string_view text) {
    good_ = good_ && static_cast<size_t>(end_ - at_) >= text.size();
    for (size_t i = 0; good_ && i < text.size(); ++i) good_ = at_[i] == text[i];
    if (good_) at_ += text.size();
    return *this;
  }
  Reading& skip(uint64_t count) {
    good_ = good_ && static_cast<uint64_t>(end_ - at_) >= count;
    if (good_) at_ += count;
    return *this;
  }
  // To behind the next such text.
  Reading& find(std::string_view text) {
    for (; good_; ++at_) {
      Reading here = *this;
      if (here.skip(text).good()) return *this = here;
      good_ = at_ < end_;
    }
    return *this;
  }
  Reading& number(uint64_t& value) {
    constexpr uint64_t kMost = 1'000'000'000;
    const char* first = at_;
    for (value = 0; at_ < end_ && *at_ >= '0' && *at_ <= '9' && value < kMost; ++at_)
      value = value * 10 + static_cast<uint64_t>(*at_ - '0');
    good_ = good_ && at_ > first;
    return *this;
  }

 private:
  const char* at_;
  const char* end_;
  bool good_ = true;
};

// Text that is put together; what does not fit makes it bad for good.
class Writing {
 public:
  Writing(char* start, uint64_t room) : start_(start), room_(room) {}

  uint64_t size() const { return size_; }
  bool good() const { return good_; }

  void add(char c) {
    good_ = good_ && size_ < room_;
    if (good_) start_[size_++] = c;
  }
  void add(std::string_view text) {
    for (char c : text) add(c);
  }
  void add_number(uint64_t number) {
    if (number >= 10) add_number(number / 10);
    add(static_cast<char>('0' + number % 10));
  }

 private:
  char* start_;
  uint64_t room_;
  uint64_t size_ = 0;
  bool good_ = true;
};

// As the rest of the program writes it.
void add_json(Writing& out, const char* word) {
  constexpr char kDigits[] = "0123456789abcdef";
  constexpr std::string_view kSigns = "\"\\\b\f\n\r\t", kNames = "\"\\bfnrt";
  out.add('"');
  for (; *word != '\0'; ++word) {
    size_t known = 0;
    while (known < kSigns.size() && kSigns[known] != *word) ++known;
    const auto value = static_cast<unsigned char>(*word);
    if (known < kSigns.size()) {
      out.add('\\');
      out.add(kNames[known]);
    } else if (value < 0x20) {
      out.add("\\u00");
      out.add(kDigits[value >> 4]);
      out.add(kDigits[value & 15]);
    } else {
      out.add(*word);
    }
  }
  out.add('"');
}

void add_order(Writing& out, uint64_t count, const char* const* command) {
  out.add(R"({"on_disconnect":"kill","argv":[)");
  for (uint64_t i = 0; i < count; ++i) {
    if (i > 0) out.add(',');
    add_json(out, command[i]);
  }
  out.add(R"(],"stdin":null})");
}

bool make_exec(HeadStart& run, std::string_view id, uint64_t count, const char* const* command) {
  Writing order(run.answers + run.answers_size, sizeof run.answers - run.answers_size);  // behind what is kept there
  add_order(order, count, command);
  Writing out(run.exec, sizeof run.exec);
  out.add("POST /v1/sandboxes/");
  out.add(id);
  out.add("/execs?wait=20ms&remove=true HTTP/1.1\r\nHost: localhost\r\nUser-Agent: cove/" COVE_VERSION
          "\r\nAccept: application/json\r\nContent-Type: application/json\r\nContent-Length: ");
  out.add_number(order.size());
  out.add("\r\n\r\n");
  out.add({run.answers + run.answers_size, order.size()});
  run.exec_size = static_cast<uint32_t>(out.size());
  return out.good() && order.good();
}

// One whole answer, from `start` on in the answers; its body. Nothing where it does not fit, or nobody answers.
std::string_view read_answer(HeadStart& run, uint32_t start) {
  while (true) {
    const char* end = run.answers + run.answers_size;
    Reading head(run.answers + start, end);
    if (head.find("\r\n\r\n").good()) {
      uint64_t size = 0;
      Reading length(run.answers + start, head.at());
      if (!length.find("\r\nContent-Length: ").number(size).good()) return {};
      if (static_cast<uint64_t>(end - head.at()) >= size) return {head.at(), size};
    }
    const uint64_t room = sizeof run.answers - run.answers_size;
    const long count = raw_call(__NR_read, static_cast<uint64_t>(run.fd), raw(end), room);
    if (room == 0 || count <= 0) return {};
    run.answers_size += static_cast<uint32_t>(count);
  }
}

// The sandbox's id, where there is nothing else to be told of it.
std::string_view read_sandbox(const HeadStart& run, std::string_view body) {
  Reading head(run.answers, body.data());
  if (Reading(head).find("\r\nConnection: close").good()) return {};  // the server is about to stop
  head.skip("HTTP/1.1 201 ").find("\r\nCove-Version: " COVE_VERSION "\r\n");
  Reading sandbox(body.data(), body.data() + body.size());
  const char* id = sandbox.skip(R"({"id":")").at();
  sandbox.skip(kIdSize).skip(R"(","state":"running","image":"host",)").find(R"("warnings":[]})");
  return head.good() && sandbox.good() ? std::string_view{id, kIdSize} : std::string_view{};
}

struct Outcome {
  uint64_t exit_code = 0;
  int stream = 1;        // the one that it wrote to
  uint64_t written = 0;  // bytes, which are in the buffer now
};

// Text of JSON, to its closing quote; false where it has more than the plainest escapes.
bool unescape(Reading& in, const char* end, Writing& out) {
  constexpr std::string_view kNames = "\"\\/bfnrt", kSigns = "\"\\/\b\f\n\r\t";
  const char* at = in.at();
  for (; at < end && *at != '"'; ++at) {
    if (*at != '\\') {
      out.add(*at);
      continue;
    }
    size_t known = 0;
    for (++at; at < end && known < kNames.size() && kNames[known] != *at;) ++known;
    if (at == end || known == kNames.size()) return false;
    out.add(kSigns[known]);
  }
  in.skip(static_cast<uint64_t>(at - in.at()));
  return in.skip("\"").good() && out.good();
}

bool read_stream(Reading& in, const char* end, Writing& out) {
  uint64_t bytes = 0;
  return in.skip(R"({"text":")").good() && unescape(in, end, out) &&
         in.skip(R"(,"bytes":)").number(bytes).skip(R"(,"truncated":false})").good();
}

// Ended by itself, with an exit code that says nothing of Cove, and what it wrote is here, of one stream at most.
bool read_outcome(const HeadStart& run, uint32_t start, std::string_view body, Writing& text, Outcome& outcome) {
  Reading head(run.answers + start, body.data());
  if (!head.skip("HTTP/1.1 200 ").find("\r\nSandbox-Deleted: true\r\n").good()) return false;
  const char* end = body.data() + body.size();
  Reading in(body.data(), end);
  in.skip(R"({"exec_id":")").skip(kIdSize).skip(R"(","sandbox_id":")").skip(kIdSize).skip(R"(","status":")");
  const bool success = Reading(in).skip("success").good();
  in.skip(success ? "success" : "error").skip(R"(","phase":"run","exit_code":)").number(outcome.exit_code);
  if (!in.skip(R"(,"signal":null,"stdout":)").good() || !read_stream(in, end, text)) return false;
  const uint64_t out_size = text.size();
  if (!in.skip(R"(,"stderr":)").good() || !read_stream(in, end, text)) return false;
  outcome.stream = out_size > 0 ? 1 : 2;
  outcome.written = text.size();
  constexpr uint64_t kFirstOfOurs = 125, kLastOfOurs = 127;
  const bool plain = outcome.exit_code < kFirstOfOurs || outcome.exit_code > kLastOfOurs;
  return plain && (out_size == 0 || out_size == text.size());
}

[[noreturn]] void leave(uint64_t exit_code) {
  raw_call(__NR_exit_group, exit_code);
  __builtin_unreachable();
}

[[noreturn]] void fail_to_write() {
  constexpr uint64_t kOwnFailure = 125;
  constexpr std::string_view kWords = "cove: not all of the output could be written\n";
  raw_call(__NR_write, 2, raw(kWords.data()), kWords.size());
  leave(kOwnFailure);
}

// Where nothing could be written, the rest of the program finds out why, and says so. Somebody who reads no more is no
// failure.
void print(const Outcome& outcome, const char* text) {
  for (uint64_t done = 0; done < outcome.written;) {
    const long count =
        raw_call(__NR_write, static_cast<uint64_t>(outcome.stream), raw(text + done), outcome.written - done);
    if (count <= 0 && done == 0) return;
    if (count == -EPIPE) break;
    if (count == -EAGAIN) {
      pollfd polled = {outcome.stream, POLLOUT, 0};
      raw_call(__NR_poll, raw(&polled), 1, ~0ull);
    } else if (count < 0) {
      fail_to_write();
    } else {
      done += static_cast<uint64_t>(count);
    }
  }
  leave(outcome.exit_code);
}

// Those that whoever follows hands on to the command, once there is somebody who can.
void hold_signals() {
  uint64_t held = 0;
  for (int number : {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGCONT, SIGWINCH, SIGPIPE})
    held |= 1ull << (number - 1);
  raw_call(__NR_rt_sigprocmask, SIG_BLOCK, raw(&held), 0, sizeof held);
}

// Nothing will ever come from there.
bool input_is_null() {
  constexpr uint64_t kNull = 1 << 8 | 3;
  struct stat input;
  return raw_call(__NR_fstat, 0, raw(&input)) == 0 && S_ISCHR(input.st_mode) && input.st_rdev == kNull;
}

// Its own, so that what was read stays for others.
char g_text[sizeof HeadStart::answers];

}  // namespace

void run_quickly(HeadStart& run, uint64_t count, const char* const* command) {
  if (!input_is_null()) return;
  hold_signals();
  const std::string_view made = read_answer(run, 0);
  const std::string_view id = made.empty() ? std::string_view{} : read_sandbox(run, made);
  if (id.empty() || made.data() + made.size() != run.answers + run.answers_size) return;
  const uint32_t start = run.answers_size;
  // All of it or nothing: it is shorter than what such a socket takes at once.
  if (!make_exec(run, id, count, command) ||
      raw_call(__NR_sendto, static_cast<uint64_t>(run.fd), raw(run.exec), run.exec_size, MSG_NOSIGNAL) < 0) {
    run.exec_size = 0;
    return;
  }
  const std::string_view body = read_answer(run, start);
  Writing text(g_text, sizeof g_text);
  Outcome outcome;
  if (!body.empty() && read_outcome(run, start, body, text, outcome)) print(outcome, g_text);
}

}  // namespace cove::client

#endif
