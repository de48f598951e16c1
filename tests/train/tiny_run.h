// Small things to train: shards a model can learn, a recipe of a dozen steps on the model of a golden folder, and the
// binary carrying it out.
#pragma once
#include <fmt/format.h>
#include <sys/types.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "quern/base/rng.h"
#include "quern/data/indexed.h"
#include "quern/nn/builtin_registry.h"

namespace quern::tiny {

namespace fs = std::filesystem;

// Documents a model can learn: runs that count upwards from anywhere, modulo 50.
inline void write_shards(const fs::path& prefix, int64_t documents) {
  data::IndexedWriter w(prefix, data::TokenType::u16);
  Rng rng(7);
  for (int64_t d = 0; d < documents; ++d) {
    std::vector<int32_t> doc(5 + static_cast<size_t>(rng.uniform() * 40));
    auto first = static_cast<int32_t>(rng.uniform() * 50);
    for (size_t i = 0; i < doc.size(); ++i) doc[i] = 3 + (first + static_cast<int32_t>(i)) % 50;
    w.add(doc);
  }
  w.finish();
  std::ofstream(prefix.string() + ".json") << R"({"tokens": 100, "bytes": 250})";
}

// Writes base.toml and recipe.toml (which extends it with `more`); 12 steps, new weights.
inline fs::path write_recipe(const fs::path& folder, const std::string& golden, const std::string& more = "") {
  std::ofstream(folder / "base.toml") << fmt::format(R"(
name = "tiny"
seed = 3
dtype = "f32"
model = {{ from = "{}/tests/goldens/{}", fresh = true }}
checkpoint = {{ every = 5, keep = 2 }}
eval = {{ every = 6, rows = 4, length = 48, data = [{{ path = "held", rows = "pack" }}] }}
optimizer = {{ matrices = {{ type = "muon", dtype = "f32" }} }}
[[phase]]
steps = 12
length = 48
rows = 4
schedule = {{ peak = 4e-3, warmup = 0.25, final = 4e-4 }}
data = [{{ path = "set" }}, {{ path = "held", weight = 0.5, rows = "pack" }}]
)",
                                                     QUERN_SOURCE_DIR, golden);
  std::ofstream(folder / "recipe.toml") << "extends = \"base.toml\"\n" << more;
  return folder / "recipe.toml";
}

// A folder with shards, gone with the test.
class Folder {
 public:
  explicit Folder(const std::string& what)
      : path(fs::temp_directory_path() / fmt::format("quern_{}_{}_{}", what, ::getpid(), ++count_)) {
    fs::create_directories(path);
    write_shards(path / "set", 400);
    write_shards(path / "held", 40);
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path path;

 private:
  static inline int count_ = 0;
};

inline std::string binary() { return std::string(QUERN_BINARY_DIR) + "/apps/quern/quern"; }

}  // namespace quern::tiny
