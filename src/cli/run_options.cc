#include "cli/run_order.h"
#include "cli/run_values.h"
#include "cli/sandbox_options.h"
#include "cli/sizes.h"

namespace cove::cli {
namespace {

constexpr auto kNothing = [](RunOrder&, Text) -> Result<void> { return {}; };

constexpr auto kOptions = option_table<RunOrder>(
    Option<RunOrder>{{"lang", '\0', "LANGUAGE",
                      "run a FILE of code, or - for standard input: python,\nnode@22, c…; `cove languages` lists them",
                      kProgram, languages_of_table},
                     [](RunOrder& order, Text text) -> Result<void> {
                       order.language = text;
                       return {};
                     }},
    kEnvOption<RunOrder>, kEnvFileOption<RunOrder>, kSecretOption<RunOrder>,
    Option<RunOrder>{{"workdir", 'w', "PATH",
                      "working folder inside (default: the workspace if there\nis one, otherwise the home)", kProgram},
                     [](RunOrder& order, Text text) { return assign(order.request.exec.cwd, parse_workdir(text)); }},
    kUserOption<RunOrder>,
    Option<RunOrder>{{"tty", 't', "", "allocate a terminal", kProgram},
                     [](RunOrder& order, Text) -> Result<void> {
                       order.request.exec.pty.emplace();
                       return {};
                     }},
    Option<RunOrder>{{"interactive", 'i', "", "forward standard input (always enabled)", kProgram}, kNothing},
    kImageOption<RunOrder>,
    Option<RunOrder>{{"entrypoint", '\0', "COMMAND", "replace the image's entrypoint; '' for none", kProgram},
                     [](RunOrder& order, Text text) -> Result<void> {
                       order.request.entrypoint.emplace();
                       if (!text.empty()) order.request.entrypoint->push_back(text);
                       return {};
                     }},

    kWorkspaceOption<RunOrder>,
    Option<RunOrder>{{"copy-in", '\0', "SRC[:DST]", "copy a file or folder in first", kFiles},
                     [](RunOrder& order, Text text) { return append(order.request.copy_in, parse_copy_in(text)); }},
    Option<RunOrder>{{"copy-out", '\0', "GLOB[:DIR]", "copy matching files out afterwards", kFiles},
                     [](RunOrder& order, Text text) { return append(order.request.copy_out, parse_copy_out(text)); }},

    Option<RunOrder>{{"results", '\0', "DIR",
                      "write the figures that Python code draws with\nmatplotlib there (with --lang python)", kFiles},
                     [](RunOrder& order, Text text) -> Result<void> {
                       if (text.empty()) return fail(Code::Invalid, "the name of the folder is empty");
                       order.results = text;
                       return {};
                     }},

    kLimitOptions<RunOrder>, kSizeOption<RunOrder>, kStrictOption<RunOrder>,

    kNetworkOptions<RunOrder>, kNestingOption<RunOrder>, kRuntimeOption<RunOrder>,

    Option<RunOrder>{{"json", '\0', "", "print the result as JSON, including the output", kOther},
                     [](RunOrder& order, Text) -> Result<void> {
                       order.output = Output::AsJson;
                       return {};
                     }},
    kNameOption<RunOrder>, kLabelOption<RunOrder>,
    Option<RunOrder>{{"rm", '\0', "", "remove the sandbox afterwards (always enabled)", kOther}, kNothing},
    Option<RunOrder>{
        {"direct", '\0', "", "run without a server, even where one is running\n(COVE_DIRECT=1 does the same)", kOther},
        [](RunOrder& order, Text) -> Result<void> {
          order.route = Route::Direct;
          return {};
        }},
    Option<RunOrder>{
        {"server", '\0', "",
         "run through the server, and start it if it is not\nrunning (default: only if it is running)", kOther},
        [](RunOrder& order, Text) -> Result<void> {
          order.route = Route::Server;
          return {};
        }},
    Option<RunOrder>{{"help", 'h', "", "print this help", kOther}, [](RunOrder& order, Text) -> Result<void> {
                       order.help = true;
                       return {};
                     }});

}  // namespace

std::span<const Option<RunOrder>> run_options() { return kOptions; }

}  // namespace cove::cli
