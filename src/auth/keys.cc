#include "auth/keys.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <sys/random.h>

#include <cstdlib>
#include <optional>

#include "base/encoding.h"
#include "base/json.h"
#include "base/text.h"

namespace cove {
namespace {

constexpr Scope kScopes[] = {Scope::Read, Scope::Run, Scope::Manage, Scope::Secrets, Scope::Approve, Scope::Admin};
constexpr size_t kIdDigits = 8;
constexpr size_t kKeyDigits = 64;
constexpr size_t kSaltBytes = 16;
constexpr size_t kMaxToken = 1024;
constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::string_view kBase64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
// What a signature is for is part of what is signed, so that none can be used as another.
constexpr std::string_view kForToken = "cove token 1\n";
constexpr std::string_view kForFile = "cove file 1\n";
constexpr std::string_view kForPreview = "cove preview 1\n";

unsigned bit(Scope scope) { return 1U << static_cast<unsigned>(scope); }

std::string random_bytes(size_t count) {
  std::string bytes(count, '\0');
  if (::getrandom(bytes.data(), count, 0) != static_cast<ssize_t>(count)) std::abort();
  return bytes;
}

const unsigned char* data_of(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

std::string sha256(std::string_view bytes) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  ::SHA256(data_of(bytes), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

std::string hmac(std::string_view secret, std::string_view message) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  unsigned size = 0;
  if (::HMAC(::EVP_sha256(), secret.data(), static_cast<int>(secret.size()), data_of(message), message.size(),
             reinterpret_cast<unsigned char*>(digest.data()), &size) == nullptr)
    std::abort();
  return digest;
}

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string hash_of(std::string_view salt, std::string_view key) { return to_hex(sha256(concat(salt, key))); }

bool is_key(std::string_view text) {
  return text.size() == kKeyPrefix.size() + kKeyDigits && text.starts_with(kKeyPrefix) &&
         text.find_first_not_of(kHexDigits, kKeyPrefix.size()) == std::string_view::npos;
}

Error wrong_token() { return Error(Code::Denied, "the token is not valid"); }
Error wrong_signature() { return Error(Code::Denied, "the signature is not valid for this file"); }

bool over(int64_t expires_ms, int64_t now_ms) { return expires_ms <= now_ms; }

// What was signed by us is well-formed; anything else is not ours after all.
Result<SandboxToken> parse_payload(const std::string& payload) {
  Json json = Json::parse(payload).value_or(Json());
  if (!json.is_object() || !json.contains("s") || !json["s"].is_string() || !json.contains("sc") ||
      !json["sc"].is_string() || !json.contains("e") || !json["e"].is_number_integer())
    return fail(wrong_token());
  Scopes scopes = COVE_TRY(read_scopes(json["sc"].get<std::string>()));
  return SandboxToken{json["s"].get<std::string>(), scopes, json["e"].get<int64_t>()};
}

Result<PreviewToken> parse_preview_payload(const std::string& payload) {
  Json json = Json::parse(payload).value_or(Json());
  if (!json.is_object() || !json.contains("s") || !json["s"].is_string()) return fail(wrong_token());
  for (const char* name : {"p", "g", "e"})
    if (!json.contains(name) || !json[name].is_number_integer()) return fail(wrong_token());
  return PreviewToken{json["s"].get<std::string>(), static_cast<uint16_t>(json["p"].get<int64_t>()),
                      static_cast<uint64_t>(json["g"].get<int64_t>()), json["e"].get<int64_t>()};
}

std::string signed_text(std::string_view secret, std::string_view payload, std::string_view prefix,
                        std::string_view purpose) {
  const std::string body = to_base64url(payload);
  return concat(prefix, body, ".", to_base64url(hmac(secret, concat(purpose, body))));
}

// What we signed for that purpose; nothing where it is not.
std::optional<std::string> signed_payload(std::string_view secret, std::string_view text, std::string_view prefix,
                                          std::string_view purpose) {
  if (text.size() > kMaxToken || !text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  std::string_view body = text.substr(0, dot);
  if (!same(to_base64url(hmac(secret, concat(purpose, body))), text.substr(dot + 1))) return std::nullopt;
  Result<std::string> payload = from_base64url(body);
  return payload ? std::optional(std::move(*payload)) : std::nullopt;
}

// Each piece with its length, so that no two grants have one text.
std::string grant_text(const FileGrant& grant) {
  std::string text(kForFile);
  for (const std::string& piece : {grant.method, grant.sandbox_id, grant.path, grant.user})
    text += concat(piece.size(), ":", piece, "\n");
  return text + std::to_string(grant.expires_ms);
}

}  // namespace

const char* scope_name(Scope scope) {
  switch (scope) {
    case Scope::Read:
      return "read";
    case Scope::Run:
      return "run";
    case Scope::Manage:
      return "manage";
    case Scope::Secrets:
      return "secrets";
    case Scope::Approve:
      return "approve";
    case Scope::Admin:
      return "admin";
  }
  return "";
}

Scopes::Scopes(std::initializer_list<Scope> scopes) {
  for (Scope scope : scopes) add(scope);
}

void Scopes::add(Scope scope) { bits_ |= bit(scope); }

bool Scopes::allow(Scope scope) const {
  if (scope == Scope::Read) return bits_ != 0;
  return (bits_ & (bit(scope) | bit(Scope::Admin))) != 0;
}

bool Scopes::within(const Scopes& other) const {
  for (Scope scope : kScopes)
    if (allow(scope) && !other.allow(scope)) return false;
  return true;
}

std::vector<std::string> Scopes::names() const {
  std::vector<std::string> names;
  for (Scope scope : kScopes)
    if (bits_ & bit(scope)) names.emplace_back(scope_name(scope));
  return names;
}

std::string Scopes::text() const { return join(names(), ","); }

Result<Scopes> parse_scopes(const std::vector<std::string>& names) {
  constexpr const char* kHint =
      "the scopes are read, run, manage, secrets, approve and admin; each includes read, and admin all of them";
  Scopes scopes;
  for (const std::string& name : names) {
    const Scope* known = nullptr;
    for (const Scope& scope : kScopes)
      if (name == scope_name(scope)) known = &scope;
    if (known == nullptr) return fail(Error(Code::Invalid, concat("'", name, "' is not a scope")).hint(kHint));
    scopes.add(*known);
  }
  if (scopes.empty()) return fail(Error(Code::Invalid, "no scope is named").hint(kHint));
  return scopes;
}

Result<Scopes> read_scopes(std::string_view text) {
  Result<Scopes> scopes = parse_scopes(split(text, ','));
  if (!scopes) return fail(std::move(scopes).error().as(Code::Internal));
  return scopes;
}

NewKey make_key() {
  NewKey key;
  key.id = to_hex(random_bytes(kIdDigits / 2));
  key.text = concat(kKeyPrefix, key.id, to_hex(random_bytes((kKeyDigits - kIdDigits) / 2)));
  key.salt = to_hex(random_bytes(kSaltBytes));
  key.hash = hash_of(key.salt, key.text);
  return key;
}

Result<std::string> key_id(std::string_view text) {
  if (!is_key(text)) return fail(wrong_key());
  return std::string(text.substr(kKeyPrefix.size(), kIdDigits));
}

Result<Scopes> check_key(const KeyRecord& record, std::string_view text, int64_t now_ms) {
  if (!is_key(text) || !same(hash_of(record.salt, text), record.hash)) return fail(wrong_key());
  if (record.revoked_ms != 0)
    return fail(Error(Code::Denied, concat("the key '", record.name, "' was revoked")).hint("ask for a new key"));
  if (record.expires_ms != 0 && over(record.expires_ms, now_ms))
    return fail(Error(Code::Denied, concat("the key '", record.name, "' has expired")).hint("ask for a new key"));
  return read_scopes(record.scopes);
}

Error wrong_key() { return Error(Code::Denied, "the key is not valid"); }

std::string make_token(std::string_view secret, const SandboxToken& token) {
  Json payload = {{"s", token.sandbox_id}, {"sc", token.scopes.text()}, {"e", token.expires_ms}};
  return signed_text(secret, payload.dump(), kTokenPrefix, kForToken);
}

Result<SandboxToken> check_token(std::string_view secret, std::string_view text, int64_t now_ms) {
  auto payload = signed_payload(secret, text, kTokenPrefix, kForToken);
  if (!payload) return fail(wrong_token());
  SandboxToken token = COVE_TRY(parse_payload(*payload));
  if (over(token.expires_ms, now_ms))
    return fail(Error(Code::Denied, "the token has expired").hint("ask for a new token of the sandbox"));
  return token;
}

std::string make_preview_token(std::string_view secret, const PreviewToken& token) {
  Json payload = {{"s", token.sandbox_id}, {"p", token.port}, {"g", token.generation}, {"e", token.expires_ms}};
  return signed_text(secret, payload.dump(), kPreviewPrefix, kForPreview);
}

Result<PreviewToken> check_preview_token(std::string_view secret, std::string_view text, int64_t now_ms) {
  auto payload = signed_payload(secret, text, kPreviewPrefix, kForPreview);
  if (!payload) return fail(wrong_token());
  PreviewToken token = COVE_TRY(parse_preview_payload(*payload));
  if (over(token.expires_ms, now_ms))
    return fail(Error(Code::Denied, "the token has expired").hint("cove ports prints a new one"));
  return token;
}

std::string sign_file(std::string_view secret, const FileGrant& grant) {
  return to_base64url(hmac(secret, grant_text(grant)));
}

Result<void> check_file_signature(std::string_view secret, const FileGrant& grant, std::string_view signature,
                                  int64_t now_ms) {
  if (!same(sign_file(secret, grant), signature)) return fail(wrong_signature());
  if (over(grant.expires_ms, now_ms))
    return fail(Error(Code::Denied, "the address of the file has expired").hint("ask for a new one"));
  return {};
}

std::string to_base64url(std::string_view bytes) {
  std::string text;
  uint32_t buffer = 0;
  unsigned bits = 0;
  for (unsigned char byte : bytes) {
    buffer = buffer << 8 | byte;
    for (bits += 8; bits >= 6; bits -= 6) text += kBase64Digits[buffer >> (bits - 6) & 63];
  }
  if (bits > 0) text += kBase64Digits[buffer << (6 - bits) & 63];
  return text;
}

Result<std::string> from_base64url(std::string_view text) {
  std::string bytes;
  uint32_t buffer = 0;
  unsigned bits = 0;
  for (char digit : text) {
    size_t value = kBase64Digits.find(digit);
    if (value == std::string_view::npos) return fail(Code::Invalid, "that is not base64url");
    buffer = buffer << 6 | static_cast<uint32_t>(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(buffer >> bits & 255);
  }
  // A lone digit makes no byte, and what is left over must be nothing: each text has one form.
  if (bits == 6 || (buffer & ((1U << bits) - 1)) != 0) return fail(Code::Invalid, "that is not base64url");
  return bytes;
}

}  // namespace cove
