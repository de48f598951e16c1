#include "quern/corpus/text/aho_corasick.h"

#include "quern/base/error.h"

namespace quern::corpus {

constexpr size_t kMaxCells = size_t{1} << 28;

AhoCorasick::AhoCorasick(std::span<const std::string> words) {
  uint32_t classes = 1;
  size_t bytes = 0;
  for (const std::string& w : words) {
    bytes += w.size();
    for (const char c : w)
      if (uint8_t& k = class_of_[static_cast<unsigned char>(c)]; k == 0) {
        QUERN_CHECK(classes < 256, "256 different bytes in words");  // UTF-8 never has 0xFF
        k = static_cast<uint8_t>(classes++);
      }
  }
  classes_ = classes;
  if ((bytes + 1) * classes_ > kMaxCells)
    fail("word lists of {} bytes: expected at most {} with the {} different bytes in them", bytes,
         kMaxCells / classes_, classes_);
  const auto add_state = [&] {
    next_.resize(next_.size() + classes_, 0), ends_.push_back(0), shorter_.push_back(0), word_.push_back(0);
    return static_cast<uint32_t>(ends_.size() - 1);
  };
  const auto cell = [&](uint32_t state, uint32_t k) -> uint32_t& { return next_[state * size_t{classes_} + k]; };
  add_state();
  for (size_t w = 0; w < words.size(); ++w) {
    QUERN_CHECK(!words[w].empty());
    uint32_t state = 0;
    for (const char c : words[w]) {
      const uint8_t k = class_of_[static_cast<unsigned char>(c)];
      if (cell(state, k) == 0) {
        const uint32_t fresh = add_state();
        cell(state, k) = fresh;
      }
      state = cell(state, k);
    }
    QUERN_CHECK(ends_[state] == 0, "'{}' twice", words[w]);
    ends_[state] = state, word_[state] = static_cast<uint32_t>(w);
  }
  // States by distance from the root: a state's longest proper suffix is nearer, so its row is whole already.
  std::vector<uint32_t> order, suffix(ends_.size(), 0);
  for (uint32_t k = 0; k < classes_; ++k)
    if (const uint32_t child = cell(0, k)) order.push_back(child);
  for (size_t i = 0; i < order.size(); ++i) {
    const uint32_t state = order[i], back = suffix[state];
    shorter_[state] = ends_[back];
    if (ends_[state] == 0) ends_[state] = ends_[back];
    for (uint32_t k = 0; k < classes_; ++k) {
      uint32_t& child = cell(state, k);
      if (child == 0) {
        child = cell(back, k);
      } else {
        suffix[child] = cell(back, k);
        order.push_back(child);
      }
    }
  }
}

}  // namespace quern::corpus
