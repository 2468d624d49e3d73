#pragma once

#include "engine/sandbox_info.h"
#include "engine/session/session_info.h"
#include "model/fields.h"

// The fields of what the engine is asked for; those of the sandbox or exec in it are in model/sandbox_fields.h.
namespace cove {

template <>
struct FieldsOf<engine::Lifecycle> {
  template <typename Visit, typename... Values>
  static void visit(Visit&& visit, Values&... values) {
    visit(Field{.name = "idle", .ways = kRecord | kRequest | kAnswer, .nullable = true}, values.idle...);
    visit(Field{.name = "max", .ways = kRecord | kRequest | kAnswer, .nullable = true}, values.max...);
    visit(Field{"on_expire", kRecord | kRequest | kAnswer}, values.on_expire...);
    visit(Field{"auto_resume", kRecord | kRequest | kAnswer}, values.auto_resume...);
  }
};

template <>
struct FieldsOf<engine::ExecOrder> {
  template <typename Visit, typename... Values>
  static void visit(Visit&& visit, Values&... values) {
    visit(Field{"spec"}, values.spec...);  // has a table of its own, whose fields stand beside these
    visit(Field{.name = "shell", .ways = kRecord | kAnswer, .nullable = true}, values.shell...);
    visit(Field{"language", kRecord}, values.language...);
    visit(Field{"used", kRecord}, values.used...);
    visit(Field{"limits", kRecord}, values.limits...);
    visit(Field{"detached", kRecord}, values.detached...);
    visit(Field{"placed", kRecord}, values.placed...);
    visit(Field{"secrets", kRecord}, values.secrets...);
    visit(Field{.name = "context_id", .ways = kRecord | kAnswer, .nullable = true}, values.context...);
    // Columns of the record.
    visit(Field{.name = "tag", .ways = kAnswer, .nullable = true}, values.tag...);
    visit(Field{.name = "session_id", .ways = kAnswer, .nullable = true}, values.session...);
    // Of its start alone: what became of these is in argv and `used`.
    visit(Field{"version"}, values.version...);
    visit(Field{"code"}, values.code...);
    visit(Field{"file"}, values.file...);
    visit(Field{"beside"}, values.beside...);
    visit(Field{"arguments"}, values.arguments...);
    visit(Field{"stdin"}, values.input...);
  }
};

template <>
struct FieldsOf<engine::SessionOrder> {
  template <typename Visit, typename... Values>
  static void visit(Visit&& visit, Values&... values) {
    visit(Field{"mode", kRecord | kRequest | kAnswer}, values.mode...);
    visit(Field{"runtime_named", kRecord}, values.runtime_named...);
    visit(Field{"sandbox"}, values.sandbox...);  // has a table of its own, whose fields stand beside these
    // Columns of the record.
    visit(Field{.name = "agent", .ways = kRequest | kAnswer, .nullable = true}, values.agent...);
    visit(Field{"scope", kRequest | kAnswer}, values.scope...);
    visit(Field{"idle"}, values.idle...);  // of its lifecycle
  }
};

}  // namespace cove
