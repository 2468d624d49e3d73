#include "net/gateway/scrubber.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstring>

#include "base/ascii.h"
#include "base/encoding.h"
#include "base/text.h"

namespace cove::net {
namespace {

constexpr size_t kShortestEncoded = 8;

void wipe(std::string& text) { OPENSSL_cleanse(text.data(), text.size()); }

size_t pair_of(std::string_view text) {
  return static_cast<size_t>(static_cast<unsigned char>(text[0])) << 8 | static_cast<unsigned char>(text[1]);
}

std::string fit(std::string text, size_t size) {
  text.resize(size, 'x');
  return text;
}

// "%2F" → "%2f".
std::string lower_escapes(std::string text) {
  for (size_t i = 0; i + 2 < text.size(); ++i) {
    if (text[i] != '%') continue;
    text[i + 1] = lower(text[i + 1]);
    text[i + 2] = lower(text[i + 2]);
  }
  return text;
}

enum class Slash { Plain, Escaped };
std::string json_escaped(std::string_view text, Slash slash) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\' || (c == '/' && slash == Slash::Escaped)) out += '\\';
    if (c == '\n' || c == '\t' || c == '\r')
      out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
    else
      out += c;
  }
  return out;
}

// The characters of base64 that do not depend on what stands before the text (`before` bytes, up to two) and behind it.
std::string inner_base64(std::string_view text, size_t before) {
  const std::string whole = to_base64(concat(std::string(before, '\0'), text));
  const size_t first = (before * 8 + 5) / 6, end = (before + text.size()) * 8 / 6;
  return end > first ? whole.substr(first, end - first) : "";
}

std::string url_safe(std::string text) {
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

}  // namespace

SecretForms::SecretForms(const std::vector<BrokeredSecret>& secrets) {
  for (const BrokeredSecret& secret : secrets)
    if (secret.value.size() >= kShortest) add_forms(secret.value, fit(secret.placeholder, secret.value.size()));
  std::ranges::sort(forms_, [](auto& a, auto& b) { return a.find.size() > b.find.size(); });
}

void SecretForms::add_forms(const std::string& value, const std::string& stand_in) {
  add(value, stand_in);
  add(percent_encode(value), percent_encode(stand_in));
  add(lower_escapes(percent_encode(value)), lower_escapes(percent_encode(stand_in)));
  for (Slash slash : {Slash::Plain, Slash::Escaped}) add(json_escaped(value, slash), json_escaped(stand_in, slash));
  add(to_hex(value), to_hex(stand_in));
  add(upper(to_hex(value)), upper(to_hex(stand_in)));
  for (size_t before : {0, 1, 2}) {
    const std::string find = inner_base64(value, before), put = inner_base64(stand_in, before);
    if (find.size() < kShortestEncoded) continue;
    add(find, put);
    add(url_safe(find), url_safe(put));
  }
}

SecretForms::~SecretForms() {
  for (Form& form : forms_) wipe(form.find);
}

void SecretForms::add(std::string find, std::string put) {
  for (const Form& form : forms_)
    if (form.find == find) return;
  pairs_.set(pair_of(find));
  firsts_.set(static_cast<unsigned char>(find[0]));
  const size_t size = find.size();
  forms_.push_back({std::move(find), fit(std::move(put), size)});
}

bool SecretForms::may_begin(std::string_view text) const {
  return text.size() > 1 ? pairs_.test(pair_of(text)) : firsts_.test(static_cast<unsigned char>(text[0]));
}

Scrubber::~Scrubber() { wipe(held_); }

// Puts out what follows those bytes of it that were already.
void Scrubber::put(std::string_view text, std::string& out) {
  const size_t known = std::min(shown_, text.size());
  shown_ -= known;
  out += text.substr(known);
}

Scrubber::Match Scrubber::match(std::string_view text, More more) const {
  if (!forms_->may_begin(text)) return {};
  for (const SecretForms::Form& form : forms_->forms()) {
    const size_t count = std::min(form.find.size(), text.size());
    if (std::memcmp(form.find.data(), text.data(), count) != 0) continue;
    if (count == form.find.size()) return {.whole = &form};
    if (more == More::Comes) return {.begun = &form};
  }
  return {};
}

// As far as value and placeholder are the same, it makes no difference which is put out.
void Scrubber::hold(std::string_view text, const SecretForms::Form& form, std::string& out) {
  size_t same = 0;
  while (same < text.size() && form.find[same] == form.put[same]) ++same;
  if (same > shown_) {
    out += text.substr(shown_, same - shown_);
    shown_ = same;
  }
  held_ = text;
  releasable_ = form.find.size() / 4;
}

void Scrubber::scan(std::string_view data, More more, std::string& out) {
  size_t done = 0, at = 0;
  while (at < data.size()) {
    const Match found = match(data.substr(at), more);
    if (!found.whole && !found.begun) {
      ++at;
      continue;
    }
    put(data.substr(done, at - done), out);
    if (found.begun) return hold(data.substr(at), *found.begun, out);
    put(found.whole->put, out);
    done = at += found.whole->put.size();
  }
  put(data.substr(done), out);
}

void Scrubber::feed(std::string_view data, std::string& out) {
  if (held_.empty()) return scan(data, More::Comes, out);
  std::string joined = concat(held_, data);
  held_.clear();
  scan(joined, More::Comes, out);
  wipe(joined);
}

void Scrubber::finish(std::string& out) {
  std::string held = std::move(held_);
  held_.clear();
  scan(held, More::Over, out);
  wipe(held);
  shown_ = 0;
}

void Scrubber::release(std::string& out) {
  if (!holds() || held_.size() > releasable_) return;
  out += std::string_view(held_).substr(shown_);
  shown_ = held_.size();
}

std::string Scrubber::scrubbed(std::string_view text) const { return scrub(*forms_, text); }

std::string scrub(const SecretForms& forms, std::string_view text) {
  std::string out;
  Scrubber scrubber(std::shared_ptr<const SecretForms>(&forms, [](const SecretForms*) {}));
  scrubber.feed(text, out);
  scrubber.finish(out);
  return out;
}

}  // namespace cove::net
