// Labelled images as rows of numbers from 0 to 1: handwritten digits as scikit-learn ships them (digits.csv or
// .csv.gz: 64 numbers 0 … 16 and a label a line) and the idx files of MNIST and Fashion-MNIST, packed by gzip or not.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

namespace quern {

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

}  // namespace quern
