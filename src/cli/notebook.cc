#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>

#include "base/encoding.h"
#include "base/text.h"
#include "cli/code_body.h"
#include "cli/notebook_cells.h"
#include "cli/sandbox_options.h"
#include "cli/session.h"
#include "cli/words.h"
#include "client/problem.h"
#include "model/figures.h"
#include "sys/file.h"

namespace cove::cli {
namespace {

using client::text_of;

constexpr int kCellFailed = 1;
constexpr size_t kPortion = 4096;

struct NotebookOrder : CommonOrder {
  std::string language = "python";
  std::string context;
  std::string results;
};

constexpr Option<NotebookOrder> kOptions[] = {
    {{"lang", '\0', "LANGUAGE", "python (default) or javascript, optionally with a version:\npython@3.12", "Options",
      languages_of_table},
     [](NotebookOrder& order, Text text) { return assign(order.language, parse_language_name(text)); }},
    {{"context", '\0', "NAME", "use this context and keep its variables; it is started if it\ndoes not exist",
      "Options"},
     [](NotebookOrder& order, Text text) -> Result<void> {
       if (text.empty()) return fail(Code::Invalid, "the name of the context is empty");
       order.context = text;
       return {};
     }},
    {{"results", '\0', "DIR", "write figures that cells draw to this folder", "Options"},
     [](NotebookOrder& order, Text text) -> Result<void> {
       if (text.empty()) return fail(Code::Invalid, "the name of the folder is empty");
       order.results = text;
       return {};
     }},
    kProjectOption<NotebookOrder>,
    kHelpOption<NotebookOrder>,
};

constexpr Form kForm = {
    .verb = "notebook",
    .usage = "[OPTIONS] SANDBOX [FILE]",
    .text =
        "Runs cells of code in a context of a sandbox: an interpreter that keeps its variables from cell to cell.\n"
        "At a terminal, each input is a cell; a cell that opens a block continues until an empty line. Ctrl-C\n"
        "interrupts a cell, Ctrl-D ends. In a file or a pipe, lines `# %%` (or `// %%`) start the next cell; if a\n"
        "cell fails, the notebook ends with exit code 1.",
    .least = 1,
    .most = 2,
    .more =
        "Examples:\n"
        "  cove notebook box\n"
        "  cove notebook --context analysis --results plots box analysis.py\n"
        "  printf 'x = 6\\n# %%%%\\nx * 7\\n' | cove notebook box",
};

// --- one cell --------------------------------------------------------------------------------------------------------
// Handles Ctrl-C while a cell runs: another thread waits for it, because this one waits for the server.
class Interrupter {
 public:
  Interrupter(const client::Http& http, std::string sandbox, std::string context)
      : api_(client::Http(http.address(), http.identity())),
        sandbox_(std::move(sandbox)),
        context_(std::move(context)),
        thread_([this](std::stop_token stop) { watch(stop); }) {}

 private:
  void watch(const std::stop_token& stop) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    constexpr timespec kTurn = {0, 100'000'000};
    while (!stop.stop_requested())
      if (::sigtimedwait(&set, nullptr, &kTurn) == SIGINT)
        static_cast<void>(api_.interrupt_context(sandbox_, context_));
  }

  Api api_;
  std::string sandbox_, context_;
  std::jthread thread_;
};

void block_interrupt(int how) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  ::sigprocmask(how, &set, nullptr);
}

class Notebook {
 public:
  Notebook(Api& api, const NotebookOrder& order, std::string sandbox, std::string context)
      : api_(api), order_(order), sandbox_(std::move(sandbox)), context_(std::move(context)) {}

  // Whether the cell succeeded.
  Result<bool> run(const std::string& cell) {
    ++number_;
    block_interrupt(SIG_BLOCK);
    Result<bool> done = [&] {
      Interrupter interrupter(api_.http(), sandbox_, context_);
      return follow(cell);
    }();
    block_interrupt(SIG_UNBLOCK);
    return done;
  }
  size_t next_number() const { return number_ + 1; }

 private:
  Result<bool> follow(const std::string& cell) {
    client::EventStream stream = COVE_TRY(api_.follow_exec(sandbox_, {{"code", cell}, {"context", context_}}));
    while (std::optional<client::ServerEvent> event = COVE_TRY(stream.next())) {
      Json data = COVE_TRY(client::parse_json(event->data));
      if (event->event == "exit") return finish(client::field(data, "result"));
      COVE_TRY(show(event->event, data));
    }
    return fail(Code::Unavailable, "the server closed the connection before the cell ended");
  }

  // An error in the code has a name; an error of the server is a problem document.
  Result<void> show(const std::string& kind, const Json& data) {
    if (kind == "stdout") return sys::write_all(STDOUT_FILENO, COVE_TRY(client::bytes_of(data)));
    if (kind == "stderr") return sys::write_all(STDERR_FILENO, COVE_TRY(client::bytes_of(data)));
    if (kind == "result") return show_result(data);
    if (kind != "error") return {};
    if (!client::field(data, "traceback").is_string()) return fail(client::read_problem(data, 500));
    return sys::write_all(STDERR_FILENO, concat(trim(text_of(data, "traceback")), "\n"));
  }

  Result<void> show_result(const Json& result) {
    const Json& formats = client::field(result, "formats");
    if (std::string png = text_of(formats, "png"); !png.empty()) return keep_figure(png);
    std::string text = text_of(formats, "text");
    if (text.empty()) return {};
    std::string_view mark = ::isatty(STDOUT_FILENO) == 1 ? "Out" : "";
    return sys::write_all(STDOUT_FILENO, mark.empty() ? text + "\n" : concat(mark, "[", number_, "]: ", text, "\n"));
  }

  Result<void> keep_figure(const std::string& base64) {
    std::optional<std::string> png = from_base64(base64);
    if (!png || order_.results.empty()) {
      tell("the cell drew a figure; use --results DIR to keep figures");
      return {};
    }
    COVE_TRY(sys::make_folders(order_.results));
    const std::string path = concat(order_.results, "/", figure_name(++figures_));
    COVE_TRY(sys::write_file(path, *png));
    tell("figure: " + path);
    return {};
  }

  static bool finish(const Json& result) {
    const std::string status = text_of(result, "status");
    if (status == "success") return true;
    if (!client::field(result, "error").is_object()) tell(text_of(result, "why"));
    return false;
  }

  Api& api_;
  const NotebookOrder& order_;
  std::string sandbox_, context_;
  size_t number_ = 0;
  size_t figures_ = 0;
};

// --- where cells come from -------------------------------------------------------------------------------------------
Result<int> run_cells(Notebook& notebook, const std::string& text) {
  for (const std::string& cell : split_cells(text))
    if (!COVE_TRY(notebook.run(cell))) return kCellFailed;
  return 0;
}

// Reads lines from a terminal. Ctrl-C discards the current input.
class Prompt {
 public:
  enum class Line { Read, Interrupted, End };
  Line read(std::string& line, const std::string& prompt) {
    block_interrupt(SIG_BLOCK);  // except while it waits, so that none is missed
    static_cast<void>(sys::write_all(STDOUT_FILENO, prompt));
    while (true) {
      size_t end = waiting_.find('\n');
      if (end != std::string::npos) {
        line = waiting_.substr(0, end + 1);
        waiting_.erase(0, end + 1);
        return Line::Read;
      }
      if (!wait_for_input()) return waiting_.clear(), Line::Interrupted;
      char data[kPortion];
      ssize_t count = ::read(STDIN_FILENO, data, sizeof data);
      if (count <= 0) return Line::End;
      waiting_.append(data, static_cast<size_t>(count));
    }
  }

 private:
  // False if it was interrupted.
  static bool wait_for_input() {
    sigset_t open;
    ::sigprocmask(SIG_BLOCK, nullptr, &open);
    sigdelset(&open, SIGINT);
    pollfd polled = {STDIN_FILENO, POLLIN, 0};
    return ::ppoll(&polled, 1, nullptr, &open) >= 0 || errno != EINTR;
  }

  std::string waiting_;
};

void end_reads_on_interrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGINT, &action, nullptr);
}

Result<int> run_prompt(Notebook& notebook) {
  end_reads_on_interrupt();
  Prompt prompt;
  std::string cell, line;
  while (true) {
    const std::string number = std::to_string(notebook.next_number());
    const std::string text =
        cell.empty() ? concat("In [", number, "]: ") : std::string(number.size() + 3, ' ') + "...: ";
    Prompt::Line read = prompt.read(line, text);
    if (read == Prompt::Line::End && cell.empty()) break;
    if (read == Prompt::Line::Interrupted) {
      static_cast<void>(print("\n"));
      cell.clear();
      continue;
    }
    cell += read == Prompt::Line::Read ? line : "\n\n";
    if (trim(cell).empty()) {
      cell.clear();
    } else if (!wants_more(cell)) {
      COVE_TRY(notebook.run(std::exchange(cell, "")));
    }
  }
  static_cast<void>(print("\n"));
  return 0;
}

// --- its context -----------------------------------------------------------------------------------------------------
// A temporary context that is removed afterwards, or the named one.
Result<std::string> open_context(Api& api, const NotebookOrder& order, const std::string& sandbox) {
  for (const Json& context : COVE_TRY(api.contexts(sandbox)))
    if (!order.context.empty() && text_of(context, "name") == order.context) return text_of(context, "id");
  Json body = {{"language", order.language}};
  if (!order.context.empty()) body["name"] = order.context;
  Json context = COVE_TRY(api.create_context(sandbox, body));
  if (std::string note = text_of(context, "note"); !note.empty()) tell(note);
  return text_of(context, "id");
}

Result<int> run_notebook(const NotebookOrder& order, const std::vector<std::string>& operands) {
  const std::string& sandbox = operands[0];
  UniqueFd file;
  if (operands.size() > 1) file = COVE_TRY(sys::open(operands[1], O_RDONLY));
  const bool prompts = operands.size() == 1 && ::isatty(STDIN_FILENO) == 1;
  std::string text;
  if (!prompts)
    text = COVE_TRY(read_text(file ? file.get() : STDIN_FILENO, operands.size() > 1 ? operands[1] : "the input"));
  Api api = COVE_TRY(open_server(order));
  std::string context = COVE_TRY(open_context(api, order, sandbox));
  Notebook notebook(api, order, sandbox, context);
  Result<int> code = prompts ? run_prompt(notebook) : run_cells(notebook, text);
  if (order.context.empty()) static_cast<void>(api.remove_context(sandbox, context));
  return code;
}

int notebook(const Arguments& args) {
  auto words = read_words<NotebookOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  Result<int> code = run_notebook(words->order, words->operands);
  return code ? *code : complain(code.error());
}

}  // namespace

Verb notebook_verb() {
  return {"notebook",
          "run cells of code that share variables",
          notebook,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
