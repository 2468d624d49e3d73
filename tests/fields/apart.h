#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "engine/order_fields.h"
#include "model/limit_fields.h"
#include "model/sandbox_fields.h"

// Values in which every field is another than usual, and comparing them, both through the tables.
namespace cove {

inline size_t row_of(const LimitField& field) { return static_cast<size_t>(&field - kLimitFields); }

inline void set_apart(const LimitField& field, double& value) { value = field.least + 0.25; }
inline void set_apart(const LimitField& field, uint64_t& value) {
  value = static_cast<uint64_t>(std::max(field.least, 1.0)) + 10 + row_of(field);
}
inline void set_apart(const LimitField& field, std::chrono::milliseconds& value) {
  value = std::chrono::milliseconds(60'000 + row_of(field));
}

// All that can be asked for, and all named.
inline Limits limits_apart() {
  Limits limits;
  visit_limits(
      [](const LimitField& field, auto& limit) {
        set_apart(field, limit.value);
        limit.named = true;
      },
      limits);
  return limits;
}

inline bool is_any(const LimitField&) { return true; }
inline bool is_of_sandbox(const LimitField& field) { return field.of != LimitOf::Exec; }

inline void expect_same(const Limits& limits, const Limits& wanted, bool (*counts)(const LimitField&) = is_any) {
  visit_limits(
      [&](const LimitField& field, const auto& limit, const auto& want) {
        if (!counts(field)) return;
        EXPECT_TRUE(limit.value == want.value) << field.name;
        EXPECT_EQ(limit.named, want.named) << field.name;
      },
      limits, wanted);
}

// --- members of each type ----------------------------------------------------------------------------------------
inline void set_apart(const Field& field, std::string& text) {
  switch (field.form) {
    case Form::Id:
      text = "0123456789abcdefghij";
      break;
    case Form::Image:
      text = "example.org/tools:1";
      break;
    case Form::Runtime:
      text = "runc";
      break;
    case Form::AbsolutePath:
      text = "/w";
      break;
    default:
      text = concat("a-", field.name);
      std::ranges::replace(text, '_', '-');
  }
}
inline void set_apart(const Field& field, std::vector<std::string>& texts) {
  texts = {"one", concat("two-", field.name)};
}
inline void set_apart(const Field& field, std::map<std::string, std::string>& texts) {
  texts = {{"key", std::string(field.name)}};
}
inline void set_apart(const Field& field, Environment& env) { env = {{"KEY", std::string(field.name)}}; }
inline void set_apart(const Field&, bool& flag) { flag = !flag; }
inline void set_apart(const Field&, int& number) { number = 7; }
inline void set_apart(const Field& field, uint16_t& number) { number = static_cast<uint16_t>(70 + field.name.size()); }
inline void set_apart(const Field& field, uint64_t& number) { number = 1000 + field.name.size(); }
inline void set_apart(const Field& field, std::chrono::milliseconds& time) {
  time = std::chrono::milliseconds(1000 + field.name.size());
}
inline void set_apart(const Field&, Access& access) { access = Access::ReadWrite; }
inline void set_apart(const Field&, NetworkTier& tier) { tier = NetworkTier::Elevated; }
inline void set_apart(const Field&, Strictness& strictness) { strictness = Strictness::Strict; }
inline void set_apart(const Field&, Lifetime& lifetime) { lifetime = Lifetime::Long; }
inline void set_apart(const Field&, OnExpire& action) { action = OnExpire::Delete; }
inline void set_apart(const Field&, engine::Mode& mode) { mode = engine::Mode::Selective; }
inline void set_apart(const Field&, engine::SessionScope& scope) { scope = engine::SessionScope::Agent; }
inline void set_apart(const Field&, Limits& limits) { limits = limits_apart(); }
template <Listed T>
void set_apart(const Field&, T& value);
template <typename T>
void set_apart(const Field& field, std::optional<T>& value) {
  set_apart(field, value.emplace());
}
template <Listed T>
void set_apart(const Field&, T& value) {
  FieldsOf<T>::visit([](const Field& field, auto& member) { set_apart(field, member); }, value);
}

template <Listed T>
T apart() {
  T value;
  set_apart(Field{}, value);
  return value;
}

// --- comparing ---------------------------------------------------------------------------------------------------
template <typename T>
bool same(const T& value, const T& wanted, unsigned) {
  return value == wanted;
}
inline bool same(const Limits& limits, const Limits& wanted, unsigned way) {
  bool all = true;
  visit_limits(
      [&](const LimitField& field, const auto& limit, const auto& want) {
        const bool travels = way != kChannel || is_of_sandbox(field);
        all = all && (!travels || (limit.value == want.value && limit.named == want.named));
      },
      limits, wanted);
  return all;
}
template <Listed T>
bool same(const T& value, const T& wanted, unsigned way);
template <Listed T>
bool same(const std::optional<T>& value, const std::optional<T>& wanted, unsigned way) {
  return value.has_value() == wanted.has_value() && (!value || same(*value, *wanted, way));
}
// What comes with a session is whole in itself.
inline unsigned inside(unsigned way) { return way == kSession ? kRequest : way; }
// In all that travels that way.
template <Listed T>
bool same(const T& value, const T& wanted, unsigned way) {
  bool all = true;
  FieldsOf<T>::visit(
      [&](const Field& field, const auto& member, const auto& want) {
        if (field.in(way)) all = all && same(member, want, inside(way));
      },
      value, wanted);
  return all;
}

template <Listed T>
void expect_same(const T& value, const T& wanted, unsigned way) {
  FieldsOf<T>::visit(
      [&](const Field& field, const auto& member, const auto& want) {
        if (field.in(way)) {
          EXPECT_TRUE(same(member, want, inside(way))) << field.name;
        }
      },
      value, wanted);
}

// Calls `look` with values of which each differs from the usual in one field alone.
template <Listed T, typename Look>
void each_changed(Look look) {
  T changed;
  FieldsOf<T>::visit(
      [&](const Field& field, auto& member) {
        SCOPED_TRACE(field.name);
        const auto usual = member;
        set_apart(field, member);
        look(field, changed);
        member = usual;
      },
      changed);
}

template <Listed T>
size_t rows_of() {
  size_t rows = 0;
  T value;
  FieldsOf<T>::visit([&](const Field&, auto&) { ++rows; }, value);
  return rows;
}

}  // namespace cove
