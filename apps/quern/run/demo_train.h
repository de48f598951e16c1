// quern demo --train.
#pragma once
#include <cstdint>
#include <string>

namespace quern::cli {

struct TrainedDemo {
  double seconds = 60;
  int64_t seed = 1;
  std::string out = {}, size = "mini";
};

int demo_by_training(const TrainedDemo& d);

}  // namespace quern::cli
