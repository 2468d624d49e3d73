#include "image/python_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/text.h"
#include "context_kernels.h"
#include "model/limits.h"
#include "sys/file.h"
#include "sys/program.h"

namespace cove {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr const char* kStart = "/etc/python3.11/sitecustomize.py";
constexpr const char* kCompiled = "/over/usr/lib/python3.11/__pycache__/sitecustomize.cpython-311.pyc";

// A machine with a Python as Debian has it, and an image to be.
class PythonFiles : public ::testing::Test {
 protected:
  PythonFiles() {
    char folder[] = "/tmp/cove-python-XXXXXX";
    folder_ = ::mkdtemp(folder);
    for (const char* path : {"/host/usr/bin", "/host/usr/lib/python3.11/__pycache__", "/image/root/etc/python3.11"})
      EXPECT_TRUE(sys::make_folders(folder_ + path));
    EXPECT_TRUE(sys::symlink(kStart, folder_ + "/host/usr/lib/python3.11/sitecustomize.py"));
    EXPECT_TRUE(sys::write_file(start(), "import this_machines_own\n"));
  }
  ~PythonFiles() override { EXPECT_TRUE(sys::remove_tree(folder_)); }

  std::string start() const { return concat(folder_, "/image/root", std::string_view(kStart)); }
  std::string compiled() const { return concat(folder_, "/image", std::string_view(kCompiled)); }
  void have_python(const std::string& script) {
    ASSERT_TRUE(sys::write_file(folder_ + "/host/usr/bin/python3.11", "#!/bin/sh\n" + script, 0755));
  }
  void add() {
    auto added = add_python_files({.root = folder_ + "/host", .sudo_program = ""}, TreeWriter(folder_ + "/image"));
    ASSERT_TRUE(added) << added.error().message();
    EXPECT_THAT(*sys::read_file(start()), ::testing::StartsWith("import this_machines_own\n"));
    EXPECT_THAT(*sys::read_file(start()), EndsWith(kPythonStartProgram));
  }

  std::string folder_;
};

TEST_F(PythonFiles, TheMachinesPythonCompilesWhatItRunsFirst) {
  have_python("echo \"$1 $2 $4 $5\"; env; grep -c _settle \"$4\"");
  mode_t before = ::umask(0077);
  add();
  ::umask(before);
  std::string asked = concat("-IBS -c ", start(), " /usr/lib/python3.11/sitecustomize.py\n");
  EXPECT_THAT(*sys::read_file(compiled()), ::testing::StartsWith(asked));
  EXPECT_THAT(*sys::read_file(compiled()), ::testing::Not(HasSubstr("HOME=")));
  EXPECT_THAT(*sys::read_file(compiled()), EndsWith("3\n"));
  EXPECT_EQ(sys::stat(compiled())->st_mode & 07777, 0644u);
}

TEST_F(PythonFiles, AreThereWithoutAPythonThatCompiles) {
  add();
  EXPECT_FALSE(sys::exists(compiled()));
}

TEST_F(PythonFiles, NothingOfAFailedCompilationIsKept) {
  have_python("echo half; exit 1");
  ::testing::internal::CaptureStderr();
  add();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("python3.11 ended with 1"));
  EXPECT_FALSE(sys::exists(compiled()));
}

TEST_F(PythonFiles, NoFolderIsPutOverALink) {
  have_python("echo compiled");
  std::string folder = folder_ + "/host/usr/lib/python3.11/__pycache__";
  ASSERT_TRUE(sys::rename(folder, folder_ + "/host/elsewhere"));
  ASSERT_TRUE(sys::symlink("/elsewhere", folder));
  add();
  EXPECT_FALSE(sys::exists(compiled()));
}

TEST_F(PythonFiles, NothingIsCompiledThatPythonFindsElsewhere) {
  have_python("echo compiled");
  std::string own = folder_ + "/host/usr/lib/python3.11/sitecustomize.py";
  ASSERT_EQ(::unlink(own.c_str()), 0);
  ASSERT_TRUE(sys::write_file(own, "pass"));
  add();
  EXPECT_FALSE(sys::exists(compiled()));
}

uint32_t number_at(const std::string& data, size_t at) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) number |= static_cast<uint32_t>(static_cast<unsigned char>(data[at + i])) << (8 * i);
  return number;
}

// importlib's form: a magic number, flags, time and size of the source, the code.
TEST_F(PythonFiles, WhatIsCompiledIsValidForItsSource) {
  std::string python = "/usr/bin/python3.11";
  if (!sys::exists(python)) GTEST_SKIP() << "this machine has no Python 3.11 of its own";
  ASSERT_TRUE(sys::symlink(python, folder_ + "/host/usr/bin/python3.11"));
  add();
  auto code = sys::read_file(compiled());
  ASSERT_TRUE(code) << code.error().message();
  auto source = sys::stat(start());
  ASSERT_GT(code->size(), 16u);
  EXPECT_EQ(code->substr(2, 2), "\r\n");
  EXPECT_EQ(number_at(*code, 4), 0u);
  EXPECT_EQ(number_at(*code, 8), static_cast<uint32_t>(source->st_mtime));
  EXPECT_EQ(number_at(*code, 12), static_cast<uint32_t>(source->st_size));
  EXPECT_THAT(*code, HasSubstr("/usr/lib/python3.11/sitecustomize.py"));
}

// What the machine's Python says of itself at the end of its start, after some code.
std::string says_after(const std::string& code) {
  auto said = sys::output_of(
      {.argv = {"/usr/bin/python3", "-IBS", "-c",
                concat("import sys\nsys.__interactivehook__ = lambda: None\n", code, "\n", kPythonStartProgram,
                       "\nprint(getattr(sys.__interactivehook__.settled, 'mark', 'nothing'))")},
       .env = {},
       .most = kMiB,
       .patience = std::chrono::seconds(10)});
  return said ? *said : said.error().message();
}

TEST(PythonStart, SaysThatNothingIsOfOneProcessOnly) {
  if (says_after("print(sys.version_info[:2] == (3, 11))").starts_with("False"))
    GTEST_SKIP() << "only Python 3.11 says so";
  constexpr const char* kMark = "cove: nothing here is of one process only; hashes of python 3.11:( [0-9a-f]+)+\n";
  EXPECT_THAT(says_after(""), MatchesRegex(kMark));
  EXPECT_THAT(says_after("import collections, contextlib, enum, functools, importlib.util, re, types, weakref"),
              MatchesRegex(kMark));
  EXPECT_THAT(says_after("sys.modules['folder'] = type(sys)('folder')"), MatchesRegex(kMark));
}

TEST(PythonStart, DoesNotSaySoWhereSomethingMayBe) {
  for (const char* module : {"random", "tempfile", "uuid", "ssl", "hashlib", "secrets", "threading", "logging",
                             "multiprocessing", "concurrent.futures", "asyncio", "socket", "ctypes", "typing"})
    EXPECT_EQ(says_after(concat("import ", module)), "nothing\n") << module;
  EXPECT_EQ(says_after("sys.modules['one'] = type(sys)('one')\nsys.modules['one'].state = 1"), "nothing\n");
  // Hashes that cannot be given another seed.
  EXPECT_EQ(says_after("class Data(bytes): pass"), "nothing\n");
  EXPECT_EQ(says_after("class Texts(set): pass"), "nothing\n");
  EXPECT_EQ(says_after("__import__('os').environ['PYTHONHASHSEED'] = '1'"), "nothing\n");
  // What is loaded after this.
  char folder[] = "/tmp/cove-user-XXXXXX";
  ASSERT_TRUE(::mkdtemp(folder));
  ASSERT_TRUE(sys::write_file(concat(folder, "/usercustomize.py"), "import random\n"));
  EXPECT_EQ(says_after(concat("sys.path.insert(0, '", folder, "')")), "nothing\n");
  EXPECT_TRUE(sys::remove_tree(folder));
}

}  // namespace
}  // namespace cove
