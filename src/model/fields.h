#pragma once

#include <string_view>

// How the fields of values are listed: each type has one table, FieldsOf<T>, that names each of its members once, with
// the ways that it travels. Codecs go by the tables and have one function for each type of member:
//
//   FieldsOf<SandboxSpec>::visit(
//       [&](const Field& field, const auto& value) {
//         if (field.in(kRecord)) json[field.name] = stored(value);
//       },
//       spec);
namespace cove {

// Ways that a field travels.
enum : unsigned {
  kNowhere = 0,
  kRecord = 1 << 0,   // in the JSON that the store keeps; what is a column of its own is not
  kChannel = 1 << 1,  // from coved to cove-spawn
  kRequest = 1 << 2,  // asked for when it is made, by the command line and by others
  kAnswer = 1 << 3,   // shown
  kSession = 1 << 4,  // of a sandbox: asked for with a session, and shown with it
  kPatch = 1 << 5,    // changed later, by itself
};

// What a field of a sandbox has to do with those that are kept ready.
enum class Pool {
  Any,    // it is given when the sandbox is handed out, or follows from others
  Class,  // sandboxes that differ in it are not of one class
  Usual,  // only those are kept ready that have none of it
};

// What a string or a number is, for whoever reads one from outside.
enum class Form { Any, Id, Name, Image, Runtime, User, AbsolutePath, Bytes };

struct Field {
  std::string_view name;  // in requests, answers and records
  unsigned ways = kNowhere;
  Pool pool = Pool::Any;
  Form form = Form::Any;
  bool nullable = false;  // an empty one is answered as null
  bool omitted = false;   // an empty one is left out of the answer

  constexpr bool in(unsigned way) const { return (ways & way) != 0; }
};

template <typename T>
struct FieldsOf;

template <typename T>
concept Listed = requires(T& value) { FieldsOf<T>::visit([](const Field&, auto&) {}, value); };

}  // namespace cove
