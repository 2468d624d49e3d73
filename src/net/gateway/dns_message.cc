#include "net/gateway/dns_message.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/ascii.h"
#include "base/text.h"

namespace cove::net::dns {
namespace {

constexpr uint16_t kIsAnswer = 0x8000;
constexpr uint16_t kOpcode = 0x7800;
constexpr uint16_t kTruncated = 0x0200;
constexpr uint16_t kWantsRecursion = 0x0100;
constexpr uint16_t kHasRecursion = 0x0080;
constexpr uint16_t kCheckingDisabled = 0x0010;
constexpr size_t kLongestName = 255;
constexpr int kMostAliases = 16;
constexpr uint16_t kQuestionsName = 0xc00c;  // a pointer to it

bool is_host_byte(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; }

// Reads a message from the front. What was not there is zero, and `ok` false.
class Reader {
 public:
  explicit Reader(std::string_view message, size_t at = 0) : message_(message), at_(at) {}

  bool ok() const { return ok_; }
  bool done() const { return ok_ && at_ == message_.size(); }
  size_t at() const { return at_; }

  uint8_t byte() { return static_cast<uint8_t>(take(1)); }
  uint16_t two() { return static_cast<uint16_t>(take(2)); }
  uint32_t four() { return take(4); }

  std::string_view bytes(size_t count) {
    if (message_.size() - at_ < count) return fail(), std::string_view();
    at_ += count;
    return message_.substr(at_ - count, count);
  }

  struct Name {
    std::string text;
    bool is_host = true;  // only labels of is_host_byte
  };
  // Pointers may only lead further to the front, so that they end.
  Name name() {
    Name found;
    size_t length = 0;
    size_t at = at_;
    size_t least = at_;
    bool jumped = false;
    while (ok_) {
      if (at >= message_.size()) return fail(), Name();
      auto size = static_cast<uint8_t>(message_[at++]);
      if ((size & 0xc0) == 0xc0) {
        if (at >= message_.size()) return fail(), Name();
        size_t to = static_cast<size_t>(size & 0x3f) << 8 | static_cast<uint8_t>(message_[at++]);
        if (!std::exchange(jumped, true)) at_ = at;
        if (to >= least || to < kHeaderSize) return fail(), Name();
        least = at = to;
        continue;
      }
      if (size & 0xc0 || size > message_.size() - at) return fail(), Name();
      length += size + 1u;
      if (length > kLongestName) return fail(), Name();
      if (size == 0) break;
      append_label(found, message_.substr(at, size));
      at += size;
    }
    if (!jumped) at_ = at;
    return found;
  }

 private:
  // A dot within a label must not look like one between labels.
  static void append_label(Name& name, std::string_view label) {
    if (!name.text.empty()) name.text += '.';
    for (char c : label) {
      bool is_host = is_host_byte(lower(c));
      name.is_host &= is_host;
      name.text += is_host ? lower(c) : '?';
    }
  }

  uint32_t take(size_t count) {
    uint32_t value = 0;
    for (char c : bytes(count)) value = value << 8 | static_cast<uint8_t>(c);
    return value;
  }
  void fail() {
    ok_ = false;
    at_ = message_.size();
  }

  std::string_view message_;
  size_t at_;
  bool ok_ = true;
};

struct Header {
  uint16_t id, flags, questions, answers, authorities, additionals;
};
Header read_header(Reader& in) { return {in.two(), in.two(), in.two(), in.two(), in.two(), in.two()}; }

void put_two(std::string& out, uint16_t value) {
  out += static_cast<char>(value >> 8);
  out += static_cast<char>(value);
}
void put_four(std::string& out, uint32_t value) {
  put_two(out, static_cast<uint16_t>(value >> 16));
  put_two(out, static_cast<uint16_t>(value));
}

uint16_t reply_flags(uint16_t asked, Code code) {
  return static_cast<uint16_t>(kIsAnswer | kHasRecursion | (asked & (kOpcode | kWantsRecursion | kCheckingDisabled)) |
                               static_cast<uint16_t>(code));
}

void put_header(std::string& out, const Header& header) {
  for (uint16_t value :
       {header.id, header.flags, header.questions, header.answers, header.authorities, header.additionals})
    put_two(out, value);
}

std::string refusal(const Header& header, Code code) {
  std::string out;
  put_header(out, {header.id, reply_flags(header.flags, code), 0, 0, 0, 0});
  return out;
}

void put_extension(std::string& out) {
  out += '\0';  // the root
  put_two(out, kOpt);
  put_two(out, kOwnUdpSize);
  put_four(out, 0);
  put_two(out, 0);
}

// What follows the question; of it only EDNS matters. False where it is malformed.
bool read_additionals(Reader& in, uint16_t count, Question& question) {
  for (; count > 0 && in.ok(); --count) {
    Reader::Name owner = in.name();
    uint16_t type = in.two();
    uint16_t klass = in.two();
    in.four();
    in.bytes(in.two());
    if (type != kOpt) continue;
    if (question.extended || !owner.text.empty()) return false;
    question.extended = true;
    question.udp_size = std::max<uint16_t>(klass, 512);
  }
  return in.done();
}

struct Answers {
  std::map<std::string, std::pair<std::string, uint32_t>> aliases;
  std::vector<std::pair<std::string, std::pair<Address, uint32_t>>> addresses;
};

std::optional<Address> read_address(std::string_view data) {
  Address address;
  if (data.size() == 4) {
    address.bytes[10] = address.bytes[11] = 0xff;
    std::copy(data.begin(), data.end(), address.bytes.begin() + 12);
    return address;
  }
  if (data.size() != 16) return std::nullopt;
  std::copy(data.begin(), data.end(), address.bytes.begin());
  return address;
}

bool read_answer(Reader& in, std::string_view message, uint16_t wanted, Answers& answers) {
  std::string owner = in.name().text;
  uint16_t type = in.two();
  uint16_t klass = in.two();
  uint32_t ttl = in.four();
  uint16_t size = in.two();
  size_t at = in.at();
  std::string_view data = in.bytes(size);
  if (!in.ok()) return false;
  if (klass != kInternet) return true;
  if (type == kCname) {
    Reader target(message.substr(0, at + size), at);
    std::string name = target.name().text;
    if (!target.done()) return false;
    answers.aliases.emplace(std::move(owner), std::pair(std::move(name), ttl));
  } else if (type == wanted) {
    auto address = read_address(data);
    if (!address || (data.size() == 4) != (wanted == kA)) return false;
    answers.addresses.emplace_back(std::move(owner), std::pair(*address, ttl));
  }
  return true;
}

Addresses follow(const Answers& answers, std::string name) {
  Addresses found = {.code = Code::NoError, .addresses = {}, .ttl = UINT32_MAX};
  for (int i = 0; i < kMostAliases; ++i) {
    auto alias = answers.aliases.find(name);
    if (alias == answers.aliases.end()) break;
    found.ttl = std::min(found.ttl, alias->second.second);
    name = alias->second.first;
  }
  for (const auto& [owner, address] : answers.addresses) {
    if (owner != name || found.addresses.size() >= kMostAddresses) continue;
    found.addresses.push_back(address.first);
    found.ttl = std::min(found.ttl, address.second);
  }
  if (found.addresses.empty()) found.ttl = 0;
  return found;
}

std::optional<uint8_t> number(std::string_view text, int base) {
  uint8_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  bool padded = text.size() > 1 && text[0] == '0';
  if (error != std::errc() || end != text.data() + text.size() || padded) return std::nullopt;
  return value;
}

std::optional<Address> reversed_v4(const std::vector<std::string>& labels) {
  if (labels.size() != 4) return std::nullopt;
  Address address;
  address.bytes[10] = address.bytes[11] = 0xff;
  for (size_t i = 0; i < 4; ++i) {
    auto byte = number(labels[3 - i], 10);
    if (!byte) return std::nullopt;
    address.bytes[12 + i] = *byte;
  }
  return address;
}

std::optional<Address> reversed_v6(const std::vector<std::string>& labels) {
  if (labels.size() != 32) return std::nullopt;
  Address address;
  for (size_t i = 0; i < 32; ++i) {
    auto nibble = number(labels[31 - i], 16);
    if (!nibble || *nibble > 15) return std::nullopt;
    address.bytes[i / 2] = static_cast<uint8_t>(address.bytes[i / 2] << 4 | *nibble);
  }
  return address;
}

}  // namespace

Asked parse_question(std::string_view message) {
  Reader in(message);
  Header header = read_header(in);
  if (!in.ok() || header.flags & kIsAnswer) return {};
  if (header.flags & kOpcode) return {std::nullopt, refusal(header, Code::NotImplemented)};
  Asked malformed = {std::nullopt, refusal(header, Code::FormatError)};
  if (header.questions != 1 || header.answers != 0 || header.authorities != 0) return malformed;

  Question question = {.id = header.id, .flags = header.flags};
  Reader::Name name = in.name();
  question.type = in.two();
  question.klass = in.two();
  if (!in.ok()) return malformed;
  question.wire = message.substr(kHeaderSize, in.at() - kHeaderSize);
  question.name = std::move(name.text);
  question.is_host = name.is_host;
  if (!read_additionals(in, header.additionals, question)) return malformed;
  return {std::move(question), {}};
}

std::string address_data(const Address& address) {
  auto from = address.bytes.begin() + (address.is_v4() ? 12 : 0);
  return {from, address.bytes.end()};
}

std::optional<std::string> name_data(std::string_view name) {
  std::string out;
  for (const auto& label : split(name, '.')) {
    if (label.empty() || label.size() > 63) return std::nullopt;
    out += static_cast<char>(label.size());
    out += label;
  }
  out += '\0';
  if (out.size() > kLongestName) return std::nullopt;
  return out;
}

std::string reply_to(const Question& question, Code code, const std::vector<Record>& records) {
  std::string out;
  auto count = static_cast<uint16_t>(records.size());
  auto extensions = static_cast<uint16_t>(question.extended ? 1 : 0);
  put_header(out, {question.id, reply_flags(question.flags, code), 1, count, 0, extensions});
  out += question.wire;
  for (const auto& record : records) {
    put_two(out, kQuestionsName);
    put_two(out, record.type);
    put_two(out, kInternet);
    put_four(out, record.ttl);
    put_two(out, static_cast<uint16_t>(record.data.size()));
    out += record.data;
  }
  if (question.extended) put_extension(out);
  return out;
}

std::string forwarded_reply(const Question& question, std::string_view answer, size_t most) {
  Reader in(answer);
  Header header = read_header(in);
  std::string name = in.name().text;
  uint16_t type = in.two();
  uint16_t klass = in.two();
  if (!in.ok() || header.questions != 1 || !(header.flags & kIsAnswer) || type != question.type ||
      klass != question.klass || name != question.name || !question.is_host ||
      in.at() != kHeaderSize + question.wire.size())
    return {};
  header.id = question.id;
  if (answer.size() > most) {
    header.flags |= kTruncated;
    header.answers = header.authorities = header.additionals = 0;
    answer = {};
  }
  std::string out;
  put_header(out, header);
  out += question.wire;
  if (!answer.empty()) out += answer.substr(in.at());
  return out;
}

std::optional<Addresses> parse_addresses(std::string_view message, const std::string& name, uint16_t type) {
  Reader in(message);
  Header header = read_header(in);
  if (!in.ok() || !(header.flags & kIsAnswer) || header.questions != 1) return std::nullopt;
  in.name();
  in.four();
  auto code = static_cast<Code>(header.flags & 0xf);
  if (code != Code::NoError) return in.ok() ? std::optional(Addresses{.code = code}) : std::nullopt;
  Answers answers;
  for (uint16_t i = 0; i < header.answers; ++i)
    if (!read_answer(in, message, type, answers)) return std::nullopt;
  if (!in.ok()) return std::nullopt;
  return follow(answers, name);
}

std::optional<Address> reversed_address(std::string_view name) {
  constexpr std::string_view kFour = ".in-addr.arpa";
  constexpr std::string_view kSix = ".ip6.arpa";
  if (name.ends_with(kFour)) return reversed_v4(split(name.substr(0, name.size() - kFour.size()), '.'));
  if (name.ends_with(kSix)) return reversed_v6(split(name.substr(0, name.size() - kSix.size()), '.'));
  return std::nullopt;
}

}  // namespace cove::net::dns
