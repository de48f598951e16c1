// What a turn speaks of, among kinds of facts that change or among kinds of events: a linear model over its words and pairs
// of words, trained on tellings (tools/memory/telling_kinds.py). Scores are logits.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace quern::memory {

class TellingKinds {
 public:
  static const TellingKinds& of_facts();  // has the outputs "statement" and "ended" too
  static const TellingKinds& of_events();
  static TellingKinds parse(std::string_view text, const std::string& name);  // throws Error on a damaged file

  static constexpr size_t kMaxOutputs = 48;
  using Scores = std::array<float, kMaxOutputs>;
  Scores scores(std::string_view text) const;  // one for every name

  const std::vector<std::string>& names() const { return names_; }
  int32_t output(std::string_view name) const;  // −1 for none
  // The output one of whose phrases is the longest in this text of lower case ("the car was sold"); −1 for none.
  int32_t named(std::string_view lower) const;

  // The features of a text, with their values, in no order; for the script's test.
  static std::vector<std::pair<std::string, float>> features(std::string_view text);

 private:
  struct Weight {
    uint8_t output;
    int8_t value;  // times scale_
  };
  std::vector<std::string> names_;
  std::vector<float> bias_;
  float scale_ = 0;
  std::vector<std::pair<std::string, int32_t>> phrases_;  // that name an output
  std::unordered_map<std::string, uint32_t> row_of_;  // of a feature; its weights: begins_[row] to begins_[row + 1]
  std::vector<uint32_t> begins_;
  std::vector<Weight> weights_;
};

}  // namespace quern::memory
