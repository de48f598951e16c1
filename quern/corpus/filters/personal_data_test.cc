// Filters of personal data and of licenses: what they mask, keep and refuse.
#include <gtest/gtest.h>

#include "quern/base/test_message.h"
#include "quern/corpus/filters/filters.h"

namespace quern::corpus {
namespace {

constexpr const char* kText = "me@x.org, +1 408 555 1212, 8.8.8.8";

TEST(PersonalDataFilters, MaskOrRejectTheirKinds) {
  EXPECT_EQ(find_filter("pii")()->apply(kText).text, "<EMAIL>, +1 408 555 1212, <IP>");
  EXPECT_EQ(find_filter("pii:phone,email")()->apply(kText).text, "<EMAIL>, <PHONE>, 8.8.8.8");
  EXPECT_TRUE(find_filter("pii:all")()->apply(kText).changed);
  EXPECT_FALSE(find_filter("pii:card")()->apply(kText).changed);
  const auto reject = find_filter("no-pii:phone,ssn")();
  const FilterResult r = reject->apply(kText);
  EXPECT_STREQ(reject->rules()[static_cast<size_t>(r.first())], "pii_phone");
  EXPECT_EQ(r.text, kText);
  EXPECT_TRUE(find_filter("no-pii:iban,ssn")()->apply(kText).keep());
  EXPECT_FALSE(find_filter("pii:phone+no-pii:all")()->apply(kText).keep());
  EXPECT_TRUE(find_filter("pii:all+no-pii:all")()->apply(kText).keep());
}

TEST(LicenseFilters, KeepOrRemove) {
  const auto first = [](const std::string& name, std::string_view text) {
    const auto f = find_filter(name)();
    const FilterResult r = f->apply(text);
    return r.keep() ? std::string("kept") : std::string(f->rules()[static_cast<size_t>(r.first())]);
  };
  EXPECT_EQ(first("license:permissive", "the MIT license"), "kept");
  EXPECT_EQ(first("license:permissive", "the MIT license, or GPLv2"), "license_other");
  EXPECT_EQ(first("license:MIT,GPL", "the MIT license, or GPLv2"), "kept");
  EXPECT_EQ(first("license:permissive", "a text"), "license_missing");
  EXPECT_EQ(first("no-license:GPL,AGPL", "a text"), "kept");
  EXPECT_EQ(first("no-license:GPL,AGPL", "the LGPL 2.1"), "kept");
  EXPECT_EQ(first("no-license:GPL,AGPL", "MIT license or GPLv2"), "license_named");
}

TEST(PersonalDataFilters, RefuseWhatTheyDoNotKnow) {
  const auto refused = [](const std::string& name) { return message_of([&] { find_filter(name); }); };
  EXPECT_NE(refused("pii:emial").find("did you mean 'email'"), std::string::npos);
  EXPECT_NE(refused("pii:").find("expected all, or some of"), std::string::npos);
  EXPECT_NE(refused("no-pii:x").find("no-pii:KINDS"), std::string::npos);
  EXPECT_NE(refused("license:GLP").find("'GLP' in license:IDS"), std::string::npos);
  EXPECT_NE(refused("no-license").find("expected one of"), std::string::npos);
}

}  // namespace
}  // namespace quern::corpus
