#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/docker/engine_factory.h"
#include "runtime/native/sandbox_factory.h"
#include "spawn/callers.h"
#include "spawn/host_runs.h"
#include "spawn/protocol.h"
#include "sys/process.h"
#include "sys/socket.h"

namespace cove::spawn {

// The main loop of cove-spawn: creates and ends sandboxes on request, with the privilege it was started with. One
// thread, one loop; long operations run in child processes.
class SpawnServer {
 public:
  // `workspace_roots`: the folders of the host below which remote callers may use workspaces. `callers`: for the
  // sockets at which coved accepts connections.
  SpawnServer(UniqueFd channel, SandboxFactory factory, std::vector<std::string> workspace_roots,
              HostRuns::Rules host = {}, Callers callers = {});
  // Runs until the other side, the child `server`, has closed; returns its exit code. The sandboxes keep running.
  Result<int> run(pid_t server);

  // Handles one message, as if it had arrived over the channel.
  void handle(sys::Message message);

 private:
  // A sandbox that is being ended: it has been killed or, if that takes long, a child ends it.
  struct Ending {
    std::string id;
    Files files;
    uint64_t token;  // 0 if its caller no longer waits
    std::unique_ptr<LocalResources> resources;
    std::chrono::steady_clock::time_point until;
    std::optional<sys::Child> child = {};
    UniqueFd answer = {};  // from the child

    int fd() const { return child ? answer.get() : resources->end_fd(); }
  };

  // A long operation in a child process, which sends its reply in one message.
  struct HelperAnswer {
    HelperAnswer(wire::Writer text, std::vector<UniqueFd> descriptors = {})
        : rest(std::move(text)), fds(std::move(descriptors)) {}
    wire::Writer rest;
    std::vector<UniqueFd> fds;
  };
  static constexpr size_t kMaxHelpers = 32;
  using HelperWork = std::function<Result<HelperAnswer>()>;
  using HelperFinish = std::function<Result<void>(wire::Reader&, std::vector<UniqueFd>)>;
  struct Helper {
    uint64_t token;
    sys::Child child;
    UniqueFd answer;
    HelperFinish finish = {};  // called with its reply, which is then not passed on
    // Set if it has a time limit:
    std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
    std::string what = {};
    std::optional<uid_t> opens_for = {};  // the owner of the workspace it opens
  };

  // A workspace that was opened with the rights of the caller.
  struct ShownFolder {
    UniqueFd folder;
    UniqueFd repository;  // of a linked git worktree
    std::string worktree;
    uint64_t device = 0;
    uint64_t inode = 0;
    UserCredentials
        reader;  // the user whose rights are used to read it: the caller, or its owner if the caller is root
  };
  struct Opening {
    uint64_t token;
    const Workspace& workspace;
    int connection;  // of the caller; -1 if the caller is remote
    const char* attempt;
  };
  using OpenedWorkspace = std::function<Result<void>(ShownFolder)>;

  void serve(int patience);
  void take_messages();
  Result<void> answer(spawn::Type type, uint64_t token, wire::Reader& in, std::vector<UniqueFd> fds);
  Result<void> create(uint64_t token, wire::Reader& in, std::vector<UniqueFd> fds);
  Result<void> create_with(uint64_t token, SandboxSpec spec, ShownFolder shown);
  Result<void> create_in_engine(uint64_t token, SandboxSpec spec, UniqueFd folder);
  Result<void> adopt(uint64_t token, wire::Reader& in);
  Result<void> engine_image(uint64_t token, wire::Reader& in);
  Result<void> examine_runtime(uint64_t token, wire::Reader& in);
  Result<void> diagnose(uint64_t token);
  Result<void> remove_files(uint64_t token, wire::Reader& in);
  Result<void> sweep(uint64_t token, wire::Reader& in);
  Result<void> spare(uint64_t token, wire::Reader& in);
  Result<void> adopt_group(uint64_t token, wire::Reader& in);
  Result<void> set_limits(uint64_t token, wire::Reader& in);
  Result<void> usage(uint64_t token, wire::Reader& in);
  Result<void> open_network(uint64_t token, wire::Reader& in);
  Result<void> start_gateway(uint64_t token);
  Result<void> destroy(uint64_t token, wire::Reader& in);
  Result<void> run_on_host(uint64_t token, wire::Reader& in, std::vector<UniqueFd> fds);
  Result<void> find_layers(uint64_t token, wire::Reader& in);
  Result<void> unpack_layer(uint64_t token, wire::Reader& in, std::vector<UniqueFd> fds);
  Result<void> examine_layer(uint64_t token, wire::Reader& in);
  Result<void> assemble_image(uint64_t token, wire::Reader& in);
  Result<void> sweep_images(uint64_t token, wire::Reader& in);
  // Exhausted if that many are running.
  Result<void> run_helper(uint64_t token, const HelperWork& work, HelperFinish finish = {}, size_t most = kMaxHelpers);
  void take_answer(Helper& helper, sys::Message message);
  void give_up(const Helper& helper);
  void check_helpers(const std::vector<pollfd>& polled, size_t first);
  Result<LocalResources*> resources_of(wire::Reader& in);
  Result<void> created(uint64_t token, CreatedSandbox created);
  Result<UniqueFd> open_workspace(const Workspace& workspace, const std::optional<UserCredentials>& caller) const;
  // Opens it, with a time limit, and calls the continuation; a failure is sent as the reply.
  // Exhausted if too many are being opened.
  Result<void> check_openings(const std::string& path, uid_t uid) const;
  Result<void> with_workspace(const Opening& opening, OpenedWorkspace go_on);
  Result<void> record_base(uint64_t token, wire::Reader& in, std::vector<UniqueFd> fds);
  Result<void> pin_workspace(uint64_t token, wire::Reader& in, const std::vector<UniqueFd>& fds);
  void take_builder_message(const std::string& id);
  Result<void> end_in_helper(Ending& ending);
  bool finish(Ending& ending);
  void check_endings(const std::vector<pollfd>& polled, size_t first);
  void report_ended(const Ending& ending, const Result<void>& ended);
  void reap();

  Result<void> done(uint64_t token, const wire::Writer& rest = {}, const std::vector<int>& fds = {});
  void send(const wire::Writer& message, const std::vector<int>& fds = {}, std::string_view rest = {});

  UniqueFd channel_;
  SandboxFactory factory_;
  docker::EngineFactory engine_factory_;
  std::vector<std::string> workspace_roots_;
  HostRuns host_runs_;
  Callers callers_;
  std::map<std::string, std::unique_ptr<LocalResources>> resources_by_id_;
  std::vector<Ending> endings_;
  std::vector<Helper> helpers_;
  std::vector<std::string> known_;      // of a sweep whose messages are still arriving
  std::set<std::string> known_images_;  // the same for images
  std::set<std::string> known_layers_;
  sys::Child gateway_;  // started last
  bool closed_ = false;
  pid_t server_ = -1;
  std::optional<int> server_status_;
};

}  // namespace cove::spawn
