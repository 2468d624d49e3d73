#include <fnmatch.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "image/etc.h"
#include "model/limits.h"
#include "sys/file.h"

namespace cove {
namespace {

constexpr uint64_t kMaxFile = 4 * kMiB;
constexpr uint64_t kMaxTotal = 64 * kMiB;

// The paths to copy, as patterns below /etc; folders are copied recursively.
constexpr const char* kTaken[] = {
    // certificates and the settings of cryptographic libraries
    "ssl/certs",
    "ssl/cert.pem",
    "ssl/openssl.cnf",
    "ssl/ct_log_list.cnf",
    "ca-certificates*",
    "crypto-policies",
    "pki/ca-trust",
    "pki/tls/certs",
    "pki/tls/cert.pem",
    "pki/tls/*.cnf",
    "pki/java",
    "pki/rpm-gpg",
    "pkcs11",
    // the loader, the shell, the locale
    "alternatives",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "timezone",
    "locale*",
    "default/locale",
    "bash.bashrc",
    "bashrc",
    "bash_completion.d",
    "profile",
    "profile.d",
    "zsh*",
    "inputrc",
    "terminfo",
    "skel",
    "shells",
    "xattr.conf",
    "magic",
    "magic.mime",
    "mime.types",
    "mailcap",
    // names and numbers
    "protocols",
    "services",
    "rpc",
    "networks",
    "ethertypes",
    "netconfig",
    "host.conf",
    "gai.conf",
    // the identity of the system
    "debian_version",
    "os-release",
    "lsb-release",
    "redhat-release",
    "fedora-release",
    "system-release*",
    "alpine-release",
    "arch-release",
    "issue",
    "issue.net",
    // languages and tools
    "python*",
    "matplotlibrc",
    "perl",
    "java*",
    ".java",
    "maven",
    "php*",
    "ruby*",
    "gemrc",
    "irbrc",
    "R",
    "gdb",
    "groff",
    "emacs",
    "vim",
    "vimrc",
    "nanorc",
    "fonts",
    "ImageMagick*",
    "ghostscript",
    "sgml",
    "xml",
    "texmf",
    "fpc*.cfg",
    "gnucobol",
    "glvnd",
    "OpenCL",
    "vulkan",
    "manpath.config",
    "man_db.conf",
    "mke2fs.conf",
    // packages
    "apt",
    "dpkg",
    "debconf.conf",
    "ucf.conf",
    "adduser.conf",
    "deluser.conf",
    "login.defs",
    "default/useradd",
    "yum.conf",
    "yum.repos.d",
    "dnf",
    "rpm",
    "pacman.conf",
    "pacman.d/mirrorlist",
    "apk",
};

// Names that are never copied, in any folder.
constexpr const char* kRefused[] = {
    "*private*", "*secret*",   "*password*", "*.key",        "*shadow*", "ssh*",
    "sudoers*",  "machine-id", "auth.conf*", "*credential*", "*token*",
};

bool matches(const char* pattern, const std::string& name) { return ::fnmatch(pattern, name.c_str(), 0) == 0; }

bool refused(const std::string& name) {
  for (const char* pattern : kRefused)
    if (matches(pattern, name)) return true;
  return false;
}

// "deb https://me:hidden@example.org/": a URL with a name and a password, outside comments.
bool holds_password(std::string_view line) {
  line = trim(line);
  if (line.starts_with('#') || line.starts_with("//")) return false;
  for (size_t at = line.find("://"); at != std::string_view::npos; at = line.find("://", at + 3)) {
    std::string_view rest = line.substr(at + 3);
    std::string_view authority = rest.substr(0, rest.find_first_of("/ \t\"'"));
    size_t end = authority.find('@');
    if (end != std::string_view::npos && authority.substr(0, end).find(':') != std::string_view::npos) return true;
  }
  return false;
}

bool holds_secret(std::string_view data) {
  if (data.find("PRIVATE KEY-----") != std::string_view::npos) return true;
  if (data.find("://") == std::string_view::npos) return false;
  for (size_t begin = 0; begin < data.size();) {
    size_t end = std::min(data.find('\n', begin), data.size());
    if (holds_password(data.substr(begin, end - begin))) return true;
    begin = end + 1;
  }
  return false;
}

class Copy {
 public:
  Copy(std::string from, const TreeWriter& out) : from_(std::move(from)), out_(out) {}

  // Copies what matches the rest of a pattern, below a folder ("" is /etc itself).
  Result<void> match(const std::string& folder, std::string_view pattern) {
    size_t slash = pattern.find('/');
    std::string first(pattern.substr(0, slash));
    auto names = sys::list_folder(from_ + folder);
    if (!names) return {};  // the folder does not exist or is not readable
    for (const std::string& name : *names) {
      if (!matches(first.c_str(), name)) continue;
      std::string path = folder + "/" + name;
      if (slash == std::string_view::npos)
        COVE_TRY(entry(path));
      else
        COVE_TRY(match(path, pattern.substr(slash + 1)));
    }
    return {};
  }

 private:
  Result<void> entry(const std::string& path) {
    if (refused(path.substr(path.rfind('/') + 1))) return {};
    auto info = sys::lstat(from_ + path);
    if (!info) return {};
    if (S_ISLNK(info->st_mode)) return link(path);
    if (S_ISREG(info->st_mode) && (info->st_mode & S_IROTH) != 0) return file(path, *info);
    constexpr mode_t kOpenToAll = S_IROTH | S_IXOTH;
    if (S_ISDIR(info->st_mode) && (info->st_mode & kOpenToAll) == kOpenToAll) return folder(path);
    return {};
  }

  Result<void> link(const std::string& path) {
    auto target = sys::readlink(from_ + path);
    if (!target || sys::lstat(out_.path(place(path)))) return {};
    COVE_TRY(parents(path));
    return out_.link(place(path), *target);
  }

  Result<void> file(const std::string& path, const struct stat& info) {
    auto size = static_cast<uint64_t>(info.st_size);
    if (size > kMaxFile || total_ + size > kMaxTotal) return {};
    auto data = sys::read_file(from_ + path, kMaxFile);
    if (!data || holds_secret(*data)) return {};
    total_ += data->size();
    COVE_TRY(parents(path));
    mode_t mode = (info.st_mode & S_IXOTH) != 0 ? 0755 : 0644;
    return out_.file(place(path), *data, mode);
  }

  Result<void> folder(const std::string& path) {
    auto names = sys::list_folder(from_ + path);
    if (!names) return {};
    COVE_TRY(out_.folder(place(path)));
    for (const std::string& name : *names) COVE_TRY(entry(path + "/" + name));
    return {};
  }

  Result<void> parents(const std::string& path) { return out_.folder(place(path.substr(0, path.rfind('/')))); }

  static std::string place(const std::string& path) { return "etc" + path; }

  std::string from_;
  const TreeWriter& out_;
  uint64_t total_ = 0;
};

}  // namespace

Result<void> copy_etc(const std::string& host_etc, const TreeWriter& out) {
  COVE_TRY(out.folder("etc"));
  Copy copy(host_etc, out);
  for (const char* pattern : kTaken) COVE_TRY_NOTE("copy the host's /etc", copy.match("", pattern));
  return {};
}

}  // namespace cove
