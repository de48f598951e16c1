// Personal data: what other implementations find (testdata/personal_data.json, made by
// tools/oracles/corpus/personal_data.py), and forms that only look alike.
#include "quern/corpus/pii/pii.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "quern/base/json.h"
#include "quern/base/test_message.h"
#include "quern/corpus/pii/calling_codes.h"

namespace quern::corpus {
namespace {

std::string masked(std::string_view text, PiiKinds kinds = PiiKinds::all()) {
  std::vector<PiiSpan> found;
  std::string out;
  find_pii(text, kinds, found);
  mask_pii(text, found, out);
  return out;
}

TEST(Pii, FindsWhatOthersFind) {
  std::map<std::string, std::array<int, 2>> kinds;  // rows, as expected
  const Json rows = Json::read(QUERN_SOURCE_DIR "/quern/corpus/pii/testdata/personal_data.json");
  for (const Json& row : rows.as_array()) {
    const auto& a = row.as_array();
    const std::string& kind = a[0].as_string();
    const std::string& text = a[1].as_string();
    std::vector<PiiSpan> found;
    find_pii(text, PiiKinds::all(), found);
    std::string value = found.empty() ? "null" : text.substr(found[0].begin, found[0].end - found[0].begin);
    if (!found.empty() && kPiiNames[static_cast<size_t>(found[0].kind)] != kind) value = "another kind: " + value;
    const bool same = found.size() < 2 && value == (a[2].is_null() ? "null" : a[2].as_string());
    if (kind != "phone") {
      EXPECT_TRUE(same) << text << ": " << value;
    }
    ++kinds[kind][0], kinds[kind][1] += same;
  }
  EXPECT_EQ(kinds.size(), 5u);
  // Not found: E.164 numbers of seven digits with the code, four of them, of islands.
  EXPECT_EQ(kinds["phone"][0] - kinds["phone"][1], 4);
  EXPECT_GT(kinds["phone"][0], 1000);
}

TEST(Pii, TelephoneNumbersAsTheyAreWritten) {
  for (const char* number : {"+1 408 555 1212",       "+49 89 636-48018",  "+44 (0)20 7946 0958",
                             "(+33) 1 23 45 67 89",   "+49-(0)89-1234567", "(408) 555-1212",
                             "(408)555-1212",         "408-555-1212",      "408.555.1212",
                             "1-800-555-1212",        "1 (800) 555-1212",  "01 23 45 67 89",
                             "06.12.34.56.78",        "020 7946 0958",     "01632 960123",
                             "03-1234-5678",          "(030) 901820",      "030/901820",
                             "0049 89 123456",        "+4989123456",       "+1\u00a0408\u00a0555\u00a01212",
                             "408\u2011555\u20111212"})
    EXPECT_EQ(masked(fmt::format("a {}, b", number)), "a <PHONE>, b") << number;
  EXPECT_EQ(masked("Tel. 555-1212 Phone number is 5551212; fax 12 34 56 78"),
            "Tel. <PHONE> Phone number is <PHONE>; fax <PHONE>");
  EXPECT_EQ(masked("mobile: 0171 1234567 電話：03-1234-5678 Tel：12345678"),
            "mobile: <PHONE> 電話：<PHONE> Tel：<PHONE>");
  EXPECT_EQ(masked("tel:+1-201-555-0123 and 408-555-1212x99"), "tel:<PHONE> and <PHONE>x99");
  EXPECT_EQ(
      masked("Phone: + 1 408 555 1212, fax ++49 89 636480, Registrant Phone: +1.4085551212, Fax: 32-3-240-9932"),
      "Phone: <PHONE>, fax <PHONE>, Registrant Phone: <PHONE>, Fax: <PHONE>");
}

TEST(Pii, TelephoneNumbersWithSpacesAroundTheirSigns) {
  EXPECT_EQ(masked("Tel. 030 / 901820, Telefon: 089 - 636 48018; Fax: +49 30 / 90 18 20"),
            "Tel. <PHONE>, Telefon: <PHONE>; Fax: <PHONE>");
  EXPECT_EQ(masked("Call 0412 345 678 or (212) 5550142 or 044 123 45 67"), "Call <PHONE> or <PHONE> or <PHONE>");
  for (const char* text : {"030 / 901820 of them", "in 1914 - 1918 and 1939 - 1945", "pages 120 - 1400, 12 / 2004",
                           "0312 345 678 units", "f(212) 55501420", "3 / 4 - 1 / 2 = 1 / 4"})
    EXPECT_EQ(masked(text), text);
}

TEST(Pii, NumbersThatAreNoTelephones) {
  for (const char* text :
       {"2003-05-12 12/05/2003 12.05.2003 2020-10-10 10:20:30 20201010102030",
        "Phone: 2012-05-06, mobile 1920 1080, call 1234567", "version 1.2.3.4.5 and 10.0.19041.1234",
        "ISBN 978-0-201-53082-7, 0-201-53082-1, 0 201 53082 1, ISSN 2049-3630",
        "00 01 02 03 04 05 06, ff 01 02 03 04 05 aa, 01 02 03 04 05 0a",
        "pp. 123-456-7890-12, 1234567890, 12345678, 1.000.000.000", "+1.2345678901 and +1234567890123456789",
        "100-200-3000 x101-202-3030 491-911-0000", "3.141592653589793 1e+10000000",
        "x + 1 408 555 1212, 0.0043 (0.0031), 02/13/1991, 0069 0307 0301",
        "01 04 01 02 03, 00 68 00 67 00 61, 0D 00 00 0B 02 43 44 00 04 08 40",
        "0123/2004 12-345-6789 0x408-555-1212 408-555-1212-1 _408-555-1212",
        "+ +1 +12 (408) 555 1-800-FLOWERS 911 tel. 112"})
    EXPECT_EQ(masked(text), text);
}

TEST(Pii, AddressesAndAccounts) {
  EXPECT_EQ(masked("[2606:4700:4700::1111]:443 2a02:26f0:e4::/64 2001:4860:0:0:0:0:8.8.8.8"),
            "[<IP>]:443 <IP>/64 <IP>");
  for (const char* text :
       {"std::string abc::def ::1 fe80::1%eth0 2001:db8::8a2e:370:7334 2000::1::2 2a00:1:2:3:4:5:6:7:8 12a00::1 "
        "2a00:12345::1",
        "20:30:40 2012:10:10 23:59:59:12 00:1b:63:84:45:e6 2001:1:2",
        "4111-1111-1111-1112 0.4111111111111111 4111 1111 11111111",
        "94111111111111111 4111111111111111a 1234567890123452",
        "000-12-3456 666-12-3456 912-34-5678 123-00-4567 123-45-0000", "123-45-67890 1123-45-6789 123 45 6789",
        "DE89370400440532013001 XX89370400440532013000 DE8937040044053201300",
        "DE893704004405320130000 de89370400440532013000 ADE89370400440532013000"})
    EXPECT_EQ(masked(text), text);
  EXPECT_EQ(masked("078-05-1120, 4111-1111-1111-1111 (3782 822463 10005)"), "<SSN>, <CARD> (<CARD>)");
  EXPECT_EQ(masked("FR14 2004 1010 0505 0001 3M02 606 DE89370400440532013000"), "<IBAN> <IBAN>");
  EXPECT_EQ(masked("DE89-3704-0044-0532-0130-00, IBAN: de89 3704 0044 0532 0130 00"), "<IBAN>, IBAN: <IBAN>");
  EXPECT_EQ(masked("DE89-3704 0044-0532-0130-00"), "DE89-3704 0044-0532-0130-00");
}

TEST(Pii, AddressesOfNoPerson) {
  for (const char* text : {"git clone git@github.com:mill/stone.git", "icons/stone@2x.png and stone@3x.jpg"})
    EXPECT_EQ(masked(text), text);
  EXPECT_EQ(masked("git@mill.org, mail git@mill.org: it"), "<EMAIL>, mail <EMAIL>: it");
}

TEST(Pii, ValuesDoNotOverlap) {
  EXPECT_EQ(masked("sip:+49301234567@x.org 555.408-555-1212.x@y.org"), "sip:<EMAIL> <EMAIL>");
  EXPECT_EQ(masked("8.8.8.8@x.org"), "<IP>@x.org");  // as `pii` always did
  EXPECT_EQ(masked("a@b.org,c@d.org"), "<EMAIL>,<EMAIL>");
  EXPECT_EQ(masked(""), "");
  EXPECT_EQ(masked("@"), "@");
  for (size_t n = 0; n < 12; ++n)  // the end of the text comes at every place
    masked(std::string_view("+49 89 636-48018").substr(0, n)), masked(std::string_view("2a00:1:2::3:").substr(0, n)),
        masked(std::string_view("GB82 WEST 12").substr(0, n)), masked(std::string_view("4111 1111 11").substr(0, n));
}

TEST(Pii, OnlyTheKindsThatWereAskedFor) {
  constexpr const char* kForm = "pii:KINDS";
  constexpr const char* kText = "me@x.org 8.8.8.8 2606:4700::1 +1 408 555 1212 4111111111111111";
  EXPECT_EQ(masked(kText, PiiKinds::parse("email,ipv6", kForm)),
            "<EMAIL> 8.8.8.8 <IP> +1 408 555 1212 4111111111111111");
  EXPECT_EQ(masked(kText, PiiKinds::parse("card", kForm)), "me@x.org 8.8.8.8 2606:4700::1 +1 408 555 1212 <CARD>");
  EXPECT_EQ(masked(kText, PiiKinds::parse("all", kForm)), "<EMAIL> <IP> <IP> <PHONE> <CARD>");
  const auto refused = [&](const char* kinds) { return message_of([&] { PiiKinds::parse(kinds, kForm); }); };
  EXPECT_NE(refused("emails").find("did you mean 'email'"), std::string::npos) << refused("emails");
  EXPECT_NE(refused("").find("expected all, or some of email, ipv4"), std::string::npos);
  EXPECT_NE(refused("email,").find("'' in pii:KINDS"), std::string::npos);
  EXPECT_NE(refused("email, ipv4").find("' ipv4'"), std::string::npos);
}

TEST(Pii, CallingCodesAreNoBeginningsOfOthers) {
  int codes = 0;
  for (int n = 100; n < 1000; ++n) {
    const CallingCode* c = calling_code(fmt::format("{}", n));
    if (!c) continue;
    ++codes;
    EXPECT_TRUE(fmt::format("{}", n).starts_with(fmt::format("{}", c->code)));
    EXPECT_LE(c->min, c->max);
    EXPECT_LE(c->max + calling_code_length(*c), 15u);
  }
  EXPECT_GT(codes, 500);
  EXPECT_EQ(calling_code("210"), nullptr);
  EXPECT_EQ(calling_code("49"), nullptr);
}

}  // namespace
}  // namespace quern::corpus
