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
#include "init/own_network.h"
#include "init/protocol.h"
#include "sys/socket.h"

namespace cove::init {

struct Mode {
  bool one_run = false;
  bool one_exec = false;
  bool single_id = false;
  bool landlock = false;
  bool contained = false;  // in a container of an engine: the root is not a file system of Cove
  bool inner = false;      // in gVisor's kernel: see protocol.h
  bool outer = false;      // the outer one of the two, on the host's kernel
  uint64_t memory = 0;     // with inner: bytes at which programs are killed; 0: no limit
  Filters filters;
};

// Bytes used in the root file system: those of the writable layer if it is in memory.
uint64_t layer_bytes();
uint64_t monotonic_milliseconds();
inline constexpr int kTurnMilliseconds = 20;  // between two checks of the programs' memory

// The main loop of process 1: starts programs on request, reaps all processes, reports how programs ended, and serves
// sudo. One thread, one loop; no message from a socket can block it.
class Supervisor {
 public:
  Supervisor(UniqueFd control, UniqueFd listener, Mode mode);
  // The programs run in another kernel; `channel` connects to its process 1.
  void run_programs_at(UniqueFd channel) { inner_ = std::move(channel); }
  // This process is in that kernel; `groups` are for the programs.
  void put_programs_into(InnerGroups groups) { groups_ = std::move(groups); }
  // Serves requests until the sandbox ends.
  [[noreturn]] void run();

 private:
  friend struct SupervisorFuzzer;  // of tests/fuzz

  // The program to start after its compiler has succeeded.
  struct NextStep {
    ChildPlan plan;
    std::vector<UniqueFd> fds;  // its streams
    UniqueFd slave;             // or its terminal, if it has one
    int asked_to_end = 0;       // the signal that was sent to the compiler: then the program is not started
  };
  // The resources used by the steps so far.
  struct Usage {
    uint64_t user_us = 0;
    uint64_t system_us = 0;
    uint64_t peak_kib = 0;
    uint64_t disk_read = 0;
    uint64_t disk_written = 0;
  };
  // A program that is running, or has ended and is remembered for a later server.
  struct Program {
    std::string id;
    std::string group;
    pid_t pid = -1;
    UniqueFd report;  // open until the program runs or has failed to start
    UniqueFd terminal;
    std::vector<UniqueFd> join_fds;
    UniqueFd kept_input;         // our ends of its pipes, for a later server
    std::vector<UniqueFd> kept;  // of stdout and stderr
    std::vector<wire::Rlimit> rlimits;
    bool ended = false;
    std::string end_message;  // the message that reports its end
    Figures figures;          // that it created
    bool reported = false;    // to the current server
    std::string script;       // the path of a script that has not arrived yet
    User owner;
    UniqueFd code;                   // where the script is written once the program waits for it
    UniqueFd input_file;             // its complete input, until all of it is in the pipe
    UniqueFd input_pipe;             // the pipe for input_file
    std::unique_ptr<NextStep> next;  // set while its compiler runs
    Usage used;
    pid_t inner_pid = -1;     // in the other kernel
    pid_t pump = -1;          // forwards the bytes of a remote terminal
    UniqueFd keys;            // reports keys of that terminal
    uint64_t held_until = 0;  // it has ended, and its output is still being forwarded: milliseconds
    uint64_t memory_kills = 0;
    OwnNetwork network;         // empty: it has the sandbox's
    bool bare_network = false;  // it has a new one: see ChildPlan
  };
  // An exec that is being sent to the other kernel.
  struct Forwarded {
    wire::ExecRequest request;
    uint64_t flags;
    std::string text;  // the request as received; or
    UniqueFd file;     // the file that contains it
    std::vector<UniqueFd> fds;
  };
  // A client inside that requested sudo.
  struct SudoClient {
    UniqueFd socket;
    std::string confined;  // the exec in whose own network it is; empty: it is in the sandbox's
    UniqueFd report;
    pid_t peer = -1;
    pid_t pid = -1;
  };

  void open_sudo_socket();
  void serve(const std::vector<pollfd>& polled);
  // Whether a message from inside may be handled now. Process 1 is outside the sandbox's limits, so the rate is
  // limited.
  bool may_take_inside_message();

  bool take_control_messages();  // returns whether there may be more
  void handle(sys::Message message);
  void handle_exec(wire::Reader& in, std::vector<UniqueFd> fds);
  void handle_signal(wire::Reader& in);
  void handle_resize(wire::Reader& in);
  void handle_view(wire::Reader& in, std::vector<UniqueFd> fds);
  void handle_dial(wire::Reader& in);
  static void handle_ports(const wire::Reader& in, std::vector<UniqueFd> fds);
  void handle_attach(wire::Reader& in);
  void close_input(wire::Reader& in);
  void forget(wire::Reader& in);
  void send_own_pidfd();
  // feeding.cc
  bool prepare_feeding(Program& program, UniqueFd& input) const;
  void add_unfed(std::vector<pollfd>& polled) const;
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
  void continue_or_end(Program& program, int status);
  static void note_request_to_end(Program& program, int signal);

  bool open_terminal(const wire::ExecRequest& request, const User& user, Program& program, UniqueFd& slave);
  enum class Step { Compile, Run };
  wire::Writer exit_of(const Program& program, int status, Step step) const;
  static wire::Writer failure_of(const std::string& id, wire::Stage stage, int errnum, Step step);
  void failed(const std::string& id, wire::Stage stage, int errnum);
  void end_with(Program& program, std::string word);
  void report_ended();

  void reap();
  void program_ended(Program& program, int status);
  void sudo_command_ended(SudoClient& client, int status);
  void kill_all_of(const Program& program) const;

  bool choose_network(uint64_t flags, Program& program, ChildPlan& plan) const;
  void add_own_networks(std::vector<pollfd>& polled, bool open) const;
  void accept_from_own_networks(const std::vector<pollfd>& polled);
  void accept_sudo_client(const UniqueFd& listener, const std::string& confined);
  void drop_silent_sudo_clients();
  void take_sudo_request(SudoClient& client);
  void start_sudo_command(SudoClient& client, wire::ExecRequest request, std::vector<UniqueFd> fds);
  const Program* program_of(const SudoClient& client) const;
  void forget_closed_sudo_clients();

  Program* find(const std::string& id);
  void tell(const wire::Writer& message, const std::vector<int>& fds = {});

  UniqueFd control_;
  UniqueFd listener_;
  UniqueFd inner_;
  InnerGroups groups_;
  Mode mode_;
  UniqueFd signals_;
  UniqueFd sudo_listener_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<std::unique_ptr<SudoClient>> sudo_clients_;
  bool arming_ = false;        // a program has not opened its script yet
  uint64_t turn_at_ = 0;       // when memory is checked next
  bool unreported_ = false;    // the end of a program could not be sent yet
  int message_budget_ = 0;     // messages from inside that are still accepted; grows with time
  uint64_t budget_since_ = 0;  // milliseconds of the monotonic clock
};

}  // namespace cove::init
