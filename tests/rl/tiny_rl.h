// A recipe of four small steps of reinforcement learning on the shipped model. `rl` are more fields of the phase, `more`
// stands before it.
#pragma once
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace quern::tiny {

inline std::filesystem::path write_rl_recipe(const std::filesystem::path& folder, const std::string& rl = "",
                                             const std::string& more = "") {
  std::ofstream(folder / "rl.toml") << fmt::format(R"(
name = "rl"
seed = 5
dtype = "f32"
model = {{ from = "{}/models/zaya-nano" }}
checkpoint = {{ every = 1, keep = 9 }}
optimizer = {{ rules = [{{ optimizer = {{ type = "adamw" }} }}] }}
{}
[[phase]]
name = "gym"
steps = 4
sequence_length = 256
batch_size = 3
schedule = {{ peak = 1e-4, warmup = 0, final = 1e-4 }}
[phase.rl]
environments = ["lists", "units"]
group = 4
max_tokens = 48
resample = 1
micro_tokens = 300
{}
)",
                                                   QUERN_SOURCE_DIR, more, rl);
  return folder / "rl.toml";
}

}  // namespace quern::tiny
