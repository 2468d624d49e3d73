#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/records.h"

// Who may do what: keys of the API, tokens for one sandbox, signatures for one file. Everything here is a pure function
// over values (but for the random bytes of make_key); times are milliseconds since 1970. Whatever comes from outside is
// taken as hostile: of any length, any bytes. Comparisons of secrets take the same time whatever the secret is.
namespace cove {

// What may be done. Each includes Read, and Admin includes all.
enum class Scope {
  Read,     // look at everything
  Run,      // create sandboxes, use, change and delete them
  Manage,   // images, and other long-lived things of all
  Secrets,  // set secrets
  Approve,  // let network requests and changes through
  Admin     // keys, projects, the server
};
const char* scope_name(Scope scope);  // "read", "run", …

// A set of scopes, as it was granted.
class Scopes {
 public:
  Scopes() = default;
  explicit Scopes(std::initializer_list<Scope> scopes);

  void add(Scope scope);
  // Whether what needs `scope` may be done: one of them is it, or includes it.
  bool allow(Scope scope) const;
  // Whether this set grants nothing that `other` does not: what may be handed on by a holder of `other`.
  bool within(const Scopes& other) const;
  bool empty() const { return bits_ == 0; }

  std::vector<std::string> names() const;  // {"read", "run"}
  std::string text() const;                // "read,run", as it is kept in a KeyRecord

  bool operator==(const Scopes&) const = default;

 private:
  unsigned bits_ = 0;
};

// Invalid where a name is unknown or there is none.
Result<Scopes> parse_scopes(const std::vector<std::string>& names);
// The text() of a set; as it comes from our own records, so a bad one is Internal.
Result<Scopes> read_scopes(std::string_view text);

// --- keys ------------------------------------------------------------------------------------------------------------
// "cove_" and 64 hexadecimal digits: the first 8 are the key's id, by which it is looked up; the other 56 are 224
// random bits. Because nobody can guess those, a slow hash would protect nothing: what is kept is SHA-256 over salt and
// key.
inline constexpr std::string_view kKeyPrefix = "cove_";

struct NewKey {
  std::string id;    // 8 hexadecimal digits
  std::string text;  // the key: shown once, kept nowhere
  std::string salt;  // hexadecimal, for the KeyRecord
  std::string hash;
};
NewKey make_key();

// The id within a key; Denied where the text cannot be a key.
Result<std::string> key_id(std::string_view text);

// That `text` is the key of this record, which has the id in it, and that it is neither revoked nor expired: its
// scopes. Denied otherwise; that it is revoked or expired is told only to those who have the key.
Result<Scopes> check_key(const KeyRecord& record, std::string_view text, int64_t now_ms);

// What to answer where key_id() or the look-up finds nothing: the same as for a wrong key.
Error wrong_key();

// --- tokens for one sandbox ------------------------------------------------------------------------------------------
// "cvt_" + base64url(JSON {"s": sandbox, "sc": scopes, "e": expiry}) + "." + base64url(HMAC-SHA256). Nothing is kept of
// them: they end with their time or with their sandbox.
inline constexpr std::string_view kTokenPrefix = "cvt_";

struct SandboxToken {
  std::string sandbox_id;
  Scopes scopes;
  int64_t expires_ms = 0;

  bool operator==(const SandboxToken&) const = default;
};
// `secret` is the server's, of Store::secret().
std::string make_token(std::string_view secret, const SandboxToken& token);
// Denied where the signature is not ours or its time is over.
Result<SandboxToken> check_token(std::string_view secret, std::string_view text, int64_t now_ms);

// --- signatures for one file -----------------------------------------------------------------------------------------
// One method on one file of one sandbox, as one user, for a time. HEAD is checked as GET.
struct FileGrant {
  std::string method;  // "GET" or "PUT"
  std::string sandbox_id;
  std::string path;  // exactly as in ?path=
  std::string user;  // exactly as in ?user=; empty where there is none
  int64_t expires_ms = 0;
};
// base64url of the HMAC-SHA256, for ?signature=.
std::string sign_file(std::string_view secret, const FileGrant& grant);
// Denied where the signature is not for this, or its time is over.
Result<void> check_file_signature(std::string_view secret, const FileGrant& grant, std::string_view signature,
                                  int64_t now_ms);

// --- tokens for one preview ------------------------------------------------------------------------------------------
// "cvp_" + base64url(JSON {"s": sandbox, "p": port, "g": generation, "e": expiry}) + "." + base64url(HMAC-SHA256).
inline constexpr std::string_view kPreviewPrefix = "cvp_";

struct PreviewToken {
  std::string sandbox_id;
  uint16_t port = 0;
  uint64_t generation = 0;  // of the port's access; a change of it ends earlier tokens
  int64_t expires_ms = 0;

  bool operator==(const PreviewToken&) const = default;
};
std::string make_preview_token(std::string_view secret, const PreviewToken& token);
// Denied where the signature is not ours or its time is over.
Result<PreviewToken> check_preview_token(std::string_view secret, std::string_view text, int64_t now_ms);

// --- forms -----------------------------------------------------------------------------------------------------------
// RFC 4648 section 5, without padding; Invalid where it is anything else.
std::string to_base64url(std::string_view bytes);
Result<std::string> from_base64url(std::string_view text);

}  // namespace cove
