// Event files: byte for byte what TensorBoard's own writer makes (tools/oracles/train/make.py), and a file as a run
// leaves it.
#include "quern/train/report/tensorboard.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "quern/base/mmap.h"
#include "quern/base/test_message.h"

namespace quern::train {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / fmt::format("quern_tensorboard_{}", ::getpid());
  Folder() { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }
};

std::vector<std::string> payloads(const std::string& file) {
  std::vector<std::string> out;
  for (size_t at = 0; at < file.size();) {
    uint64_t n = 0;
    std::memcpy(&n, file.data() + at, std::min<size_t>(sizeof n, file.size() - at));
    EXPECT_LE(at + 12 + n + 4, file.size());
    out.push_back(file.substr(at + 12, n));
    at += 12 + n + 4;
  }
  return out;
}

TEST(Tensorboard, BytesAreThoseOfTensorboardsOwnWriter) {
  const std::vector<Scalar> three{{"train/loss", 2.71828f},
                                  {"eval/Prosa für Anfänger/loss", -1e-20f},
                                  {"train/grad_norm", std::numeric_limits<float>::infinity()}};
  const std::vector<Scalar> one{{"a", 0.f}};
  EXPECT_EQ(tensorboard_head(1700000000.25) + tensorboard_session(1700000001.5, 8) +
                tensorboard_scalars(1700000002.0, 300, three) + tensorboard_scalars(1700000003.0, 0, one),
            read_file(fs::path(QUERN_SOURCE_DIR) / "tests/goldens/train/events.bin"));
}

TEST(Tensorboard, AFileOfARun) {
  Folder d;
  StepMetrics step;
  step.step = 7, step.loss = 1.5, step.tokens = 700;
  TensorboardFile f(d.path / "tensorboard", 6);
  EXPECT_TRUE(f.path().filename().string().starts_with("events.out.tfevents."));
  EXPECT_EQ(payloads(read_file(f.path())).size(), 2u);  // the head, and that the run goes on at step 7
  f.write(step);
  step.bpb = 0.5, step.tokens_per_s = 10, step.mfu = 0.4;
  f.write(step);
  f.write(EvalMetrics{.step = 7, .tokens = 700, .set = "prose", .eval_loss = 2, .eval_bpb = 1});
  f.discard_after(3);
  const std::vector<std::string> p = payloads(read_file(f.path()));
  ASSERT_EQ(p.size(), 6u);
  EXPECT_NE(p[2].find("train/loss"), std::string::npos);
  EXPECT_EQ(p[2].find("speed/mfu"), std::string::npos);  // unknown is absent
  EXPECT_NE(p[3].find("speed/mfu"), std::string::npos);
  EXPECT_NE(p[3].find("train/bits_per_byte"), std::string::npos);
  EXPECT_NE(p[4].find("eval/prose/bits_per_byte"), std::string::npos);
  EXPECT_EQ(p[5].substr(p[5].size() - 6), std::string("\x10\x04\x3a\x02\x08\x01"));  // step 4, session starts

  TensorboardFile again(d.path / "tensorboard", MetricsFile::kNew);  // in the same second, beside the first
  EXPECT_NE(again.path(), f.path());
  EXPECT_EQ(payloads(read_file(again.path())).size(), 1u);
}

TEST(Tensorboard, AFolderThatCannotBeIsNamed) {
  Folder d;
  write_file(d.path, "a file");
  EXPECT_NE(message_of([&] { TensorboardFile f(d.path / "x", 0); }).find(d.path.string()), std::string::npos);
}

}  // namespace
}  // namespace quern::train
