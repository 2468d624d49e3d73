#include "engine/secret/trust.h"

#include <fcntl.h>

#include <algorithm>

#include "base/text.h"
#include "engine/secret/java_store.h"
#include "sys/file.h"

namespace cove::engine {
namespace {

// Of Debian, Alpine and Arch; Fedora and RHEL; SUSE; OpenSSL itself.
constexpr const char* kSystemBundles[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                          "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/ca-bundle.pem",
                                          "/etc/ssl/cert.pem"};
// What the system's programs make these from.
constexpr const char* kSourceFolders[] = {"/usr/local/share/ca-certificates", "/etc/pki/ca-trust/source/anchors",
                                          "/etc/pki/trust/anchors"};
constexpr const char* kSourceName = "cove-sandbox.crt";
constexpr size_t kLargestBundle = 8 << 20;
constexpr std::string_view kMark = "# Cove: the authority of this sandbox\n";
constexpr std::string_view kMarkEnd = "# Cove: end\n";

constexpr std::pair<const char*, const char*> kVariables[] = {
    {"SSL_CERT_FILE", kTrustBundle},  {"REQUESTS_CA_BUNDLE", kTrustBundle},
    {"CURL_CA_BUNDLE", kTrustBundle}, {"GIT_SSL_CAINFO", kTrustBundle},
    {"PIP_CERT", kTrustBundle},       {"CARGO_HTTP_CAINFO", kTrustBundle},
    {"AWS_CA_BUNDLE", kTrustBundle},  {"npm_config_cafile", kTrustBundle},
    {"DENO_CERT", kTrustCertificate}, {"NODE_EXTRA_CA_CERTS", kTrustCertificate}};
constexpr const char* kJavaOptions = "JAVA_TOOL_OPTIONS";
constexpr std::string_view kJavaStore = "-Djavax.net.ssl.trustStore=";

Result<std::string> read(View& view, const char* path) {
  UniqueFd file = COVE_TRY(view.open(path, O_RDONLY | O_NONBLOCK));
  if (!S_ISREG(COVE_TRY(sys::fstat(file.get())).st_mode)) return fail(Code::Invalid, concat(path, " is no file"));
  std::string text = COVE_TRY(sys::read_all(file.get(), kLargestBundle + 1));
  if (text.size() > kLargestBundle) return fail(Code::Invalid, concat(path, " is too large"));
  return text;
}

Result<void> write(View& view, const std::string& path, std::string_view text) {
  UniqueFd file = COVE_TRY(view.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK, 0644));
  if (!S_ISREG(COVE_TRY(sys::fstat(file.get())).st_mode)) return fail(Code::Invalid, concat(path, " is no file"));
  return sys::write_all(file.get(), text);
}

// Without what an earlier start has added.
std::string without_mark(std::string text) {
  const size_t begin = text.find(kMark), end = text.find(kMarkEnd, std::min(begin, text.size()));
  if (begin != text.npos && end != text.npos) text.erase(begin, end + kMarkEnd.size() - begin);
  return text;
}

// The system's own certificates, from the first bundle there is; the authority is added to all of them.
std::string extend_bundles(View& view, const std::string& addition) {
  std::string system;
  for (const char* path : kSystemBundles) {
    Result<std::string> text = read(view, path);
    if (!text) continue;
    std::string own = without_mark(std::move(*text));
    if (!own.empty() && own.back() != '\n') own += '\n';
    static_cast<void>(write(view, path, own + addition));  // an image may have it where nothing can be written
    if (system.empty()) system = std::move(own);
  }
  return system;
}

void add_source(View& view, const std::string& certificate) {
  for (const char* folder : kSourceFolders)
    if (view.stat(folder, Links::Follow)) static_cast<void>(write(view, concat(folder, "/", kSourceName), certificate));
}

bool has(const Environment& env, std::string_view name) {
  return std::ranges::any_of(env, [&](const auto& variable) { return variable.first == name; });
}

void add_java(Environment& env) {
  std::string options;
  for (const auto& [name, value] : env)
    if (name == kJavaOptions) options = value;
  if (options.find(kJavaStore) != options.npos) return;
  if (!options.empty()) options += ' ';
  options += concat(kJavaStore, kTrustJava, " -Djavax.net.ssl.trustStorePassword=changeit");
  std::erase_if(env, [](const auto& variable) { return variable.first == kJavaOptions; });
  env.emplace_back(kJavaOptions, std::move(options));
}

}  // namespace

Result<void> install_trust(View& view, const std::string& certificate, int64_t now_ms) {
  const std::string addition = concat(kMark, certificate, kMarkEnd);
  const std::string bundle = extend_bundles(view, addition) + addition;
  add_source(view, certificate);
  COVE_TRY(view.mkdir(kTrustFolder, 0755, Depth::Recursive));
  COVE_TRY(write(view, kTrustCertificate, certificate));
  COVE_TRY(write(view, kTrustBundle, bundle));
  return write(view, kTrustJava, java_trust_store(certificates_of(bundle), now_ms));
}

void add_trust_variables(Environment& env) {
  for (const auto& [name, value] : kVariables)
    if (!has(env, name)) env.emplace_back(name, value);
  add_java(env);
}

}  // namespace cove::engine
