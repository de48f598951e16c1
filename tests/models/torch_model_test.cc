// Folders whose weights PyTorch saved, as models: the parameters and logits of the same folder with safetensors
// (tools/oracles/tensor/make_torch.py), in one file, in shards, as a lone .pt, quantized, and adapters.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/infer/cache/session.h"
#include "quern/models/fingerprint.h"
#include "quern/models/quantize.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

const fs::path kFiles = fs::path(QUERN_SOURCE_DIR) / "tests/goldens/torch";
const std::vector<int32_t> kIds = {1, 5, 9, 30, 2, 17, 17, 4};

class TorchModel : public testing::Test {
 protected:
  TorchModel() { fs::create_directories(root_); }
  ~TorchModel() override { fs::remove_all(root_); }
  // A folder with these weights of the golden, each under its new name.
  fs::path folder(const std::string& name, const std::vector<std::pair<std::string, std::string>>& weights) {
    const fs::path to = root_ / name;
    fs::create_directories(to);
    fs::copy_file(kFiles / "model/config.json", to / "config.json");
    for (const auto& [from, file] : weights) fs::copy_file(kFiles / "model" / from, to / file);
    return to;
  }
  fs::path safetensors() { return folder("safe", {{"model.safetensors", "model.safetensors"}}); }
  fs::path one() { return folder("one", {{"pytorch_model.bin", "pytorch_model.bin"}}); }
  fs::path root_ = fs::temp_directory_path() / fmt::format("quern_torch_model_{}", ::getpid());
};

std::unique_ptr<models::Model> load(const fs::path& path, models::LoadOptions o = {},
                                    models::LoadReport* r = nullptr) {
  return models::load_model(nn::builtin_registry(), path, std::move(o), r);
}

void expect_same_bytes(const Tensor& a, const Tensor& b, const std::string& what) {
  ASSERT_EQ(a.shape(), b.shape()) << what;
  EXPECT_EQ(std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())), 0) << what;
}

void expect_same_models(const fs::path& a, const fs::path& b) {
  for (const DType dtype : {DType::f32, DType::bf16})
    expect_same_bytes(infer::all_logits(*load(a, {.dtype = dtype}), kIds),
                      infer::all_logits(*load(b, {.dtype = dtype}), kIds), std::string(dtype_name(dtype)));
  std::map<std::string, Tensor> parameters;
  const auto x = load(a, {.pack = false}), y = load(b, {.pack = false});
  x->visit("", [&](const std::string& name, grad::Parameter& p) { parameters[name] = p.value; });
  y->visit("", [&](const std::string& name, grad::Parameter& p) {
    expect_same_bytes(p.value, parameters.at(name), name);
  });
  EXPECT_GT(parameters.size(), 5u);
}

TEST_F(TorchModel, IsTheModelOfItsSafetensors) {
  const fs::path safe = safetensors();
  models::LoadReport report;
  load(one(), {}, &report);
  EXPECT_TRUE(report.unused.empty() && report.missing.empty() && report.notes.empty());
  expect_same_models(root_ / "one", safe);
  const std::string first = "pytorch_model-00001-of-00002.bin", second = "pytorch_model-00002-of-00002.bin",
                    index = "pytorch_model.bin.index.json";
  expect_same_models(folder("shards", {{first, first}, {second, second}, {index, index}}), safe);
  const fs::path lone = folder("lone", {{"pytorch_model.bin", "best.pt"}});
  expect_same_models(lone, safe);
  expect_same_models(lone / "best.pt", safe);
}

TEST_F(TorchModel, SafetensorsWinAndItIsSaid) {
  models::LoadReport report;
  const fs::path both =
      folder("both", {{"model.safetensors", "model.safetensors"}, {"config.json", "pytorch_model.bin"}});
  load(both, {}, &report);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_NE(report.notes[0].find("pytorch_model.bin in "), std::string::npos) << report.notes[0];
}

TEST_F(TorchModel, BecomesAQuantizedFolder) {
  const fs::path safe = safetensors(), torch = one();
  for (const fs::path& from : {safe, torch})
    models::quantize_folder(nn::builtin_registry(), from, root_ / (from.filename().string() + "-q8"), {});
  EXPECT_EQ(read_file(root_ / "safe-q8/model.safetensors"), read_file(root_ / "one-q8/model.safetensors"));
  EXPECT_FALSE(fs::exists(root_ / "one-q8/pytorch_model.bin"));
}

TEST_F(TorchModel, SavedStatesKnowTheWeights) {
  const fs::path torch = one();
  const std::string before = models::model_fingerprint(torch, "f32", std::nullopt);
  EXPECT_EQ(models::model_fingerprint(torch, "f32", std::nullopt), before);
  std::string bytes = read_file(torch / "pytorch_model.bin");
  bytes[4000] = static_cast<char>(bytes[4000] ^ 1);
  write_file(torch / "pytorch_model.bin", bytes);
  EXPECT_NE(models::model_fingerprint(torch, "f32", std::nullopt), before);
}

TEST_F(TorchModel, AdaptersAreReadToo) {
  const Golden base("qwen2-bias");
  const fs::path peft = fs::path(QUERN_SOURCE_DIR) / "tests/goldens/adapters/qwen2";
  const auto ids = std::span(base.tokens).first(16);
  const auto logits = [&](const fs::path& adapter) {
    return infer::all_logits(*load(base.folder, {.adapter = adapter}), ids);
  };
  expect_same_bytes(logits(kFiles / "adapter"), logits(peft), "beside");
  EXPECT_NE(read_file(peft / "base.txt").find("qwen2-bias"), std::string::npos);
  fs::copy(kFiles / "adapter", root_ / "adapter");
  fs::copy_file(kFiles / "hostile/command.bin", root_ / "adapter/adapter_model.bin",
                fs::copy_options::overwrite_existing);
  const std::string said = message_of([&] { logits(root_ / "adapter"); });
  EXPECT_NE(said.find("asks for posix.system"), std::string::npos) << said;
  fs::remove(root_ / "adapter/adapter_model.bin");
  EXPECT_NE(message_of([&] { logits(root_ / "adapter"); }).find("adapter_model.safetensors"), std::string::npos);
}

}  // namespace
}  // namespace quern
