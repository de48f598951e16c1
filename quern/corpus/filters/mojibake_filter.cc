// Repairs text that was written as UTF-8 and read in another encoding ("schÃ¶n", "donâ€™t"; mojibake.h). Nothing is
// rejected, and everything else stays as it is.
#include "quern/corpus/filters/filter_makers.h"
#include "quern/corpus/text/mojibake.h"

namespace quern::corpus {
namespace {

class MojibakeRepair : public DocumentFilter {
 public:
  std::span<const char* const> rules() const override { return {}; }
  FilterResult apply(std::string_view text) override {
    FilterResult r;
    r.changed = repair_mojibake(text, repaired_);
    r.text = r.changed ? std::string_view(repaired_) : text;
    return r;
  }

 private:
  std::string repaired_;
};

}  // namespace

FilterMaker mojibake_filter(const std::string&) {
  return [] { return std::make_unique<MojibakeRepair>(); };
}

}  // namespace quern::corpus
