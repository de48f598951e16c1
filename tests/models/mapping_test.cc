// A packed folder's file is mapped once, and what serves are its own bytes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "quern/models/quantize.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

TEST(PackedMapping, OneMappingAndNoCopy) {
  Golden g("llama-gqa");
  const auto out = std::filesystem::temp_directory_path() / fmt::format("quern_mapping_{}", ::getpid());
  std::filesystem::remove_all(out);
  models::quantize_folder(nn::builtin_registry(), g.folder, out, {});
  auto model = models::load_model(nn::builtin_registry(), out);
  int mappings = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) mappings += line.ends_with((out / "model.safetensors").string());
  EXPECT_EQ(mappings, 1);
  int64_t parameters = 0;
  model->visit(
      "", [&](const std::string&, grad::Parameter& p) { parameters += p.value.defined() ? p.value.bytes() : 0; });
  EXPECT_LT(parameters, 1000);  // norms: matrices are the file's
  std::filesystem::remove_all(out);
}

}  // namespace
}  // namespace quern
