#include "lab/action_centric/images.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/corpus/bytes/byte_stream.h"

namespace quern::lab {
namespace {

std::string all_bytes(const std::filesystem::path& file) {
  const auto stream = corpus::open_bytes(file);
  std::string all(size_t{1} << 16, '\0');
  size_t n = 0;
  while (const size_t got = stream->read(all.data() + n, all.size() - n)) {
    n += got;
    if (n == all.size()) all.resize(2 * n);
  }
  all.resize(n);
  return all;
}

// An idx file of bytes: 0, 0, 8, the number of extents, the extents as big-endian 32 bits, the bytes.
std::string idx_bytes(const std::filesystem::path& file, std::vector<int64_t>& shape) {
  const std::string all = all_bytes(file);
  const auto byte = [&](size_t i) { return static_cast<int64_t>(static_cast<unsigned char>(all[i])); };
  if (all.size() < 4 || byte(0) != 0 || byte(1) != 0 || byte(2) != 8)
    fail("{}: expected an idx file of bytes (0, 0, 8, …)", file.string());
  const size_t rank = static_cast<size_t>(byte(3)), head = 4 + 4 * rank;
  if (all.size() < head) fail("{}: ends inside its header", file.string());
  int64_t n = 1;
  for (size_t i = 0; i < rank; ++i) {
    int64_t extent = 0;
    for (size_t b = 0; b < 4; ++b) extent = extent << 8 | byte(4 + 4 * i + b);
    shape.push_back(extent);
    if (extent > 0 && n > (int64_t{1} << 40) / extent) fail("{}: {} extents are too large", file.string(), rank);
    n *= extent;
  }
  if (static_cast<int64_t>(all.size() - head) != n)
    fail("{}: the header announces {} bytes, {} follow", file.string(), n, all.size() - head);
  return all.substr(head);
}

}  // namespace

Images read_digits(const std::filesystem::path& csv) {
  const std::string text = all_bytes(csv);
  Images out{.pixels = 64, .classes = 10, .x = {}, .label = {}};
  const char *at = text.data(), *end = at + text.size();
  for (int64_t line = 1; at < end; ++line) {
    for (int64_t i = 0; i <= out.pixels; ++i) {
      double value = 0;
      const auto [next, bad] = std::from_chars(at, end, value);
      const double maximum = i < out.pixels ? 16 : 9;
      if (bad != std::errc() || !(value >= 0 && value <= maximum))
        fail("{}, line {}: expected 64 numbers from 0 to 16 and a label from 0 to 9", csv.string(), line);
      at = next;
      if (i < out.pixels) {
        if (at == end || *at++ != ',') fail("{}, line {}: expected 65 numbers, found {}", csv.string(), line, i + 1);
        out.x.push_back(static_cast<float>(value / 16));
      } else {
        out.label.push_back(static_cast<int>(value));
      }
    }
    while (at < end && (*at == '\r' || *at == '\n')) ++at;
  }
  if (out.label.empty()) fail("{}: no digits in it", csv.string());
  return out;
}

Images read_idx(const std::filesystem::path& images, const std::filesystem::path& labels) {
  std::vector<int64_t> shape, label_shape;
  const std::string x = idx_bytes(images, shape), y = idx_bytes(labels, label_shape);
  if (shape.size() != 3 || label_shape.size() != 1 || shape[0] != label_shape[0] || shape[0] == 0)
    fail("{} holds {} extents, {} {}: expected images [n, rows, columns] and labels [n]", images.string(),
         shape.size(), labels.string(), label_shape.size());
  Images out{.pixels = shape[1] * shape[2], .classes = 0, .x = {}, .label = {}};
  for (char c : x) out.x.push_back(static_cast<float>(static_cast<unsigned char>(c)) / 255);
  for (char c : y) out.label.push_back(static_cast<unsigned char>(c));
  out.classes = 1 + *std::max_element(out.label.begin(), out.label.end());
  return out;
}

std::vector<int64_t> in_order(int64_t n) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<int64_t> image_order(int64_t n, uint64_t seed, uint64_t epoch) {
  std::vector<int64_t> order = in_order(n);
  Rng rng(seed, epoch);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  return order;
}

void each_image_batch(const Images& images, std::span<const int64_t> order, int64_t batch,
                      const std::function<void(const std::vector<float>&, std::span<const int64_t>)>& f) {
  std::vector<float> x;
  const auto n = static_cast<int64_t>(order.size());
  for (int64_t at = 0; at < n; at += batch) {
    const auto which = order.subspan(static_cast<size_t>(at), static_cast<size_t>(std::min(batch, n - at)));
    x.clear();
    for (int64_t i : which)
      x.insert(x.end(), images.x.begin() + i * images.pixels, images.x.begin() + (i + 1) * images.pixels);
    f(x, which);
  }
}

Images relabeled(const Images& all, const std::vector<int>& to) {
  QUERN_CHECK(static_cast<int64_t>(to.size()) == all.classes);
  Images out = all;
  out.classes = 1 + *std::max_element(to.begin(), to.end());
  for (int& l : out.label) l = to[static_cast<size_t>(l)];
  return out;
}

ImageSplit split(const Images& all, int64_t n_train, uint64_t seed) {
  if (n_train < 1 || n_train >= all.size())
    fail("{} of {} images to train on: some must be left", n_train, all.size());
  const std::vector<int64_t> order = image_order(all.size(), seed, 0);
  ImageSplit s{{all.pixels, all.classes, {}, {}}, {all.pixels, all.classes, {}, {}}};
  for (size_t i = 0; i < order.size(); ++i) {
    Images& to = static_cast<int64_t>(i) < n_train ? s.train : s.test;
    const auto from = all.x.begin() + order[i] * all.pixels;
    to.x.insert(to.x.end(), from, from + all.pixels);
    to.label.push_back(all.label[static_cast<size_t>(order[i])]);
  }
  return s;
}

}  // namespace quern::lab
