#include "lab/action_centric/query.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"
#include "quern/base/rng.h"

namespace quern::lab {
namespace {

template <class T>
std::vector<HalvingConv<T>> convolutions(const QueryShape& s, uint64_t seed) {
  std::vector<HalvingConv<T>> out;
  int64_t side = std::llround(std::sqrt(static_cast<double>(s.pixels))), channels = 1;
  if (!s.channels.empty() && side * side != s.pixels)
    fail("{} pixels: expected a square number of them for convolutions", s.pixels);
  for (size_t i = 0; i < s.channels.size(); ++i) {
    out.emplace_back(side, channels, s.channels[i], mix64(seed + i + 1));
    side = out.back().side_out(), channels = s.channels[i];
  }
  return out;
}

std::vector<int64_t> dense_widths(const QueryShape& s, int64_t inputs) {
  std::vector<int64_t> w{inputs};
  w.insert(w.end(), s.hidden.begin(), s.hidden.end());
  w.push_back(s.classes);
  return w;
}

}  // namespace

template <class T>
Query<T>::Query(const QueryShape& s, uint64_t seed)
    : convs_(convolutions<T>(s, seed)),
      dense_(dense_widths(s, convs_.empty() ? s.pixels : convs_.back().outputs()), seed) {}

template <class T>
std::span<const T> Query<T>::forward(std::span<const T> x, int64_t batch) {
  for (HalvingConv<T>& c : convs_) x = c.forward(x, batch);
  return dense_.forward(x, batch);
}

template <class T>
std::span<const T> Query<T>::backward(std::span<const T> gy, WeightGradients weights) {
  gy = dense_.backward(gy, weights);
  for (size_t i = convs_.size(); i-- > 0;) gy = convs_[i].backward(gy, weights);
  return gy;
}

template <class T>
void Query<T>::step(double lr) {
  for (HalvingConv<T>& c : convs_) c.step(lr);
  dense_.step(lr);
}

template <class T>
std::vector<std::span<T>> Query<T>::weights() {
  std::vector<std::span<T>> all = dense_.weights();
  for (HalvingConv<T>& c : convs_)
    for (std::span<T> s : c.weights()) all.push_back(s);
  return all;
}
template <class T>
std::vector<std::span<T>> Query<T>::gradients() {
  std::vector<std::span<T>> all = dense_.gradients();
  for (HalvingConv<T>& c : convs_)
    for (std::span<T> s : c.gradients()) all.push_back(s);
  return all;
}

template class Query<float>;
template class Query<double>;

template <class T>
void log_softmax_rows(std::span<T> x, int64_t k) {
  for (size_t at = 0; at < x.size(); at += static_cast<size_t>(k)) {
    const std::span<T> row = x.subspan(at, static_cast<size_t>(k));
    const T top = *std::max_element(row.begin(), row.end());
    T sum = 0;
    for (T v : row) sum += std::exp(v - top);
    for (T& v : row) v -= top + std::log(sum);
  }
}
template void log_softmax_rows<float>(std::span<float>, int64_t);
template void log_softmax_rows<double>(std::span<double>, int64_t);

int64_t largest_of_row(std::span<const float> x, int64_t row, int64_t k) {
  const auto at = x.begin() + row * k;
  return std::max_element(at, at + k) - at;
}

Query<float> train_query(const Images& train, QueryShape shape, const TrainCode& how) {
  shape.pixels = train.pixels, shape.classes = train.classes;
  Query<float> query(shape, how.seed);
  for (int64_t e = 0; e < how.epochs; ++e)
    each_image_batch(train, image_order(train.size(), how.seed, static_cast<uint64_t>(e)), how.batch,
                     [&](const std::vector<float>& x, std::span<const int64_t> which) {
                       const auto n = static_cast<int64_t>(which.size());
                       const std::span<const float> y = query.forward(x, n);
                       std::vector<float> g(y.begin(), y.end());
                       log_softmax_rows(std::span<float>(g), train.classes);
                       for (float& v : g) v = std::exp(v) / static_cast<float>(n);
                       for (int64_t r = 0; r < n; ++r) {
                         const int label = train.label[static_cast<size_t>(which[static_cast<size_t>(r)])];
                         g[static_cast<size_t>(r * train.classes + label)] -= 1 / static_cast<float>(n);
                       }
                       query.backward(g);
                       query.step(how.lr);
                     });
  return query;
}

double query_accuracy(Query<float>& query, const Images& images) {
  int64_t right = 0;
  constexpr int64_t kAtOnce = 500;
  each_image_batch(images, in_order(images.size()), kAtOnce,
                   [&](const std::vector<float>& x, std::span<const int64_t> which) {
                     const std::span<const float> y = query.forward(x, static_cast<int64_t>(which.size()));
                     for (size_t r = 0; r < which.size(); ++r)
                       right += largest_of_row(y, static_cast<int64_t>(r), images.classes) ==
                                images.label[static_cast<size_t>(which[r])];
                   });
  return static_cast<double>(right) / static_cast<double>(images.size());
}

}  // namespace quern::lab
