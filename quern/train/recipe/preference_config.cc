#include "quern/train/recipe/preference_config.h"

#include "quern/base/error.h"

namespace quern::train {

void check(const PreferenceConfig& c, const std::string& where) {
  if (!c.on()) {
    const PreferenceConfig usual;
    if (c.beta != usual.beta || c.label_smoothing != usual.label_smoothing || c.reference != usual.reference)
      fail("{}, preference.loss: is missing: expected dpo, ipo or robust", where);
    return;
  }
  if (c.loss != "dpo" && c.loss != "ipo" && c.loss != "robust")
    fail("{}, preference.loss: '{}', expected dpo, ipo or robust", where, c.loss);
  if (!(c.beta > 0)) fail("{}, preference.beta: {} is not above 0", where, c.beta);
  if (!(c.label_smoothing >= 0 && c.label_smoothing < 0.5))
    fail("{}, preference.label_smoothing: {} is outside 0 to 0.5", where, c.label_smoothing);
  if (c.loss == "ipo" && c.label_smoothing > 0) fail("{}, preference.label_smoothing: is not for ipo", where);
  if (c.reference != "start" && c.reference != "base")
    fail("{}, preference.reference: '{}', expected start or base", where, c.reference);
}

}  // namespace quern::train
