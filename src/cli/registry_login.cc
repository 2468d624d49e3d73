#include "cli/registry_login.h"

#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "base/encoding.h"
#include "base/text.h"
#include "sys/file.h"

namespace cove::cli {
namespace {

constexpr size_t kLargestFile = 1 << 20;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> candidates() {
  std::vector<std::string> files;
  if (std::string file = variable("REGISTRY_AUTH_FILE"); !file.empty()) files.push_back(file);
  if (std::string folder = variable("DOCKER_CONFIG"); !folder.empty())
    files.push_back(folder + "/config.json");
  else if (std::string home = variable("HOME"); !home.empty())
    files.push_back(home + "/.docker/config.json");
  if (std::string folder = variable("XDG_RUNTIME_DIR"); !folder.empty())
    files.push_back(folder + "/containers/auth.json");
  files.push_back(concat("/run/containers/", ::geteuid(), "/auth.json"));  // podman's default without XDG_RUNTIME_DIR
  return files;
}

// Keys are hosts, or URLs for docker's oldest registries.
std::string host_of(std::string key) {
  if (size_t scheme = key.find("://"); scheme != key.npos) key = key.substr(scheme + 3);
  key = key.substr(0, key.find('/'));
  return key == "index.docker.io" ? "docker.io" : key;
}

Error helper_error(const std::string& helper, const std::string& registry, const std::string& file) {
  return Error(Code::Unsupported, concat(file, " keeps the credentials for ", registry, " in the helper '", helper,
                                         "', which Cove does not start"))
      .hint("log in with a separate file: REGISTRY_AUTH_FILE=FILE podman login, or DOCKER_CONFIG=FOLDER docker login");
}

}  // namespace

Result<Json> login_in(std::string_view text, const std::string& registry, const std::string& file) {
  Result<Json> json = client::parse_json(text);
  if (!json || !json->is_object()) return fail(Code::Invalid, concat(file, " is not valid JSON"));
  std::string helper = client::text_of(client::field(*json, "credHelpers"), registry);
  if (!helper.empty()) return fail(helper_error(helper, registry, file));
  const Json& logins = client::field(*json, "auths");
  if (!logins.is_object()) return Json();
  for (const auto& [key, login] : logins.items()) {
    if (host_of(key) != registry) continue;
    std::string token = client::text_of(login, "identitytoken");
    std::optional<std::string> words = from_base64(client::text_of(login, "auth"));
    size_t colon = words ? words->find(':') : std::string::npos;
    if (words && colon != std::string::npos && colon > 0) {
      if (!token.empty()) return Json{{"username", words->substr(0, colon)}, {"token", token}};
      return Json{{"username", words->substr(0, colon)}, {"password", words->substr(colon + 1)}};
    }
    if (std::string store = client::text_of(*json, "credsStore"); !store.empty())
      return fail(helper_error(store, registry, file));
  }
  return Json();
}

Result<Json> find_registry_login(const std::string& registry) {
  for (const std::string& file : candidates()) {
    Result<std::string> text = sys::read_file(file, kLargestFile);
    if (!text) continue;
    Json login = COVE_TRY(login_in(*text, registry, file));
    if (!login.is_null()) return login;
  }
  return Json();
}

}  // namespace cove::cli
