// Programs that wait for their script, and go on in other sandboxes.
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <set>

#include "conformance/conformance.h"

namespace cove::test {
namespace {

using testing::HasSubstr;

// It prints what it had in mind, and the script.
ExecSpec waiting_python(const std::string& before, const std::string& script = "/tmp/script") {
  ExecSpec exec;
  exec.id = make_id();
  exec.argv = {"python3", "-c",
               before + "\nimport sys; text = open(sys.argv[1]).read(); print(number + 1, text, end='')", script};
  exec.input = false;
  exec.script_follows = true;
  return exec;
}

// False where it ended instead.
bool waits(Sandbox& box) {
  for (int i = 0; i < 1000; ++i) {
    pollfd polled = {box.events_fd(), POLLIN, 0};
    ::poll(&polled, 1, 10);
    Result<std::optional<Event>> event = box.next_event();
    if (!event || !*event) continue;
    if (auto* ended = std::get_if<ExecEnded>(&**event)) ADD_FAILURE() << "it ended: " << ended->wait_status;
    return std::holds_alternative<ExecWaiting>(**event);
  }
  return false;
}

}  // namespace

bool Conformance::copies() const {
  const std::string& wanted = GetParam().asked_for;
  return (wanted.empty() ? runtime_->capabilities() : runtime_->capabilities_of(wanted)).copies;
}

Attachment Conformance::start_waiting(Sandbox& sandbox, const ExecSpec& exec) {
  Result<Attachment> streams = sandbox.exec(exec);
  if (streams && waits(sandbox)) return std::move(*streams);
  ADD_FAILURE() << "it does not wait";
  return {};
}

Ran Conformance::go_on(Sandbox& sandbox, const ExecSpec& exec, Attachment streams, const std::string& script) {
  EXPECT_TRUE(sandbox.give_script(exec.id, script));
  return finish(sandbox, exec.id, std::move(streams));
}

Ran Conformance::go_on_as_copy(Sandbox& sandbox, ExecSpec exec, const UniqueFd& copy, const std::string& script) {
  exec.id = make_id();
  Result<Attachment> streams = sandbox.exec_copy(exec, copy);
  if (streams && waits(sandbox)) return go_on(sandbox, exec, std::move(*streams), script);
  ADD_FAILURE() << "it does not wait";
  return {};
}

namespace {

TEST_P(Conformance, CopiesAProgramThatWaits) {
  if (!copies()) GTEST_SKIP() << "it copies no programs";
  Sandbox& first = sandbox();
  ExecSpec exec = waiting_python("number = 41");
  Attachment streams = start_waiting(first, exec);
  Result<UniqueFd> copy = first.copy_waiting(exec.id, "number = 41");
  ASSERT_TRUE(copy) << copy.error().message();
  EXPECT_LT(::write(copy->get(), "x", 1), 0);  // what one sandbox becomes, no other can change
  for (int i = 0; i < 3; ++i) {
    Sandbox& other = sandbox();
    Ran ran = go_on_as_copy(other, exec, *copy, "there");
    EXPECT_EQ(ran.exit_code(), 0);
    EXPECT_EQ(ran.out, "42 there");
    EXPECT_EQ(ran.err, "");
    EXPECT_EQ(run(other, command({"cat", "/tmp/script"})).out, "there");
  }
  // The one that was copied has noticed nothing, and can be copied again.
  EXPECT_TRUE(first.copy_waiting(exec.id, "number = 41"));
  EXPECT_EQ(go_on(first, exec, std::move(streams), "here").out, "42 here");
}

TEST_P(Conformance, CopiesNoProgramThatHasSomethingOfItsOwn) {
  if (!copies()) GTEST_SKIP() << "it copies no programs";
  Sandbox& box = sandbox();
  auto refused = [&](const std::string& before, const std::string& mark) {
    ExecSpec exec = waiting_python("number = 1\n" + before, "/tmp/" + make_id());
    Attachment streams = start_waiting(box, exec);
    Result<UniqueFd> copy = box.copy_waiting(exec.id, mark);
    std::string why = copy ? "nothing" : copy.error().message();
    // Whatever it is refused for, it goes on.
    EXPECT_EQ(go_on(box, exec, std::move(streams), "!").out, "2 !") << before;
    return why;
  };
  EXPECT_THAT(refused("", "surely not there" + make_id()), HasSubstr("does not say"));
  EXPECT_THAT(refused("", ""), HasSubstr("system call"));
  EXPECT_THAT(
      refused("import threading; threading.Thread(target=lambda: __import__('time').sleep(1)).start()", "number"),
      HasSubstr("threads"));
  // One that it opens before its script makes the script another number; one that it opens at 9 is one more.
  EXPECT_THAT(refused("import os; other = open('/dev/null')", "number"), HasSubstr("does not wait"));
  EXPECT_THAT(refused("import os; os.dup2(0, 9)", "number"), HasSubstr("other files"));
  EXPECT_THAT(refused("import mmap; shared = mmap.mmap(-1, 4096)", "number"), HasSubstr("memory"));
  EXPECT_THAT(refused("big = bytearray(b'x') * (40 << 20)", "number"), HasSubstr("memory"));
  EXPECT_THAT(box.copy_waiting("nobody", "number").error().message(), HasSubstr("does not wait"));
}

// What context/python_start.py says of an interpreter's hashes.
constexpr const char* kMark = "this may go on; hashes of ";
constexpr const char* kSaysWhereItsHashesAre = R"py(
kinds = (str, bytes, tuple, int, set, frozenset)
for kind in (texts := [str]): texts += kind.__subclasses__()
mark = " go on; ".join(("this may", "hashes of python 3.11: " + " ".join(["%x" % id(kind) for kind in (*kinds, *texts[1:])])))
)py";

// All kinds of keys and tables, small and large, with what was taken out again; and what looks at each of them with
// texts that are made anew, whose hashes are of the seed that is now.
constexpr const char* kHasManyHashes = R"py(
import collections, enum, functools, gc, sys, weakref
class Colour(enum.Enum): RED = "red"; BLUE = 2
class Plain:
    def __init__(self, n): self.name = n; self.other = str(n); setattr(self, "x%d" % (n % 7), n)
class Kept(dict): pass
class Text(str): pass
derived = {Text("kind"): 1, Text("\u4e2d"): 2}
names = ["name %d" % i for i in range(70000)]
large = {name: i for i, name in enumerate(names)}
for name in names[::3]: del large[name]
small = {"one": 1, "two": 2, "\u00e4": 3, "\u4e2d\u6587": 4, "\U0001f600": 5, "": 6}
mixed = {1: 1, "text": 2, b"bytes": 3, (1, "a", b"b", None, str, -1, 2**29): 4, Colour.RED: 5, Plain: 6, ("x", "x"): 7, -1: 8}
sets = [set(names[:n]) for n in (1, 4, 5, 40, 300, 5000)] + [frozenset(("a", "b", "c")), frozenset()]
for each in sets[:6]: each.discard("name 0")
frozen_hash = hash(sets[6])
for i in range(300): exec(compile("d = {}\nfor j in range(%d): d['k%%d' %% (j * %d)] = j\nd[1] = 2" % (i % 50, i), "x", "exec"), {})
ordered = collections.OrderedDict.fromkeys(names[:100]); ordered.move_to_end("name 5")
kept, counts = Kept(small), collections.Counter("some text with letters")
objects = [Plain(i) for i in range(50)]
values = weakref.WeakValueDictionary({"object %d" % i: each for i, each in enumerate(objects)})
@functools.lru_cache
def cached(text): return text * 2
cached("cached")
def fresh(key):
    if isinstance(key, (str, bytes)): return (key + key)[:len(key)]
    return tuple(map(fresh, key)) if type(key) is tuple else key
class Look:
    def __add__(self, _):
        wrong, seen, left = [], set(), [*gc.get_objects(), sys.modules]
        while left:
            each = left.pop()
            if id(each) in seen or each is left or each is seen or each is wrong: continue
            seen.add(id(each))
            if isinstance(each, (str, bytes)) and hash(each) != hash(fresh(each)): wrong.append(each)
            if isinstance(each, dict): wrong += [key for key in list(each) if not dict.__contains__(each, fresh(key))]
            if isinstance(each, (set, frozenset)): wrong += [key for key in list(each) if fresh(key) not in each]
            if isinstance(each, frozenset) and hash(each) != hash(frozenset(map(fresh, each))): wrong.append(each)
            left += gc.get_referents(each)
        hits = cached.cache_info().hits
        cached(fresh("cached"))
        lookups = [large[fresh(name)] for name in names[1::3]] == [*range(1, 70000, 3)], "name 3" in large
        lookups += kept[fresh("two")], values[fresh("object 3")].x3, [getattr(each, "x%d" % (each.name % 7)) for each in objects] == [*range(50)]
        lookups += derived[fresh("kind")] + derived[fresh("\u4e2d")],
        lookups += mixed[fresh((1, "a", b"b", None, str, -1, 2**29))], mixed[Colour.RED], Colour(fresh("red")).name
        small[fresh("new")] = large[fresh("name 0")] = 1
        sets[3].add("new"), sets[3].discard(fresh("name 7"))
        lookups += len(small), len(sets[3]), cached.cache_info().hits - hits, next(reversed(ordered)), counts[fresh("t")]
        return "%d wrong %s %s" % (len(wrong), wrong[:5], lookups), hash("seed"), hash("seed") == hash(fresh("seed"))
number = Look())py";
constexpr const char* kSound = "0 wrong [] (True, False, 2, 3, True, 3, 4, 5, 'RED', 7, 39, 1, 'name 5', 5)";

TEST_P(Conformance, GivesEachCopySeedsOfItsOwnForHashes) {
  if (!copies()) GTEST_SKIP() << "it copies no programs";
  const ExecSpec version = command({"python3", "-c", "import sys; sys.exit(sys.version_info[:2] != (3, 11))"});
  if (run(sandbox(), version).exit_code() != 0) GTEST_SKIP() << "seeds are renewed in Python 3.11 only";
  Sandbox& first = sandbox();
  ExecSpec exec = waiting_python(std::string(kHasManyHashes) + kSaysWhereItsHashesAre);
  Attachment streams = start_waiting(first, exec);
  Result<UniqueFd> copy = first.copy_waiting(exec.id, kMark);
  ASSERT_TRUE(copy) << copy.error().message();
  std::set<std::string> outputs;
  for (int i = 0; i < 8; ++i) {
    Ran ran = go_on_as_copy(sandbox(), exec, *copy, ".");
    EXPECT_EQ(ran.err, "");
    EXPECT_THAT(ran.out, AllOf(HasSubstr(kSound), HasSubstr("True) .")));
    outputs.insert(ran.out);
  }
  outputs.insert(go_on(first, exec, std::move(streams), ".").out);
  EXPECT_EQ(outputs.size(), 9u);  // nothing in them differs but the hash
}

TEST_P(Conformance, CopiesNoProgramWhoseHashesCannotBeRenewed) {
  if (!copies()) GTEST_SKIP() << "it copies no programs";
  Sandbox& box = sandbox();
  for (const char* before : {
           "keys = {frozenset(('a', 'b')): 1}",
           "keys = {('a', ('b', 'c'))}",
           "class Key:\n    def __hash__(self): return hash(('x', 1))\nkeys = {Key(): 1}",
           "mark = 'this may' + ' go on; hashes of python 3.11: none'",
           "mark = 'this may' + ' go on; hashes of python 4: 1 2 3 4 5 6'",
           "mark = 'this may' + ' go on; hashes of python 3.11: 1 2 3 4 5 6'",
       }) {
    std::string known = std::string(before).find("mark") == std::string::npos ? kSaysWhereItsHashesAre : "";
    ExecSpec exec = waiting_python("number = 1\n" + std::string(before) + "\n" + known, "/tmp/" + make_id());
    Attachment streams = start_waiting(box, exec);
    Result<UniqueFd> copy = box.copy_waiting(exec.id, kMark);
    EXPECT_THAT(copy ? "nothing" : copy.error().message(), HasSubstr("hashes")) << before;
    EXPECT_EQ(go_on(box, exec, std::move(streams), "!").out, "2 !");
  }
}

// Memory that a child would find empty, as the C library keeps the state of its random numbers in, is empty in a copy.
TEST_P(Conformance, CopiesNothingThatNoChildMayHave) {
  if (!copies()) GTEST_SKIP() << "it copies no programs";
  Sandbox& first = sandbox();
  ExecSpec exec = waiting_python(
      "import mmap, os\n"
      "wiped = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
      "wiped.madvise(18)\n"
      "wiped[:6] = b'secret'\n"
      "class Look:\n"
      "    def __add__(self, _):\n"
      "        here = bytes(wiped[:6])\n"
      "        wiped[:3] = b'new'\n"
      "        child = os.fork()\n"
      "        if child == 0: os._exit(wiped[0])\n"
      "        return here, os.waitpid(child, 0)[1]\n"
      "number = Look()");
  Attachment streams = start_waiting(first, exec);
  Result<UniqueFd> copy = first.copy_waiting(exec.id, "number = Look()");
  ASSERT_TRUE(copy) << copy.error().message();
  EXPECT_EQ(go_on(first, exec, std::move(streams), ".").out, "(b'secret', 0) .");
  EXPECT_EQ(go_on_as_copy(sandbox(), exec, *copy, ".").out, R"((b'\x00\x00\x00\x00\x00\x00', 0) .)");
}

// Root inside can stop whoever copies; nobody waits for that.
TEST_P(Conformance, DoesNotWaitForACopyThatIsHeldUp) {
  if (!copies()) GTEST_SKIP() << "it copies no programs";
  Sandbox& box = sandbox();
  ExecSpec exec = waiting_python(
      "import os, signal\n"
      "number, parent = 1, os.getpid()\n"
      "def stop_others():\n"
      "    while True:\n"
      "        for each in filter(str.isdigit, os.listdir('/proc')):\n"
      "            if int(each) in (1, parent, os.getpid()): continue\n"
      "            try: os.kill(int(each), signal.SIGSTOP)\n"
      "            except OSError: pass\n"
      "if os.fork() == 0: stop_others()\n");
  exec.user = "root";
  Attachment streams = start_waiting(box, exec);
  for (int i = 0; i < 2; ++i) {
    auto begin = std::chrono::steady_clock::now();
    static_cast<void>(box.copy_waiting(exec.id, "number"));
    ASSERT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  }
}

TEST_P(Conformance, CopiesProgramsOfRoot) {
  if (!copies()) GTEST_SKIP() << "it copies no programs";
  Sandbox& first = sandbox();
  ExecSpec exec = waiting_python(
      "import re\n"
      "class Look:\n"
      "    def __add__(self, _): return re.findall('Cap.*', open('/proc/self/status').read())\n"
      "number = Look()");
  exec.user = "root";
  Attachment streams = start_waiting(first, exec);
  Result<UniqueFd> copy = first.copy_waiting(exec.id, "number = Look()");
  ASSERT_TRUE(copy) << copy.error().message();
  const std::string started = go_on(first, exec, std::move(streams), ".").out;
  EXPECT_THAT(started, HasSubstr("CapEff"));
  EXPECT_EQ(go_on_as_copy(sandbox(), exec, *copy, ".").out, started);
}

TEST_P(Conformance, GoesOnAsNoCopyOfAnotherPlace) {
  if (!copies()) GTEST_SKIP() << "it copies no programs";
  Sandbox& first = sandbox();
  ExecSpec exec = waiting_python("number = 41");
  Attachment waiting = start_waiting(first, exec);
  Result<UniqueFd> copy = first.copy_waiting(exec.id, "number = 41");
  ASSERT_TRUE(copy) << copy.error().message();
  // A file that it has mapped is another one there, though it has the same name and content.
  Sandbox& changed = sandbox();
  ASSERT_EQ(
      run(changed, shell("p=$(readlink -f /usr/bin/python3); sudo cp $p $p.new && sudo mv $p.new $p")).exit_code(), 0);
  exec.id = make_id();
  Result<Attachment> streams = changed.exec_copy(exec, *copy);
  ASSERT_TRUE(streams);
  EXPECT_EQ(finish(changed, exec.id, std::move(*streams)).exit_code(), 125);
  // No copy at all.
  Sandbox& other = sandbox();
  UniqueFd nothing(::memfd_create("nothing", MFD_CLOEXEC));
  exec.id = make_id();
  streams = other.exec_copy(exec, nothing);
  ASSERT_TRUE(streams);
  EXPECT_TRUE(finish(other, exec.id, std::move(*streams)).failed);
  EXPECT_EQ(run(other, command({"echo", "well"})).out, "well\n");
}

}  // namespace
}  // namespace cove::test
