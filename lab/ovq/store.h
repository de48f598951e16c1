// Capacity of untrained memories: random unit keys, each with one of 64 classes as its value, are written in random
// order and queried with noisy keys. The largest class counts as the answer.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace quern {

// Needles are the same among filler: most keys are noisy copies of few prototypes, and what is asked for are those
// that are not.
struct DictionaryOptions {
  int64_t rows = 256, chunk = 64;
  double scale = 40;  // s of the softmaxes
  bool count_bias = true;
};

struct StoreOptions {
  int64_t items = 256, repeats = 1;  // keys; how often each is written, with fresh noise if more than once
  DictionaryOptions dictionary{};
  double noise = 0.3;   // its length beside a key of 1
  int64_t asked = 512;  // keys asked for, at most
};

struct NeedleOptions {
  int64_t tokens = 1024, needles = 64, prototypes = 32;
  bool front = false;  // needles are written first; else anywhere
  DictionaryOptions dictionary{.rows = 128};
  double noise = 0.3;  // of filler, and of what is asked
};

constexpr int64_t kStoreWidth = 64;  // of keys and values

// softmax, ovq, ovq-greedy, ovq-random-rows, codebook (random, fixed), linear, delta
const std::vector<std::string>& store_memories();
// Share of right answers of each.
std::vector<double> store_and_ask(const StoreOptions& o, uint64_t seed);

// ovq, ovq-linear (rows in step with time), ovq-greedy, ovq-random-rows, codebook, window (the last keys, as many as
// rows), linear, delta
const std::vector<std::string>& needle_memories();
std::vector<double> find_needles(const NeedleOptions& o, uint64_t seed);

}  // namespace quern
