#pragma once

#include <cerrno>
#include <span>

// What the testees share. A testee is a program that attempts forbidden things with well-formed arguments, from inside
// a sandbox; it tells what came of each attempt in a line of its own:
//
//   NAME denied EPERM     the kernel refused, with this error
//   NAME absent           there is nothing of that name
//   NAME held DETAIL      it went through, and reached nothing outside the sandbox
//   NAME done DETAIL      it succeeded: the wall has a hole
//   NAME killed SIGNAL    the attempt was ended by a signal
namespace testee {

// Names and contents that attempts leave behind, were they to succeed: the tests look for it on the host.
inline constexpr const char* kMark = "cove-testee";

struct Outcome {
  enum class Kind { Denied, Absent, Held, Done } kind;
  int errnum = 0;
  const char* detail = "";
};

inline Outcome denied(int errnum = errno) {
  return {errnum == ENOENT ? Outcome::Kind::Absent : Outcome::Kind::Denied, errnum, ""};
}
inline Outcome absent() { return {Outcome::Kind::Absent, 0, ""}; }
inline Outcome held(const char* detail) { return {Outcome::Kind::Held, 0, detail}; }
inline Outcome done(const char* detail = "") { return {Outcome::Kind::Done, 0, detail}; }
// Of a system call that must fail.
inline Outcome call(long status) { return status < 0 ? denied() : done(); }

struct Attempt {
  const char* name;
  Outcome (*make)();
};

// Ends the program with 99 unless it runs in a sandbox of Cove. The first thing that every testee does.
void refuse_outside();

// `testee all`, or `testee NAME…`: makes the attempts, each in a process of its own.
int run(int argc, char** argv, std::span<const Attempt> attempts);

// A variable that the test set; ends the attempt where it is missing.
const char* setting(const char* name);

// Opens for writing and writes; a file that is /dev/null in disguise counts as held.
Outcome write_to(const char* path, const char* text);
// Opens and reads; one that is empty counts as held.
Outcome read_from(const char* path);

}  // namespace testee
