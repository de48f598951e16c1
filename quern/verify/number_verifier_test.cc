// The verifier of numbers with units: truth tables, and quantities against a second reading of their parts.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/verify/verifier.h"

namespace quern::verify {
namespace {

Json expect_number(const std::string& answer) {
  Json e = Json::object();
  e.set("verifier", "number"), e.set("answer", answer);
  return e;
}

struct Case {
  const char *expected, *reply;
};

TEST(NumberVerifier, ConvertsUnits) {
  for (const Case& c : {Case{"3.5 km", "3500 m"},
                        {"3.5 km", "3,500 meters"},
                        {"3.5 km", "Answer: 3.5 kilometers."},
                        {"3.5 km", "\\boxed{3.5\\text{ km}}"},
                        {"3.5 km", "$3.5\\,\\mathrm{km}$"},
                        {"1 mile", "1.609344 km"},
                        {"1 mi", "5280 feet"},
                        {"12 in", "1 ft"},
                        {"1 lb", "453.59237 g"},
                        {"90 km/h", "25 m/s"},
                        {"90 km/h", "90 kilometers per hour"},
                        {"9.8 m/s^2", "9.8 m/s²"},
                        {"1 N", "1 kg*m/s^2"},
                        {"1 N", "1 kg·m/s²"},
                        {"1 J", "1 N*m"},
                        {"1 kWh", "3.6 MJ"},
                        {"2 h", "120 min"},
                        {"2 h", "7200 seconds"},
                        {"1 week", "7 days"},
                        {"25 °C", "298.15 K"},
                        {"25 °C", "77 °F"},
                        {"25 °C", "25 degrees Celsius"},
                        {"25 °C", "25^\\circ C"},
                        {"-40 °C", "-40 °F"},
                        {"1 kB", "1000 bytes"},
                        {"1 KiB", "1024 B"},
                        {"1 MB", "8 Mbit"},
                        {"3 m^2", "30000 cm^2"},
                        {"3 m^2", "3 square meters"},
                        {"1 L", "1000 cm^3"},
                        {"$1,250.50", "1250.5 dollars"},
                        {"$12", "12 USD"},
                        {"$0.75", "75 cents"},
                        {"€3", "3 EUR"},
                        {"3e8 m/s", "3 × 10^8 m/s"},
                        {"3e8 m/s", "3 \\times 10^{8} m/s"},
                        {"180 degrees", "3.14159265358979 rad"},
                        {"20 m/s", "20 \\frac{m}{s}"},
                        {"20 m/s", "$20\\,\\frac{\\text{m}}{\\text{s}}$"},
                        {"9.8 m/s^2", "9.8\\frac{m}{s^2}"},
                        {"90 min", "90 mins"},
                        {"90 s", "90 secs"},
                        {"5", "x = 5"},
                        {"5", "$x=5$"},
                        {"3 m/s", "v_0 = 3 m/s"},
                        {"1/2", "\\frac{1}{2}"},
                        {"$5", "\\$5"},
                        {"$5", "5 \\$"},
                        {"$5", "5 dollars"},
                        {"5 dollars", "$5"},
                        {"50%", "0.5"},
                        {"0.5", "1/2"},
                        {"-3", "−3"},
                        {"1000", "1e3"},
                        {"1250000", "1 250 000"},
                        {"1250000", "1\\,250\\,000"},
                        {"1250000", "1{,}250{,}000"},
                        {"1 250 000", "1.25e6"},
                        {"12345.5 m", "12 345.5 m"},
                        {"1.25 km", "1\u202f250 m"},
                        {"0", "0.0"}}) {
    const Verdict v = judge(expect_number(c.expected), c.reply);
    EXPECT_EQ(v.reward, 1) << c.expected << " and " << c.reply << ": " << v.reason;
  }
}

TEST(NumberVerifier, RefusesOthers) {
  for (const Case& c : {Case{"3.5 km", "3.5"},
                        {"3.5 km", "3.5 m"},
                        {"3.5 km", "3500"},
                        {"3.5 km", "3.5 kg"},
                        {"3.5 km", "3.5 Km/h"},
                        {"3.5 km", "3.5 km 4"},
                        {"3.5 km", "3.5 km or 4 km"},
                        {"3.5 km", "km"},
                        {"1 MW", "1 mW"},
                        {"1 kB", "1024 B"},
                        {"1 KiB", "1000 B"},
                        {"25 °C", "25 K"},
                        {"25 °C", "25 °F"},
                        {"$5", "€5"},
                        {"$5", "$5 euros"},
                        {"5", "$5"},
                        {"5", "5 m"},
                        {"5", "x = 6"},
                        {"5", "6 = 5"},
                        {"5", "x = y = 5"},
                        {"5", "xy = 5"},
                        {"21/2", "2\\frac{1}{2}"},
                        {"20 m/s", "20 \\frac{s}{m}"},
                        {"20 m/s", "20 \\frac{m}{s*kg}"},
                        {"5", "nan"},
                        {"5", "inf"},
                        {"5", "1e99999"},
                        {"5", "--5"},
                        {"5", "5/0"},
                        {"5", "5 5"},
                        {"5", "five"},
                        {"1250", "1,25"},
                        {"1250", "12,50"},
                        {"1250", "12 50"},
                        {"1250", "1  250"},
                        {"1250000", "1 250,000"},
                        {"1250000", "1250 000"},
                        {"250", "0 250"},
                        {"1250/3", "1 250/3"},
                        {"5", "5 000"},
                        {"50%", "50"},
                        {"5", ""},
                        {"5", "Answer:"},
                        {"5", "\xff\xfe"}}) {
    const Verdict v = judge(expect_number(c.expected), c.reply);
    EXPECT_EQ(v.reward, 0) << c.expected << " and " << c.reply;
    EXPECT_FALSE(v.reason.empty());
  }
  EXPECT_EQ(judge(expect_number("3.5 km"), "3.5").reason, "the unit is missing");
  EXPECT_EQ(judge(expect_number("5"), std::string(1 << 20, '5')).reward, 0);
}

TEST(NumberVerifier, TakesTolerancesAndOptionalUnits) {
  Json e = expect_number("9.81 m/s^2");
  e.set("relative", 0.01);
  EXPECT_EQ(judge(e, "9.8 m/s^2").reward, 1);
  EXPECT_EQ(judge(e, "980 cm/s^2").reward, 1);
  EXPECT_EQ(judge(e, "9.7 m/s^2").reward, 0);
  EXPECT_EQ(judge(e, "9.8").reward, 0);
  e.set("unit", "optional");
  EXPECT_EQ(judge(e, "9.8").reward, 1);
  EXPECT_EQ(judge(e, "9.8 m/s").reward, 0);
  Json a = expect_number("2 h");
  a.set("absolute", 0.5);
  EXPECT_EQ(judge(a, "91 min").reward, 1);
  EXPECT_EQ(judge(a, "89 min").reward, 0);
  for (const auto& [field, value] : {std::pair<const char*, Json>{"relative", -1},
                                     {"absolute", "x"},
                                     {"unit", "maybe"},
                                     {"answer", "many"},
                                     {"answer", Json::array()},
                                     {"tolerance", 1}}) {
    Json bad = expect_number("3");
    bad.set(field, value);
    try {
      judge(bad, "3");
      ADD_FAILURE() << field;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(field), std::string::npos) << error.what();
    }
  }
}

// Numbers of a unit in units of another by factors written here, off by nothing or by a thousandth.
TEST(NumberVerifier, AgreesWithFactors) {
  struct Named {
    const char *a, *b;
    double factor;  // one a is so many b
  };
  constexpr Named kPairs[] = {{"km", "m", 1000},         {"cm", "mm", 10},        {"kg", "g", 1000},
                              {"h", "min", 60},          {"days", "hours", 24},   {"GB", "MB", 1000},
                              {"GiB", "MiB", 1024},      {"yd", "feet", 3},       {"lbs", "oz", 16},
                              {"kJ", "joules", 1e3},     {"m^3", "liters", 1000}, {"m/s", "km/h", 3.6},
                              {"dollars", "cents", 100}, {"kPa", "N/m^2", 1000},  {"bar", "Pa", 1e5}};
  Rng r(2);
  int refused = 0;
  for (int i = 0; i < 20000 && !HasFailure(); ++i) {
    const Named& n = kPairs[r.below(std::size(kPairs))];
    const double v = static_cast<double>(1 + r.below(100000)) / 16;
    const bool same = i % 2 == 0;
    const double other = v * n.factor * (same ? 1 : r.below(2) == 0 ? 1.001 : 0.999);
    const std::string text =
        r.below(2) == 0 ? fmt::format("{:.12g} {}", other, n.b) : fmt::format("{:.14e}{}", other, n.b);
    const bool swapped = r.below(2) == 0;
    const std::string own = fmt::format("{:.12g} {}", v, n.a);
    EXPECT_EQ(judge(expect_number(swapped ? text : own), swapped ? own : text).reward, same ? 1 : 0)
        << own << ", " << text;
    refused += same ? 0 : 1;
  }
  EXPECT_EQ(refused, 10000);
}

}  // namespace
}  // namespace quern::verify
