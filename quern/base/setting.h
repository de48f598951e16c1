// What a visit() says of a field besides name, variable and help: the range of its values, its other names, its place on
// the command line and in requests. Every consumer of visit() reads the parts it needs:
//
//   v("top_p", top_p, "nucleus sampling …", {.value = "P", .range = Bounds::above(0).up_to(1)});
//   v("batch_size", batch_size, "sequences per optimizer step", aka("rows"));
//
// Errors have one form: "top_p: 1.5 is outside 0 to 1", "queue: 0 is below 1", "top_p: 0 is not above 0".
#pragma once
#include <cstdint>
#include <limits>
#include <string>

namespace quern {

// Numbers from min to max, both included unless `above_min`. Without bounds every number is allowed, even NaN.
struct Bounds {
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  double min = -kNone, max = kNone;
  bool above_min = false;  // min itself is excluded

  constexpr bool bounded() const { return min != -kNone || max != kNone; }
  static constexpr Bounds between(double low, double high) { return {low, high}; }
  static constexpr Bounds at_least(double low) { return {low}; }
  static constexpr Bounds above(double low) { return {.min = low, .above_min = true}; }
  static constexpr Bounds finite() {
    return {std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()};
  }
  constexpr Bounds up_to(double maximum) const { return {min, maximum, above_min}; }
};

std::string bounds_fault(const Bounds& range, double value);  // "150 is outside 0 to 100"; empty when it is inside
std::string bounds_text(const Bounds& range);                 // for tables: "0 to 100", "≥ 1", "> 0, ≤ 1"

// Whether a model's generation_config.json may set the field; `sampled`: it counts only with do_sample.
enum class InModel { no, sampled, always };

struct Setting {
  const char* alias = nullptr;      // an older key, read and never written
  const char* value = nullptr;      // name of the value in help: "MIB", "FILE" [by type: N, X, TEXT]
  const char* flag = nullptr;       // flag names where they differ from the key: "-n,--max-tokens"; "" for no flag
  const char* old_flags = nullptr;  // older flag names, accepted and shown nowhere
  const char* shown_default = nullptr;  // instead of the initial value, where that is computed; "" shows none
  Bounds range = {};
  Bounds request = {};     // tighter bounds for values that clients send [range]
  int64_t max_items = 0;   // of a list of strings that clients send; 0: no limit
  int64_t max_bytes = 0;   // of each of them
  bool in_request = true;  // false: requests have other fields for it
  InModel in_model = InModel::no;
};
constexpr Setting aka(const char* key) { return {.alias = key}; }

}  // namespace quern
