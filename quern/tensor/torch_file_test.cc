// Files of torch.save: every element type and kind of view against safetensors that PyTorch wrote of the same tensors
// (tools/oracles/tensor/make_torch.py), and files that ask for code refused by name.
#include "quern/tensor/torch_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/tensor/weight_files.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

const fs::path kGoldens = fs::path(QUERN_SOURCE_DIR) / "tests/goldens/torch";

void expect_same(const Tensor& a, const Tensor& b, const std::string& name) {
  ASSERT_EQ(a.dtype(), b.dtype()) << name;
  ASSERT_EQ(a.shape(), b.shape()) << name;
  ASSERT_TRUE(a.contiguous()) << name;
  EXPECT_EQ(std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())), 0) << name;
}

void expect_twin(const TorchFile& file, const std::string& twin) {
  const SafetensorsFile expected(kGoldens / twin);
  ASSERT_EQ(file.entries().size(), expected.entries().size());
  for (const auto& [name, e] : expected.entries()) expect_same(file.tensor(name), expected.tensor(name), name);
}

TEST(TorchFile, EveryFormHoldsTheTensorsOfItsTwin) {
  for (const char* name : {"kinds.bin", "kinds-old.bin", "kinds.pt"}) {
    SCOPED_TRACE(name);
    expect_twin(TorchFile(kGoldens / name), "kinds.safetensors");
  }
  expect_twin(TorchFile(kGoldens / "wrapped.pt"), "wrapped.safetensors");
  expect_twin(TorchFile(kGoldens / "parallel.bin"), "wrapped.safetensors");
  expect_twin(TorchFile(kGoldens / "f8.bin"), "f8.safetensors");
}

TEST(TorchFile, TypesAreNamedAsTheyAreStored) {
  const TorchFile file(kGoldens / "kinds.bin");
  for (const auto& [name, type] :
       {std::pair{"f64", "f64"}, {"bf16", "bf16"}, {"int16", "i16"}, {"bool", "bool"}, {"uint8", "u8"}})
    EXPECT_EQ(file.entries().at(name).type, type);
  EXPECT_EQ(TorchFile(kGoldens / "f8.bin").entries().at("f8").type, "f8e4m3");
}

TEST(TorchFile, MapsWhatLiesInOrderAndSharesStorages) {
  const TorchFile file(kGoldens / "kinds.bin");
  const Tensor whole = file.tensor("embedding"), again = file.tensor("head"), half = file.tensor("half");
  EXPECT_EQ(whole.raw(), again.raw());
  EXPECT_EQ(whole.raw(), half.raw());
  const Tensor x = file.tensor("f32"), rows = file.tensor("rows");
  EXPECT_EQ(static_cast<const float*>(rows.raw()), x.data<float>() + 6);
  EXPECT_FALSE(file.tensor("transposed").same_buffer(x));
}

TEST(TorchFile, TensorsOutliveTheFile) {
  Tensor t;
  {
    const TorchFile file(kGoldens / "kinds.bin");
    t = file.tensor("scalar");
  }
  EXPECT_EQ(t.item(0), 2.5);
  EXPECT_EQ(t.rank(), 0);
}

TEST(TorchFile, RefusesByName) {
  const auto expect = [](const char* name, const char* part) {
    const std::string said = message_of([&] { TorchFile f(kGoldens / "hostile" / name); });
    EXPECT_NE(said.find(part), std::string::npos) << name << ": " << said;
    EXPECT_NE(said.find(name), std::string::npos) << said;
  };
  expect("command.bin", "asks for posix.system: only weights are read, and nothing in the file is executed");
  expect("command-old.bin", "asks for posix.system");
  expect("stateful.bin", "asks for __main__.Stateful");
  expect("module.bin", "asks for torch.nn.modules.linear.Linear");
  expect("module.bin", "torch.save(model.state_dict()");
  expect("complex.bin", "asks for torch.ComplexFloatStorage");
  expect("tensor.bin", "holds a tensor, expected a state dict");
  expect("nested.bin", "no tensors but 'a' (a dict), 'n' (a value)");
  expect("two.bin", "under both 'model' and 'state_dict'");
  expect("expanded.bin", "repeats the 1 elements of its storage");
  expect("script.pt", "a TorchScript program");
  EXPECT_FALSE(fs::exists("executed"));
}

class WeightFiles : public testing::Test {
 protected:
  WeightFiles() { fs::create_directories(folder_); }
  ~WeightFiles() override { fs::remove_all(folder_); }
  void put(const std::string& from, const std::string& to) {
    fs::copy_file(kGoldens / from, folder_ / to, fs::copy_options::overwrite_existing);
  }
  std::string refusal() {
    return message_of([&] { TensorFolder f(folder_); });
  }
  fs::path folder_ = fs::temp_directory_path() / fmt::format("quern_weight_files_{}", ::getpid());
};

TEST_F(WeightFiles, AreFoundInOrder) {
  EXPECT_NE(refusal().find("found neither model.safetensors"), std::string::npos) << refusal();
  EXPECT_TRUE(weight_files(folder_).empty());
  put("kinds.pt", "weights.pt");
  put("kinds.pt", "optimizer.pt");
  put("kinds.pt", "rng_state_0.pth");
  EXPECT_EQ(weights_of(folder_).filename(), "weights.pt");
  EXPECT_EQ(TensorFolder(folder_).names().size(), 22u);
  put("kinds.pt", "other.pth");
  EXPECT_NE(refusal().find("other.pth and weights.pt could both be the weights"), std::string::npos) << refusal();
  EXPECT_EQ(TensorFolder(folder_ / "other.pth").names().size(), 22u);
  put("kinds.bin", "pytorch_model.bin");
  EXPECT_EQ(weights_of(folder_).filename(), "pytorch_model.bin");
  EXPECT_EQ(ignored_weights(folder_), "");
  put("wrapped.safetensors", "model.safetensors");
  EXPECT_EQ(TensorFolder(folder_).names().size(), 2u);
  EXPECT_EQ(ignored_weights(folder_), "pytorch_model.bin");
  EXPECT_EQ(weight_files(folder_), std::vector{folder_ / "model.safetensors"});
}

TEST_F(WeightFiles, ShardsAreReadByTheirIndex) {
  const std::string one = "pytorch_model-00001-of-00002.bin", two = "pytorch_model-00002-of-00002.bin";
  for (const std::string& name : {one, two, std::string("pytorch_model.bin.index.json")}) put("model/" + name, name);
  const TensorFolder shards(folder_), expected(kGoldens / "model");
  for (const std::string& name : expected.names()) expect_same(shards.tensor(name), expected.tensor(name), name);
  EXPECT_EQ(shards.names().size(), expected.names().size() + 1);
  EXPECT_EQ(weight_files(folder_), (std::vector{folder_ / one, folder_ / two}));
  fs::copy_file(folder_ / one, folder_ / two, fs::copy_options::overwrite_existing);
  EXPECT_NE(refusal().find("is listed in the index but missing"), std::string::npos) << refusal();
  write_file(folder_ / "pytorch_model.bin.index.json", R"({"weight_map": {"x": "../x.bin"}})");
  EXPECT_NE(refusal().find("'../x.bin' is not a plain file name"), std::string::npos) << refusal();
}

TEST_F(WeightFiles, NameWhatIsNotRead) {
  write_file(folder_ / "tf_model.h5", "x");
  EXPECT_NE(refusal().find("its weights are in tf_model.h5, which is not read"), std::string::npos) << refusal();
  write_file(folder_ / "pytorch_model.bin", "version https://git-lfs.github.com/spec/v1\n");
  EXPECT_NE(refusal().find("git lfs pull"), std::string::npos) << refusal();
  write_file(folder_ / "pytorch_model.bin", "\x80\x02}.");
  EXPECT_NE(refusal().find("a pickle that torch.save did not write"), std::string::npos) << refusal();
  write_file(folder_ / "pytorch_model.bin", "");
  EXPECT_NE(refusal().find("not a file of torch.save"), std::string::npos) << refusal();
}

}  // namespace
}  // namespace quern
