#include "quern/train/preference/preference_reference.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/tensor/safetensors.h"

namespace quern::train {

namespace fs = std::filesystem;

std::vector<double> ReferenceScorer::scores(const PreferenceData& data) const {
  Tensor all = Tensor::zeros({2 * data.pairs()}, DType::f64);
  for (int64_t p = comm.rank(); p < data.pairs(); p += comm.size()) {
    PreferenceData::Rows rows;
    data.append(p, rows);
    const mixers::Batch batch = mixers::Batch::documents(rows.lengths);
    grad::Tape tape(grad::Tape::inference, precision);
    tape.bare = bare;
    const Tensor hidden = model.hidden(tape, rows.tokens, batch).value;
    const std::vector<double> two = document_logprobs(
        hidden, rows.targets, batch.offsets, precision,
        [&](grad::Tape& t, const grad::Var& h, const nn::HeadTerms& terms) { return model.objective(t, h, terms); });
    std::copy(two.begin(), two.end(), all.data<double>() + 2 * p);
  }
  std::vector<double> out(all.data<double>(), all.data<double>() + all.size());
  for (double& x : out) x = comm.size() > 1 ? comm.all_reduce(x) : x;
  return out;
}

void save_reference(const fs::path& file, const std::vector<std::vector<double>>& sets) {
  NamedTensors tensors;
  for (size_t i = 0; i < sets.size(); ++i) {
    Tensor t = Tensor::empty({static_cast<int64_t>(sets[i].size())}, DType::f64);
    std::copy(sets[i].begin(), sets[i].end(), t.data<double>());
    tensors.emplace_back(fmt::format("set{}", i), t);
  }
  const fs::path part = file.string() + ".part";
  save_safetensors(part, tensors);
  fs::rename(part, file);
}

std::vector<std::vector<double>> load_reference(const fs::path& file, const std::vector<int64_t>& sizes) {
  if (!fs::exists(file))
    fail("{}: the reference's log-probabilities are missing: the run cannot be continued without them",
         file.string());
  const SafetensorsFile from(file);
  std::vector<std::vector<double>> sets;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::string name = fmt::format("set{}", i);
    const auto entry = from.entries().find(name);
    if (entry == from.entries().end() || entry->second.shape != Shape{sizes[i]})
      fail("{}: is of other pairs than those of this recipe", file.string());
    const Tensor t = from.tensor(name).to(DType::f64);
    sets.emplace_back(t.data<double>(), t.data<double>() + t.size());
  }
  return sets;
}

}  // namespace quern::train
