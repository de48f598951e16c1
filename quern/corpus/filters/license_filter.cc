// Filters by licenses (corpus/licenses), those of a document's text and those that its row or its page states.
// license:IDS keeps documents with a license, and no other one than these; no-license:IDS removes documents with one of
// these.
#include "quern/corpus/filters/filter_makers.h"
#include "quern/corpus/licenses/licenses.h"

namespace quern::corpus {
namespace {

class LicenseFilter : public DocumentFilter {
 public:
  enum class Use { keep, remove };
  LicenseFilter(LicenseChoice choice, Use use) : choice_(std::move(choice)), use_(use) {}
  std::span<const char* const> rules() const override {
    return use_ == Use::keep ? std::span<const char* const>(kKeepRules) : std::span<const char* const>(kRemoveRules);
  }
  FilterResult apply(std::string_view text) override { return apply_page(text, {}); }
  FilterResult apply_page(std::string_view text, const DocumentOrigin& origin) override {
    FilterResult r;
    r.text = text;
    const std::vector<std::string>& found = find_licenses(text, origin.license, scratch_);
    size_t chosen = 0;
    for (const std::string& id : found) chosen += choice_.has(id);
    if (use_ == Use::remove)
      r.failing = chosen > 0;
    else
      r.failing = found.empty() ? 1 : chosen < found.size() ? 2 : 0;
    return r;
  }

 private:
  static constexpr std::array<const char*, 2> kKeepRules = {"license_missing", "license_other"};
  static constexpr std::array<const char*, 1> kRemoveRules = {"license_named"};
  LicenseChoice choice_;
  Use use_;
  LicenseScratch scratch_;
};

FilterMaker make(LicenseChoice choice, LicenseFilter::Use use) {
  return [choice = std::move(choice), use] { return std::make_unique<LicenseFilter>(choice, use); };
}

}  // namespace

FilterMaker license_filter(const std::string& ids) {
  return make(LicenseChoice(ids, "license:IDS"), LicenseFilter::Use::keep);
}

FilterMaker no_license_filter(const std::string& ids) {
  return make(LicenseChoice(ids, "no-license:IDS"), LicenseFilter::Use::remove);
}

}  // namespace quern::corpus
