// A model folder as the server's APIs use it.
#pragma once
#include <memory>
#include <string>

#include "quern/models/checkpoint.h"
#include "quern/serve/models/served_model.h"

namespace quern::cli {

std::string model_id(const std::string& dir);  // what clients call the model of a folder, file or hub name
// Loaded, with tokenizer, chat template and defaults; without a host.
std::unique_ptr<serve::ServedModel> load_served_folder(const std::string& id, const std::string& dir,
                                                       const models::LoadOptions& options);

}  // namespace quern::cli
