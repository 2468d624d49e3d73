#include "secret/mask.h"

#include <algorithm>

#include "base/text.h"
#include "secret/encodings.h"
#include "secret/seal.h"

namespace cove {
namespace {

constexpr size_t kHarmless = 8;  // so much of a long value may be seen

uint8_t byte_at(std::string_view text, size_t at) { return static_cast<uint8_t>(text[at]); }
size_t pair_of(uint8_t first, uint8_t second) { return static_cast<size_t>(first) << 8 | second; }

// One line end, as programs wrap long lines.
size_t line_end(std::string_view text) {
  if (text.starts_with("\r\n")) return 2;
  return text.starts_with('\n') || text.starts_with('\r') ? 1 : 0;
}

}  // namespace

std::shared_ptr<const MaskPatterns> MaskPatterns::make(std::vector<Masked> values, std::string_view kept) {
  std::shared_ptr<MaskPatterns> all(new MaskPatterns());
  all->values_ = std::move(values);
  for (size_t i = 0; i < all->values_.size(); ++i) {
    all->add(all->values_[i].value, i, false, kept);
    if (all->values_[i].value.size() >= kLeastMaskedEncoded) all->add_encoded(i, kept);
  }
  for (Masked& each : all->values_) wipe(each.value);
  if (all->patterns_.empty()) return nullptr;
  return all;
}

MaskPatterns::~MaskPatterns() {
  for (Pattern& pattern : patterns_) wipe(pattern.text);
}

void MaskPatterns::add_encoded(size_t value, std::string_view kept) {
  const std::string& text = values_[value].value;
  for (std::string& form : escaped_forms(text)) add(std::move(form), value, false, kept);
  for (std::string& form : base64_forms(text)) add(std::move(form), value, true, kept);
}

void MaskPatterns::add(std::string text, size_t value, bool wraps, std::string_view kept) {
  if (text.size() < kLeastMasked || kept.find(text) != kept.npos) return;
  if (std::ranges::any_of(patterns_, [&](const Pattern& each) { return each.text == text && each.wraps >= wraps; }))
    return;
  by_first_[byte_at(text, 0)].push_back(static_cast<uint32_t>(patterns_.size()));
  beginnings_.set(pair_of(byte_at(text, 0), byte_at(text, 1)));
  for (uint8_t end : {'\r', '\n'})
    if (wraps) beginnings_.set(pair_of(byte_at(text, 0), end));
  patterns_.push_back({std::move(text), value, wraps});
}

bool MaskPatterns::may_begin(std::string_view text, size_t at) const {
  if (at + 1 < text.size()) return beginnings_.test(pair_of(byte_at(text, at), byte_at(text, at + 1)));
  return !by_first_[byte_at(text, at)].empty();
}

MaskPatterns::Match MaskPatterns::match(const Pattern& pattern, std::string_view text) {
  if (!pattern.wraps) {
    const size_t size = std::min(pattern.text.size(), text.size());
    if (text.substr(0, size) != std::string_view(pattern.text).substr(0, size)) return {};
    return size == pattern.text.size() ? Match{size, pattern.value} : Match{.value = pattern.value, .open = true};
  }
  size_t at = 0;
  for (size_t i = 0; i < pattern.text.size(); ++i, ++at) {
    if (i > 0) at += line_end(text.substr(at));
    if (at == text.size()) return {.value = pattern.value, .open = true};
    if (text[at] != pattern.text[i]) return {};
  }
  return {at, pattern.value};
}

MaskPatterns::Match MaskPatterns::match(std::string_view text) const {
  Match best;
  for (uint32_t index : by_first_[byte_at(text, 0)]) {
    const Match one = match(patterns_[index], text);
    if (one.size > best.size) best.size = one.size, best.value = one.value;
    best.open = best.open || one.open;
  }
  return best;
}

MaskPatterns::Found MaskPatterns::find(std::string_view text, More more) const {
  Found found;
  for (; found.settled < text.size(); ++found.settled) {
    if (!may_begin(text, found.settled)) continue;
    const Match here = match(text.substr(found.settled));
    if (here.open && more == More::MayCome) return found;
    if (here.size > 0) found.spots.push_back({found.settled, found.settled + here.size, here.value});
  }
  return found;
}

// Of values that overlap, each is named; one that overlaps itself is named once.
void MaskPatterns::write(const Found& found, std::string_view text, Written& written, std::string& out) const {
  auto show = [&](size_t end) {
    if (end <= written.to) return;
    out += text.substr(written.to, end - written.to);
    written = {end, nullptr};
  };
  for (const Spot& spot : found.spots) {
    show(spot.begin);
    if (spot.end <= written.to) continue;
    const Masked* value = &values_[spot.value];
    if (spot.begin == written.to || written.last != value) out += concat("[secret ", value->name, "]");
    written = {spot.end, value};
  }
  show(found.settled);
}

bool MaskPatterns::is_harmless(std::string_view beginning) const {
  if (beginning.size() >= kHarmless || !find(beginning, More::Ends).spots.empty()) return false;
  return std::ranges::all_of(patterns_, [&](const Pattern& pattern) {
    return 2 * beginning.size() < pattern.text.size() || !match(pattern, beginning).open;
  });
}

std::string MaskPatterns::mask(std::string_view text) const {
  std::string out;
  Written written;
  write(find(text, More::Ends), text, written, out);
  return out;
}

std::string MaskStream::take(MaskPatterns::More more) {
  const MaskPatterns::Found found = patterns_->find(held_, more);
  std::string out;
  patterns_->write(found, held_, shown_, out);
  held_.erase(0, found.settled);
  shown_.to -= found.settled;
  return out;
}

std::string MaskStream::feed(std::string_view data) {
  held_ += data;
  return take(MaskPatterns::More::MayCome);
}

// What is shown stays in mind: of a value that it becomes the beginning of, the remainder is masked.
std::string MaskStream::rest() {
  if (!waits() || !patterns_->is_harmless(held_)) return {};
  std::string out = held_.substr(shown_.to);
  shown_ = {held_.size(), nullptr};
  return out;
}

std::string MaskStream::finish() { return take(MaskPatterns::More::Ends); }

}  // namespace cove
