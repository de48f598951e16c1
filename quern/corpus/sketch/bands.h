// LSH bands: b groups of r rows; documents that agree on all rows of a band become a candidate pair, which happens at
// similarity s with probability 1 − (1 − s^r)^b.
#pragma once
#include <cstdint>
#include <span>

#include "quern/base/json.h"

namespace quern::corpus {

struct BandShape {
  int bands = 0, rows = 0;
  bool operator==(const BandShape&) const = default;
};

double collision_probability(double similarity, BandShape shape);

struct BandAreas {
  double false_positive = 0, false_negative = 0;  // ∫₀ᵗ collide, ∫ₜ¹ 1 − collide
};
BandAreas band_areas(double threshold, BandShape shape);

// The shape within `rows` rows that has the least weighted area, bands outer and rows inner, the first of equals.
// False negatives weigh what is left of 1.
BandShape best_bands(double threshold, int rows, double false_positive_weight = 0.5);

// How bands were chosen, for a run's configuration.
struct BandChoice {
  double threshold = 0, false_positive_weight = 0.5;
  Json json(BandShape shape) const;
};

uint64_t band_key(std::span<const uint32_t> rows);  // 64 bits over the rows of one band

}  // namespace quern::corpus
