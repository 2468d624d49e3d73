#include "base/text.h"
#include "image/etc.h"
#include "sys/file.h"

namespace cove {
namespace {

// The accounts that Debian's base system has, because package scripts and apt look for them, and the two of a sandbox.
constexpr std::string_view kPasswd =
    "root:x:0:0:root:/root:/bin/bash\n"
    "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
    "bin:x:2:2:bin:/bin:/usr/sbin/nologin\n"
    "sys:x:3:3:sys:/dev:/usr/sbin/nologin\n"
    "sync:x:4:65534:sync:/bin:/bin/sync\n"
    "games:x:5:60:games:/usr/games:/usr/sbin/nologin\n"
    "man:x:6:12:man:/var/cache/man:/usr/sbin/nologin\n"
    "lp:x:7:7:lp:/var/spool/lpd:/usr/sbin/nologin\n"
    "mail:x:8:8:mail:/var/mail:/usr/sbin/nologin\n"
    "news:x:9:9:news:/var/spool/news:/usr/sbin/nologin\n"
    "uucp:x:10:10:uucp:/var/spool/uucp:/usr/sbin/nologin\n"
    "proxy:x:13:13:proxy:/bin:/usr/sbin/nologin\n"
    "www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\n"
    "backup:x:34:34:backup:/var/backups:/usr/sbin/nologin\n"
    "list:x:38:38:list:/var/list:/usr/sbin/nologin\n"
    "irc:x:39:39:irc:/run/ircd:/usr/sbin/nologin\n"
    "_apt:x:42:65534::/nonexistent:/usr/sbin/nologin\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    "user:x:1000:1000:user:/home/user:/bin/bash\n";

constexpr std::string_view kGroup =
    "root:x:0:\ndaemon:x:1:\nbin:x:2:\nsys:x:3:\nadm:x:4:\ntty:x:5:\ndisk:x:6:\nlp:x:7:\nmail:x:8:\nnews:x:9:\n"
    "uucp:x:10:\nman:x:12:\nproxy:x:13:\nkmem:x:15:\ndialout:x:20:\nfax:x:21:\nvoice:x:22:\ncdrom:x:24:\n"
    "floppy:x:25:\ntape:x:26:\nsudo:x:27:user\naudio:x:29:\ndip:x:30:\nwww-data:x:33:\nbackup:x:34:\noperator:x:37:\n"
    "list:x:38:\nirc:x:39:\nsrc:x:40:\nshadow:x:42:\nutmp:x:43:\nvideo:x:44:\nsasl:x:45:\nplugdev:x:46:\nstaff:x:50:\n"
    "games:x:60:\nusers:x:100:\nnogroup:x:65534:\nuser:x:1000:\n";

// Where the sandbox has no network, nothing leads there: glibc notices immediately, musl waits for the timeout. With
// one, an answer takes less than a second.
constexpr std::string_view kResolv = "nameserver 10.0.2.3\noptions timeout:1 attempts:3\n";

constexpr GeneratedFile kHostNames[] = {
    {"etc/hosts", "127.0.0.1\tlocalhost\n127.0.1.1\tsandbox\n::1\tlocalhost ip6-localhost ip6-loopback\n"},
    {"etc/hostname", "sandbox\n"},
    {"etc/resolv.conf", kResolv},
};
constexpr GeneratedFile kFiles[] = {
    {"etc/passwd", kPasswd},
    {"etc/group", kGroup},
    {"etc/nsswitch.conf",
     "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nprotocols: files\n"
     "services: files\nethers: files\nrpc: files\n"},
    {"etc/gitconfig", kGitConfig},
    {"etc/machine-id", ""},
    {"etc/fstab", ""},
};

// apt switches to its own account for downloads, which needs more user ids than a rootless sandbox may have.
constexpr std::string_view kAptConf = "APT::Sandbox::User \"root\";\n";

}  // namespace

std::span<const GeneratedFile> host_names() { return kHostNames; }

Result<void> generate_etc(const TreeWriter& out) {
  COVE_TRY(out.folder("etc"));
  for (const GeneratedFile& file : kFiles) COVE_TRY(out.file(file.path, file.data));
  for (const GeneratedFile& file : kHostNames) COVE_TRY(out.file(file.path, file.data));
  COVE_TRY(out.link("etc/mtab", "/proc/self/mounts"));
  if (sys::exists(out.path("etc/apt"))) {
    COVE_TRY(out.folder("etc/apt/apt.conf.d"));
    COVE_TRY(out.file("etc/apt/apt.conf.d/99cove", kAptConf));
  }
  return {};
}

}  // namespace cove
