// Codes z ~ N(μ(x), σ²(x)) of images, trained on their rate KL[q(z|x) ‖ N(0, 1)] and a distortion:
//   reconstruction   −ln p(x|z): the binary cross-entropy of all pixels. With β ≠ 1 it is the β-VAE
//   action           Σ w·D[Q(x) ‖ Q(x̂(z))] over frozen query networks Q: the loss of what they can still tell
//   bottleneck       D[Q(x) ‖ c(z)] of a linear classifier of the code: no image between, the variational information
//                    bottleneck; of one question
// L = D + β·KL, means over images; D is the cross-entropy with Q(x) as soft targets. log σ² stays within ±8.
// Gradients: x̂ = sigmoid(y) gives dy = x̂ − x; for a query dy = x̂(1 − x̂)∘(∂/∂x of Q's cross-entropy); z = μ + σ∘ε
// gives dμ = dz + βμ, d log σ² = dz∘ε∘σ/2 + β(σ² − 1)/2.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "lab/action_centric/query.h"

namespace quern::lab {

enum class CodeLoss { reconstruction, action, bottleneck };
CodeLoss parse_code_loss(const std::string& name);  // throws Error naming the choices
const char* code_loss_name(CodeLoss l);

enum class BatchPass { loss, loss_and_gradients };

inline constexpr double kMaxLogVariance = 8;

struct CodeShape {
  int64_t pixels = 64, latent = 8, hidden = 128;
  int64_t layers = 1;  // hidden ones, each way
};

template <class T>
struct Question {
  Query<T>* query;  // outlives the code and is not changed
  double weight = 1;
};

template <class T>
class ImageCode {
 public:
  // Reconstruction needs no question; bottleneck takes the first one.
  ImageCode(CodeShape shape, CodeLoss loss, double beta, std::vector<Question<T>> questions, uint64_t seed);
  // What the queries say of pictures: probabilities [n, all answers of all questions].
  std::vector<T> targets(std::span<const T> x, int64_t n);
  // Loss of a batch and, unless only that is asked for, its gradients. noise [batch, latent]; target: targets(x, n).
  double batch(std::span<const T> x, int64_t n, std::span<const T> noise, std::span<const T> target, BatchPass pass);
  double nats() const { return nats_; }                  // of the last batch, the mean KL
  std::span<const T> image() const { return image_; }    // of the last batch, x̂ (bottleneck: none)
  std::span<const T> answer() const { return answer_; }  // bottleneck: of the last batch, log probabilities
  std::span<const T> code() const { return code_; }      // [n, 2·latent], μ and log σ² of a row side by side
  Mlp<T>& encoder() { return encoder_; }
  Mlp<T>& decoder() { return decoder_; }
  const CodeShape& shape() const { return shape_; }
  CodeLoss loss() const { return loss_; }
  int64_t answers() const;  // of all questions

 private:
  void decode(std::span<const T> y);  // → image_ or answer_
  double lost(std::span<const T> x, int64_t n, std::span<const T> y, std::span<const T> target,
              BatchPass pass);  // → gy_
  CodeShape shape_;
  CodeLoss loss_;
  double beta_, nats_ = 0;
  std::vector<Question<T>> questions_;
  Mlp<T> encoder_, decoder_;
  std::vector<T> image_, answer_, code_, z_, gy_, gh_;
};

}  // namespace quern::lab
