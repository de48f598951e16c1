// Codes of whole data sets: training, reconstructions, and the measurements of a code.
#pragma once
#include <cstdint>
#include <vector>

#include "lab/action_centric/vae.h"

namespace quern::lab {

void train_code(ImageCode<float>& code, const Images& train, const TrainCode& how);

struct CodedImages {
  std::vector<float> mean, log_variance;  // [n, latent]
  std::vector<float> z;                   // drawn
  std::vector<float> image;               // [n, pixels], decoded from z; bottleneck: none
  std::vector<float> answer;              // bottleneck: [n, classes], log probabilities
  double bits = 0;                        // mean KL
};
CodedImages code_images(ImageCode<float>& code, const Images& images, uint64_t seed);

struct CodeFigures {
  double bits = 0;           // mean KL: a bound on what the code tells of the image
  double information = 0;    // bits; I(X; Z) by Monte Carlo under the mixture of all test codes
  double accuracy = 0;       // of the query on x̂ (bottleneck: of its own answer), against the labels
  double squared_error = 0;  // an image (bottleneck: 0)
  int64_t active = 0;        // dimensions whose mean varies by more than 0.01
};
CodeFigures measure_code(const CodedImages& coded, int64_t latent, Query<float>& query, const Images& test);

// How often a query is right about these pictures.
double answer_accuracy(Query<float>& query, std::span<const float> pictures, const Images& truth);

}  // namespace quern::lab
