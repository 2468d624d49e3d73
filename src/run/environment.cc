#include "run/environment.h"

#include "image/catalogue.h"

namespace cove {

Environment safe_environment() {
  return {
      {"PATH", "/home/user/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
      {"LANG", "C.UTF-8"},
      {"TERM", "xterm-256color"},
      {"IS_SANDBOX", "1"},
      {"DEBIAN_FRONTEND", "noninteractive"},
      {"PYTHONUNBUFFERED", "1"},
      {"PIP_NO_INPUT", "1"},
      {"PIP_BREAK_SYSTEM_PACKAGES", "1"},
      {"PIP_DISABLE_PIP_VERSION_CHECK", "1"},
      {"NPM_CONFIG_YES", "true"},
      {"NPM_CONFIG_PREFIX", "/home/user/.local"},
      {"NPM_CONFIG_UPDATE_NOTIFIER", "false"},
  };
}

Environment base_environment(const SandboxSpec& sandbox) {
  if (is_host_image(sandbox.image)) return safe_environment();
  Environment env = {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
                     {"TERM", "xterm-256color"},
                     {"IS_SANDBOX", "1"}};
  env.insert(env.end(), sandbox.image_defaults.env.begin(), sandbox.image_defaults.env.end());
  return env;
}

}  // namespace cove
