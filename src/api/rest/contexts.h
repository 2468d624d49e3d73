#pragma once

namespace cove::api {

inline constexpr const char* kUsualLanguage = "python";
inline constexpr const char* kDefaultContext = "default";    // of the usual language
inline constexpr const char* kDefaultContexts = "default-";  // what the names of all such begin with

}  // namespace cove::api
