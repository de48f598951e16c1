// Filters of personal data (corpus/pii). pii masks e-mail addresses and public IPv4 addresses, pii:KINDS the kinds that
// it names; they reject nothing. no-pii:KINDS rejects a document that holds any of the kinds, with a rule for each.
#include "quern/corpus/filters/filter_makers.h"
#include "quern/corpus/pii/pii.h"

namespace quern::corpus {
namespace {

class PiiMask : public DocumentFilter {
 public:
  explicit PiiMask(PiiKinds kinds) : kinds_(kinds) {}
  std::span<const char* const> rules() const override { return {}; }
  FilterResult apply(std::string_view text) override {
    FilterResult r;
    find_pii(text, kinds_, found_);
    r.changed = !found_.empty();
    if (r.changed) mask_pii(text, found_, masked_);
    r.text = r.changed ? std::string_view(masked_) : text;
    return r;
  }

 private:
  PiiKinds kinds_;
  std::vector<PiiSpan> found_;
  std::string masked_;
};

class PiiReject : public DocumentFilter {
 public:
  explicit PiiReject(PiiKinds kinds) : kinds_(kinds) {}
  std::span<const char* const> rules() const override { return kRules; }
  FilterResult apply(std::string_view text) override {
    FilterResult r;
    r.text = text;
    find_pii(text, kinds_, found_);
    for (const PiiSpan& f : found_) r.failing |= uint64_t{1} << static_cast<unsigned>(f.kind);
    return r;
  }

 private:
  static constexpr std::array<const char*, kPiiKinds> kRules = {"pii_email", "pii_ipv4", "pii_ipv6", "pii_phone",
                                                                "pii_card",  "pii_iban", "pii_ssn"};
  PiiKinds kinds_;
  std::vector<PiiSpan> found_;
};

}  // namespace

FilterMaker pii_filter(const std::string&) {
  return [] { return std::make_unique<PiiMask>(PiiKinds().with(PiiKind::email).with(PiiKind::ipv4)); };
}

FilterMaker pii_kinds_filter(const std::string& kinds) {
  return [k = PiiKinds::parse(kinds, "pii:KINDS")] { return std::make_unique<PiiMask>(k); };
}

FilterMaker no_pii_filter(const std::string& kinds) {
  return [k = PiiKinds::parse(kinds, "no-pii:KINDS")] { return std::make_unique<PiiReject>(k); };
}

}  // namespace quern::corpus
