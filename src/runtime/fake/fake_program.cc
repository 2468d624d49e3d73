#include "runtime/fake/fake_program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/text.h"
#include "sys/file.h"

namespace cove::fake {
namespace {

constexpr int kLargePipe = 1 << 20;

const std::set<std::string> kWords = {"print",       "error",        "flood",         "echo-input", "show-variable",
                                      "save",        "show",         "sleep",         "break",      "sleep-for",
                                      "ignore-term", "leave-orphan", "out-of-memory", "exit",       "signal"};

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (char c : text) {
    if (c != ' ' && c != '\n')
      word += c;
    else if (!word.empty())
      words.push_back(std::exchange(word, {}));
  }
  if (!word.empty()) words.push_back(word);
  return words;
}

bool is_ignored(int number) {
  return number == SIGCONT || number == SIGCHLD || number == SIGWINCH || number == SIGURG || number == SIGSTOP;
}

}  // namespace

FakeProgram::FakeProgram(FakeWorld& world, std::shared_ptr<FakePlace> place, ExecSpec spec, Tell tell)
    : world_(world),
      place_(std::move(place)),
      spec_(std::move(spec)),
      tell_(std::move(tell)),
      wake_(::eventfd(0, EFD_CLOEXEC)),
      has_lot_(!spec_.script_follows && !spec_.command_follows),
      awake_since_(world.clock.now()) {}

Result<std::shared_ptr<FakeProgram>> FakeProgram::start(FakeWorld& world, std::shared_ptr<FakePlace> place,
                                                        ExecSpec spec, Tell tell) {
  std::shared_ptr<FakeProgram> program(new FakeProgram(world, std::move(place), std::move(spec), std::move(tell)));
  COVE_TRY(program->open_streams());
  program->thread_ = std::thread([raw = program.get()] { raw->run(); });
  return program;
}

FakeProgram::~FakeProgram() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(world_.mutex);
    vanish();
  }
  thread_.join();
}

Result<void> FakeProgram::open_streams() {
  sys::Pipe out = COVE_TRY(sys::pipe());
  sys::Pipe err = COVE_TRY(sys::pipe());
  for (const UniqueFd* fd : {&out.write, &err.write}) COVE_TRY(sys::set_nonblocking(fd->get()));
  out_ = std::move(out.write), out_kept_ = std::move(out.read);
  err_ = std::move(err.write), err_kept_ = std::move(err.read);
  return spec_.input || spec_.whole_input ? open_input() : Result<void>();
}

Result<void> FakeProgram::open_input() {
  sys::Pipe in = COVE_TRY(sys::pipe());
  input_ = std::move(in.read);
  if (!spec_.whole_input) {
    input_kept_ = std::move(in.write);
    return {};
  }
  if (spec_.whole_input->size() > kLargePipe || ::fcntl(in.write.get(), F_SETPIPE_SZ, kLargePipe) < 0)
    return fail(Code::Unsupported, "a fake program takes no input as large as this");
  return sys::write_all(in.write.get(), *spec_.whole_input);
}

Result<Attachment> FakeProgram::streams() const {
  Attachment streams;
  if (input_kept_) streams.in = COVE_TRY(sys::dup(input_kept_.get()));
  streams.out = COVE_TRY(sys::dup(out_kept_.get()));
  streams.err = COVE_TRY(sys::dup(err_kept_.get()));
  return streams;
}

void FakeProgram::give(ExecSpec spec) {
  if (!spec.input) input_.reset();
  spec_.argv = std::move(spec.argv);
  spec_.env = std::move(spec.env);
  has_lot_ = true;
  awake_since_ = world_.clock.now();
  world_.changed.notify_all();
}

void FakeProgram::give_script(std::string_view text) {
  spec_.argv = words_of(text);
  has_lot_ = true;
  awake_since_ = world_.clock.now();
  world_.changed.notify_all();
}

void FakeProgram::signal(int number) {
  if (is_ignored(number) || (number == SIGTERM && ignores_term_)) return;
  killed_by_ = number;
  ::eventfd_write(wake_.get(), 1);
  world_.changed.notify_all();
}

void FakeProgram::vanish() {
  vanished_ = true;
  ::eventfd_write(wake_.get(), 1);
  world_.changed.notify_all();
}

// --- what its thread does, with the lock
// ------------------------------------------------------------------------------

void FakeProgram::run() {
  lock_ = std::unique_lock(world_.mutex);
  outcome_.exec_id = spec_.id;
  outcome_.usage = {.cpu_user_ms = 1, .memory_peak_bytes = 1 << 20, .processes_peak = 1};
  if (!has_lot_) {
    tell_(ExecWaiting{spec_.id});
    pass_until([this] { return has_lot_; });
  }
  if (!spec_.compile.empty()) {
    outcome_.phase = Phase::Compile;
    run_script(spec_.compile);
    finished_ = finished_ && outcome_.wait_status != 0;
    if (!finished_) outcome_.phase = Phase::Run;
  }
  run_script(spec_.argv);
  finish();
  lock_.unlock();
}

void FakeProgram::finish() {
  if (killed_by_ != 0 && !finished_) outcome_.wait_status = killed_by_;
  input_.reset();
  if (!leaves_orphan_ || vanished_) out_.reset(), err_.reset();
  ended_ = true;
  if (vanished_) return;
  end_ = failure_ ? Event(*failure_) : Event(outcome_);
  tell_(*end_);
}

void FakeProgram::run_script(std::vector<std::string> words) {
  words_ = script_of(std::move(words));
  at_ = 0;
  while (!over() && at_ < words_.size()) {
    pass_until([] { return true; });
    if (!over()) run_word(next_word());
  }
}

std::vector<std::string> FakeProgram::script_of(std::vector<std::string> words) const {
  if (words.empty() || kWords.contains(words.front()) || !place_->files.contains(words.back())) return words;
  return words_of(text_of(words.back()));
}

std::string FakeProgram::next_word() { return at_ < words_.size() ? words_[at_++] : std::string(); }

void FakeProgram::run_word(const std::string& word) {
  if (word == "print") return write(out_, next_word());
  if (word == "error") return write(err_, next_word());
  if (word == "flood") return write(out_, std::string(parse_integer(next_word(), 0, INT32_MAX).value_or(0), 'x'));
  if (word == "echo-input") return echo_input();
  if (word == "show-variable") return show_variable(next_word());
  if (word == "show") return write(out_, text_of(next_word()));
  if (word == "save") {
    const std::string path = next_word();
    return save(path, next_word());
  }
  if (word == "sleep") return pass_until([] { return false; });
  if (word == "sleep-for") return sleep_for(next_word());
  if (word == "ignore-term") return void(ignores_term_ = true);
  if (word == "leave-orphan") return void(leaves_orphan_ = true);
  if (word == "exit") return exit(static_cast<int>(parse_integer(next_word(), 0, 255).value_or(0)));
  if (word == "signal") return signal(static_cast<int>(parse_integer(next_word(), 1, NSIG - 1).value_or(SIGKILL)));
  if (word == "break") return fail_to_start(Error(Code::Internal, "the fake machine breaks"), 125);
  if (word == "out-of-memory") {
    outcome_.oom_kills = 1;
    return signal(SIGKILL);
  }
  fail_to_start(Error(Code::NotFound, concat("there is no program '", word, "'")), 127);
}

void FakeProgram::fail_to_start(Error error, int exit_code) {
  failure_ = ExecFailed{spec_.id, std::move(error), exit_code, outcome_.phase};
  finished_ = true;
}

void FakeProgram::pass_until(const std::function<bool()>& then) {
  world_.changed.wait(lock_, [&] { return over() || (!place_->frozen && then()); });
}

void FakeProgram::sleep_for(const std::string& milliseconds) {
  awake_since_ += std::chrono::milliseconds(parse_integer(milliseconds, 0, INT32_MAX).value_or(0));
  pass_until([&] { return world_.clock.now() >= awake_since_; });
}

void FakeProgram::poll_for(int fd, short events) {
  lock_.unlock();
  pollfd polled[] = {{fd, events, 0}, {wake_.get(), POLLIN, 0}};
  ::poll(polled, 2, -1);
  lock_.lock();
  pass_until([] { return true; });
}

void FakeProgram::write(const UniqueFd& fd, std::string_view data) {
  while (!data.empty() && !over()) {
    const ssize_t count = ::write(fd.get(), data.data(), data.size());
    if (count > 0)
      data.remove_prefix(static_cast<size_t>(count));
    else
      poll_for(fd.get(), POLLOUT);
  }
}

void FakeProgram::echo_input() {
  char buffer[4096];
  while (input_ && !over()) {
    poll_for(input_.get(), POLLIN);
    if (over()) return;
    const ssize_t count = ::read(input_.get(), buffer, sizeof buffer);
    if (count <= 0) return;
    write(out_, {buffer, static_cast<size_t>(count)});
  }
}

void FakeProgram::show_variable(const std::string& name) {
  std::string value;
  for (const auto& [each, its] : spec_.env)
    if (each == name) value = its;
  write(out_, value);
}

std::string FakeProgram::text_of(const std::string& path) const {
  auto found = place_->files.find(path);
  return found == place_->files.end() ? std::string() : sys::read_file(sys::fd_path(found->second.get())).value_or("");
}

void FakeProgram::save(const std::string& path, std::string_view text) {
  UniqueFd file(::memfd_create("file", MFD_CLOEXEC));
  if (!file || !sys::write_all(file.get(), text)) return exit(1);
  place_->files[path] = std::move(file);
}

}  // namespace cove::fake
