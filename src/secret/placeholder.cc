#include "secret/placeholder.h"

#include <sodium.h>

#include <algorithm>

namespace cove {
namespace {

// The longer ones before those that they begin with.
constexpr std::string_view kPrefixes[] = {
    "github_pat_", "ghp_",     "gho_",      "ghu_",        "ghs_",     "ghr_",     "sk-ant-api03-", "sk-ant-oat01-",
    "sk-ant-",     "sk-proj-", "sk-or-v1-", "sk-svcacct-", "sk_live_", "sk_test_", "rk_live_",      "pk_live_",
    "pk_test_",    "sk-",      "xoxb-",     "xoxp-",       "xoxa-",    "xoxe-",    "xapp-",         "AKIA",
    "ASIA",        "glpat-",   "gldt-",     "npm_",        "pypi-",    "eyJ",      "hf_",           "AIza",
    "ya29.",       "dop_v1_",  "shpat_",    "SG.",         "gsk_",     "r8_",      "xai-",          "pat_",
    "dckr_pat_",   "lin_api_", "ntn_",      "secret_",     "whsec_",   "tskey-",
};
constexpr size_t kLeastRandom = 8;  // characters, for a placeholder that is found by chance nowhere
constexpr int kTries = 100;
constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kLowerHex = "0123456789abcdef";
constexpr std::string_view kUpperHex = "0123456789ABCDEF";
constexpr std::string_view kAny = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

bool only_has(std::string_view text, std::string_view alphabet) {
  return !text.empty() && text.find_first_not_of(alphabet) == text.npos;
}

// What a character may be replaced with; empty: it stays.
std::string_view alphabet_of(char c) {
  for (std::string_view alphabet : {kLower, kUpper, kDigits})
    if (alphabet.find(c) != alphabet.npos) return alphabet;
  const bool is_sign = c > ' ' && c < 0x7f;
  return is_sign ? std::string_view() : kLower;
}

// A number in hexadecimal stays one.
std::string_view whole_alphabet(std::string_view text) {
  for (std::string_view alphabet : {kDigits, kLowerHex, kUpperHex})
    if (only_has(text, alphabet)) return alphabet;
  return {};
}

char pick(std::string_view alphabet) { return alphabet[randombytes_uniform(static_cast<uint32_t>(alphabet.size()))]; }

size_t kept_prefix(std::string_view value) {
  const size_t prefix = known_prefix(value).size();
  return value.size() - prefix >= kLeastRandom ? prefix : 0;
}

std::string any_text(size_t size) {
  std::string text(size, '\0');
  for (char& c : text) c = pick(kAny);
  return text;
}

std::string imitate(std::string_view value) {
  const size_t prefix = kept_prefix(value);
  const std::string_view rest = value.substr(prefix), whole = whole_alphabet(rest);
  std::string text(value.substr(0, prefix));
  size_t random = 0;
  for (char c : rest) {
    const std::string_view alphabet = whole.empty() ? alphabet_of(c) : whole;
    text += alphabet.empty() ? c : pick(alphabet);
    random += alphabet.empty() ? 0 : 1;
  }
  return random >= kLeastRandom ? text : any_text(value.size());
}

bool clashes(std::string_view a, std::string_view b) {
  return !b.empty() && (a.find(b) != a.npos || b.find(a) != b.npos);
}

}  // namespace

std::string_view known_prefix(std::string_view value) {
  for (std::string_view prefix : kPrefixes)
    if (value.starts_with(prefix)) return prefix;
  return {};
}

std::string make_placeholder(std::string_view value, const std::vector<std::string_view>& others) {
  if (value.size() < kLeastBrokered || ::sodium_init() < 0) return "";
  auto is_new = [&](std::string_view text) {
    return !clashes(text, value) &&
           std::ranges::none_of(others, [&](std::string_view other) { return clashes(text, other); });
  };
  std::string text = imitate(value);
  // Where the form itself is in one of the others, it is given up.
  for (int i = 0; i < kTries && !is_new(text); ++i) text = i < kTries / 2 ? imitate(value) : any_text(value.size());
  return text;
}

bool same_shape(std::string_view placeholder, std::string_view value) {
  if (placeholder.size() != value.size() || placeholder == value) return false;
  const size_t prefix = kept_prefix(value);
  if (!placeholder.starts_with(value.substr(0, prefix))) return false;
  const std::string_view stands = placeholder.substr(prefix), rest = value.substr(prefix);
  const std::string_view whole = whole_alphabet(rest);
  if (!whole.empty()) return only_has(stands, whole);
  return std::ranges::equal(
      stands, rest, [](char a, char b) { return alphabet_of(b).empty() ? a == b : alphabet_of(a) == alphabet_of(b); });
}

}  // namespace cove
