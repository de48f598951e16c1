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
};
std::vector<SetLoss> evaluate(models::Model& model, const Recipe& recipe, comm::Communicator& comm);  // collective

// Bytes of text a token stands for, over the sets by their weights, as `quern data build` counted them; 0 = unknown.
double bytes_per_token(const std::vector<data::DataSetConfig>& sets, const std::filesystem::path& base);
// Absent where the bytes are unknown or the loss is no number.
std::optional<double> bits_per_byte(double loss, double bytes_per_token);

}  // namespace quern::train
