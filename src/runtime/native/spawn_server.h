#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/docker/engine_walls.h"
#include "runtime/native/host_runs.h"
#include "runtime/native/spawn_protocol.h"
#include "runtime/native/walls.h"
#include "sys/process.h"
#include "sys/socket.h"

namespace cove::native {

// The life of cove-spawn: makes and ends sandboxes on request, with whatever privilege it was started with. One thread,
// one loop; what takes long is done by a child of its own.
class SpawnServer {
 public:
  // `workspace_roots`: the folders of the host below which callers who are not on this machine may have folders shown.
  SpawnServer(UniqueFd channel, Walls walls, std::vector<std::string> workspace_roots, HostRuns::Rules host = {});
  // Until the other side, the child `server`, has closed; returns its exit code. The sandboxes go on.
  Result<int> run(pid_t server);

  // One message, as if it had come over the channel.
  void handle(sys::Message message);

 private:
  // A sandbox that is coming down: it has been killed, or, where that takes long, a child ends it.
  struct Ending {
    std::string id;
    Files files;
    uint64_t token;  // 0 where its caller does not wait any more
    std::unique_ptr<LocalHand> hand;
    std::chrono::steady_clock::time_point until;
    std::optional<sys::Child> child = {};
    UniqueFd answer = {};  // the child's

    int fd() const { return child ? answer.get() : hand->end_fd(); }
  };

  // What takes long and is done by a child, which writes the answer into a pipe.
  struct Aside {
    uint64_t token;
    sys::Child child;
    UniqueFd answer;
    std::function<Result<void>(wire::Reader&)> finish = {};  // with what it answered, in place of passing that on
    std::string text = {};
  };

  void serve(int patience);
  void take_messages();
  Result<void> answer(spawn::Type type, uint64_t token, wire::Reader& in, std::vector<UniqueFd> fds);
  Result<void> create(uint64_t token, wire::Reader& in, std::vector<UniqueFd> fds);
  Result<void> create_in_engine(uint64_t token, SandboxSpec spec);
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
  Result<void> destroy(uint64_t token, wire::Reader& in);
  Result<void> run_on_host(uint64_t token, wire::Reader& in, std::vector<UniqueFd> fds);
  Result<void> find_layers(uint64_t token, wire::Reader& in);
  Result<void> unpack_layer(uint64_t token, wire::Reader& in, std::vector<UniqueFd> fds);
  Result<void> examine_layer(uint64_t token, wire::Reader& in);
  Result<void> assemble_image(uint64_t token, wire::Reader& in);
  Result<void> sweep_images(uint64_t token, wire::Reader& in);
  Result<void> do_aside(uint64_t token, const std::function<Result<wire::Writer>()>& work,
                        std::function<Result<void>(wire::Reader&)> finish = {});
  void take_whole_answer(const Aside& aside);
  void look_at_asides(const std::vector<pollfd>& polled, size_t first);
  bool take_answer(Aside& aside);
  Result<LocalHand*> hand_of(wire::Reader& in);
  Result<void> raised(uint64_t token, Raised raised);
  // `connection`: of the caller; -1 where he is not on this machine.
  Result<UniqueFd> open_workspace(const Workspace& workspace, int connection) const;
  Result<void> record_base(uint64_t token, wire::Reader& in, std::vector<UniqueFd> fds);
  Result<void> pin_workspace(uint64_t token, wire::Reader& in, const std::vector<UniqueFd>& fds);
  void take_word(const std::string& id);
  Result<void> end_aside(Ending& ending);
  bool finish(Ending& ending);
  void look_at_endings(const std::vector<pollfd>& polled, size_t first);
  void say_ended(const Ending& ending, const Result<void>& ended);
  void reap();

  Result<void> done(uint64_t token, const wire::Writer& rest = {}, const std::vector<int>& fds = {});
  void send(const wire::Writer& message, const std::vector<int>& fds = {}, std::string_view rest = {});

  UniqueFd channel_;
  Walls walls_;
  docker::EngineWalls engine_walls_;
  std::vector<std::string> workspace_roots_;
  HostRuns host_runs_;
  std::map<std::string, std::unique_ptr<LocalHand>> hands_;
  std::vector<Ending> endings_;
  std::vector<Aside> asides_;
  std::vector<std::string> known_;      // of a sweep that is being told
  std::set<std::string> known_images_;  // likewise
  std::set<std::string> known_layers_;
  bool closed_ = false;
  pid_t server_ = -1;
  std::optional<int> server_status_;
};

}  // namespace cove::native
