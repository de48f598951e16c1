// Models in the local Hugging Face cache, by their hub names: org/name, or org/name@revision.
//   $HF_HUB_CACHE, else $HF_HOME/hub, else $XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub:
//     models--org--name/refs/main           a commit
//     models--org--name/snapshots/<commit>  the folder
// Only what is already there is found: nothing is downloaded.
#pragma once
#include <filesystem>
#include <string>

namespace quern::cli {

bool is_hub_name(const std::string& name);
// The snapshot's folder, or its .gguf file where that is all it holds; throws Error saying where was looked.
std::filesystem::path hub_model(const std::string& name);

}  // namespace quern::cli
