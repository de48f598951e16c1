// The query network that answers a question about an image: stride-2 convolutions (or none), dense layers with ReLU,
// one number per answer. Trained on labels, then frozen: only its output and the gradient of its input are used.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "lab/action_centric/conv.h"
#include "lab/action_centric/images.h"
#include "lab/action_centric/mlp.h"

namespace quern::lab {

struct QueryShape {
  int64_t pixels = 64, classes = 10;
  std::vector<int64_t> channels = {};  // of each convolution; needs square pictures
  std::vector<int64_t> hidden = {64};  // dense layers between
};

template <class T>
class Query {
 public:
  Query(const QueryShape& shape, uint64_t seed);
  int64_t classes() const { return dense_.outputs(); }
  std::span<const T> forward(std::span<const T> x, int64_t batch);  // [batch, classes]
  std::span<const T> backward(std::span<const T> gy, WeightGradients weights = WeightGradients::add);
  void step(double lr);
  std::vector<std::span<T>> weights();
  std::vector<std::span<T>> gradients();

 private:
  std::vector<HalvingConv<T>> convs_;
  Mlp<T> dense_;
};

struct TrainCode {
  int64_t epochs = 60, batch = 64;
  double lr = 2e-3;
  uint64_t seed = 1;
};
Query<float> train_query(const Images& train, QueryShape shape, const TrainCode& how);  // shape's ends: the images'
double query_accuracy(Query<float>& query, const Images& images);

// Rows of k logits to log probabilities, in place.
template <class T>
void log_softmax_rows(std::span<T> x, int64_t k);
int64_t largest_of_row(std::span<const float> x, int64_t row, int64_t k);

}  // namespace quern::lab
