#include "engine/secret/java_store.h"

#include <openssl/evp.h>

#include "base/encoding.h"
#include "base/text.h"

namespace cove::engine {
namespace {

constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
constexpr std::string_view kPassword = "changeit";
constexpr uint32_t kMagic = 0xfeedfeed;
constexpr uint32_t kVersion = 2;
constexpr uint32_t kTrustedCertificate = 2;

void append_number(std::string& out, uint64_t number, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out += static_cast<char>(number >> shift);
}

void append_text(std::string& out, std::string_view text) {
  append_number(out, text.size(), 2);
  out += text;
}

// As the format has it: over the password in UTF-16, a text that its authors chose, and all of the store.
std::string digest(std::string_view store) {
  std::string all;
  for (char c : kPassword) append_number(all, static_cast<unsigned char>(c), 2);
  all += "Mighty Aphrodite";
  all += store;
  std::string hash(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  EVP_Digest(all.data(), all.size(), reinterpret_cast<unsigned char*>(hash.data()), &size, EVP_sha1(), nullptr);
  hash.resize(size);
  return hash;
}

}  // namespace

std::vector<std::string> certificates_of(std::string_view pem) {
  std::vector<std::string> certificates;
  while (true) {
    const size_t begin = pem.find(kBegin);
    const size_t end = begin == pem.npos ? pem.npos : pem.find(kEnd, begin);
    if (end == pem.npos) return certificates;
    std::string text(pem.substr(begin + kBegin.size(), end - begin - kBegin.size()));
    std::erase_if(text, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
    if (std::optional<std::string> der = from_base64(text); der && !der->empty()) certificates.push_back(*der);
    pem.remove_prefix(end + kEnd.size());
  }
}

std::string java_trust_store(const std::vector<std::string>& certificates, int64_t created_ms) {
  std::string store;
  append_number(store, kMagic, 4);
  append_number(store, kVersion, 4);
  append_number(store, certificates.size(), 4);
  for (size_t i = 0; i < certificates.size(); ++i) {
    append_number(store, kTrustedCertificate, 4);
    append_text(store, concat("ca-", i));
    append_number(store, static_cast<uint64_t>(created_ms), 8);
    append_text(store, "X.509");
    append_number(store, certificates[i].size(), 4);
    store += certificates[i];
  }
  return store + digest(store);
}

}  // namespace cove::engine
