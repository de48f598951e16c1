// A checkpoint's tensors by name, whichever files hold them.
#include "quern/base/json.h"
#include "quern/tensor/safetensors.h"
#include "quern/tensor/weight_files.h"

namespace quern {
namespace fs = std::filesystem;

TensorFolder::TensorFolder(const fs::path& weights) : where_(weights) {
  const fs::path holder = fs::is_regular_file(weights) ? weights : weights_of(weights);
  if (holder.extension() != ".json") {
    entries_ = tensors_of(holder, &metadata_);
    return;
  }
  const Json index = Json::read(holder);
  std::map<fs::path, std::map<std::string, Entry>> shards;
  for (const auto& [name, file] :
       index.at("weight_map", holder.string()).as_object(holder.string() + ", weight_map")) {
    const fs::path shard = shard_of(holder, name, file);
    const auto [opened, fresh] = shards.try_emplace(shard);
    if (fresh) opened->second = tensors_of(shard);
    const auto found = opened->second.find(name);
    if (found == opened->second.end())
      fail("{}: tensor '{}' is listed in the index but missing", shard.string(), name);
    entries_[name] = found->second;
  }
}

Tensor TensorFolder::tensor(const std::string& name) const {
  const Entry& e = entry(name);
  read_.insert(name);
  return e.read();
}

const TensorFolder::Entry& TensorFolder::entry(const std::string& name) const {
  auto it = entries_.find(name);
  if (it == entries_.end()) fail("{}: tensor '{}' is missing", where_.string(), name);
  return it->second;
}

std::vector<std::string> TensorFolder::names() const {
  std::vector<std::string> n;
  for (const auto& [name, e] : entries_) n.push_back(name);
  return n;
}

std::vector<std::string> TensorFolder::unread() const {
  std::vector<std::string> n;
  for (const auto& [name, e] : entries_)
    if (!read_.count(name)) n.push_back(name);
  return n;
}

int64_t TensorFolder::bytes() const {
  int64_t n = 0;
  for (const auto& [name, e] : entries_) n += e.bytes;
  return n;
}

}  // namespace quern
