#include "host/harmless_table.h"

#include <algorithm>

namespace cove::harmless {
namespace {

// Excluded on purpose, besides everything that writes or starts programs:
//   file, xxd, strings    parsers of untrusted input, or with an output operand
//   tree, ls -F, diff -r  follow links, also out of the workspace
//   df, which, type       describe the host instead of the sandbox
//   tail -f               does not end
//   printf, env, git      formats; starts programs; configuration that starts programs
//   grep -P, -f           another regular expression engine; a file of patterns
// A long option with an optional value is in two lists.
constexpr uint64_t kMiB = 1024 * 1024;
constexpr std::string_view kHashFlags = "b t z binary text tag zero";

constexpr std::string_view kGrepFlags =
    "i v n c l L o w x h H s q r a I E F G b z ignore-case no-ignore-case invert-match line-number count "
    "files-with-matches files-without-match only-matching word-regexp line-regexp no-filename with-filename "
    "no-messages quiet silent recursive text extended-regexp fixed-strings basic-regexp byte-offset null-data";
constexpr std::string_view kGrepNumbers = "m A B C max-count after-context before-context context";
constexpr std::string_view kGrepTexts = "e regexp include exclude exclude-dir label";

constexpr Rule kRules[] = {
    {.name = "basename", .operands = Operands::Texts, .flags = "a z multiple zero", .texts = "s suffix", .least = 1},
    {.name = "cat",
     .operands = Operands::Files,
     .flags = "A b e E n s t T u v show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting"},
    {.name = "cmp",
     .operands = Operands::Files,
     .flags = "b l s print-bytes verbose quiet silent",
     .numbers = "n bytes",
     .least = 1,
     .most = 2},
    {.name = "cut",
     .operands = Operands::Files,
     .flags = "n s z complement only-delimited zero-terminated",
     .texts = "b c d f bytes characters delimiter fields output-delimiter"},
    {.name = "date",
     .operands = Operands::TimeFormat,
     .flags = "I R u iso-8601 rfc-email utc universal",
     .texts = "iso-8601 rfc-3339",
     .most = 1},
    {.name = "diff",
     .operands = Operands::Files,
     .flags =
         "a b B c d E i p q s t T u w y Z brief context expand-tabs ignore-all-space ignore-blank-lines "
         "ignore-case ignore-space-change ignore-tab-expansion ignore-trailing-space minimal "
         "report-identical-files show-c-function side-by-side strip-trailing-cr suppress-common-lines text unified",
     .numbers = "C U W context unified width",
     .texts = "label",
     .least = 2,
     .most = 2},
    {.name = "dirname", .operands = Operands::Texts, .flags = "z zero", .least = 1},
    {.name = "du",
     .operands = Operands::Trees,
     .flags = "0 a b c h k m s S x all apparent-size bytes human-readable null one-file-system si separate-dirs "
              "summarize total",
     .numbers = "d t max-depth threshold",
     .texts = "exclude"},
    {.name = "echo", .operands = Operands::Echo},
    {.name = "egrep",
     .operands = Operands::PatternThenTrees,
     .minus_number = true,
     .flags = kGrepFlags,
     .numbers = kGrepNumbers,
     .texts = kGrepTexts,
     .patterns = "e regexp",
     .runs = "grep",
     .always = "-E"},
    {.name = "false"},
    {.name = "fgrep",
     .operands = Operands::PatternThenTrees,
     .minus_number = true,
     .flags = kGrepFlags,
     .numbers = kGrepNumbers,
     .texts = kGrepTexts,
     .patterns = "e regexp",
     .runs = "grep",
     .always = "-F"},
    {.name = "find",
     .operands = Operands::FindExpression,
     .flags = "a and empty false not o or print print0 prune true",
     .numbers = "amin atime cmin ctime maxdepth mindepth mmin mtime size",
     .texts = "iname ipath name path type"},
    {.name = "grep",
     .operands = Operands::PatternThenTrees,
     .minus_number = true,
     .flags = kGrepFlags,
     .numbers = kGrepNumbers,
     .texts = kGrepTexts,
     .patterns = "e regexp"},
    {.name = "head",
     .operands = Operands::Files,
     .minus_number = true,
     .flags = "q v z quiet silent verbose zero-terminated",
     .numbers = "c n bytes lines"},
    {.name = "id", .names = true, .flags = "g G n r u group groups name real user"},
    {.name = "ls",
     .operands = Operands::Trees,
     .names = true,
     .flags = "1 a A c C d f g G h i k l m n N o p q Q r R s S t u U v x X all almost-all directory full-time "
              "human-readable inode kibibytes literal no-group numeric-uid-gid quote-name recursive reverse si size",
     .numbers = "w width",
     .texts = "I ignore sort time time-style"},
    {.name = "md5sum", .operands = Operands::Files, .flags = kHashFlags},
    {.name = "nl",
     .operands = Operands::Files,
     .flags = "p no-renumber",
     .numbers = "i l v w line-increment join-blank-lines number-width starting-line-number",
     .texts = "b d f h n s body-numbering footer-numbering header-numbering number-format number-separator "
              "section-delimiter"},
    {.name = "od",
     .operands = Operands::Files,
     .flags = "a b c d f i l o s v x output-duplicates",
     .numbers = "j N read-bytes skip-bytes",
     .texts = "A t address-radix format"},
    {.name = "pwd", .tells_folder = true, .flags = "P physical"},
    {.name = "readlink",
     .operands = Operands::Entries,
     .flags = "n q s v z no-newline quiet silent verbose zero",
     .least = 1},
    {.name = "realpath",
     .operands = Operands::Trees,
     .tells_folder = true,
     .flags = "e q s z canonicalize-existing no-symlinks quiet strip zero",
     .least = 1},
    // Without configuration files, and without threads, which the seccomp filter forbids.
    {.name = "rg",
     .operands = Operands::PatternThenTrees,
     .flags = "a c F H i I l n N o p q s S u v w x . case-sensitive count count-matches files files-with-matches "
              "files-without-match fixed-strings heading hidden ignore-case invert-match line-number line-regexp "
              "no-filename no-heading no-ignore no-ignore-vcs no-line-number no-messages only-matching pretty quiet "
              "smart-case stats text trim unrestricted vimgrep with-filename word-regexp",
     .numbers = "A B C m M after-context before-context context max-columns max-count max-depth maxdepth",
     .texts = "e g t T glob iglob regexp sort type type-not",
     .patterns = "e regexp files",
     .always = "--no-config -j1"},
    {.name = "sha1sum", .operands = Operands::Files, .flags = kHashFlags},
    {.name = "sha256sum", .operands = Operands::Files, .flags = kHashFlags},
    {.name = "sha512sum", .operands = Operands::Files, .flags = kHashFlags},
    // Data that does not fit in memory would be written to temporary files.
    {.name = "sort",
     .operands = Operands::Files,
     .flags = "b c C d f g h i m M n r s u V z check dictionary-order general-numeric-sort human-numeric-sort "
              "ignore-case ignore-leading-blanks ignore-nonprinting merge month-sort numeric-sort reverse stable "
              "unique version-sort zero-terminated",
     .texts = "k t field-separator key",
     .most_bytes = 64 * kMiB},
    {.name = "stat",
     .operands = Operands::Entries,
     .names = true,
     .flags = "t terse",
     .texts = "c format printf",
     .least = 1},
    {.name = "tail",
     .operands = Operands::Files,
     .minus_number = true,
     .flags = "q v z quiet silent verbose zero-terminated",
     .numbers = "c n bytes lines"},
    {.name = "tr",
     .operands = Operands::Texts,
     .flags = "c C d s t complement delete squeeze-repeats truncate-set1",
     .least = 1,
     .most = 2},
    {.name = "true"},
    {.name = "uname",
     .flags = "a i m n o p r s v all kernel-name kernel-release kernel-version machine nodename operating-system "
              "processor"},
    // A second operand would be the output.
    {.name = "uniq",
     .operands = Operands::Files,
     .flags = "c d D i u z count ignore-case repeated unique zero-terminated",
     .numbers = "f s w check-chars skip-chars skip-fields",
     .most = 1},
    {.name = "wc", .operands = Operands::Files, .flags = "c l L m w bytes chars lines max-line-length words"},
    {.name = "whoami", .names = true},
};

}  // namespace

const Rule* find_rule(std::string_view program) {
  const Rule* rule = std::ranges::find(kRules, program, &Rule::name);
  return rule == std::end(kRules) ? nullptr : rule;
}

bool lists(std::string_view list, std::string_view name) {
  while (!list.empty() && !name.empty()) {
    size_t end = std::min(list.find(' '), list.size());
    if (list.substr(0, end) == name) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

}  // namespace cove::harmless
