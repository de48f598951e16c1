#include "quern/train/recipe/distill_config.h"

#include "quern/base/error.h"

namespace quern::train {

void check(const DistillConfig& c, const std::string& where) {
  if (!c.on()) {
    const DistillConfig usual;
    if (c.weight != usual.weight || c.temperature != usual.temperature || c.top != usual.top ||
        c.direction != usual.direction || c.format != usual.format || !c.store.empty())
      fail("{}, distill.teacher: is missing: expected a model folder", where);
    return;
  }
  if (c.direction != "forward" && c.direction != "reverse")
    fail("{}, distill.direction: '{}', expected forward or reverse", where, c.direction);
  if (!(c.weight > 0 && c.weight <= 1)) fail("{}, distill.weight: {} is not above 0 and at most 1", where, c.weight);
  if (!(c.temperature > 0)) fail("{}, distill.temperature: {} is not above 0", where, c.temperature);
  if (c.top < 0) fail("{}, distill.top: {} is below 0", where, c.top);
  if (!c.store.empty() && c.top == 0)
    fail("{}, distill.top: 0 compares every token, but distill.store holds the likeliest ones: give their number",
         where);
  if (c.format != "f32" && c.format != "bf16" && c.format != "q8" && c.format != "q4")
    fail("{}, distill.format: '{}', expected f32, bf16, q8 or q4", where, c.format);
}

}  // namespace quern::train
