// What every runtime does alike.
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "conformance/conformance.h"
#include "runtime/inside.h"
#include "sys/file.h"

namespace cove::test {
namespace {

constexpr std::chrono::seconds kPatience(60);

// Waits for a line that the program prints when it is where the test wants it.
void expect_line(const UniqueFd& stream, const std::string& line) {
  std::string got;
  char c;
  while (got.size() < line.size() && ::read(stream.get(), &c, 1) == 1) got += c;
  ASSERT_EQ(got, line);
}

// False where it ended instead.
bool waits(Sandbox& box) {
  while (true) {
    Result<std::optional<Event>> event = box.next_event();
    if (!event) return false;
    if (*event) return std::holds_alternative<ExecWaiting>(**event);
    pollfd polled = {box.events_fd(), POLLIN, 0};
    if (::poll(&polled, 1, 60'000) == 0) return false;
  }
}

TEST_P(Conformance, ReportsExitCodes) {
  Sandbox& box = sandbox();
  EXPECT_EQ(run(box, command({"true"})).exit_code(), 0);
  EXPECT_EQ(run(box, shell("exit 7")).exit_code(), 7);
  EXPECT_EQ(run(box, shell("exit 255")).exit_code(), 255);
}

TEST_P(Conformance, ReportsSignals) {
  Ran ran = run(sandbox(), shell("kill -SEGV $$"));
  ASSERT_TRUE(ran.ended);
  EXPECT_TRUE(WIFSIGNALED(ran.ended->wait_status));
  EXPECT_EQ(WTERMSIG(ran.ended->wait_status), SIGSEGV);
}

TEST_P(Conformance, KeepsStdoutAndStderrApart) {
  Ran ran = run(sandbox(), shell("echo out; echo err >&2"));
  EXPECT_EQ(ran.out, "out\n");
  EXPECT_EQ(ran.err, "err\n");
}

TEST_P(Conformance, PassesStdin) {
  std::string text(200'000, 'x');
  Sandbox& box = sandbox();
  ExecSpec exec = command({"wc", "-c"});
  Result<Attachment> streams = box.exec(exec);
  ASSERT_TRUE(streams);
  std::thread writer([&, fd = std::move(streams->in)]() mutable {
    EXPECT_TRUE(sys::write_all(fd.get(), text));
    fd.reset();
    EXPECT_TRUE(box.close_input(exec.id));
  });
  Ran ran = finish(box, exec.id, std::move(*streams));
  writer.join();
  EXPECT_EQ(ran.out, "200000\n");
}

// The program is started, opens its script and waits in it; the script comes when it is known.
TEST_P(Conformance, RunsAScriptThatComesLater) {
  if (!runtime().capabilities().waiting_scripts) GTEST_SKIP() << "no program waits for its script here";
  Sandbox& box = sandbox();
  ExecSpec exec = command({"/bin/sh", "-c", "read -r line < $0; echo \"read $line\"; cat $0", "/tmp/script"});
  exec.input = false;
  exec.script_follows = true;
  Result<Attachment> streams = box.exec(exec);
  ASSERT_TRUE(streams);
  ASSERT_TRUE(waits(box));
  ASSERT_TRUE(box.give_script(exec.id, "later\n"));
  Ran ran = finish(box, exec.id, std::move(*streams));
  EXPECT_EQ(ran.out, "read later\nlater\n");
  EXPECT_EQ(ran.exit_code(), 0);
}

TEST_P(Conformance, PassesBytesUnchanged) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  EXPECT_EQ(run(sandbox(), command({"cat"}), bytes).out, bytes);
}

TEST_P(Conformance, GivesTheEnvironmentAskedForAndNothingOfTheCaller) {
  ::setenv("COVE_TEST_SECRET", "leaked", 1);
  SandboxSpec with = spec();
  with.env.emplace_back("ONE", "of the sandbox");
  ExecSpec exec = command({"env"});
  exec.env = {{"TWO", "of the exec"}, {"ONE", "overridden"}};
  Ran ran = run(sandbox(with), exec);
  EXPECT_NE(ran.out.find("ONE=overridden\n"), std::string::npos);
  EXPECT_NE(ran.out.find("TWO=of the exec\n"), std::string::npos);
  EXPECT_NE(ran.out.find("HOME=/home/user\n"), std::string::npos);
  EXPECT_NE(ran.out.find("IS_SANDBOX=1\n"), std::string::npos);
  EXPECT_EQ(ran.out.find("COVE_TEST_SECRET"), std::string::npos);
}

TEST_P(Conformance, StartsInTheFolderAskedFor) {
  Sandbox& box = sandbox();
  ExecSpec exec = command({"pwd"});
  EXPECT_EQ(run(box, exec).out, "/home/user\n");
  exec.id = make_id();
  exec.cwd = "/usr/bin";
  EXPECT_EQ(run(box, exec).out, "/usr/bin\n");
  exec.id = make_id();
  exec.cwd = "/no/such/folder";
  Ran ran = run(box, exec);
  ASSERT_TRUE(ran.failed);
  EXPECT_NE(ran.failed->error.message().find("/no/such/folder"), std::string::npos);
}

TEST_P(Conformance, RunsAsTheUserAskedFor) {
  Sandbox& box = sandbox();
  ExecSpec exec = command({"id", "-un"});
  EXPECT_EQ(run(box, exec).out, "user\n");
  exec.id = make_id();
  exec.user = "root";
  EXPECT_EQ(run(box, exec).out, "root\n");
  exec.id = make_id();
  exec.user = "nobody-knows";
  Ran ran = run(box, exec);
  ASSERT_TRUE(ran.failed);
  EXPECT_NE(ran.failed->error.message().find("nobody-knows"), std::string::npos);
}

TEST_P(Conformance, CompilesFirstWithoutInputAndTellsThePhase) {
  if (!runtime().capabilities().compile_step) GTEST_SKIP() << "it has no compile step";
  Sandbox& box = sandbox();
  ExecSpec exec = shell("cat made; cat; exit 3");
  exec.compile = {"sh", "-c", "cat; echo compiled > made; echo told >&2"};
  Ran ran = run(box, exec, "input");
  ASSERT_TRUE(ran.ended);
  EXPECT_EQ(ran.exit_code(), 3);
  EXPECT_EQ(ran.ended->phase, Phase::Run);
  EXPECT_EQ(ran.out, "compiled\ninput");
  EXPECT_EQ(ran.err, "told\n");
}

TEST_P(Conformance, RunsNothingThatDoesNotCompile) {
  if (!runtime().capabilities().compile_step) GTEST_SKIP() << "it has no compile step";
  Sandbox& box = sandbox();
  ExecSpec exec = shell("touch /tmp/ran");
  exec.compile = {"sh", "-c", "echo wrong >&2; exit 7"};
  Ran ran = run(box, exec);
  ASSERT_TRUE(ran.ended);
  EXPECT_EQ(ran.exit_code(), 7);
  EXPECT_EQ(ran.ended->phase, Phase::Compile);
  EXPECT_EQ(ran.err, "wrong\n");
  exec.id = make_id();
  exec.compile = {"/no/such/compiler"};
  ran = run(box, exec);
  ASSERT_TRUE(ran.failed);
  EXPECT_EQ(ran.failed->phase, Phase::Compile);
  EXPECT_EQ(ran.failed->exit_code, 127);
  EXPECT_NE(ran.failed->error.message().find("/no/such/compiler"), std::string::npos);
  EXPECT_NE(run(box, shell("test -e /tmp/ran")).exit_code(), 0);
}

TEST_P(Conformance, StartsNoProgramAfterACompilerThatWasToldToEnd) {
  if (!runtime().capabilities().compile_step) GTEST_SKIP() << "it has no compile step";
  Sandbox& box = sandbox();
  ExecSpec exec = shell("touch /tmp/ran");
  // It takes the request for a reason to end well.
  exec.compile = {"sh", "-c", "trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done"};
  Result<Attachment> streams = box.exec(exec);
  ASSERT_TRUE(streams);
  expect_line(streams->out, "ready\n");
  ASSERT_TRUE(box.signal(exec.id, SIGTERM, SignalReach::Process));
  Ran ran = finish(box, exec.id, std::move(*streams));
  ASSERT_TRUE(ran.ended);
  EXPECT_EQ(ran.ended->phase, Phase::Compile);
  EXPECT_EQ(ran.exit_code(), 128 + SIGTERM);
  EXPECT_NE(run(box, shell("test -e /tmp/ran")).exit_code(), 0);
}

TEST_P(Conformance, TellsWhatCannotBeExecuted) {
  Sandbox& box = sandbox();
  EXPECT_EQ(run(box, command({"no-such-program"})).exit_code(), 127);
  EXPECT_EQ(run(box, command({"/etc/passwd"})).exit_code(), 126);
}

TEST_P(Conformance, CarriesLongCommandLines) {
  std::vector<std::string> argv = {"printf", "%s"};
  for (int i = 0; i < 12; ++i) argv.push_back(std::string(100'000, 'a'));
  EXPECT_EQ(run(sandbox(), command(argv)).out.size(), 1'200'000u);
}

TEST_P(Conformance, SignalsTheProgram) {
  Sandbox& box = sandbox();
  ExecSpec exec = shell("trap 'echo caught; exit 3' USR1; echo up; while :; do sleep 0.05; done");
  Result<Attachment> streams = box.exec(exec);
  ASSERT_TRUE(streams);
  expect_line(streams->out, "up\n");
  ASSERT_TRUE(box.signal(exec.id, SIGUSR1, SignalReach::Process));
  Ran ran = finish(box, exec.id, std::move(*streams));
  EXPECT_EQ(ran.out, "caught\n");
  EXPECT_EQ(ran.exit_code(), 3);
}

TEST_P(Conformance, KillTakesWhatSetsidAndSudoStarted) {
  Sandbox& box = sandbox();
  ExecSpec exec = shell("setsid sleep 987 & sudo sleep 987 & echo up; wait");
  Result<Attachment> streams = box.exec(exec);
  ASSERT_TRUE(streams);
  expect_line(streams->out, "up\n");
  ExecSpec look = shell(
      "for i in 1 2 3 4 5 6 7 8 9 10; do n=$(grep -lzx '98[7]' /proc/[0-9]*/cmdline 2>/dev/null | wc -l);"
      " [ $n -ge 2 ] && break; sleep 0.1; done; echo $n");
  EXPECT_NE(run(box, look).out, "0\n");
  ASSERT_TRUE(box.kill(exec.id));
  Ran ran = finish(box, exec.id, std::move(*streams));
  EXPECT_EQ(ran.exit_code(), 128 + SIGKILL);
  ExecSpec count = shell("sleep 0.1; grep -lzx '98[7]' /proc/[0-9]*/cmdline 2>/dev/null | wc -l");
  EXPECT_EQ(run(box, count).out, "0\n");
}

TEST_P(Conformance, EndsWithItsMainProcessEvenIfOrphansHoldThePipes) {
  Ran ran = run(sandbox(), shell("sleep 60 & echo done"));
  EXPECT_EQ(ran.out, "done\n");
  EXPECT_EQ(ran.exit_code(), 0);
}

TEST_P(Conformance, RunsSeveralAtOnce) {
  Sandbox& box = sandbox();
  std::vector<std::pair<std::string, Attachment>> running;
  for (int i = 0; i < 8; ++i) {
    ExecSpec exec = shell("read line; echo got $line");
    Result<Attachment> streams = box.exec(exec);
    ASSERT_TRUE(streams);
    running.emplace_back(exec.id, std::move(*streams));
  }
  for (size_t i = running.size(); i-- > 0;) {
    Ran ran = finish(box, running[i].first, std::move(running[i].second), std::to_string(i) + "\n");
    EXPECT_EQ(ran.out, "got " + std::to_string(i) + "\n");
  }
}

TEST_P(Conformance, KeepsFilesBetweenExecs) {
  Sandbox& box = sandbox();
  EXPECT_EQ(run(box, shell("echo kept > ~/note && mkdir -p ~/a/b")).exit_code(), 0);
  EXPECT_EQ(run(box, shell("cat ~/note; ls ~/a")).out, "kept\nb\n");
}

TEST_P(Conformance, GivesATerminal) {
  if (!runtime().capabilities().pty) GTEST_SKIP() << "no terminals in this runtime";
  ExecSpec exec = shell("test -t 0 && test -t 1 && test -t 2 && stty size && tty && echo hi > /dev/tty");
  exec.pty = WindowSize{33, 101};
  Ran ran = run(sandbox(), exec);
  EXPECT_EQ(ran.out, "33 101\r\n/dev/pts/0\r\nhi\r\n");
  EXPECT_EQ(ran.exit_code(), 0);
}

TEST_P(Conformance, ResizesATerminal) {
  if (!runtime().capabilities().pty) GTEST_SKIP() << "no terminals in this runtime";
  Sandbox& box = sandbox();
  ExecSpec exec = shell("trap 'stty size; exit' WINCH; echo up; while :; do sleep 0.05; done");
  exec.pty = WindowSize{24, 80};
  Result<Attachment> streams = box.exec(exec);
  ASSERT_TRUE(streams);
  expect_line(streams->terminal, "up\r\n");
  ASSERT_TRUE(box.resize(exec.id, {40, 120}));
  EXPECT_EQ(finish(box, exec.id, std::move(*streams)).out, "40 120\r\n");
}

TEST_P(Conformance, AKeyInterruptsWhatIsInTheForeground) {
  if (!runtime().capabilities().pty) GTEST_SKIP() << "no terminals in this runtime";
  Sandbox& box = sandbox();
  ExecSpec exec = command({"python3", "-c", R"(
import os, signal, subprocess
other = subprocess.Popen(['sleep', '900'], process_group=0)
front = os.fork()
if front == 0:
    os.setpgrp()
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.tcsetpgrp(0, os.getpgrp())
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a handler of Python's would be lost with the next program
    print('up', flush=True)
    os.execvp('sleep', ['sleep', '900'])
print('ended by', os.WTERMSIG(os.waitpid(front, 0)[1]), 'other', other.poll())
other.kill()
)"});
  exec.pty = WindowSize{24, 80};
  Result<Attachment> streams = box.exec(exec);
  ASSERT_TRUE(streams);
  expect_line(streams->terminal, "up\r\n");
  ASSERT_TRUE(sys::write_all(streams->terminal.get(), "\x03"));
  EXPECT_THAT(finish(box, exec.id, std::move(*streams)).out, testing::HasSubstr("ended by 2 other None\r\n"));
}

TEST_P(Conformance, GivesSharedMemoryToEveryUser) {
  EXPECT_EQ(run(sandbox(), shell("stat -c %a /dev/shm; echo kept > /dev/shm/note; cat /dev/shm/note")).out,
            "1777\nkept\n");
}

TEST_P(Conformance, HoldsTheMemoryLimit) {
  SandboxSpec small = spec();
  small.limits.memory.name(64 * kMiB);
  Sandbox& box = sandbox(small);
  Ran ran = run(box, command({"python3", "-c", "x = bytearray(b'x') * (200 << 20)"}));
  EXPECT_EQ(ran.exit_code(), 128 + SIGKILL);
  ASSERT_TRUE(ran.ended);
  EXPECT_GE(ran.ended->oom_kills, 1u);
  EXPECT_EQ(run(box, command({"true"})).exit_code(), 0);
}

TEST_P(Conformance, HoldsTheProcessLimit) {
  SandboxSpec small = spec();
  small.limits.processes.name(20);
  Ran ran = run(sandbox(small), command({"python3", "-c", R"(
import os, time
n = 0
try:
    while n < 1000:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        n += 1
except BlockingIOError:
    pass
print(n)
)"}));
  // gVisor's kernel counts a fork a moment late: under load some more come through before it refuses.
  const int most = GetParam().name == "runsc" ? 200 : 20;
  EXPECT_LE(std::stoi(ran.out), most);
  EXPECT_GE(std::stoi(ran.out), 15);
}

TEST_P(Conformance, TakesExecsAndFilesAtItsLimits) {
  SandboxSpec small = spec();
  small.limits.processes.name(16);
  // In gVisor, more processes than the limit may be there for a moment, and they take memory.
  small.limits.memory.name((GetParam().name == "runsc" ? 256 : 64) * kMiB);
  Sandbox& box = sandbox(small);
  ExecSpec hog = command({"python3", "-c", R"(
import os, time
try:
    while True:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
except BlockingIOError:
    pass
print('full', flush=True)
time.sleep(60)
)"});
  Result<Attachment> streams = box.exec(hog);
  ASSERT_TRUE(streams);
  expect_line(streams->out, "full\n");
  EXPECT_EQ(run(box, command({"true"})).exit_code(), 0);
  Result<std::unique_ptr<View>> view = box.open_view("user");
  ASSERT_TRUE(view);
  EXPECT_TRUE((*view)->stat("/home/user", Links::Follow));
  EXPECT_TRUE(box.kill(hog.id));
  EXPECT_EQ(finish(box, hog.id, std::move(*streams)).exit_code(), 128 + SIGKILL);
}

TEST_P(Conformance, HoldsTheDiskLimit) {
  SandboxSpec small = spec();
  small.limits.disk.name(32 * kMiB);
  Ran ran = run(sandbox(small),
                shell("head -c 100000000 /dev/zero > ~/big; echo $?; rm ~/big && echo ok > ~/small && cat ~/small"));
  EXPECT_EQ(ran.out, "1\nok\n");
}

TEST_P(Conformance, MeasuresUsage) {
  Ran ran = run(sandbox(), command({"python3", "-c", R"(
import time
x = bytearray(b'x') * (50 << 20)
end = time.process_time() + 0.3
while time.process_time() < end: pass
open('/home/user/f', 'wb').write(x[:10 << 20])
)"}));
  ASSERT_TRUE(ran.ended);
  const Usage& usage = ran.ended->usage;
  EXPECT_GE(usage.cpu_user_ms + usage.cpu_system_ms, 300u);
  EXPECT_LT(usage.cpu_user_ms + usage.cpu_system_ms, 5000u);
  EXPECT_GE(usage.memory_peak_bytes, 50 * kMiB);
  EXPECT_GE(usage.disk_written_bytes, 10 * kMiB);
  EXPECT_GE(usage.processes_peak, 1u);
}

TEST_P(Conformance, PausesAndResumes) {
  if (!runtime().capabilities().pause) GTEST_SKIP() << "this runtime cannot pause";
  Sandbox& box = sandbox();
  ExecSpec exec = shell("while :; do echo tick; sleep 0.01; done");
  Result<Attachment> streams = box.exec(exec);
  ASSERT_TRUE(streams);
  expect_line(streams->out, "tick\n");
  ASSERT_TRUE(box.pause());
  static_cast<void>(sys::set_nonblocking(streams->out.get()));
  char rest[65536];
  while (::read(streams->out.get(), rest, sizeof rest) > 0) {
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LT(::read(streams->out.get(), rest, sizeof rest), 0);
  ASSERT_TRUE(box.resume());
  pollfd polled = {streams->out.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&polled, 1, 5000), 1);
  EXPECT_TRUE(box.kill(exec.id));
  finish(box, exec.id, std::move(*streams));
}

TEST_P(Conformance, ChangesLimitsWhileItRuns) {
  if (!runtime().capabilities().update_limits) GTEST_SKIP() << "this runtime cannot change limits";
  SandboxSpec small = spec();
  small.limits.memory.name(64 * kMiB);
  Sandbox& box = sandbox(small);
  Limits more;
  more.memory.name(512 * kMiB);
  ASSERT_TRUE(box.update_limits(more));
  EXPECT_EQ(run(box, command({"python3", "-c", "x = bytearray(b'x') * (200 << 20)"})).exit_code(), 0);
}

TEST_P(Conformance, ServesFiles) {
  Sandbox& box = sandbox();
  std::unique_ptr<View> view = std::move(*box.open_view("user"));
  ASSERT_TRUE(view->mkdir("/home/user/in/deep", 0755, Depth::Recursive));
  Result<UniqueFd> file = view->open("/home/user/in/deep/note", O_WRONLY | O_CREAT, 0600);
  ASSERT_TRUE(file);
  ASSERT_TRUE(sys::write_all(file->get(), "written outside"));
  EXPECT_EQ(run(box, command({"cat", "/home/user/in/deep/note"})).out, "written outside");
  Result<FileEntry> entry = view->stat("/home/user/in/deep/note", Links::Keep);
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->size, 15u);
  EXPECT_EQ(entry->mode, static_cast<uint64_t>(S_IFREG | 0600));
  EXPECT_EQ(view->list("/home/user/in")->size(), 1u);
  EXPECT_EQ(view->glob("in/*/n*", "/home/user")->at(0).name, "in/deep/note");
  EXPECT_TRUE(view->rename("/home/user/in/deep/note", "/home/user/moved"));
  EXPECT_TRUE(view->chmod("/home/user/moved", 0644));
  EXPECT_TRUE(view->remove("/home/user/in", Depth::Recursive));
  EXPECT_FALSE(view->stat("/home/user/in", Links::Keep));
  EXPECT_EQ(view->open("/etc/shadow-of-nobody", O_RDONLY, 0).error().code(), Code::NotFound);
}

TEST_P(Conformance, ResolvesLinksInside) {
  Sandbox& box = sandbox();
  EXPECT_EQ(run(box, shell("ln -s /etc/hostname ~/link")).exit_code(), 0);
  std::unique_ptr<View> view = std::move(*box.open_view("user"));
  Result<UniqueFd> through = view->open("/home/user/link", O_RDONLY, 0);
  ASSERT_TRUE(through);
  EXPECT_NE(*sys::read_all(through->get()), *sys::read_file("/etc/hostname"));
}

TEST_P(Conformance, DialsAPort) {
  if (!runtime().capabilities().dial) GTEST_SKIP() << "this runtime cannot dial";
  Sandbox& box = sandbox();
  ExecSpec server = command({"python3", "-c", R"(
import socket
s = socket.socket()
s.bind(('127.0.0.1', 8080))
s.listen()
print('up', flush=True)
c, _ = s.accept()
c.sendall(b'hello from inside')
)"});
  Result<Attachment> streams = box.exec(server);
  ASSERT_TRUE(streams);
  expect_line(streams->out, "up\n");
  Result<UniqueFd> connection = box.dial(8080, Loopback::Four);
  ASSERT_TRUE(connection);
  ASSERT_TRUE(finish_dial(connection->get(), kPatience));
  pollfd polled = {connection->get(), POLLIN, 0};
  ASSERT_EQ(::poll(&polled, 1, 5000), 1);
  char text[64];
  EXPECT_EQ(std::string(text, static_cast<size_t>(::read(connection->get(), text, sizeof text))), "hello from inside");
  EXPECT_EQ(finish(box, server.id, std::move(*streams)).exit_code(), 0);
  for (Loopback loopback : {Loopback::Four, Loopback::Six}) {
    Result<UniqueFd> none = box.dial(8081, loopback);
    Result<void> outcome = none ? finish_dial(none->get(), kPatience) : std::unexpected(none.error());
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().errnum(), ECONNREFUSED) << outcome.error().message();
  }
}

TEST_P(Conformance, TellsWhoListensAtItsPorts) {
  if (!runtime().capabilities().dial) GTEST_SKIP() << "this runtime cannot dial";
  Sandbox& box = sandbox();
  ExecSpec server = command({"python3", "-c", R"(
import socket
four = socket.create_server(('127.0.0.1', 8080))
six = socket.create_server(('::1', 8081), family=socket.AF_INET6)
elsewhere = socket.socket()
elsewhere.bind(('127.0.0.1', 8082))
print('up', flush=True)
input()
)"});
  Result<Attachment> streams = box.exec(server);
  ASSERT_TRUE(streams);
  expect_line(streams->out, "up\n");
  Result<UniqueFd> asked = box.ask_ports();
  ASSERT_TRUE(asked) << asked.error().message();
  auto ports = read_ports(asked->get(), kPatience);
  ASSERT_TRUE(ports) << ports.error().message();
  std::sort(ports->begin(), ports->end(), [](const auto& a, const auto& b) { return a.port < b.port; });
  ASSERT_EQ(ports->size(), 2u);
  EXPECT_EQ((*ports)[0].port, 8080u);
  EXPECT_EQ((*ports)[0].address, std::string("\x7f\0\0\x01", 4));
  EXPECT_EQ((*ports)[1].port, 8081u);
  EXPECT_EQ((*ports)[1].address, std::string(15, '\0') + '\1');
  for (const wire::ListeningSocket& port : *ports) {
    EXPECT_GT(port.pid, 1u);
    EXPECT_THAT(port.name, testing::StartsWith("python"));
    EXPECT_THAT(port.command, testing::StartsWith("python3 -c"));
  }
  Result<UniqueFd> six = box.dial(8081, Loopback::Six);
  ASSERT_TRUE(six);
  EXPECT_TRUE(finish_dial(six->get(), kPatience));
  EXPECT_TRUE(box.kill(server.id));
  static_cast<void>(finish(box, server.id, std::move(*streams)));
}

TEST_P(Conformance, SeesItsOwnProcessesOnly) {
  Ran ran = run(sandbox(), shell("set -- /proc/[0-9]*; echo $#; cat /proc/1/comm"));
  EXPECT_EQ(ran.out, "2\ncove-init\n");
}

TEST_P(Conformance, HasItsOwnNetworkOnly) {
  Ran ran = run(sandbox(), shell("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '"));
  EXPECT_EQ(ran.out, "lo\n");
}

TEST_P(Conformance, IsAdoptedByANextServer) {
  if (!runtime().capabilities().adopt) GTEST_SKIP() << "this runtime cannot adopt";
  SandboxSpec lasting = spec();
  lasting.lifetime = Lifetime::Long;
  lasting.limits.disk.value = 256 * kMiB;
  Sandbox& box = sandbox(lasting);
  ExecSpec exec = shell("echo before; sleep 0.3; echo after; exit 9");
  ASSERT_TRUE(box.exec(exec));
  drop_handle();
  Result<std::unique_ptr<Sandbox>> again = runtime().adopt(lasting);
  ASSERT_TRUE(again) << again.error().message();
  Result<Attachment> streams = (*again)->attach(exec.id);
  ASSERT_TRUE(streams) << streams.error().message();
  Ran ran = finish(**again, exec.id, std::move(*streams));
  EXPECT_EQ(ran.out, "before\nafter\n");
  EXPECT_EQ(ran.exit_code(), 9);
  EXPECT_EQ(run(**again, shell("echo still here")).out, "still here\n");
  EXPECT_TRUE((*again)->destroy(Files::Remove));
}

}  // namespace
}  // namespace cove::test
