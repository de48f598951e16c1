// LoRA adapters that are loaded and unloaded while the server runs, with vLLM's endpoints. Each adapter is served under a
// name of its own, beside the weights of its base. Running requests keep the adapter they have. Folders are read
// only from below the folder the server was started with.
#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include "quern/base/json.h"
#include "quern/serve/models/model_manager.h"

namespace quern::serve {

struct AdapterOptions {
  std::filesystem::path folder = {};  // what lies below may be loaded; empty: adapters stay as they are
  // A model of the name, with the adapter of the folder on the model `base`.
  std::function<ModelEntry(const std::string& name, const std::string& folder, const std::string& base)> entry = {};
};

Json list_adapters(const ModelManager& manager, const AdapterOptions& options,
                   const std::function<bool(const std::string& id)>& shown);
// {lora_name, lora_path, base_model_name}: loaded at once, so that what is wrong is told here.
Json load_adapter(ModelManager& manager, const AdapterOptions& options, const Json& body);
Json unload_adapter(ModelManager& manager, const AdapterOptions& options, const Json& body);  // {lora_name}

}  // namespace quern::serve
