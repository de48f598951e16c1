// The verifier of JSON: schemas keyword by keyword, replies with and without fences, and random values against a second
// reading of one schema.
#include <gtest/gtest.h>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/base/stopwatch.h"
#include "quern/verify/verifier.h"

namespace quern::verify {
namespace {

bool valid(const std::string& schema, const std::string& reply) {
  const Verdict v = judge(Json::parse("{\"verifier\": \"json\", \"schema\": " + schema + "}"), reply);
  EXPECT_FALSE(v.reason.empty());
  return v.reward == 1;
}

struct Case {
  const char *schema, *good, *bad;
};

TEST(JsonVerifier, ChecksEveryKeyword) {
  for (const Case& c :
       {Case{R"({"type": "integer"})", "3.0", "3.5"},
        {R"({"type": ["string", "null"]})", "null", "0"},
        {R"({"type": "boolean"})", "false", "0"},
        {R"({"enum": [1, "a", [2]]})", "[2.0]", "2"},
        {R"({"const": {"a": 1, "b": 2}})", R"({"b": 2, "a": 1})", R"({"a": 1})"},
        {R"({"minimum": 2, "maximum": 3})", "2.5", "3.01"},
        {R"({"exclusiveMinimum": 2})", "2.1", "2"},
        {R"({"exclusiveMaximum": 2})", "1.9", "2"},
        {R"({"multipleOf": 0.1})", "0.3", "0.35"},
        {R"({"minLength": 2, "maxLength": 3})", "\"äöü\"", "\"ä\""},
        {R"({"pattern": "^a+$"})", "\"aa\"", "\"ab\""},
        {R"({"format": "date"})", "\"2024-02-29\"", "\"2024-13-01\""},
        {R"({"format": "time"})", "\"23:59:59Z\"", "\"24:00:00Z\""},
        {R"({"format": "date-time"})", "\"2024-01-01T00:00:00Z\"", "\"2024-01-01\""},
        {R"({"format": "ipv4"})", "\"255.0.10.1\"", "\"255.0.10.256\""},
        {R"({"format": "uuid"})", "\"123e4567-e89b-12d3-a456-426614174000\"", "\"123e4567\""},
        {R"({"items": {"type": "integer"}})", "[1, 2]", "[1, \"2\"]"},
        {R"({"minItems": 1, "maxItems": 2})", "[1]", "[]"},
        {R"({"prefixItems": [{"const": 1}], "items": false})", "[1]", "[1, 2]"},
        {R"({"uniqueItems": true})", "[1, 2]", "[1, 1.0]"},
        {R"({"required": ["a"]})", R"({"a": null})", R"({"b": 1})"},
        {R"({"properties": {"a": {"type": "string"}}})", R"({"b": 1})", R"({"a": 1})"},
        {R"({"properties": {"a": true}, "additionalProperties": false})", R"({"a": 1})", R"({"b": 1})"},
        {R"({"minProperties": 1, "maxProperties": 1})", R"({"a": 1})", "{}"},
        {R"({"anyOf": [{"type": "string"}, {"minimum": 3}]})", "3", "2"},
        {R"({"oneOf": [{"minimum": 3}, {"maximum": 5}]})", "6", "4"},
        {R"({"allOf": [{"minimum": 3}, {"maximum": 5}]})", "4", "6"},
        {R"({"not": {"type": "null"}})", "0", "null"},
        {R"({"$ref": "#/$defs/n", "$defs": {"n": {"type": "null"}}})", "null", "1"},
        {R"({"type": "array", "items": {"$ref": "#"}})", "[[], [[]]]", "[[1]]"}}) {
    EXPECT_TRUE(valid(c.schema, c.good)) << c.schema << c.good;
    EXPECT_FALSE(valid(c.schema, c.bad)) << c.schema << c.bad;
  }
}

TEST(JsonVerifier, ReadsFormatsByTheirStandards) {
  const auto is = [](const char* format, const std::string& text) {
    return valid(fmt::format(R"({{"format": "{}"}})", format), "\"" + text + "\"");
  };
  for (const char* date : {"2024-02-29", "2000-02-29", "2023-12-31", "2024-04-30", "0000-02-29"})
    EXPECT_TRUE(is("date", date) && is("date-time", std::string(date) + "T00:00:00Z")) << date;
  for (const char* date : {"2024-02-30", "2023-02-29", "1900-02-29", "2024-04-31", "2024-00-10", "2024-01-00"})
    EXPECT_FALSE(is("date", date) || is("date-time", std::string(date) + "T00:00:00Z")) << date;
  for (const char* time : {"23:59:59Z", "00:00:00z", "12:30:00.25+02:00", "12:30:00-00:00", "23:59:60Z",
                           "23:59:60.5z", "01:29:60+01:30", "15:59:60-08:00"})
    EXPECT_TRUE(is("time", time) && is("date-time", "2016-12-31t" + std::string(time))) << time;
  for (const char* time : {"12:00:00", "24:00:00Z", "12:60:00Z", "12:00:61Z", "12:00:60Z", "23:59:60+01:00", "12:00Z",
                           "12:00:00.Z", "12:00:00+24:00", "12:00:00+0100"})
    EXPECT_FALSE(is("time", time) || is("date-time", "2016-12-31T" + std::string(time))) << time;
  EXPECT_FALSE(is("date-time", "2024-01-01 00:00:00Z"));
}

TEST(JsonVerifier, KnowsLargeIntegers) {
  for (const char* good :
       {"1e30", "18446744073709551616", "-123456789012345678901234567890", "9223372036854775808", "1.5e1", "-0.0"})
    EXPECT_TRUE(valid(R"({"type": "integer"})", good)) << good;
  for (const char* bad : {"1.5", "1e-3", "1e999", "\"1\""}) EXPECT_FALSE(valid(R"({"type": "integer"})", bad)) << bad;
}

TEST(JsonVerifier, RefusesKeysTwiceInTheExpectation) {
  for (const char* bad : {R"({"verifier": "json", "equals": {"a": 1, "a": 2}})",
                          R"({"verifier": "json", "schema": {"type": "null", "type": "object"}})",
                          R"({"verifier": "exact", "answer": "1", "answer": "2"})"}) {
    try {
      judge(Json::parse(bad), "{}");
      ADD_FAILURE() << bad;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("stands twice"), std::string::npos) << e.what();
    }
  }
}

TEST(JsonVerifier, FindsTheJson) {
  const std::string any = R"({"type": "object"})";
  for (const char* good :
       {"{}", "  {\"a\": [1]}\n", "```json\n{}\n```", "Here it is:\n```\n{}\n```\nBye.", "<think>{</think>{}"})
    EXPECT_TRUE(valid(any, good)) << good;
  for (const char* bad : {"", "{", "{} {}", "Here: {}", "```\n{}\n```\n```\n{}\n```", "[]", "{\"a\": 1, \"a\": 1}",
                          "{\"a\": {\"b\": 1, \"b\": 2}}", "{'a': 1}", "{\"a\": NaN}", "{\"a\": Infinity}",
                          "<think>{}", "{\"a\": \"\xff\"}", "```\n{}", "{\"a\": 1,}", "{\"a\": 1e999}"})
    EXPECT_FALSE(valid(any, bad)) << bad;
}

TEST(JsonVerifier, ComparesWithTheExpected) {
  const Json e = Json::parse(R"({"verifier": "json", "equals": {"a": [1, 2], "b": null}})");
  EXPECT_EQ(judge(e, R"({"b": null, "a": [1.0, 2]})").reward, 1);
  EXPECT_EQ(judge(e, R"({"b": null, "a": [2, 1]})").reward, 0);
  EXPECT_EQ(judge(e, R"({"b": null, "a": [1, 2], "c": 0})").reward, 0);
  EXPECT_EQ(judge(e, R"({"a": [1, 2]})").reward, 0);
}

TEST(JsonVerifier, RefusesSchemasItCannotCheck) {
  for (const char* bad : {R"({"type": "text"})", R"({"types": "string"})", R"({"if": {}})", R"({"minimum": "3"})",
                          R"({"$ref": "#/$defs/none"})", R"({"$ref": "http://x/y"})", R"({"pattern": "("})",
                          R"({"format": "email"})", R"({"items": [true]})", R"({"anyOf": []})", "3", R"({"enum": 3})",
                          R"({"required": "a"})", R"({"multipleOf": 0})", R"({"minLength": -1})"}) {
    try {
      valid(bad, "{}");
      ADD_FAILURE() << bad;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("field 'schema'"), std::string::npos) << e.what();
    }
  }
  EXPECT_THROW(judge(Json::parse(R"({"verifier": "json"})"), "{}"), Error);
  EXPECT_THROW(judge(Json::parse(R"({"verifier": "json", "schema": {"type": "null"}, "equals": 1})"), "1"), Error);
}

TEST(JsonVerifier, IsBounded) {
  const std::string loop = R"({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]})";
  const std::string tree =
      R"({"anyOf": [{"items": {"$ref": "#"}, "minItems": 9}, {"items": {"$ref": "#"}, "minItems": 8}]})";
  std::string deep, wide = "[0";
  for (int i = 0; i < 100; ++i) deep += "[";
  for (int i = 0; i < 100; ++i) deep += "]";
  for (int i = 1; i < 100000; ++i) wide += ", " + std::to_string(i);
  wide += "]";
  for (const std::string& reply :
       {std::string("1"), deep, wide, std::string(1 << 20, '['), std::string(3 << 20, '1')})
    for (const std::string& schema : {loop, tree, std::string(R"({"uniqueItems": true, "minItems": 200000})")}) {
      Stopwatch watch;
      EXPECT_EQ(valid(schema, reply), schema != loop && (reply == "1" || (schema == tree && reply == wide)))
          << schema << reply.substr(0, 20);
      EXPECT_LT(watch.seconds(), 5) << schema << reply.substr(0, 20);
    }
}

std::string random_value(Rng& r) {
  switch (r.below(6)) {
    case 0:
      return std::to_string(static_cast<int64_t>(r.below(9)) - 2);
    case 1:
      return "2.5";
    case 2:
      return "\"" + std::string(r.below(4), 'a') + "\"";
    case 3:
      return "true";
    case 4:
      return "[" + std::string(r.below(2) == 0 ? "1" : "\"a\"") + "]";
    default:
      return "null";
  }
}

TEST(JsonVerifier, AgreesWithASecondReading) {
  const auto v = make_verifier(Json::parse(R"({"verifier": "json", "schema": {"type": "object",
      "properties": {"n": {"type": "integer", "minimum": 0}, "s": {"type": "string", "maxLength": 2},
                     "l": {"type": "array", "items": {"type": "integer"}}},
      "required": ["n", "s"], "additionalProperties": {"type": "null"}}})"));
  Rng r(8);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = "{";
    bool n = false, s = false, right = true;
    for (const char* key : {"n", "s", "l", "x"}) {
      if (r.below(8) == 0) continue;
      const bool usual = r.below(4) > 0;
      const std::string value = !usual        ? random_value(r)
                                : *key == 'n' ? "3"
                                : *key == 's' ? "\"a\""
                                : *key == 'l' ? "[1]"
                                              : "null";
      text += std::string(text.size() > 1 ? ", " : "") + "\"" + key + "\": " + value;
      const char c = value[0];
      if (*key == 'n') n = true, right = right && c >= '0' && c <= '9' && value != "2.5";
      if (*key == 's') s = true, right = right && c == '"' && value.size() <= 4;
      if (*key == 'l') right = right && value == "[1]";
      if (*key == 'x') right = right && value == "null";
    }
    right = right && n && s;
    text += "}";
    EXPECT_EQ(v->judge(text).reward, right ? 1 : 0) << text;
    accepted += right ? 1 : 0;
  }
  EXPECT_GT(accepted, 4000);
  EXPECT_LT(accepted, 16000);
}

}  // namespace
}  // namespace quern::verify
