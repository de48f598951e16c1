// Capacity of untrained memories: random unit keys, each with one of 64 classes as its value, are written in random
// order and queried with noisy keys. The largest class counts as the answer.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "lab/ovq/dictionary_settings.h"

namespace quern::lab {

// Needles are the same among filler: most keys are noisy copies of few prototypes, and what is asked for are those
// that are not.
struct DictionaryOptions {
  int64_t rows = 256, chunk = 64;
  double scale = 40;  // s of the softmaxes
  bool count_bias = true;
};

template <class V>
void visit_noise(V& v, double& noise) {
  v("noise", noise, "norm of the noise relative to the key");
}

struct StoreOptions {
  int64_t items = 256, repeats = 1;  // keys; how often each is written, with fresh noise if more than once
  DictionaryOptions dictionary{};
  double noise = 0.3;   // its length beside a key of 1
  int64_t asked = 512;  // keys asked for, at most
  template <class V>
  void visit(V& v) {
    v("items", items, "number of keys");
    v("repeats", repeats, "number of times each key is written, with new noise each time if more than once");
    visit_dictionary(v, dictionary.rows, dictionary.chunk);
    visit_noise(v, noise);
  }
};

struct NeedleOptions {
  int64_t tokens = 1024, needles = 64, prototypes = 32;
  bool front = false;  // needles are written first; else anywhere
  DictionaryOptions dictionary{.rows = 128};
  double noise = 0.3;  // of filler, and of what is asked
  template <class V>
  void visit(V& v) {
    v("keys", tokens, "total number of keys, needles and filler");
    v("needles", needles, "number of needles (unique keys)");
    v("prototypes", prototypes, "number of prototypes of the filler, the i-th with weight 1/i");
    v("front", front, "write the needles first");
    visit_dictionary(v, dictionary.rows, dictionary.chunk);
    visit_count_bias(v, dictionary.count_bias);
    visit_noise(v, noise);
  }
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

}  // namespace quern::lab
