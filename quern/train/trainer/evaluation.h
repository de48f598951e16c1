// Held-out loss: the recipe's [eval] sets, the same rows every time, dealt to the ranks one by one.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "quern/comm/communicator.h"
#include "quern/models/model.h"
#include "quern/train/recipe/recipe.h"

namespace quern::train {

struct SetLoss {
  std::string set;  // its path
  double loss = 0;  // nats a token; no number when the set has no targets
  std::optional<double> bits_per_byte;
  std::optional<double> margin = {}, accuracy = {};  // of pairs of answers
};
class BatchSource;
// Collective. A set of pairs is left to the phase's source, and out where that does not learn from pairs.
std::vector<SetLoss> evaluate(models::Model& model, const Recipe& recipe, comm::Communicator& comm,
                              BatchSource& source);
// Whether token shards hold pairs of answers, by their facts (PREFIX.json).
bool holds_pairs(const std::filesystem::path& prefix);

// Bytes of text a token stands for, over the sets by their weights, as `quern data build` counted them; 0 = unknown.
double bytes_per_token(const std::vector<data::DataSetConfig>& sets, const std::filesystem::path& base);
// Absent where the bytes are unknown or the loss is no number.
std::optional<double> bits_per_byte(double loss, double bytes_per_token);

}  // namespace quern::train
