#include "quern/serve/limits/client_key.h"

#include <algorithm>
#include <cctype>

#include "quern/base/config.h"
#include "quern/base/toml.h"
#include "quern/serve/wire/generation_fields.h"

namespace quern::serve {
namespace {

constexpr size_t kMinKey = 8, kMaxName = 64;

struct KeyFile {
  std::vector<ClientKey> keys;
  template <class V>
  void visit(V& v) {
    v("key", keys, "API keys");
  }
};

bool good_name(const std::string& name) {
  return !name.empty() && name.size() <= kMaxName && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '@';
  });
}

void complete(ClientKey& k, const std::string& where) {
  if (!good_name(k.name))
    fail("{}: name '{}': expected 1 to {} letters, digits, '-', '_', '.' or '@'", where, k.name, kMaxName);
  const std::string who = where + ", key '" + k.name + "'";
  if (k.key.empty() == k.sha256.empty()) fail("{}: expected either key or sha256", who);
  if (k.key.empty()) {
    const auto digest = read_sha256(k.sha256);
    if (!digest) fail("{}: sha256: expected 64 hex digits, as sha256sum prints them", who);
    k.digest = *digest;
  } else {
    if (k.key.size() < kMinKey) fail("{}: the key has fewer than {} characters", who, kMinKey);
    k.digest = sha256(k.key);
    k.key.clear();
  }
  if (k.limits.priority < -kMaxPriority || k.limits.priority > kMaxPriority)
    fail("{}: priority: {} is outside -{} to {}", who, k.limits.priority, kMaxPriority, kMaxPriority);
}

}  // namespace

std::vector<ClientKey> read_key_file(const std::filesystem::path& file) {
  const std::string where = file.string();
  KeyFile all;
  from_json(file.extension() == ".json" ? Json::read(file) : read_toml(file), all, where, UnknownKeys::refuse);
  if (all.keys.empty()) fail("{}: no key: expected [[key]] with name, and key or sha256", where);
  for (size_t i = 0; i < all.keys.size(); ++i) {
    complete(all.keys[i], where);
    all.keys[i].of_file = true;
    for (size_t j = 0; j < i; ++j) {
      if (all.keys[i].name == all.keys[j].name) fail("{}: two keys have the name '{}'", where, all.keys[i].name);
      if (same_digest(all.keys[i].digest, all.keys[j].digest))
        fail("{}: '{}' and '{}' are the same key", where, all.keys[j].name, all.keys[i].name);
    }
  }
  return all.keys;
}

std::vector<ClientKey> plain_keys(const std::vector<std::string>& keys) {
  std::vector<ClientKey> out;
  for (const std::string& key : keys) {
    ClientKey& k = out.emplace_back();
    k.name = fmt::format("key-{}", out.size());
    k.digest = sha256(key);
    k.limits.priority = -kMaxPriority, k.limits.admin = true;
  }
  return out;
}

}  // namespace quern::serve
