#pragma once

#include "engine/network/live_networks.h"

namespace cove::engine {

// Sends network requests to the URL of the setting network.webhook: POST, with the request as JSON. The header
// Cove-Signature is "sha256=" and the HMAC-SHA256 of the body in hexadecimal; its key is the text of the file
// `webhook.key` in the server's folder, which is made at the first use. Each is tried three times, by a thread of its
// own; redirects are not followed. What comes while kMostWaiting wait is not sent. Empty where there is no URL.
inline constexpr size_t kMostWaitingHooks = 256;
TellWebhook make_webhook(const Config& config);

// Of the header; `key` and `body` may be any bytes.
std::string webhook_signature(const std::string& key, const std::string& body);

}  // namespace cove::engine
