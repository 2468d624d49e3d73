#pragma once

#include "model/exec.h"
#include "model/fields.h"
#include "model/sandbox.h"

// The fields of sandboxes and execs; those of limits are in limit_fields.h.
namespace cove {

template <>
struct FieldsOf<NetworkBudget> {
  template <typename Visit, typename... Values>
  static void visit(Visit&& visit, Values&... values) {
    constexpr unsigned kAll = kRecord | kChannel | kRequest | kAnswer;
    visit(Field{"bytes", kAll, Pool::Any, Form::Bytes}, values.bytes...);
    visit(Field{"connections", kAll}, values.connections...);
  }
};

// Whether there is a network decides about the pool; what it lets through is set when the sandbox is handed out.
template <>
struct FieldsOf<NetworkPolicy> {
  template <typename Visit, typename... Values>
  static void visit(Visit&& visit, Values&... values) {
    constexpr unsigned kAll = kRecord | kChannel | kRequest | kAnswer;
    visit(Field{"tier", kAll}, values.tier...);
    visit(Field{"enabled", kAll}, values.enabled...);
    visit(Field{"allow", kAll}, values.allow...);
    visit(Field{"block", kAll}, values.block...);
    visit(Field{"budget", kAll}, values.budget...);
    visit(Field{"learn", kAll}, values.learn...);
  }
};

template <>
struct FieldsOf<GitAuthor> {
  template <typename Visit, typename... Values>
  static void visit(Visit&& visit, Values&... values) {
    constexpr unsigned kAll = kRecord | kRequest | kAnswer;
    visit(Field{"name", kAll}, values.name...);
    visit(Field{"email", kAll}, values.email...);
  }
};

template <>
struct FieldsOf<Workspace> {
  template <typename Visit, typename... Values>
  static void visit(Visit&& visit, Values&... values) {
    constexpr unsigned kAll = kRecord | kChannel | kRequest | kAnswer;
    visit(Field{"path", kAll, Pool::Any, Form::AbsolutePath}, values.path...);
    visit(Field{"access", kAll, Pool::Usual}, values.access...);
    visit(Field{"device", kRecord | kChannel}, values.device...);
    visit(Field{"inode", kRecord | kChannel}, values.inode...);
    visit(Field{.name = "author", .ways = kRecord | kRequest | kAnswer, .omitted = true}, values.author...);
    // Found where the sandbox is made, and descriptors of the process that they are in.
    visit(Field{"worktree"}, values.worktree...);
    visit(Field{"repository"}, values.repository...);
    visit(Field{"mount"}, values.mount...);
    visit(Field{"caller"}, values.caller...);
  }
};

template <>
struct FieldsOf<ImageDefaults> {
  template <typename Visit, typename... Values>
  static void visit(Visit&& visit, Values&... values) {
    visit(Field{"entrypoint", kRecord | kAnswer}, values.entrypoint...);
    visit(Field{"cmd", kRecord | kAnswer}, values.cmd...);
    visit(Field{.name = "cwd", .ways = kRecord | kAnswer, .nullable = true}, values.cwd...);
    visit(Field{"env", kRecord | kAnswer}, values.env...);
  }
};

template <>
struct FieldsOf<SandboxSpec> {
  template <typename Visit, typename... Values>
  static void visit(Visit&& visit, Values&... values) {
    constexpr unsigned kAll = kRecord | kChannel | kRequest | kAnswer;
    visit(Field{"id", kChannel | kAnswer, Pool::Any, Form::Id}, values.id...);
    visit(Field{"name", kChannel | kRequest | kAnswer | kPatch, Pool::Usual, Form::Name, true}, values.name...);
    visit(Field{"image", kAll | kSession, Pool::Class, Form::Image}, values.image...);
    visit(Field{"image_defaults", kRecord | kAnswer}, values.image_defaults...);
    visit(Field{"runtime", kAll | kSession, Pool::Usual, Form::Runtime}, values.runtime...);
    visit(Field{"user", kAll, Pool::Class, Form::User}, values.user...);
    visit(Field{"labels", kRecord | kRequest | kAnswer | kSession | kPatch}, values.labels...);
    visit(Field{"env", kRecord | kRequest | kAnswer | kSession | kPatch}, values.env...);
    visit(Field{"limits", kAll | kSession | kPatch, Pool::Class}, values.limits...);
    visit(Field{"strict", kRecord | kChannel | kRequest, Pool::Class}, values.strictness...);
    visit(Field{"network", kAll | kSession | kPatch, Pool::Class}, values.network...);
    visit(Field{"secrets", kRecord | kRequest | kAnswer | kSession}, values.secrets...);
    visit(Field{"agent", kRecord}, values.agent...);
    visit(Field{.name = "workspace", .ways = kAll | kSession, .pool = Pool::Usual, .nullable = true},
          values.workspace...);
    visit(Field{"nesting", kAll, Pool::Usual}, values.nesting...);
    visit(Field{"one_use", kRecord | kChannel, Pool::Class}, values.one_use...);
    visit(Field{"restarted", kChannel, Pool::Usual}, values.restarted...);
    // Every sandbox of a server is a long one.
    visit(Field{"lifetime", kNowhere, Pool::Class}, values.lifetime...);
    // Of a run without a server.
    visit(Field{"ends_with_exec", kNowhere, Pool::Usual}, values.ends_with_exec...);
    visit(Field{"single_exec", kNowhere, Pool::Usual}, values.single_exec...);
  }
};

template <>
struct FieldsOf<WindowSize> {
  template <typename Visit, typename... Values>
  static void visit(Visit&& visit, Values&... values) {
    visit(Field{"rows", kRecord | kAnswer}, values.rows...);
    visit(Field{"cols", kRecord | kAnswer}, values.columns...);
  }
};

template <>
struct FieldsOf<LanguageUse> {
  template <typename Visit, typename... Values>
  static void visit(Visit&& visit, Values&... values) {
    visit(Field{"name", kRecord}, values.name...);
    visit(Field{"version", kRecord}, values.version...);
    visit(Field{"image", kRecord}, values.image...);
    visit(Field{"note", kRecord}, values.note...);
  }
};

template <>
struct FieldsOf<ExecSpec> {
  template <typename Visit, typename... Values>
  static void visit(Visit&& visit, Values&... values) {
    visit(Field{"id"}, values.id...);
    visit(Field{"argv", kRecord | kAnswer}, values.argv...);
    visit(Field{"env", kRecord}, values.env...);
    visit(Field{"cwd", kRecord | kAnswer}, values.cwd...);
    visit(Field{"user", kRecord | kAnswer}, values.user...);
    visit(Field{"pty", kRecord | kAnswer}, values.pty...);
    visit(Field{"input", kRecord}, values.input...);
    visit(Field{"compile", kRecord}, values.compile...);
    visit(Field{"no_network", kRecord | kAnswer}, values.no_network...);
    // Of its start alone.
    visit(Field{"whole_input"}, values.whole_input...);
    visit(Field{"script_follows"}, values.script_follows...);
    visit(Field{"command_follows"}, values.command_follows...);
  }
};

}  // namespace cove
