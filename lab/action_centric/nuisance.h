// Images shifted and changed in brightness, with the parameters of each: nuisance variables that no question asks for,
// so a code made for one should not contain them.
#pragma once
#include <cstdint>
#include <vector>

#include "lab/action_centric/images.h"

namespace quern::lab {

struct NuisanceRange {
  int64_t shift = 2;  // pixels to either side, both ways
  double dimmest = 0.5, brightest = 1.5;
  int64_t copies = 1;  // of every picture
};
struct DisturbedImages {
  Images images;
  std::vector<double> right, down, brightness;  // of each
};
// Needs square pictures. What is moved out is lost, what comes in is 0; nothing gets brighter than 1.
DisturbedImages disturb(const Images& from, const NuisanceRange& range, uint64_t seed);

}  // namespace quern::lab
