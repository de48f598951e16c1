// What memories hold before anybody has taught a model to use them: random unit keys, each with one of 64 classes for
// a value, are written in random order, and asked for by keys with noise. Right means the largest class.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace quern {

struct StoreOptions {
  int64_t items = 256, repeats = 1;  // keys; how often each is written, with fresh noise if more than once
  int64_t rows = 256, chunk = 64;    // of the dictionaries
  double noise = 0.3, scale = 40;    // length of the noise beside a key of 1; s of the softmaxes
  int64_t asked = 512;               // keys asked for, at most
};

constexpr int64_t kStoreWidth = 64;  // of keys and values

// softmax, ovq, ovq-greedy, ovq-random-rows, codebook (random, fixed), linear, delta
const std::vector<std::string>& store_memories();
// Share of right answers of each.
std::vector<double> store_and_ask(const StoreOptions& o, uint64_t seed);

}  // namespace quern
