// Reshaping: any number of ranks and back is the same bits; every operation against the same thing done to whole
// tensors, whatever the chunks.
#include <gtest/gtest.h>

#include <map>

#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/train/reshape/test_rewrite.h"

namespace quern::train {
namespace {

namespace fs = std::filesystem;
using namespace checkpoint_test;

const nn::Registry kNone;  // no family's layout

TEST(Reshape, AnyNumberOfRanksAndBack) {
  const Scratch s;
  comm::run_ranks(4, [&](comm::Communicator& c) {
    CheckpointWriter w(c, s.path / "src");
    w.save(7, pieces_of(c.rank(), 4, 1), state_of(7));
    w.wait();
  });
  const auto files = [](const fs::path& folder) {
    std::map<std::string, std::string> out;
    for (const auto& e : fs::directory_iterator(folder))
      if (e.path().extension() == ".bin") out[e.path().filename()] = read_file(e.path());
    return out;
  };
  const ReshapeReport four = reshape(kNone, s.path / "src", s.path / "four", {.ranks = 4, .chunk_bytes = 64});
  EXPECT_EQ(four.to, s.path / "four" / "step_7");
  EXPECT_EQ(four.bytes_in, four.bytes_out);
  expect_holds(four.to, 1);
  for (int64_t n : {1, 2, 3, 8, 50}) {
    const fs::path there = s.path / fmt::format("n{}", n), back = s.path / fmt::format("b{}", n);
    const ReshapeReport r = reshape(kNone, four.to, there, {.ranks = n, .chunk_bytes = 100});
    EXPECT_EQ(files(r.to).size(), static_cast<size_t>(n));
    expect_holds(r.to, 1);
    EXPECT_EQ(CheckpointReader(r.to).state(), state_of(7));
    EXPECT_EQ(files(reshape(kNone, there, back, {.ranks = 4, .chunk_bytes = 64}).to), files(four.to)) << n;
  }
}

TEST(Reshape, SourcesThatCannotBeTrusted) {
  const Scratch s;
  save(s.path / "a", {{"w", "weight", iota({50})}});
  const auto said = [&](int64_t ranks = 2) {
    return message_of([&] { reshape(kNone, s.path / "a", s.path / "b", {.ranks = ranks}); });
  };
  EXPECT_NE(said(0).find("ranks 0: expected 1 to 1000000"), std::string::npos);
  const fs::path bin = s.path / "a" / "step_9" / "rank_1.bin";
  std::string bytes = read_file(bin);
  bytes[5] ^= 1;
  write_file(bin, bytes);
  EXPECT_NE(said().find("damaged"), std::string::npos) << said();
  EXPECT_EQ(latest_committed(s.path / "b"), std::nullopt);
  EXPECT_TRUE(step_folders(s.path / "b").empty());
  fs::remove(s.path / "a" / "step_9" / "COMMIT.json");
  EXPECT_NE(said().find("no committed checkpoint"), std::string::npos);
}

TEST(Rewrite, RenameAndDrop) {
  const Tensor w = iota({3}), v = iota({2}, 10);
  expect_equal(
      rewritten(kNone,
                {{"layers.0.w", "weight", w}, {"layers.0.w", "m", v}, {"layers.1.w", "weight", v}, {"x", "m", w}},
                "[[rewrite]]\nop = 'rename'\nfrom = 'layers.{i}.{n}'\nto = 'h.{i}.{n}'\n"
                "[[rewrite]]\nop = 'drop'\nfrom = 'x'\n"),
      {{"h.0.w/weight", w}, {"h.0.w/m", v}, {"h.1.w/weight", v}});
}

TEST(Rewrite, SplitAndConcat) {
  const Tensor w = iota({4, 6}), m = iota({4, 6}, 100);
  const Named tensors{{"a.qkv", "weight", w}, {"a.qkv", "m", m}, {"a.qkv", "step", step(5)}};
  const std::string split =
      "[[rewrite]]\nop = 'split'\nfrom = '{x}.qkv'\naxis = 1\nto = ['{x}.q', '{x}.k', '{x}.v']\nsizes = [3, 1, 2]\n";
  expect_equal(rewritten(kNone, tensors, split), {{"a.q/weight", w.narrow(1, 0, 3)},
                                                  {"a.k/weight", w.narrow(1, 3, 1)},
                                                  {"a.v/weight", w.narrow(1, 4, 2)},
                                                  {"a.q/m", m.narrow(1, 0, 3)},
                                                  {"a.k/m", m.narrow(1, 3, 1)},
                                                  {"a.v/m", m.narrow(1, 4, 2)},
                                                  {"a.q/step", step(5)},
                                                  {"a.k/step", step(5)},
                                                  {"a.v/step", step(5)}});
  const std::string join =
      "[[rewrite]]\nop = 'concat'\nfrom = ['{x}.q', '{x}.k', '{x}.v']\naxis = -1\nto = '{x}.q'\n"
      "[[rewrite]]\nop = 'rename'\nfrom = '{x}.q'\nto = '{x}.qkv'\n";
  expect_equal(rewritten(kNone, tensors, split + join),
               {{"a.qkv/weight", w}, {"a.qkv/m", m}, {"a.qkv/step", step(5)}});
  expect_equal(rewritten(kNone, {{"e", "m", w}}, "[[rewrite]]\nop = 'split'\nfrom = 'e'\nto = ['f', 'g']\n"),
               {{"f/m", w.narrow(0, 0, 2)}, {"g/m", w.narrow(0, 2, 2)}});
}

TEST(Rewrite, PermuteStackUnstack) {
  const Tensor w = iota({3, 4, 5}), m = iota({3, 4, 5}, 1000);
  expect_equal(rewritten(kNone, {{"w", "weight", w}, {"w", "m", m}, {"w", "step", step(2)}},
                         "[[rewrite]]\nop = 'permute'\nfrom = 'w'\naxes = [2, 0, 1]\n"),
               {{"w/weight", w.swap_dims(1, 2).swap_dims(0, 1)},
                {"w/m", m.swap_dims(1, 2).swap_dims(0, 1)},
                {"w/step", step(2)}});
  for (int axis : {0, 1, 2}) {
    const std::string apart =
        fmt::format("[[rewrite]]\nop = 'unstack'\nfrom = 'w'\nover = 'e'\nto = 'x.{{e}}.w'\naxis = {}\n", axis);
    std::map<std::string, Tensor> want;
    for (int64_t e = 0; e < w.dim(axis); ++e) {
      Shape slice = w.shape();
      slice.erase(slice.begin() + axis);
      want[fmt::format("x.{}.w/weight", e)] = w.narrow(axis, e, 1).clone().reshape(slice);
      want[fmt::format("x.{}.w/step", e)] = step(4);
    }
    const Named tensors{{"w", "weight", w}, {"w", "step", step(4)}};
    expect_equal(rewritten(kNone, tensors, apart), want);
    const std::string together =
        fmt::format("[[rewrite]]\nop = 'stack'\nfrom = 'x.{{e}}.w'\nover = 'e'\nto = 'w'\naxis = {}\n", axis);
    expect_equal(rewritten(kNone, tensors, apart + together), {{"w/weight", w}, {"w/step", step(4)}});
  }
}

TEST(Rewrite, StackKeepsTheOrderOfNumbers) {  // 10 comes after 9
  Named tensors;
  for (int e = 11; e >= 0; --e) tensors.emplace_back(fmt::format("x.{}", e), "weight", iota({2}, 2 * e));
  expect_equal(rewritten(kNone, tensors, "[[rewrite]]\nop = 'stack'\nfrom = 'x.{e}'\nover = 'e'\nto = 'x'\n"),
               {{"x/weight", iota({12, 2})}});
}

TEST(Rewrite, LayersGrowAndShrink) {
  Named tensors{{"embed", "weight", iota({2})}};
  for (int i = 0; i < 3; ++i) {
    tensors.emplace_back(fmt::format("l.{}.a.w", i), "weight", iota({2}, 10 * i));
    tensors.emplace_back(fmt::format("l.{}.a.w", i), "m", iota({2}, 100 * i));
  }
  std::map<std::string, Tensor> want{{"embed/weight", iota({2})}};
  const std::vector<int> plan{0, 2, 2, 0};
  for (size_t j = 0; j < plan.size(); ++j) {
    want[fmt::format("l.{}.a.w/weight", j)] = iota({2}, 10 * plan[j]);
    want[fmt::format("l.{}.a.w/m", j)] = iota({2}, 100 * plan[j]);
  }
  expect_equal(rewritten(kNone, tensors, "[[rewrite]]\nop = 'layers'\nprefix = 'l.{i}.'\nplan = [0, 2, 2, 0]\n"),
               want);
}

TEST(Rewrite, UpcyclingCopiesWithNoiseAndResetsMoments) {
  Tensor w = iota({2, 40, 50}, 1);
  const Named tensors{
      {"e", "master", w}, {"e", "weight", w.to(DType::bf16)}, {"e", "muon_m", w}, {"e", "step", step(8)}};
  const std::string plain = "[[rewrite]]\nop = 'upcycle'\nfrom = 'e'\naxis = 0\ntimes = 3\n";
  const auto copies = rewritten(kNone, tensors, plain, 1000);
  ASSERT_EQ(copies.at("e/master").shape(), (Shape{6, 40, 50}));
  for (int64_t e = 0; e < 6; ++e)
    EXPECT_TRUE(same_bits(copies.at("e/master").narrow(0, e, 1).clone(), w.narrow(0, e % 2, 1).clone()));
  EXPECT_TRUE(same_bits(copies.at("e/muon_m"), Tensor::zeros({6, 40, 50}, DType::f32)));
  EXPECT_EQ(copies.at("e/step").item(), 0);
  const auto noisy = rewritten(kNone, tensors, plain + "noise = 0.05\nseed = 3\n", 1000);
  expect_equal(rewritten(kNone, tensors, plain + "noise = 0.05\nseed = 3\n", 7777), noisy);  // whatever the chunks
  const float* x = noisy.at("e/master").data<float>();
  EXPECT_TRUE(std::equal(x, x + 4000, w.data<float>()));  // the first copies are the experts themselves
  double sum = 0, square = 0;
  for (int64_t i = 4000; i < 12000; ++i) {
    const double r = x[i] / w.data<float>()[i % 4000] - 1.0;
    sum += r, square += r * r;
  }
  EXPECT_NEAR(sum / 8000, 0, 0.05 * 4 / std::sqrt(8000.0));  // four standard errors
  EXPECT_NEAR(std::sqrt(square / 8000), 0.05, 0.05 * 4 / std::sqrt(16000.0));
  const Tensor master = noisy.at("e/master"), weight = noisy.at("e/weight").to(DType::f32);
  for (int64_t i = 0; i < master.size(); ++i)  // the same noise; both rounded to bf16 at most twice
    ASSERT_NEAR(weight.item(i), master.item(i), 0.009 * std::abs(master.item(i)));
  const auto chosen = rewritten(kNone, {{"r", "weight", iota({3, 2})}},
                                "[[rewrite]]\nop = 'upcycle'\nfrom = 'r'\nindex = [0, 1, 0, 1, 2]\n");
  EXPECT_EQ(chosen.at("r/weight").item(4), 0);
  EXPECT_EQ(chosen.at("r/weight").item(8), 4);
}

TEST(Rewrite, ResizingAVocabulary) {
  const Tensor w = iota({4, 3});  // column means 4.5, 5.5, 6.5
  const Named tensors{{"emb", "weight", w}, {"emb", "m", w}, {"emb", "step", step(3)}};
  const auto rule = [](int64_t n, const char* fill) {
    return fmt::format("[[rewrite]]\nop = 'resize'\nfrom = 'emb'\naxis = 0\nsize = {}\nfill = '{}'\n", n, fill);
  };
  Tensor mean = Tensor::zeros({6, 3}, DType::f32), zero = Tensor::zeros({6, 3}, DType::f32);
  mean.narrow(0, 0, 4).copy_from(w), zero.narrow(0, 0, 4).copy_from(w);
  for (int64_t r = 4; r < 6; ++r)
    for (int64_t c = 0; c < 3; ++c) mean.data<float>()[3 * r + c] = 4.5f + static_cast<float>(c);
  expect_equal(rewritten(kNone, tensors, rule(6, "mean")),
               {{"emb/weight", mean}, {"emb/m", zero}, {"emb/step", step(3)}});
  expect_equal(rewritten(kNone, tensors, rule(6, "zero")),
               {{"emb/weight", zero}, {"emb/m", zero}, {"emb/step", step(3)}});
  const Tensor less = w.narrow(0, 0, 2);
  expect_equal(rewritten(kNone, tensors, rule(2, "mean")),
               {{"emb/weight", less}, {"emb/m", less}, {"emb/step", step(3)}});
}

TEST(Rewrite, MistakesAreNamed) {
  const Named tensors{{"a.0.w", "weight", iota({4, 3})},
                      {"a.0.w", "step", step(1)},
                      {"a.1.w", "weight", iota({4, 3})},
                      {"a.1.w", "step", step(2)},
                      {"b", "weight", iota({5})}};
  const auto expect = [&](const std::string& rule, const std::string& words) {
    const std::string said = message_of([&] { rewritten(kNone, tensors, "[[rewrite]]\n" + rule); });
    EXPECT_NE(said.find(words), std::string::npos) << said << "\nlacks: " << words;
  };
  expect("op = 'renmae'\n", "did you mean 'rename'?");
  expect("from = 'a'\n", "op");
  expect("op = 'rename'\nfrom = 'a.0.q'\nto = 'x'\n", "no tensor is named 'a.0.q'; did you mean 'a.0.w'?");
  expect("op = 'rename'\nform = 'a'\n", "unknown key 'form'");
  expect("op = 'rename'\nfrom = 'a.{i}.w'\nto = 'x.{j}'\n", "nothing gives {j} a text");
  expect("op = 'rename'\nfrom = 'a.{i}.w'\nto = 'x'\n", "gives two tensors the name 'x' (weight)");
  expect("op = 'rename'\nfrom = 'a.{i'\nto = 'x'\n", "expected a name between braces");
  expect("op = 'split'\nfrom = 'b'\nto = ['x', 'y']\n", "does not split into 2 equal parts");
  expect("op = 'split'\nfrom = 'b'\nto = ['x', 'y']\nsizes = [2, 2]\n", "their sum is 4");
  expect("op = 'split'\nfrom = 'b'\nto = ['x', 'y']\nsizes = [2, 9]\n", "too short");
  expect("op = 'split'\nfrom = 'b'\naxis = 1\nto = ['x']\n", "has no axis 1");
  expect("op = 'permute'\nfrom = 'b'\naxes = [1]\n", "is not a permutation of the axes");
  expect("op = 'concat'\nfrom = ['a.{i}.w', 'c.{i}']\nto = 'x'\n", "has no matching tensor 'c.0'");
  expect("op = 'concat'\nfrom = ['a.0.w', 'b']\nto = 'x'\n", "do not fit together");
  expect("op = 'concat'\nfrom = ['a.0.w', 'a.1.w']\nto = 'x'\n", "differ, but become one");  // step 1 and step 2
  expect("op = 'stack'\nfrom = 'a.{i}.w'\nover = 'e'\nto = 'x'\n", "lacks {e}");
  expect("op = 'layers'\nprefix = 'a.{i}.'\nplan = [0, 5]\n", "there is no layer 5");
  expect("op = 'upcycle'\nfrom = 'b'\n", "either times or index");
  expect("op = 'upcycle'\nfrom = 'b'\nindex = [9]\n", "no slice 9");
  expect("op = 'resize'\nfrom = 'b'\nsize = 9\nfill = 'x'\n", "expected mean or zero, found 'x'");
  const std::string said = message_of([&] { rewritten(kNone, tensors, "x = 1\n"); });
  EXPECT_NE(said.find("unknown key 'x'"), std::string::npos) << said;
}

}  // namespace
}  // namespace quern::train
