#include "engine/testing.h"

#include <poll.h>
#include <stdlib.h>

#include <filesystem>

#include "base/text.h"

namespace cove::engine {
namespace {

// Of a server that has no images of its own.
class NoLayers : public LayerStore {
 public:
  Result<std::vector<std::optional<unpack::Report>>> find(const std::vector<std::string>& keys) override {
    return std::vector<std::optional<unpack::Report>>(keys.size());
  }
  Result<unpack::Report> unpack(const UnpackRequest&) override { return none(); }
  Result<unpack::Report> examine(const std::string&) override { return none(); }
  Result<void> assemble(const std::string&, const std::vector<std::string>&) override { return none(); }
  Result<void> sweep(const std::vector<std::string>&, const std::vector<std::string>&) override { return {}; }

 private:
  static std::unexpected<Error> none() { return fail(Code::Unsupported, "there are no layers here"); }
};

// What there is now.
std::string taken(Follower& follower) {
  std::string text;
  const std::vector<Chunk> chunks = follower.next(1 << 20).value();
  for (const Chunk& chunk : chunks) text += chunk.data;
  return text;
}

// In memory where there is such a place: these stores have no crash of the machine to survive.
std::string scratch() { return std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp"; }

}  // namespace

bool becomes(const std::function<bool()>& true_now, milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!true_now()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

Outcome outcome_of(const ExecInfo& exec) {
  if (!exec.result) return {.status = exec.state == ExecState::Running ? "running" : "failed"};
  const ExecResult& result = *exec.result;
  return {.status = status_name(result.status),
          .exit_code = result.exit_code,
          .signal = result.signal,
          .out = result.out.data,
          .err = result.err.data,
          .why = result.why,
          .phase = phase_name(result.phase),
          .duration_ms = result.duration_ms};
}

TestFolder::TestFolder() : path_(scratch() + "/cove-engine-XXXXXX") {
  if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp " + path_);
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

EngineTest::EngineTest() {
  config_.pool.size = 0;
  config_.retention.events = milliseconds(0);
  config_.server_folder = concat(folder_.path(), "/", life_);
  room_ = {.memory = 64 * kGiB, .memory_available = 32 * kGiB, .disk = 1000 * kGiB, .disk_free = 500 * kGiB};
}

EngineTest::~EngineTest() { close(); }

void EngineTest::open() {
  Result<void> opened = try_open();
  ASSERT_TRUE(opened) << opened.error().message();
  // Until its threads have begun to wait: then they notice every step of the clock.
  ASSERT_TRUE(becomes([this] { return clock_->waiting() >= 2; }));
}

Result<void> EngineTest::try_open() {
  close();
  net_->begin_anew();
  std::unique_ptr<Store> store = COVE_TRY(Store::open(config_.server_folder));
  std::unique_ptr<Images> images =
      COVE_TRY(Images::open(config_.server_folder + "/images", std::make_unique<NoLayers>(), ImageRules()));
  engine_ = COVE_TRY(Engine::open(
      config_, std::move(store), machine_.runtime(), std::move(images),
      {.clock = clock_, .measure_room = [this](const std::string&) { return room_; }, .make_gateway = net_->maker()}));
  sessions_ = Sessions::open(*engine_);
  return {};
}

void EngineTest::close() {
  sessions_.reset();
  engine_.reset();
}

void EngineTest::crash() {
  machine_.cut_off();
  const std::string before = std::exchange(config_.server_folder, concat(folder_.path(), "/", ++life_));
  std::filesystem::copy(before, config_.server_folder, std::filesystem::copy_options::recursive);
  close();
}

Engine& EngineTest::engine() {
  if (!engine_) open();
  return *engine_;
}

Sessions& EngineTest::sessions() {
  if (!engine_) open();
  return *sessions_;
}

Caller EngineTest::caller(const std::string& project) {
  Caller caller;
  caller.actor = "uid:1000";
  caller.project = project;
  caller.local = true;
  caller.scopes = Scopes({Scope::Admin});
  return caller;
}

SandboxInfo EngineTest::create(CreateOrder order, const std::string& project) {
  Result<SandboxInfo> created = engine().create(caller(project), std::move(order));
  if (created) return *created;
  ADD_FAILURE() << created.error().message();
  return {};
}

SandboxInfo EngineTest::find(const std::string& sandbox) {
  Result<SandboxInfo> found = engine().find(caller(), sandbox);
  if (found) return *found;
  SandboxInfo gone;
  gone.state = State::Deleting;
  return gone;
}

std::shared_ptr<Exec> EngineTest::start_exec(const std::string& sandbox, std::vector<std::string> words,
                                             const Edit& edit) {
  ExecOrder order;
  order.spec.argv = std::move(words);
  if (edit) edit(order);
  Result<std::shared_ptr<Exec>> exec = engine().exec(caller(), sandbox, std::move(order));
  if (exec) return *exec;
  ADD_FAILURE() << exec.error().message();
  return nullptr;
}

Outcome EngineTest::wait_for(Exec& exec) {
  UniqueFd end = exec.end_fd().value();
  pollfd polled = {end.get(), POLLIN, 0};
  if (::poll(&polled, 1, 10'000) != 1) ADD_FAILURE() << "exec " << exec.info().id << " does not end";
  return outcome_of(exec.info());
}

Outcome EngineTest::run(const std::string& sandbox, std::vector<std::string> words, const Edit& edit) {
  std::shared_ptr<Exec> exec = start_exec(sandbox, std::move(words), edit);
  return exec ? wait_for(*exec) : Outcome{.status = "refused"};
}

Outcome EngineTest::recorded(const std::string& sandbox, const std::string& exec) {
  Result<std::shared_ptr<Exec>> found = engine().find_exec(caller(), sandbox, exec, Scope::Read);
  return found ? wait_for(**found) : Outcome{.status = std::string(code_name(found.error().code()))};
}

std::string EngineTest::followed(Exec& exec, uint64_t from) {
  std::unique_ptr<Follower> follower = exec.follow(from).value();
  std::string all;
  while (true) {
    all += taken(*follower);
    if (follower->at_end()) return all;
    pollfd polled = {follower->fd(), POLLIN, 0};
    if (::poll(&polled, 1, 10'000) != 1) return all + "(and nothing more comes)";
  }
}

bool EngineTest::has_printed(Exec& exec, const std::string& text) {
  std::unique_ptr<Follower> follower = exec.follow(1).value();
  std::string all;
  return becomes([&] {
    all += taken(*follower);
    return all.find(text) != std::string::npos;
  });
}

std::vector<std::string> EngineTest::event_kinds(const std::string& sandbox) {
  std::vector<std::string> kinds;
  EventFilter filter;
  filter.sandbox_id = sandbox;
  const std::vector<EventRecord> events = engine().events(caller(), filter, 0, 1000).value();
  for (const EventRecord& event : events) kinds.push_back(event.kind);
  return kinds;
}

}  // namespace cove::engine
