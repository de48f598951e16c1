// Filter `capitals`: removes documents in which capitals are more than half of the ASCII letters; `capitals:0.2` says
// another share. The example of docs/corpus/adding-a-filter.md.
#include <algorithm>
#include <charconv>

#include "quern/base/error.h"
#include "quern/corpus/filters/filter_registry.h"

namespace quern::corpus::filters {
namespace {

class Capitals : public DocumentFilter {
 public:
  explicit Capitals(double share) : share_(share) {}
  std::span<const char* const> rules() const override { return kRules; }
  FilterResult apply(std::string_view text) override {
    const auto capitals = std::ranges::count_if(text, [](char c) { return c >= 'A' && c <= 'Z'; });
    const auto small = std::ranges::count_if(text, [](char c) { return c >= 'a' && c <= 'z'; });
    const bool loud = static_cast<double>(capitals) > share_ * static_cast<double>(capitals + small);
    return {.failing = loud ? 1u : 0u, .text = text};
  }

 private:
  static constexpr const char* kRules[] = {"capitals"};
  double share_;
};

FilterMaker capitals_filter(const FilterOptions& o) {
  double share = 0.5;
  const char* end = o.arguments.data() + o.arguments.size();
  if (!o.arguments.empty() && std::from_chars(o.arguments.data(), end, share).ptr != end)
    fail("filter 'capitals:{}': expected a number", o.arguments);
  return [share] { return std::make_unique<Capitals>(share); };
}

}  // namespace

void register_capitals(FilterRegistry& r) {
  r.add("capitals", "removes documents written in capitals; capitals:SHARE of the letters [0.5]", capitals_filter);
}

}  // namespace quern::corpus::filters
