// Codes z ~ N(μ(x), σ²(x)) of images, priced by their rate KL[q(z|x) ‖ N(0, 1)] and by what is lost:
//   reconstruction   −ln p(x|z): the binary cross-entropy of all pixels. With β ≠ 1 it is the β-VAE
//   action           D[Q(x) ‖ Q(x̂(z))] of a frozen query network Q: what is lost is what the query can no longer tell
//   bottleneck       D[Q(x) ‖ c(z)] of a linear classifier of the code: no image between, the variational information
//                    bottleneck
// L = D + β·KL, means over images; D is the cross-entropy with Q(x) as soft targets. log σ² stays within ±8.
// Gradients: x̂ = sigmoid(y) gives dy = x̂ − x; for a query dy = x̂(1 − x̂)∘(∂/∂x of Q's cross-entropy); z = μ + σ∘ε
// gives dμ = dz + βμ, d log σ² = dz∘ε∘σ/2 + β(σ² − 1)/2.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "quern/learn/action_centric/images.h"
#include "quern/learn/action_centric/mlp.h"

namespace quern {

enum class CodeLoss { reconstruction, action, bottleneck };
CodeLoss parse_code_loss(const std::string& name);  // throws Error naming the choices
const char* code_loss_name(CodeLoss l);

struct CodeShape {
  int64_t pixels = 64, classes = 10, latent = 8, hidden = 128;
  int64_t layers = 1;  // hidden ones, each way
};

template <class T>
class ImageCode {
 public:
  // query: pixels → classes; it outlives this and is not changed. Not needed by reconstruction.
  ImageCode(CodeShape shape, CodeLoss loss, double beta, Mlp<T>* query, uint64_t seed);
  // Loss of a batch and, with `learn`, its gradients. noise [batch, latent].
  double batch(std::span<const T> x, int64_t n, std::span<const T> noise, bool learn);
  double nats() const { return nats_; }                  // of the last batch, the mean KL
  std::span<const T> image() const { return image_; }    // of the last batch, x̂ (bottleneck: none)
  std::span<const T> answer() const { return answer_; }  // of the last batch, log probabilities (not reconstruction)
  std::span<const T> mean() const { return mean_; }      // [n, latent], μ
  Mlp<T>& encoder() { return encoder_; }
  Mlp<T>& decoder() { return decoder_; }
  const CodeShape& shape() const { return shape_; }
  CodeLoss loss() const { return loss_; }

 private:
  CodeShape shape_;
  CodeLoss loss_;
  double beta_, nats_ = 0;
  Mlp<T>* query_;
  Mlp<T> encoder_, decoder_;
  std::vector<T> image_, answer_, mean_, z_, target_, gy_, gz_, gh_;
};

struct TrainCode {
  int64_t epochs = 60, batch = 64;
  double lr = 2e-3;
  uint64_t seed = 1;
};
// A query network: ReLU layers trained on labels by cross-entropy.
Mlp<float> train_query(const Images& train, std::vector<int64_t> hidden, const TrainCode& how);
double query_accuracy(Mlp<float>& query, const Images& images);

void train_code(ImageCode<float>& code, const Images& train, const TrainCode& how);

struct CodeFigures {
  double bits = 0;           // mean KL: a bound on what the code tells of the image
  double information = 0;    // bits; I(X; Z) by Monte Carlo under the mixture of all test codes
  double accuracy = 0;       // of the query on x̂ (bottleneck: of its own answer), against the labels
  double squared_error = 0;  // an image (bottleneck: 0)
  int64_t active = 0;        // dimensions whose mean varies by more than 0.01
};
CodeFigures measure_code(ImageCode<float>& code, Mlp<float>& query, const Images& test, uint64_t seed);

}  // namespace quern
