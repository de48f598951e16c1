// Labeled images as rows of numbers from 0 to 1: handwritten digits as scikit-learn ships them (digits.csv or .csv.gz:
// 64 numbers 0 … 16 and a label per line) and the idx files of MNIST and Fashion-MNIST, optionally gzipped.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

namespace quern::lab {

struct Images {
  int64_t pixels = 0, classes = 0;
  std::vector<float> x;    // [n, pixels]
  std::vector<int> label;  // [n]
  int64_t size() const { return static_cast<int64_t>(label.size()); }
};

Images read_digits(const std::filesystem::path& csv);
Images read_idx(const std::filesystem::path& images, const std::filesystem::path& labels);

struct ImageSplit {
  Images train, test;
};
ImageSplit split(const Images& all, int64_t n_train, uint64_t seed);  // drawn without order

// The same pictures under other labels: of answer k of `to`, those whose label l has to[l] = k.
Images relabeled(const Images& all, const std::vector<int>& to);

std::vector<int64_t> in_order(int64_t n);
std::vector<int64_t> image_order(int64_t n, uint64_t seed, uint64_t epoch);  // shuffled
// f(pixels of these images, which they are) for one batch after the other.
void each_image_batch(const Images& images, std::span<const int64_t> order, int64_t batch,
                      const std::function<void(const std::vector<float>& x, std::span<const int64_t> which)>& f);

}  // namespace quern::lab
