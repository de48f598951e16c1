// TensorBoard event files, scalars only; both formats are written directly.
//   file    records of  u64 length · u32 masked CRC-32C of the length · payload · u32 masked CRC-32C of the payload
//           (little-endian; masked: rotated right by 15 bits, plus 0xa282ead8)
//   payload protobuf Event {double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5;
//           SessionLog session_log = 7}, Summary {repeated Value value = 1}, Value {string tag = 1; float
//           simple_value = 2}, SessionLog {int status = 1} with START = 1, which makes TensorBoard forget what
//           followed that step.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/train/report/metrics.h"

namespace quern::train {

struct Scalar {
  std::string_view tag;
  float value;
};

// The records themselves, pure functions.
std::string tensorboard_head(double wall_time);
std::string tensorboard_session(double wall_time, int64_t first_step);
std::string tensorboard_scalars(double wall_time, int64_t step, std::span<const Scalar> scalars);

// One file of a folder a process; TensorBoard reads them in the order of their names, which begin with the time.
class TensorboardFile {
 public:
  TensorboardFile(const std::filesystem::path& folder, int64_t resumed_at);  // as in MetricsFile
  ~TensorboardFile();
  TensorboardFile(const TensorboardFile&) = delete;
  TensorboardFile& operator=(const TensorboardFile&) = delete;
  void write(const StepMetrics& m);
  void write(const EvalMetrics& m);
  void discard_after(int64_t step);
  const std::filesystem::path& path() const { return path_; }

 private:
  void append(const std::string& records);
  std::filesystem::path path_;
  std::FILE* file_ = nullptr;
};

}  // namespace quern::train
