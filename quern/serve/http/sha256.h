// SHA-256 (FIPS 180-4), of API keys: a file of keys can hold their digests instead.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace quern::serve {

using Sha256Digest = std::array<uint8_t, 32>;
Sha256Digest sha256(std::string_view bytes);
std::optional<Sha256Digest> read_sha256(std::string_view hex);   // 64 hex digits; nothing: it is something else
bool same_digest(const Sha256Digest& a, const Sha256Digest& b);  // takes as long whatever they are

}  // namespace quern::serve
