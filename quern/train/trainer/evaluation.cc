#include "quern/train/trainer/evaluation.h"

#include <cmath>
#include <numbers>

#include "quern/base/json.h"
#include "quern/data/indexed.h"
#include "quern/train/trainer/batch_source.h"
#include "quern/train/trainer/gradients.h"

namespace quern::train {
namespace {

// Sum of losses and number of targets of this rank's rows of one set.
std::pair<double, double> loss_here(models::Model& model, const Recipe& recipe, const data::DataSetConfig& set,
                                    const comm::Communicator& comm) {
  data::Loader rows({set}, recipe.eval_sequence_length(), 0, recipe.base);
  double sum = 0, n = 0;
  for (int64_t r = 0; r < recipe.eval.sequences; ++r) {
    const data::TokenBatch b = rows.next(1, 0, r % comm.size() == comm.rank() ? 1 : 2);  // else drawn and left out
    if (b.loss_tokens == 0) continue;
    check_tokens(b, model, fmt::format("eval set '{}'", set.path));
    grad::Tape tape(grad::Tape::inference, precision_of(recipe));
    const grad::Var l =
        model.loss(tape, model.hidden(tape, b.tokens, mixers::Batch::documents(b.lengths)), b.targets);
    const auto targets = static_cast<double>(b.loss_tokens);
    sum += targets * l.value.item(), n += targets;
  }
  return {sum, n};
}

}  // namespace

bool holds_pairs(const std::filesystem::path& prefix) {
  const std::filesystem::path facts = data::with_suffix(prefix, ".json");
  if (!std::filesystem::exists(facts)) return false;
  const Json j = Json::read(facts);
  const Json* pairs = j.is_object() ? j.find("pairs") : nullptr;
  return pairs && *pairs == Json(true);
}

std::vector<SetLoss> evaluate(models::Model& model, const Recipe& recipe, comm::Communicator& comm,
                              BatchSource& source) {
  std::vector<SetLoss> out;
  for (const data::DataSetConfig& set : recipe.eval.data) {
    if (auto own = source.evaluate(set)) out.push_back(*own);
    if (holds_pairs(recipe.base / set.path)) continue;
    auto [sum, n] = loss_here(model, recipe, set, comm);
    sum = comm.all_reduce(sum), n = comm.all_reduce(n);
    const double loss = n > 0 ? sum / n : std::nan("");
    out.push_back(
        {.set = set.path, .loss = loss, .bits_per_byte = bits_per_byte(loss, bytes_per_token({set}, recipe.base))});
  }
  return out;
}

double bytes_per_token(const std::vector<data::DataSetConfig>& sets, const std::filesystem::path& base) {
  double bytes = 0, total = 0;
  for (const data::DataSetConfig& s : sets) {
    const std::filesystem::path facts = (base / s.path).string() + ".json";
    if (!std::filesystem::exists(facts)) return 0;
    const Json j = Json::read(facts);
    const Json *b = j.find("bytes"), *t = j.find("tokens");
    if (!b || !t || t->as_double("tokens") <= 0) return 0;
    bytes += s.weight * b->as_double("bytes") / t->as_double("tokens"), total += s.weight;
  }
  return total > 0 ? bytes / total : 0;
}

std::optional<double> bits_per_byte(double loss, double bytes_per_token) {
  if (bytes_per_token <= 0 || !std::isfinite(loss)) return std::nullopt;
  return loss / std::numbers::ln2 / bytes_per_token;
}

}  // namespace quern::train
