// Models in the local Hugging Face cache, by their hub names: org/name, or org/name@revision.
//   $HF_HUB_CACHE, else $HF_HOME/hub, else $XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub:
//     models--org--name/refs/main           a commit
//     models--org--name/snapshots/<commit>  the folder
// Only what is already there is found: nothing is downloaded.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace quern::cli {

std::filesystem::path hub_folder();
std::vector<std::string> hub_names();        // org/name of every model that the cache has a folder of
bool in_hub_cache(const std::string& name);  // some revision of it, complete or not
bool is_hub_name(const std::string& name);
// The snapshot's folder, or its .gguf file where that is all it holds; throws Error saying where was looked.
std::filesystem::path hub_model(const std::string& name);

}  // namespace quern::cli
