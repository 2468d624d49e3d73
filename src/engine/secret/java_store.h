#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cove::engine {

// The certificates of a file in PEM form, in DER form; what is no certificate is passed over.
std::vector<std::string> certificates_of(std::string_view pem);

// A store of trusted certificates that every version of Java reads (the format JKS, with the usual password
// "changeit").
std::string java_trust_store(const std::vector<std::string>& certificates, int64_t created_ms);

}  // namespace cove::engine
