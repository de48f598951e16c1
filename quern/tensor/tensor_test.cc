// Tensor views, conversions, .npy and safetensors — good files round-trip, hostile ones are refused by name.
#include "quern/tensor/tensor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/tensor/safetensors.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / fmt::format("quern_tensor_{}_{}", ::getpid(), ++count_)) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  fs::path operator/(const char* n) const { return path_ / n; }
  const fs::path& path() const { return path_; }

 private:
  static inline int count_ = 0;
  fs::path path_;
};

TEST(Tensor, NarrowReshapeCloneConvert) {
  Tensor t = Tensor::of<float>({2, 3}, {0, 1, 2, 3, 4, 5});
  Tensor column = t.narrow(1, 1, 1);
  EXPECT_FALSE(column.contiguous());
  EXPECT_EQ(column.clone().item(1), 4);
  EXPECT_EQ(t.reshape({3, -1}).dim(1), 2);
  EXPECT_EQ(column.to(DType::f64).item(1), 4.0);
  EXPECT_EQ(t.to(DType::bf16).to(DType::f32).item(5), 5);
  EXPECT_TRUE(t.reshape({6}).same_buffer(t));
  EXPECT_EQ((t.view<float, 2>()(1, 2)), 5);
  Tensor turned = t.swap_dims(0, 1);
  EXPECT_EQ(turned.shape(), (Shape{3, 2}));
  EXPECT_EQ(turned.clone().item(1), 3);
  EXPECT_TRUE(turned.same_buffer(t));
}

TEST(Dtype, F16AndF8AgainstKnownValues) {
  EXPECT_EQ(f16_to_f32(0x3c00), 1.0f);
  EXPECT_EQ(f16_to_f32(0xc000), -2.0f);
  EXPECT_EQ(f16_to_f32(0x7bff), 65504.0f);
  EXPECT_EQ(f16_to_f32(0x0001), std::ldexp(1.0f, -24));
  EXPECT_EQ(f8e4m3_to_f32(0x7e), 448.0f);  // the largest finite
  EXPECT_EQ(f8e4m3_to_f32(0x38), 1.0f);
  EXPECT_EQ(f8e4m3_to_f32(0x01), std::ldexp(1.0f, -9));
  EXPECT_EQ(f8e4m3_to_f32(0xb8), -1.0f);
  EXPECT_TRUE(std::isnan(f8e4m3_to_f32(0x7f)));
}

TEST(Npy, RoundTrip) {
  Folder d;
  Tensor t = Tensor::of<float>({2, 2}, {1.5f, -2, 3, 4});
  save_npy((d / "x.npy").string(), t);
  Tensor u = load_npy((d / "x.npy").string());
  EXPECT_EQ(u.shape(), t.shape());
  EXPECT_EQ(u.item(0), 1.5);
  write_file(d / "y.npy", read_file(d / "x.npy").substr(0, 130));
  EXPECT_NE(message_of([&] { load_npy((d / "y.npy").string()); }).find("does not match shape"), std::string::npos);
}

TEST(Safetensors, RoundTripAndShards) {
  Folder d;
  NamedTensors all = {{"a", Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
                      {"b", Tensor::of<float>({3}, {5, 6, 7}).to(DType::bf16)},
                      {"c", Tensor::zeros({0, 4}, DType::f32)}};
  save_tensor_folder(d.path(), all, 1 << 20);
  EXPECT_TRUE(fs::exists(d / "model.safetensors"));
  save_tensor_folder(d.path(), all, 16);
  EXPECT_TRUE(fs::exists(d / "model.safetensors.index.json"));
  EXPECT_FALSE(fs::exists(d / "model.safetensors"));
  TensorFolder f(d.path());
  EXPECT_EQ(f.tensor("a").item(3), 4);
  EXPECT_EQ(f.tensor("b").item(2), 7);
  EXPECT_EQ(f.tensor("c").size(), 0);
  EXPECT_NE(message_of([&] { f.tensor("zzz"); }).find("'zzz' is missing"), std::string::npos);
}

std::string file_of(const std::string& header, size_t data_bytes) {
  uint64_t n = header.size();
  std::string s(8, '\0');
  std::memcpy(s.data(), &n, 8);
  return s + header + std::string(data_bytes, '\0');
}

TEST(Safetensors, HostileFilesAreRefusedByTensorAndField) {
  Folder d;
  struct Case {
    std::string content, expected;
  };
  const Case cases[] = {
      {"abc", "not a safetensors file"},
      {std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8) + "{}", "header length"},
      {file_of("{\"t\":1}", 0), "tensor 't'"},
      {file_of(R"({"t":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})", 4), "F33"},
      {file_of(R"({"t":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4), "negative"},
      {file_of(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4), "data_offsets"},
      {file_of(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4), "needs 8"},
      {file_of(R"({"t":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}})", 4), "too large"},
      {file_of(R"({"t":{"dtype":"F32","shape":[9223372036854775807,9223372036854775807],"data_offsets":[0,4]}})", 4),
       "too large"},
      {file_of(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[8,4]}})", 8), "outside"},
      {file_of(R"({"t":{"dtype":"F32","shape":[1]}})", 4), "'data_offsets' is missing"},
      {file_of(
           R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"u":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
           8),
       "overlap"},
  };
  for (const Case& c : cases) {
    write_file(d / "model.safetensors", c.content);
    std::string m = message_of([&] { TensorFolder f(d.path()); });
    EXPECT_NE(m.find(c.expected), std::string::npos) << m;
    EXPECT_NE(m.find("model.safetensors"), std::string::npos) << m;
  }
  write_file(d / "model.safetensors.index.json", R"({"weight_map":{"t":"../x.safetensors"}})");
  EXPECT_NE(message_of([&] { TensorFolder f(d.path()); }).find("not a plain file name"), std::string::npos);
}

}  // namespace
}  // namespace quern
