// Writes what the corpora of the channels begin with: messages as both sides send them, made by the same code.
//   fuzz_seeds tests/fuzz/corpus     after a message has changed
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/error_wire.h"
#include "messages.h"
#include "net/channel.h"
#include "spawn/protocol.h"

namespace {

using namespace cove;
using namespace cove::fuzz;
using wire::Stage;
using wire::Writer;

std::filesystem::path corpus;

void write(const char* fuzzer, const char* name, std::string_view content) {
  std::filesystem::create_directories(corpus / fuzzer);
  std::ofstream(corpus / fuzzer / name, std::ios::binary) << content;
}

// --- the channel to cove-spawn ---

const std::string kId = "0123456789abcdefghij";
const std::string kGroup = "e-" + kId;                     // not there
const std::string kOldGroup = "e-" + kId.substr(1) + "9";  // there

SandboxSpec example_spec() {
  SandboxSpec spec;
  spec.id = kId;
  spec.name = "box";
  spec.limits.memory.name(64 * kMiB);
  spec.limits.cpus.name(0.5);
  return spec;
}

std::string ask(spawn::Type type, const Writer& rest, uint8_t fds = 0) {
  return join_piece(fds, spawn::message(type, 7).data() + rest.data());
}

std::string create(const SandboxSpec& spec = example_spec(), uint8_t fds = 0) {
  Writer rest;
  spawn::encode(rest, spec);
  return ask(spawn::Type::Create, rest, fds);
}

// A request about the sandbox that was made before it.
std::string about(spawn::Type type, const std::string& more = {}) {
  return create() + join_piece(0, spawn::message(type, 8).text(kId).data() + more);
}

void write_spawn_requests() {
  auto seed = [](const char* name, std::string_view content) { write("spawn_request", name, content); };
  SandboxSpec spec = example_spec();
  seed("create", create() + create());
  spec.workspace = {"/home/me", Access::ReadWrite};
  seed("create_workspace", create(spec) + create(spec, 1));
  spec.workspace = {"/nonexistent/mine", Access::ReadOnly};
  seed("create_workspace_below_root", create(spec));
  spec.workspace = {"relative", Access::ReadOnly};
  seed("create_relative", create(spec));
  spec = example_spec();
  spec.id = "../../etc";
  seed("create_bad_id", create(spec));
  spec = example_spec();
  spec.nesting = true;
  seed("no_groups",
       create(spec) + ask(spawn::Type::Spare, Writer().text(kId)) + ask(spawn::Type::Usage, Writer().text(kId)));
  for (const char* runtime : {"runc", "runsc", "podman", "imaginary"}) {
    spec = example_spec();
    spec.runtime = runtime;
    seed((std::string("create_") + runtime).c_str(), create(spec) + ask(spawn::Type::Spare, Writer().text(kId)));
    Writer again;
    spawn::encode(again, spec);
    seed((std::string("adopt_") + runtime).c_str(),
         ask(spawn::Type::Adopt, again) + ask(spawn::Type::Usage, Writer().text(kId)));
  }
  seed("find_layers",
       ask(spawn::Type::FindLayers, Writer().texts(std::vector{std::string(64, '0'), std::string(64, 'a')})) +
           ask(spawn::Type::FindLayers, Writer().texts(std::vector<std::string>{"../up"})));
  Writer encoded;
  spawn::encode(encoded, example_spec());
  seed("adopt", ask(spawn::Type::Adopt, encoded) + ask(spawn::Type::Adopt, encoded));
  seed("remove_files", ask(spawn::Type::RemoveFiles, Writer().text(kId).text("native")));
  seed("sweep", ask(spawn::Type::Sweep, Writer().number(0).texts(std::vector{kId})) +
                    ask(spawn::Type::Sweep, Writer().number(1).texts(std::vector{kId})));
  seed("sweep_nonsense", ask(spawn::Type::Sweep, Writer().number(0).number(1 << 20)));
  seed("spare", about(spawn::Type::Spare));
  seed("adopt_group", about(spawn::Type::AdoptGroup, Writer().text(kOldGroup).data()) +
                          ask(spawn::Type::KillGroup, Writer().text(kId).text(kOldGroup)) +
                          ask(spawn::Type::RetireGroup, Writer().text(kId).text(kOldGroup)) +
                          ask(spawn::Type::Spare, Writer().text(kId)));
  seed("adopt_group_gone", about(spawn::Type::AdoptGroup, Writer().text(kGroup).data()) +
                               ask(spawn::Type::KillGroup, Writer().text(kId).text(kGroup)));
  seed("retire_group_gone", about(spawn::Type::AdoptGroup, Writer().text(kGroup).data()) +
                                ask(spawn::Type::RetireGroup, Writer().text(kId).text(kGroup)) +
                                ask(spawn::Type::Spare, Writer().text(kId)));
  seed("adopt_group_bad", about(spawn::Type::AdoptGroup, Writer().text("e-/../../0123456789ab").data()));
  Writer limits;
  spawn::encode(limits, example_spec().limits);
  seed("set_limits", about(spawn::Type::SetLimits, limits.data()));
  seed("freeze", about(spawn::Type::Freeze) + ask(spawn::Type::Thaw, Writer().text(kId)));
  seed("usage", about(spawn::Type::Usage) + ask(spawn::Type::LayerUsage, Writer().text(kId)));
  seed("kill", about(spawn::Type::Kill) + ask(spawn::Type::Release, Writer().text(kId)) +
                   ask(spawn::Type::Freeze, Writer().text(kId)));
  seed("unknown", ask(static_cast<spawn::Type>(31), Writer()) + ask(spawn::Type::RunOnHost, Writer().text(kId)) +
                      join_piece(0, "") + join_piece(7, encoded.data()));
}

void write_spawn_values() {
  auto seed = [](const char* name, std::string_view content) { write("spawn_values", name, content); };
  Writer limits, spec, holding, usage;
  spawn::encode(limits, example_spec().limits);
  seed("limits", limits.data());
  spawn::encode(spec, example_spec());
  seed("spec", spec.data());
  native::Holding held;
  held.limits["memory"] = {"64 MiB", "cgroup v2"};
  held.warnings = {"swap is not limited"};
  held.rlimits = {{7, 1024, 4096}};
  native::encode(holding, held);
  seed("holding", holding.data());
  sys::CgroupUsage used;
  used.cpu_user_us = 1500;
  used.memory_peak_bytes = 1 << 20;
  spawn::encode(usage, used);
  seed("usage", usage.data());
  seed("error", encode_error(Error::from_errno(ENOSPC, "write").note("create the layer").hint("make room")));
  seed("error_of_no_kind",
       Writer().number(1000).number(0).text("what").texts(std::vector<std::string>()).text("").data());
  seed("group_name", kGroup);
}

// --- the channel to process 1 ---

enum Way : uint8_t { Request, LongRequest, Knock, Petition, LongPetition, EndProgram, EndPetition, Silence };

std::string to_init(Way way, const std::string& content, unsigned fds = 0) {
  return join_piece(static_cast<uint8_t>(way | fds << 3), content);
}

wire::ExecRequest example_exec() {
  wire::ExecRequest request;
  request.id = "x";
  request.user = "user:crew";
  request.argv = {"sh", "-c", "true"};
  request.env = {"A=1"};
  request.group = "g";
  request.rlimits = {{7, 1024, 65536}};
  return request;
}

std::string exec(uint64_t flags, const wire::ExecRequest& request = example_exec()) {
  return Writer(wire::Type::Exec).number(flags).data() + request.encode();
}

// How an exec ended, as process 1 tells it.
Writer ended(const char* id) {
  Writer message(wire::Type::Exited);
  message.text(id);
  for (uint64_t number : {256, 1000, 2000, 4, 5, 6, 7, 0, 0}) message.number(number);
  return message;
}

// To process 1 whose programs run in another kernel, with what process 1 there says.
void write_outer_requests() {
  using wire::Type;
  auto seed = [](const char* name, std::string_view content) {
    write("init_request", name, std::string(1, '\4').append(content));
  };
  auto inner = [](const Writer& message) { return to_init(EndProgram, message.data()); };
  const std::string start = to_init(Request, exec(wire::kExecKeepPipes), 6);
  const std::string started = inner(Writer(Type::Started).text("x").number(5));
  seed("outer_exec",
       start + started + inner(ended("x")) + inner(ended("x")) + to_init(Request, Writer(Type::Hello).data()));
  seed("outer_compiled", start + started + inner(ended("x").number(1)));
  seed("outer_failed",
       start + inner(Writer(Type::Failed).text("x").number(static_cast<uint64_t>(Stage::Execute)).number(ENOENT)));
  seed("outer_terminal", to_init(Request, exec(wire::kExecPty)) + started +
                             to_init(Request, Writer(Type::Resize).text("x").number(24).number(80).data()) +
                             to_init(Request, Writer(Type::Signal).text("x").number(9).number(2).data()) +
                             inner(ended("x")));
  seed("outer_in_memory", to_init(LongRequest, exec(wire::kExecInMemfd), 3) + started);
  seed("outer_nonsense", start + inner(Writer(Type::Table)) + inner(Writer(Type::Exited).text("nobody")) +
                             to_init(EndProgram, "abc", 2) + to_init(EndProgram, ""));
}

void write_init_requests() {
  using wire::Type;
  auto seed = [](const char* name, std::string_view content) {
    write("init_request", name, std::string(1, '\0').append(content));
  };
  const std::string start = to_init(Request, exec(0), 5);
  const std::string kept = to_init(Request, exec(wire::kExecKeepPipes), 6);
  auto about = [](Type type) { return Writer(type).text("x"); };
  seed("exec", start + to_init(EndProgram, "\1"));
  seed("exec_silent", to_init(Request, exec(wire::kExecNoInput | wire::kExecKeepPipes), 6));
  seed("exec_kept", kept + to_init(Request, about(Type::Attach).data()) +
                        to_init(Request, about(Type::CloseInput).data()) + to_init(EndProgram, "") +
                        to_init(Request, about(Type::Forget).data()));
  seed("exec_terminal", to_init(Request, exec(wire::kExecPty)) +
                            to_init(Request, about(Type::Resize).number(24).number(80).data()) +
                            to_init(Request, about(Type::Attach).data()));
  seed("exec_in_memory", to_init(LongRequest, exec(wire::kExecInMemfd), 3));
  seed("exec_without_streams", to_init(Request, exec(0), 2));
  wire::ExecRequest request = example_exec();
  request.user = "nobody";
  seed("exec_no_user", to_init(Request, exec(0, request), 3));
  request = example_exec();
  request.argv = {"no"};
  seed("exec_no_fork", to_init(Request, exec(0, request), 3));
  request.argv = {"missing"};
  seed("exec_missing", to_init(Request, exec(0, request), 3) + to_init(EndProgram, "\1"));
  request = example_exec();
  request.compile = {"cc", "a.c"};
  const std::string compile = to_init(Request, exec(0, request), 5);
  seed("exec_compiled", compile + to_init(EndProgram, std::string(1, '\0')) + to_init(EndProgram, "\1"));
  seed("exec_not_compiled", compile + to_init(EndProgram, "\1") + to_init(Request, Writer(Type::Hello).data()));
  seed("signal", start + to_init(Request, about(Type::Signal).number(15).number(1).data()) +
                     to_init(Request, about(Type::Signal).number(9).number(0).data()));
  seed("hello", start + kept + to_init(EndProgram, "") + to_init(Request, Writer(Type::Hello).data()));
  seed("view", to_init(Request, Writer(Type::View).text("user").data(), 1) +
                   to_init(Request, Writer(Type::View).text("x").data(), 1));
  seed("dial", to_init(Request, Writer(Type::Dial).number(1).number(80).data()));
  seed("dial_six", to_init(Request, Writer(Type::Dial).number(1).number(80).number(6).data()));
  seed("ports", to_init(Request, Writer(Type::Ports).data(), 1));
  seed("identity", to_init(Request, Writer(Type::IdentityRequest).data()));
  seed("shutdown", to_init(Request, Writer(Type::Shutdown).data()));
  seed("sudo", start + to_init(Knock, exec(0), 3) + to_init(Petition, Writer(Type::Signal).number(2).data()) +
                   to_init(EndPetition, "\1"));
  seed("sudo_in_memory",
       start + to_init(Knock, "") + to_init(LongPetition, exec(wire::kExecInMemfd), 3) + to_init(Silence, ""));
  seed("sudo_of_nobody", to_init(Knock, exec(0), 3));
  seed("sudo_nonsense", start + to_init(Knock, Writer(Type::Hello).data()) + to_init(Knock, exec(0).substr(0, 60), 3));
}

void write_init_replies() {
  using wire::Type;
  auto seed = [](const char* name, char kind, std::string_view content) {
    write("init_reply", name, std::string(1, kind).append(content));
  };
  auto say = [](const Writer& message, uint8_t fds = 0) { return join_piece(fds, message.data()); };
  auto failed = [](std::string_view id, Stage stage, int errnum) {
    return Writer(Type::Failed).text(id).number(static_cast<uint64_t>(stage)).number(static_cast<uint64_t>(errnum));
  };
  const std::string started = say(Writer(Type::Started).text("t").number(5), 1);
  const std::string dialed = say(Writer(Type::Dialed).number(1).number(0), 1);
  Writer table(Type::Table);
  table.number(1).number(2).text("o").text("e-0123456789abcdefghij").number(0).text("p").text("").number(1);
  seed("run", 2, started + dialed + say(ended("a")) + say(ended("t")));
  seed("fail", 0, say(failed("t", Stage::Execute, ENOENT)) + dialed + say(failed("a", Stage::User, ENOENT)));
  constexpr Stage kStages[] = {Stage::Fork,     Stage::User,   Stage::JoinGroup, Stage::Terminal, Stage::Rlimit,
                               Stage::Identity, Stage::Folder, Stage::Fence,     Stage::Network,  Stage{99}};
  Writer many(Type::Table);
  many.number(1).number(std::size(kStages));
  std::string failures;
  for (Stage stage : kStages) {
    std::string id = std::to_string(static_cast<unsigned>(stage));
    many.text(id).text("").number(0);
    failures += say(failed(id, stage, EACCES));
  }
  seed("stages", 5, say(many) + failures + started);
  seed("compiler_ended", 2, started + say(ended("a").number(1)) + say(ended("t")));
  seed("compiler_failed", 2, started + dialed + say(failed("a", Stage::Execute, ENOENT).number(1)));
  seed("figures", 2, started + dialed + say(ended("a"), 3));
  seed("attach", 4, started + dialed + say(Writer(Type::Attached).text("a").number(0), 3) + say(ended("a")));
  seed("attach_terminal", 4, started + dialed + say(Writer(Type::Attached).text("a").number(wire::kExecPty), 1));
  seed("attach_too_few", 4, started + dialed + say(Writer(Type::Attached).text("a").number(0), 2));
  seed("dial_refused", 4, started + say(Writer(Type::Dialed).number(1).number(ECONNREFUSED)));
  seed("adopt", 5, say(table) + started + dialed + say(ended("o")) + say(ended("p")));
  seed("adopt_failed", 5, say(table) + say(failed("o", Stage::Execute, ENOENT)) + started + dialed);
  seed("adopt_in_parts", 5, say(Writer(Type::Table).number(0).number(0)) + say(table) + started);
  seed("twice", 4, started + dialed + say(ended("a")) + say(ended("a")) + say(failed("a", Stage::Fork, EAGAIN)));
  seed("unasked", 4,
       say(Writer(static_cast<Type>(99))) + say(Writer(Type::Identity), 1) + say(ended("nobody")) + started);
  seed("cut", 4, started + join_piece(0, ended("a").data().substr(0, 40)) + join_piece(0, "abc"));
}

void write_view_answers() {
  using wire::Type;
  auto say = [](const Writer& message, uint8_t fds = 0) { return join_piece(fds, message.data()); };
  auto seed = [](const char* name, char first, std::string_view content) {
    write("view_answer", name, std::string(1, first).append(content));
  };
  wire::Entry entry{"f", 0100644, 12, 1'700'000'000'000'000'000, 1000, 1000};
  Writer stat(Type::Done), entries(Type::Entries);
  stat.number(0);
  entry.encode(stat);
  entries.number(2);
  entry.encode(entries);
  entry.encode(entries);
  const Writer done = Writer(Type::Done).number(0);
  seed("open", 0, say(done, 1) + say(done, 0));
  seed("refused", 0, say(Writer(Type::Done).number(EACCES)) + say(Writer(Type::Done).number(ESRCH)));
  seed("stat", 1, say(stat) + say(done));
  seed("list", 2, say(entries) + say(entries) + say(done) + say(entries) + say(done));
  seed("list_too_many", 2, join_piece(0, Writer(Type::Entries).number(~0ull).data() + stat.data().substr(16)));
  seed("readlink", 4, say(Writer(Type::Done).number(0).text("target")));
  seed("watch", 5, say(Writer(Type::Done).number(0).number(1), 1) + say(done));
  seed("watch_without", 5, say(Writer(Type::Done).number(0).number(1)) + say(done));
  seed("nonsense", 7, say(Writer(Type::Table)) + join_piece(3, "abc"));
}

void write_ports_answers() {
  using wire::Type;
  auto port = [](std::string address, uint64_t number) {
    Writer message(Type::Port);
    wire::ListeningSocket{std::move(address), number, 2, "python3", "python3 -m http.server"}.encode(message);
    return join_piece(0, message.data());
  };
  const std::string four("\x7f\0\0\x01", 4), six(16, '\0');
  const std::string done = join_piece(0, Writer(Type::Done).number(0).data());
  write("ports_answer", "two", port(four, 80) + port(six, 80) + port(six, 443) + done);
  write("ports_answer", "none", done);
  write("ports_answer", "failed", join_piece(0, Writer(Type::Done).number(EAGAIN).data()));
  write("ports_answer", "no_port", port(four, 0) + done);
  write("ports_answer", "no_address", port("abc", 80) + done);
  write("ports_answer", "unfinished", port(four, 80));
}

void write_preview_requests() {
  write(
      "preview_request", "request",
      "POST /a?x=1&cove_token=t HTTP/1.1\r\nHost: h\r\nCookie: a=1; cove_preview=t\r\nAuthorization: Bearer cove_0\r\n"
      "Connection: Upgrade, X-Hop\r\nX-Hop: 1\r\nReferer: http://h/?cove_token=t\r\nTransfer-Encoding: "
      "chunked\r\n\r\n");
  write("preview_request", "upgrade",
        "GET http://h/ws HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: websocket\r\nOrigin: http://h\r\n\r\n");
  write("preview_request", "answer",
        "HTTP/1.1 302 Found\r\nLocation: http://localhost:3000/x\r\nSet-Cookie: a=1; Domain=localhost\r\nSet-Cookie: "
        "cove_preview=x\r\nAlt-Svc: h2\r\nContent-Length: 3\r\n\r\n");
  write("preview_request", "host", "3000-abc.localhost:7070");
  write("preview_request", "site", "https://preview.example.org:8443");
}

void write_net_channel() {
  auto seed = [](const char* name, const Writer& message) { write("net_channel", name, message.data()); };
  const NetworkPolicy policy{NetworkTier::Standard, true, {"@python", "10.0.0.0/8:22"}, {"evil.example"}, {1, 2}, true};
  Writer out;
  net::encode(
      out, net::EffectivePolicy{.version = 3,
                                .layers = {{"server", net::PolicyLayer::Role::Bound, policy}, {"sandbox", {}, policy}},
                                .secrets = {{"T", "p", "v", {"example.org"}, {"query"}}},
                                .authority_key = "key"});
  seed("policy", out);
  Writer entry, settings;
  net::encode(entry,
              net::NetworkEntry{.sandbox = "a", .connection = 2, .host = "example.org", .port = 443, .why = "no"});
  seed("entry", entry);
  net::encode(settings, net::GatewaySettings{.resolvers = {"192.0.2.1:53"}, .upstream_ca = "PEM"});
  seed("settings", settings);
  seed("synced", Writer().number(1).number(2).number(3).number(4).number(0));
  seed("request", Writer().text("a").text("example.org").number(443).text("to install"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "fuzz_seeds FOLDER\n"), 2;
  corpus = argv[1];
  write_spawn_requests();
  write_spawn_values();
  write_init_requests();
  write_outer_requests();
  write_init_replies();
  write_view_answers();
  write_ports_answers();
  write_preview_requests();
  write_net_channel();
  return 0;
}
