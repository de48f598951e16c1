// Tensors copied into one block: what they hold, where they lie, and that one of them keeps it alive.
#include "quern/infer/cache/contiguous_copy.h"

#include <gtest/gtest.h>

namespace quern::infer {
namespace {

TEST(OneBlock, HoldsWhatItsPartsHeldHoweverLargeItIs) {
  for (const int64_t n : {1, 30, 3000, 40'000, 900'000}) {  // from malloc, in pages of its own, kept to be used again
    Tensor a = Tensor::empty({2, n, 3}, DType::f32), b = Tensor::full({5}, DType::i8, 7);
    for (int64_t i = 0; i < a.size(); ++i) a.data<float>()[i] = static_cast<float>(i);
    const Tensor seen = a.swap_dims(0, 1).narrow(0, n / 2, n - n / 2);  // not as memory lies
    std::vector<Tensor> copies = contiguous_copy({seen, b, Tensor::empty({0, 4}, DType::f32)});
    ASSERT_EQ(copies.size(), 3u);
    EXPECT_EQ(copies[0].shape(), seen.shape());
    EXPECT_TRUE(copies[0].contiguous());
    EXPECT_TRUE(copies[0].same_buffer(copies[1]));
    for (const Tensor& t : copies) EXPECT_EQ(reinterpret_cast<uintptr_t>(t.raw()) % 64, 0u);
    const Tensor last = copies[1];
    const Tensor want = seen.clone();
    a.fill(0);
    for (int64_t i = 0; i < want.size(); ++i) ASSERT_EQ(copies[0].item(i), want.item(i)) << n;
    const std::vector<int64_t> bytes = {copies[0].bytes(), copies[1].bytes(), 0};
    EXPECT_GE(contiguous_bytes(bytes), copies[0].bytes() + 64);
    EXPECT_LE(contiguous_bytes(bytes), copies[0].bytes() * 5 / 4 + 8192);
    copies.clear();
    EXPECT_EQ(last.item(4), 7) << "the block is still there";
  }
  EXPECT_TRUE(contiguous_copy({}).empty());
}

}  // namespace
}  // namespace quern::infer
