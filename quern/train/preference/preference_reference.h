// Log-probabilities of answers under the reference of a phase: the model as the phase begins, or the frozen model without its
// adapter. They are computed once, over all pairs, and kept in a file of the run, so that no second copy of the weights is
// needed: two numbers a pair.
#pragma once
#include <filesystem>
#include <vector>

#include "quern/train/preference/preference_data.h"
#include "quern/train/preference/preference_loss.h"
#include "quern/train/trainer/batch_source.h"

namespace quern::train {

struct ReferenceScorer {
  models::Model& model;
  grad::Precision precision;
  bool bare;  // without the adapter
  comm::Communicator& comm;

  // Of all answers, chosen, rejected, chosen, …; collective: ranks take pairs in turn.
  std::vector<double> scores(const PreferenceData& data) const;
};

void save_reference(const std::filesystem::path& file, const std::vector<std::vector<double>>& sets);
// Throws Error where the file is missing or is of other data: sizes are answers by set.
std::vector<std::vector<double>> load_reference(const std::filesystem::path& file, const std::vector<int64_t>& sizes);

}  // namespace quern::train
