#include "quern/tensor/weight_files.h"

#include <algorithm>
#include <set>

#include "quern/base/json.h"
#include "quern/tensor/torch_file.h"

namespace quern {
namespace fs = std::filesystem;
namespace {

constexpr const char *kSafetensors[] = {"model.safetensors.index.json", "model.safetensors"},
                     *kTorch[] = {"pytorch_model.bin.index.json", "pytorch_model.bin"},
                     *kAdapter[] = {"adapter_model.safetensors"}, *kTorchAdapter[] = {"adapter_model.bin"};

template <size_t N>
fs::path first_of(const fs::path& folder, const char* const (&names)[N]) {
  for (const char* name : names)
    if (fs::exists(folder / name)) return folder / name;
  return {};
}

bool trainer_state(const std::string& name) {
  return name == "optimizer.pt" || name == "scheduler.pt" || name == "scaler.pt" || name.starts_with("rng_state");
}

std::vector<fs::path> loose_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& e : fs::directory_iterator(folder)) {
    const std::string tail = e.path().extension().string();
    if ((tail == ".pt" || tail == ".pth") && e.is_regular_file() && !trainer_state(e.path().filename().string()))
      files.push_back(e.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

template <class File>
std::map<std::string, TensorFolder::Entry> entries_of(const std::shared_ptr<const File>& file) {
  std::map<std::string, TensorFolder::Entry> all;
  for (const auto& [name, e] : file->entries()) {
    const int64_t bytes = element_count(e.shape) * dtype_size(e.dtype);
    all[name] = {dtype_name(e.dtype), e.shape, bytes, [file, name = name] { return file->tensor(name); }};
  }
  return all;
}

}  // namespace

fs::path weights_of(const fs::path& folder) {
  if (!fs::is_directory(folder)) fail("{} is not a folder", folder.string());
  if (const fs::path p = first_of(folder, kSafetensors); !p.empty()) return p;
  if (const fs::path p = first_of(folder, kTorch); !p.empty()) return p;
  const std::vector<fs::path> loose = loose_files(folder);
  if (loose.size() == 1) return loose[0];
  if (loose.size() > 1)
    fail("{}: {} and {} could both be the weights: name the file, or keep one as pytorch_model.bin", folder.string(),
         loose[0].filename().string(), loose[1].filename().string());
  for (const char* other : {"tf_model.h5", "flax_model.msgpack", "rust_model.ot"})
    if (fs::exists(folder / other))
      fail("{}: its weights are in {}, which is not read: save the model as safetensors", folder.string(), other);
  fail(
      "{}: found neither model.safetensors nor model.safetensors.index.json, nor weights of PyTorch "
      "(pytorch_model.bin, pytorch_model.bin.index.json, or one .pt or .pth file)",
      folder.string());
}

fs::path adapter_weights_of(const fs::path& folder) {
  const fs::path torch = first_of(folder, kTorchAdapter), safe = folder / kAdapter[0];
  return torch.empty() || fs::exists(safe) ? safe : torch;
}

fs::path shard_of(const fs::path& index, const std::string& tensor, const Json& entry) {
  const std::string& name = entry.as_string(fmt::format("{}, weight_map '{}'", index.string(), tensor));
  if (name.empty() || fs::path(name).filename() != name)
    fail("{}, weight_map '{}': '{}' is not a plain file name", index.string(), tensor, name);
  return index.parent_path() / name;
}

std::vector<fs::path> weight_files(const fs::path& folder) {
  if (const fs::path adapter = adapter_weights_of(folder); fs::exists(adapter)) return {adapter};
  try {
    const fs::path holder = weights_of(folder);
    if (holder.extension() != ".json") return {holder};
    std::set<fs::path> files;
    const Json index = Json::read(holder);
    for (const auto& [name, file] : index.at("weight_map", holder.string()).as_object()) {
      const fs::path shard = shard_of(holder, name, file);
      if (fs::exists(shard)) files.insert(shard);
    }
    return {files.begin(), files.end()};
  } catch (const Error&) {
    return {};
  }
}

std::string ignored_weights(const fs::path& folder) {
  if (!fs::is_directory(folder)) return "";
  for (const auto& [safe, torch] : {std::pair{first_of(folder, kSafetensors), first_of(folder, kTorch)},
                                    {first_of(folder, kAdapter), first_of(folder, kTorchAdapter)}})
    if (!safe.empty() && !torch.empty()) return torch.filename().string();
  return "";
}

bool is_torch_file(const fs::path& file) {
  const std::string tail = file.extension().string();
  return tail == ".bin" || tail == ".pt" || tail == ".pth";
}

std::map<std::string, TensorFolder::Entry> tensors_of(const fs::path& file,
                                                      std::map<std::string, std::string>* metadata) {
  if (is_torch_file(file)) return entries_of(std::make_shared<const TorchFile>(file));
  const auto tensors = std::make_shared<const SafetensorsFile>(file);
  if (metadata) *metadata = tensors->metadata();
  return entries_of(tensors);
}

}  // namespace quern
