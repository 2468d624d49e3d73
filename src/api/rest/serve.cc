#include "api/rest/serve.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "api/rest/api.h"
#include "api/rest/listeners.h"
#include "base/log.h"
#include "base/text.h"
#include "runtime/runtime_set.h"
#include "spawn/client.h"
#include "store/store.h"
#include "sys/file.h"

namespace cove::api {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kGrace{5};
constexpr int kTurn = 1000;  // milliseconds between looks at what nobody tells of

void raise_descriptor_limit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) < 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Its memory has secrets: a crash must not write them to the disk.
void forbid_core_dumps() {
  const rlimit none = {0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

// Of one listener: however many connect there, the others can still accept, and sandboxes have descriptors.
size_t most_connections(const Config& config) {
  constexpr rlim_t kPart = 4;
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) < 0) return config.max_connections;
  return std::clamp<uint64_t>(config.max_connections, 1, std::max<rlim_t>(limit.rlim_cur / kPart, 1));
}

// Before there are threads, which inherit it: signals are read, never delivered.
Result<UniqueFd> take_signals() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  if (::sigprocmask(SIG_BLOCK, &signals, nullptr) < 0) return fail_errno("sigprocmask");
  UniqueFd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return fail_errno("signalfd");
  return fd;
}

log::Level level_of(LogLevel level) {
  switch (level) {
    case LogLevel::Debug:
      return log::Level::Debug;
    case LogLevel::Info:
      return log::Level::Info;
    case LogLevel::Warning:
      return log::Level::Warning;
    case LogLevel::Error:
      return log::Level::Error;
  }
  return log::Level::Info;
}

Result<std::vector<ListeningSocket>> all_sockets(const ServeOrder& order, const Config& config) {
  std::vector<ListeningSocket> sockets = COVE_TRY(inherit_from_systemd());
  for (int fd : order.sockets) sockets.push_back(COVE_TRY(inherit_socket(fd)));
  // Of each kind, those that were opened for us stand for those of the configuration.
  for (Face face : {Face::Local, Face::Tcp}) {
    if (std::ranges::any_of(sockets, [&](const ListeningSocket& socket) { return socket.face == face; })) continue;
    for (ListeningSocket& socket : COVE_TRY(open_sockets(config, face))) sockets.push_back(std::move(socket));
  }
  if (sockets.empty()) return fail(Code::Invalid, "there is no address to listen at");
  for (ListeningSocket& socket : COVE_TRY(open_preview_sockets(sockets, config))) sockets.push_back(std::move(socket));
  for (const ListeningSocket& socket : sockets) COVE_TRY(check_exposure(socket, config));
  return sockets;
}

// Those who started us may read a key that this user may not.
Result<std::optional<http::Tls>> tls_of(const Config& config, const ServeOrder& order) {
  if (config.tls_cert.empty() != config.tls_key.empty())
    return fail(Code::Invalid, "tls_cert and tls_key go together: one of them is not set");
  if (config.tls_cert.empty()) return std::nullopt;
  if (!order.tls_key.empty()) return http::Tls{order.tls_cert, order.tls_key};
  return http::Tls{config.tls_cert, config.tls_key};
}

// Everything that serves, in the order of its making.
class Service {
 public:
  static Result<std::unique_ptr<Service>> create(const ServeOrder& order) {
    std::unique_ptr<Service> service(new Service());
    COVE_TRY(service->prepare(order));
    COVE_TRY(service->listen(order));
    return service;
  }

  ~Service() {
    if (server_) server_->stop(kGrace);
    if (api_) api_->service->sessions().stop();
    if (engine_) engine_->stop_serving();
    for (const std::string& path : own_paths_) ::unlink(path.c_str());
  }

  std::string addresses() const {
    std::string text = join(addresses_, ", ");
    return previews_.empty() ? text : concat(text, "; previews at ", join(previews_, ", "));
  }

  // Until it is to end. An error: it can do nothing more.
  Result<void> run(bool exits_when_idle) {
    Clock::time_point busy = Clock::now();
    while (true) {
      pollfd fds[] = {{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                      {.fd = spawn_gone_.get(), .events = POLLIN, .revents = 0}};
      ::poll(fds, 2, kTurn);
      if (fds[1].revents != 0) return fail(Code::Unavailable, "cove-spawn is gone: nothing more can be done here");
      if (fds[0].revents != 0) return {};
      api_->service->attendance().sweep();
      if (!exits_when_idle) continue;
      if (!engine_->idle() || server_->connections() > 0) busy = Clock::now();
      if (config_.idle_exit.count() > 0 && Clock::now() - busy >= config_.idle_exit) return {};
    }
  }

 private:
  Service() = default;

  Result<void> prepare(const ServeOrder& order) {
    raise_descriptor_limit();
    forbid_core_dumps();
    signals_ = COVE_TRY(take_signals());
    spawn_gone_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!spawn_gone_) return fail_errno("eventfd");
    config_ =
        COVE_TRY(load_config({.file = order.config_file, .env = {}, .flags = order.settings, .uid = order.owner}));
    config_.server_folder = order.folder.empty() ? config_.state + "/server" : order.folder;
    log::set_level(level_of(config_.log_level));
    // Its lock says that no other server has this state: before any socket is taken.
    std::unique_ptr<Store> store = COVE_TRY(Store::open(config_.server_folder));
    sockets_ = COVE_TRY(all_sockets(order, config_));
    config_.preview.site = COVE_TRY(reached_site(sockets_, config_));
    spawn_ = spawn::SpawnClient::create(UniqueFd(order.channel), [this] {
      spawn_lost_ = true;
      ::eventfd_write(spawn_gone_.get(), 1);
    });
    ImageRules rules{config_.images.registry,           config_.images.mirror,   config_.images.insecure_registries,
                     config_.images.private_registries, config_.images.max_size, config_.images.max_entries};
    std::unique_ptr<Images> images = COVE_TRY(Images::open(concat(config_.server_folder, "/", kServerImages),
                                                           spawn::make_spawned_layer_store(spawn_), std::move(rules)));
    engine_ = COVE_TRY(engine::Engine::open(
        config_, std::move(store), make_runtimes(), std::move(images),
        {.secret_keys = {.credential = order.secrets_key, .old_credential = order.old_secrets_key}}));
    api_ = COVE_TRY(Api::create(*engine_, order.owner));
    api_->service->executions().set_host(spawn::make_spawned_host_runner(spawn_));
    api_->can_spawn = [this] { return !spawn_lost_; };
    api_->autostarted = order.exits_when_idle;
    api_->diagnosis = [this] { return spawn::diagnose(*spawn_); };
    return {};
  }

  std::unique_ptr<Runtime> make_runtimes() {
    auto all = std::make_unique<RuntimeSet>();
    all->add(spawn::spawned_runtime_names(), spawn::make_spawned_runtime(spawn_));
    return all;
  }

  Result<void> listen(const ServeOrder& order) {
    server_ = COVE_TRY(http::Server::create({.max_connections = most_connections(config_)}));
    std::shared_ptr<const http::Router> router = make_router(*api_);
    std::optional<http::Tls> tls = COVE_TRY(tls_of(config_, order));
    for (ListeningSocket& socket : sockets_) {
      http::ListenerOptions options = listener_options(*api_, socket.face);
      if (socket.face != Face::Local) {
        options.tls = tls;
        options.strangers.emplace();
      }
      (socket.face == Face::Preview ? previews_ : addresses_).push_back(socket.address);
      if (!socket.path.empty()) own_paths_.push_back(socket.path);
      COVE_TRY_NOTE(socket.address, server_->listen(std::move(socket.fd), router, std::move(options)));
    }
    return server_->start();
  }

  UniqueFd signals_;
  UniqueFd spawn_gone_;
  std::atomic<bool> spawn_lost_ = false;
  Config config_;
  std::vector<ListeningSocket> sockets_;
  std::vector<std::string> addresses_;
  std::vector<std::string> previews_;  // addresses that serve nothing else
  std::vector<std::string> own_paths_;
  std::shared_ptr<spawn::SpawnClient> spawn_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<http::Server> server_;
};

void tell(int ready_fd, const std::string& line) {
  if (ready_fd < 0) return;
  UniqueFd fd(ready_fd);
  (void)sys::write_all(fd.get(), line);
}

}  // namespace

Result<void> serve(const ServeOrder& order) {
  Result<std::unique_ptr<Service>> service = Service::create(order);
  if (!service) {
    tell(order.ready_fd, concat("error: ", service.error().message(), "\n"));
    return fail(std::move(service).error());
  }
  std::string line = concat("cove: serving at ", (*service)->addresses(), "\n");
  (void)sys::write_all(STDERR_FILENO, line);
  tell(order.ready_fd, "ready\n");
  Result<void> ended = (*service)->run(order.exits_when_idle);
  log::info("the server stops");
  return ended;
}

}  // namespace cove::api
