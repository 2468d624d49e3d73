#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/sandbox_options.h"
#include "client/json.h"

// Options for the lifetime of a sandbox. An order with these options has a member `life`.
namespace cove::cli {

struct LifeOrder {
  std::optional<std::string> idle;  // "10m", or "none"
  std::optional<std::string> max;
  std::optional<std::string> on_expire;
  std::optional<bool> auto_resume;
};

// A duration as written, or "none".
Result<std::optional<std::string>> parse_life(const std::string& text);
Result<std::optional<std::string>> parse_on_expire(const std::string& text);
Result<std::optional<bool>> parse_flag(const std::string& text);

// The given options; empty if there are none.
Json life_body(const LifeOrder& life);

template <typename T>
inline constexpr Option<T> kIdleOption = {
    {"idle", '\0', "TIME", "expire after this time without use; or none", kLife},
    [](T& order, Text text) { return assign(order.life.idle, parse_life(text)); }};
template <typename T>
inline constexpr Option<T> kMaxOption = {{"max", '\0', "TIME", "expire after this time, used or not; or none", kLife},
                                         [](T& order, Text text) { return assign(order.life.max, parse_life(text)); }};
template <typename T>
inline constexpr Option<T> kOnExpireOption = {
    {"on-expire", '\0', "ACTION", "what happens when it expires: stop, pause or delete", kLife},
    [](T& order, Text text) { return assign(order.life.on_expire, parse_on_expire(text)); }};
template <typename T>
inline constexpr Option<T> kAutoResumeOption = {
    {"auto-resume", '\0', "yes|no", "resume it when it is used while paused or stopped", kLife},
    [](T& order, Text text) { return assign(order.life.auto_resume, parse_flag(text)); }};

}  // namespace cove::cli
