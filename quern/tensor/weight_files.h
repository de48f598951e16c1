// Which files hold the weights of a model folder or an adapter, and their tensors. Safetensors win over files of
// torch.save; trainer state beside them (optimizer.pt, rng_state.pth, …) is never weights.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "quern/tensor/safetensors.h"

namespace quern {

class Json;

// The first that exists of model.safetensors.index.json, model.safetensors, pytorch_model.bin.index.json,
// pytorch_model.bin and the only .pt or .pth file. Throws Error when the folder has none, or several of the last.
std::filesystem::path weights_of(const std::filesystem::path& folder);
// The same of adapter_model.safetensors and adapter_model.bin.
std::filesystem::path adapter_weights_of(const std::filesystem::path& folder);
// The file of the folder that `entry` of the index's weight_map names for a tensor.
std::filesystem::path shard_of(const std::filesystem::path& index, const std::string& tensor, const Json& entry);
// Every file with weights of a folder, or of an adapter's folder. None when there are none, or they cannot be told.
std::vector<std::filesystem::path> weight_files(const std::filesystem::path& folder);
// "pytorch_model.bin" where a folder of a model or an adapter holds a file of torch.save that is not read, because it
// has safetensors too.
std::string ignored_weights(const std::filesystem::path& folder);

bool is_torch_file(const std::filesystem::path& file);  // by its name: .bin, .pt, .pth
// The tensors of one file, of either kind, and its metadata.
std::map<std::string, TensorFolder::Entry> tensors_of(const std::filesystem::path& file,
                                                      std::map<std::string, std::string>* metadata = nullptr);

}  // namespace quern
