#pragma once

#include <poll.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "init/exec_child.h"
#include "init/figures.h"
#include "init/inner_groups.h"
#include "init/protocol.h"
#include "sys/socket.h"

namespace cove::init {

struct Mode {
  bool one_run = false;
  bool one_exec = false;
  bool single_id = false;
  bool landlock = false;
  bool contained = false;  // in a container of somebody else's: the root is no file system of the sandbox's own
  bool inner = false;      // in a kernel of its own: see protocol.h
  bool outer = false;      // and the one that stays outside of it
  uint64_t memory = 0;     // there: at which programs are killed; 0: none
  Filters filters;
};

// Bytes in the file system of the root: those of the writable layer, where that is in memory.
uint64_t layer_bytes();
uint64_t monotonic_milliseconds();
inline constexpr int kTurnMilliseconds = 20;  // between two looks at what the programs use

// The life of process 1: starts programs on request, reaps everything, tells how they ended, and opens the door for
// sudo. One thread, one loop; nothing that comes in over a socket can make it wait.
class Supervisor {
 public:
  Supervisor(UniqueFd control, UniqueFd listener, Mode mode);
  // The programs run in another kernel; `channel` leads to its process 1.
  void run_programs_at(UniqueFd channel) { inner_ = std::move(channel); }
  // This is that kernel, with groups for the programs.
  void put_programs_into(InnerGroups groups) { groups_ = std::move(groups); }
  // Waits for requests until the sandbox's end.
  [[noreturn]] void run();

 private:
  friend struct SupervisorFuzzer;  // of tests/fuzz

  // What follows when a compiler has ended well.
  struct NextStep {
    ChildPlan plan;
    std::vector<UniqueFd> fds;  // its streams
    UniqueFd slave;             // or its terminal
    int asked_to_end = 0;       // the signal that reached the compiler: nothing follows then
  };
  // What steps have used so far.
  struct Spent {
    uint64_t user_us = 0;
    uint64_t system_us = 0;
    uint64_t peak_kib = 0;
    uint64_t disk_read = 0;
    uint64_t disk_written = 0;
  };
  // A program that runs, or has ended and is remembered for a server to come.
  struct Program {
    std::string id;
    std::string group;
    pid_t pid = -1;
    UniqueFd report;  // open until the program runs or has failed to start
    UniqueFd terminal;
    std::vector<UniqueFd> join_fds;
    UniqueFd kept_input;         // our ends of its pipes, for a next server
    std::vector<UniqueFd> kept;  // of stdout and stderr
    std::vector<wire::Rlimit> rlimits;
    bool ended = false;
    std::string last_word;  // how it ended
    Figures figures;        // that it left
    bool told = false;      // to the present server
    std::string script;     // the path of a script that is still to come
    User owner;
    UniqueFd code;                   // where it is written to, once the program waits for it
    UniqueFd input_file;             // its input, whole, as long as not all of it is in the pipe
    UniqueFd input_pipe;             // that pipe
    std::unique_ptr<NextStep> next;  // there while its compiler runs
    Spent spent;
    pid_t inner_pid = -1;     // in the other kernel
    pid_t pump = -1;          // moves the bytes of a far terminal
    UniqueFd keys;            // what it tells of that terminal's keys
    uint64_t held_until = 0;  // it has ended, and what it wrote is still being moved: milliseconds
    uint64_t memory_kills = 0;
  };
  // An exec on its way to the other kernel.
  struct Forwarded {
    wire::ExecRequest request;
    uint64_t flags;
    std::string text;  // the request as it came; or
    UniqueFd file;     // where it is
    std::vector<UniqueFd> fds;
  };
  // Someone inside who asked for sudo.
  struct SudoClient {
    UniqueFd socket;
    UniqueFd report;
    pid_t peer = -1;
    pid_t pid = -1;
  };

  void open_sudo_door();
  void serve(const std::vector<pollfd>& polled);
  // Whether those inside may be listened to now. Process 1 is outside the limits: whoever talks too much waits.
  bool door_is_open();

  bool take_control_messages();  // whether there may be more
  void handle(sys::Message message);
  void handle_exec(wire::Reader& in, std::vector<UniqueFd> fds);
  void handle_signal(wire::Reader& in);
  void handle_resize(wire::Reader& in);
  void handle_view(wire::Reader& in, std::vector<UniqueFd> fds);
  void handle_dial(wire::Reader& in);
  void handle_attach(wire::Reader& in);
  void close_input(wire::Reader& in);
  void forget(wire::Reader& in);
  void send_own_pidfd();
  // feeding.cc
  bool prepare_feeding(Program& program, UniqueFd& input) const;
  void add_hungry(std::vector<pollfd>& polled) const;
  void feed(const std::vector<pollfd>& polled);
  // outer.cc
  void pass_on(Forwarded exec);
  bool prepare_far_terminal(const wire::ExecRequest& request, Program& program, UniqueFd& far_end);
  void take_inner_messages();
  void take_inner_message(const std::string& data);
  void inner_exited(wire::Reader& in);
  // inner.cc
  bool enter_groups(Program& program, ChildPlan& plan);
  bool start_pump(Program& program, int far_end);
  void pump_ended(pid_t pid);
  void end_when_moved(Program& program, std::string word);
  bool needs_turns() const;
  void take_turn();
  // waiting.cc
  bool put_pipe_for_script(Program& program) const;
  bool put_script(Program& program, std::string_view text) const;
  void look_for_waiting();
  void handle_code(wire::Reader& in);
  void send_table();
  void accept_server();
  void control_closed();

  void start(wire::ExecRequest request, uint64_t flags, std::vector<UniqueFd> fds);
  static bool take_streams(Program& program, uint64_t flags, std::vector<UniqueFd>& fds);
  // compiling.cc
  static void compile_first(ChildPlan& plan, Program& program, std::vector<UniqueFd>& fds, size_t stdio,
                            UniqueFd& slave);
  void go_on_or_end(Program& program, int status);
  static void note_request_to_end(Program& program, int signal);

  bool open_terminal(const wire::ExecRequest& request, const User& user, Program& program, UniqueFd& slave);
  enum class Step { Compile, Run };
  wire::Writer exit_of(const Program& program, int status, Step step) const;
  static wire::Writer failure_of(const std::string& id, wire::Stage stage, int errnum, Step step);
  void failed(const std::string& id, wire::Stage stage, int errnum);
  void end_with(Program& program, std::string word);
  void tell_of_ended();

  void reap();
  void program_ended(Program& program, int status);
  void petition_ended(SudoClient& petitioner, int status);
  void kill_all_of(const Program& program) const;

  void accept_petitioner();
  void turn_away_silent();
  void take_petition(SudoClient& petitioner);
  void start_petition(SudoClient& petitioner, wire::ExecRequest request, std::vector<UniqueFd> fds);
  const Program* program_of(pid_t pid) const;
  void forget_closed_petitioners();

  Program* find(const std::string& id);
  void tell(const wire::Writer& message, const std::vector<int>& fds = {});

  UniqueFd control_;
  UniqueFd listener_;
  UniqueFd inner_;
  InnerGroups groups_;
  Mode mode_;
  UniqueFd signals_;
  UniqueFd sudo_door_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<std::unique_ptr<SudoClient>> petitioners_;
  bool arming_ = false;          // some program is to open its script, and has not yet
  uint64_t turn_at_ = 0;         // when memory is looked at next
  bool untold_ = false;          // some ended program could not be told of yet
  int patience_left_ = 0;        // messages from inside that are still taken; grows with time
  uint64_t patience_since_ = 0;  // milliseconds of the monotonic clock
};

}  // namespace cove::init
