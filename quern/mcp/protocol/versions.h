// Versions of the protocol. The dated handshake versions are agreed by `initialize`; in the stateless one every request
// carries the version and the client's capabilities itself.
#pragma once
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace quern::mcp {

constexpr std::array<std::string_view, 4> kHandshakeVersions = {"2024-11-05", "2025-03-26", "2025-06-18",
                                                                "2025-11-25"};
constexpr std::string_view kNewestHandshake = kHandshakeVersions.back();
constexpr std::string_view kStatelessVersion = "2026-07-28";
constexpr std::string_view kBatchVersion = "2025-03-26";    // the only one with JSON-RPC batches
constexpr std::string_view kUnnamedVersion = "2025-03-26";  // of HTTP requests that name none

// Members of a stateless request's _meta.
constexpr const char* kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr const char* kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr const char* kClientInfoKey = "io.modelcontextprotocol/clientInfo";
constexpr const char* kServerInfoKey = "io.modelcontextprotocol/serverInfo";
constexpr const char* kLogLevelKey = "io.modelcontextprotocol/logLevel";

inline bool is_handshake_version(std::string_view v) {
  return std::find(kHandshakeVersions.begin(), kHandshakeVersions.end(), v) != kHandshakeVersions.end();
}

// What a server answers a client that wants `asked`.
inline std::string agreed_version(std::string_view asked) {
  return std::string(is_handshake_version(asked) ? asked : kNewestHandshake);
}

}  // namespace quern::mcp
