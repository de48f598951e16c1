// One visit() gives the list of settings, values from text, range checks, overlays and tables.
#include "quern/base/settings.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quern/base/setting_views.h"
#include "quern/base/test_message.h"

namespace quern {
namespace {

struct Inner {
  int64_t every = 500;
  template <class V>
  void visit(V& v) {
    v("every", every, "steps between saves");
  }
};

struct Options {
  double top_p = 1;
  int64_t queue = 256;
  uint64_t seed = 0;
  bool quiet = false;
  std::string host = "localhost";
  std::vector<std::string> stop = {};
  std::optional<int64_t> bands = {};
  Inner save = {};
  template <class V>
  void visit(V& v) {
    v("top_p", top_p, "nucleus sampling",
      {.value = "P", .shown_default = "from the model", .range = Bounds::above(0).up_to(1)});
    v("queue_length", queue, "requests that | wait",
      {.alias = "queue", .flag = "-q,--queue", .range = Bounds::at_least(1)});
    v("seed", seed, "random seed");
    v("quiet", quiet, "do not log");
    v("host", host, "address");
    v("stop", stop, "stop sequence");
    v("bands", bands, "of a signature");
    v("save", save, "checkpoints");
  }
};

enum class Scope { all, across, within };
std::vector<std::string> setting_names(Scope) { return {"all", "across", "within"}; }

struct Presettable {  // by default as a preset says
  std::optional<double> threshold = {};
  std::optional<Scope> scope = {};
  Scope fallback = Scope::within;
  template <class V>
  void visit(V& v) {
    v("threshold", threshold, "similarity", {.range = Bounds::between(0, 1)});
    v("scope", scope, "which duplicates", {.flag = ""});
    v("fallback", fallback, "where there is no scope");
  }
};

struct Saved {
  uint32_t rows = 0;
  int small = 0;
  float similarity = 0;
  uint64_t problems[3] = {};
  std::vector<std::pair<std::string, uint64_t>> outputs = {};
  std::vector<Inner> inner = {};
  template <class V>
  void visit(V& v) {
    v("rows", rows), v("small", small), v("similarity", similarity), v("problems", problems), v("outputs", outputs);
    v("inner", inner);
  }
};

std::string refusal(const std::string& name, const std::string& text) {
  Options o;
  return message_of([&] { set_setting(o, name, text); });
}

TEST(Settings, RangesSayWhatIsOutside) {
  EXPECT_EQ(bounds_fault(Bounds::between(0, 100), 150), "150 is outside 0 to 100");
  EXPECT_EQ(bounds_fault(Bounds::between(0, 100), 100), "");
  EXPECT_EQ(bounds_fault(Bounds::between(0, 100), 0), "");
  EXPECT_EQ(bounds_fault(Bounds::at_least(1), 0), "0 is below 1");
  EXPECT_EQ(bounds_fault(Bounds::above(0), 0), "0 is not above 0");
  EXPECT_EQ(bounds_fault(Bounds::above(0).up_to(1), 1.5), "1.5 is above 1");
  EXPECT_EQ(bounds_fault(Bounds::above(0).up_to(1), 1), "");
  EXPECT_EQ(bounds_fault(Bounds::at_least(0), NAN), "nan is not a number");
  EXPECT_EQ(bounds_fault(Bounds::finite(), INFINITY), "inf is not a finite number");
  EXPECT_EQ(bounds_fault(Bounds::finite(), -1e300), "");
  EXPECT_EQ(bounds_fault({}, NAN), "");
}

TEST(Settings, ValuesFromText) {
  Options o;
  set_setting(o, "top_p", "0.25"), set_setting(o, "queue", "7"), set_setting(o, "quiet", "true");
  set_setting(o, "host", "::1"), set_setting(o, "bands", "32"), set_setting(o, "seed", "18446744073709551615");
  set_setting(o, "stop", "a"), set_setting(o, "stop", "b");
  EXPECT_EQ(o.top_p, 0.25);
  EXPECT_EQ(o.queue, 7);
  EXPECT_TRUE(o.quiet);
  EXPECT_EQ(o.host, "::1");
  EXPECT_EQ(o.bands, 32);
  EXPECT_EQ(o.seed, ~uint64_t{0});
  EXPECT_EQ(o.stop, std::vector<std::string>{"b"}) << "a list becomes what the text says";
  set_setting(o, "seed", "-2");
  EXPECT_EQ(o.seed, ~uint64_t{1});
}

TEST(Settings, MistakesNameTheField) {
  EXPECT_EQ(refusal("top_p", "1.5"), "top_p: 1.5 is above 1");
  EXPECT_EQ(refusal("top_p", "much"), "top_p: 'much' is not a number");
  EXPECT_EQ(refusal("queue_length", "1.5"), "queue_length: '1.5' is not a whole number");
  EXPECT_EQ(refusal("queue", "0"), "queue_length: 0 is below 1");
  EXPECT_EQ(refusal("quiet", "yes"), "quiet: 'yes' is not true or false");
  EXPECT_EQ(refusal("save", "x"), "save: cannot be set by a text");
  EXPECT_NE(refusal("top_q", "1").find("unknown setting 'top_q'"), std::string::npos);
  EXPECT_NE(refusal("top_q", "1").find("'top_p'"), std::string::npos) << refusal("top_q", "1");
  Options o{.top_p = 0};
  EXPECT_EQ(message_of([&] { check_settings(o); }), "top_p: 0 is not above 0");
  EXPECT_EQ(message_of([&] { set_setting(o, "queue", "0"); }), "queue_length: 0 is below 1");
  EXPECT_EQ(o.queue, 256) << "what is refused changes nothing";
  set_setting(o, "queue", "3");  // of another field's range nothing is said
  EXPECT_EQ(o.queue, 3);
}

TEST(Settings, FilesAreCheckedToo) {
  Options o;
  EXPECT_EQ(message_of([&] { from_json(Json::parse(R"({"top_p": 2})"), o, "x.json"); }),
            "x.json, top_p: 2 is above 1");
  EXPECT_EQ(message_of([&] { from_json(Json::parse(R"({"queue": 0})"), o, "x.json"); }),
            "x.json, queue: 0 is below 1");
  from_json(Json::parse(R"({"top_p": 0.5, "queue": 1})"), o, "x.json");
  EXPECT_EQ(o.top_p, 0.5);
  from_json(Json::parse(R"({"seed": -1})"), o, "x.json");
  EXPECT_EQ(o.seed, ~uint64_t{0});
  EXPECT_EQ(write_value(o).at("seed").as_int(), -1);
}

TEST(Settings, NamesOfAnEnum) {
  Presettable p;
  EXPECT_EQ(write_value(p).dump(), R"({"threshold":null,"scope":null,"fallback":"within"})");
  set_setting(p, "scope", "across"), set_setting(p, "fallback", "all");
  EXPECT_EQ(p.scope, Scope::across);
  EXPECT_EQ(write_value(p).dump(), R"({"threshold":null,"scope":"across","fallback":"all"})");
  EXPECT_EQ(message_of([&] { set_setting(p, "scope", "acros"); }),
            "scope: 'acros' is not all, across or within; did you mean 'across'?");
  from_json(Json::parse(R"({"scope": "within", "fallback": null})"), p, "x.json");
  EXPECT_EQ(p.scope, Scope::within);
  EXPECT_EQ(message_of([&] { from_json(Json::parse(R"({"fallback": "x"})"), p, "x.json"); }),
            "x.json, fallback: 'x' is not all, across or within");
}

TEST(Settings, OptionalNumbersHaveRanges) {
  Presettable p;
  EXPECT_NO_THROW(check_settings(p));
  EXPECT_EQ(list_settings(p)[0].initial, "");
  EXPECT_EQ(message_of([&] { from_json(Json::parse(R"({"threshold": 2})"), p, "x.json"); }),
            "x.json, threshold: 2 is outside 0 to 1");
  EXPECT_EQ(message_of([&] { check_settings(p); }), "threshold: 2 is outside 0 to 1");
  EXPECT_EQ(list_settings(p)[0].initial, "2");
}

TEST(Settings, WhatAProgramSavedIsReadWhole) {
  const Saved saved{.rows = 4000000000u,
                    .small = -7,
                    .similarity = 0.5f,
                    .problems = {1, 2, ~uint64_t{0}},
                    .outputs = {{"a", 1}, {"b", 2}},
                    .inner = {{.every = 3}}};
  Json j = write_value(saved);
  EXPECT_EQ(j.dump(), R"({"rows":4000000000,"small":-7,"similarity":0.5,"problems":[1,2,-1],)"
                      R"("outputs":[["a",1],["b",2]],"inner":[{"every":3}]})");
  const auto read = [](const Json& from) {
    Saved s;
    read_value(from, s, "state", FieldPresence::required);
    return write_value(s).dump();
  };
  j.set("of another", 1);
  EXPECT_EQ(read(j), write_value(saved).dump());
  const auto fault = [&](const char* key, const char* value) {
    Json changed = j;
    *value ? changed.set(key, Json::parse(value)) : changed.erase(key);
    return message_of([&] { read(changed); });
  };
  EXPECT_NE(fault("rows", "").find("'rows'"), std::string::npos) << fault("rows", "");
  EXPECT_NE(fault("rows", "null").find("rows: expected an integer"), std::string::npos);
  EXPECT_NE(fault("inner", "[{}]").find("'every'"), std::string::npos) << fault("inner", "[{}]");
  EXPECT_EQ(fault("rows", "4294967296"), "state, rows: 4294967296 is out of range");
  EXPECT_EQ(fault("problems", "[1, 2]"), "state, problems: expected 3 values, found 2");
  EXPECT_EQ(fault("outputs", "[[\"a\"]]"), "state, outputs: expected a pair, found 1 values");
}

TEST(Settings, GivenOnesLieOverOthers) {
  GivenSettings<Options> given;
  given.set("top_p", "0.5"), given.set("stop", "a"), given.set("stop", "b");
  EXPECT_TRUE(given.has("top_p"));
  EXPECT_FALSE(given.has("host"));
  EXPECT_EQ(message_of([&] { given.set("queue_length", "x"); }), "'x' is not a whole number");
  Options o{.top_p = 0.9, .host = "elsewhere", .stop = {"old"}};
  given.overlay(o);
  EXPECT_EQ(o.top_p, 0.5);
  EXPECT_EQ(o.host, "elsewhere");
  EXPECT_EQ(o.stop, (std::vector<std::string>{"a", "b"}));
}

TEST(Settings, AreListedWithTheirDefaults) {
  const std::vector<SettingInfo> list = list_settings(Options{.host = "here"});
  ASSERT_EQ(list.size(), 8u);
  EXPECT_EQ(list[0].shown_default(), "from the model");
  EXPECT_EQ(list[1].shown_default(), "256");
  EXPECT_EQ(list[1].flag_names(), "-q,--queue");
  EXPECT_EQ(list[0].flag_names(), "--top-p");
  EXPECT_EQ(list[4].initial, "here");
  EXPECT_EQ(list[6].initial, "");
  EXPECT_EQ(list[3].type, SettingType::toggle);
  EXPECT_EQ(list[5].type, SettingType::list);
  EXPECT_EQ(list[6].type, SettingType::integer);
  ASSERT_EQ(list[7].type, SettingType::object);
  EXPECT_EQ(list[7].fields.at(0).name, "every");
}

TEST(Settings, Tables) {
  const std::vector<SettingInfo> list = list_settings(Options());
  const std::string keys = key_table(list), flags = flag_table(list),
                    both = flag_table(list, FlagTable::flags_and_keys);
  EXPECT_TRUE(
      keys.starts_with("| key | default | meaning |\n|---|---|---|\n"
                       "| `top_p` | from the model | nucleus sampling; > 0, ≤ 1 |\n"
                       "| `queue_length` | `256` | requests that \\| wait; ≥ 1 |\n"))
      << keys;
  EXPECT_NE(keys.find("| `save.every` | `500` | steps between saves |\n"), std::string::npos) << keys;
  EXPECT_NE(flags.find("| `--queue N` | `256` | requests that \\| wait |\n"), std::string::npos) << flags;
  EXPECT_NE(flags.find("| `--quiet` | off | do not log |\n"), std::string::npos) << flags;
  const std::string without = flag_table(list_settings(Presettable()), FlagTable::flags_and_keys);
  EXPECT_NE(without.find("|  | `scope` |  |  | which duplicates |\n"), std::string::npos) << without;
  EXPECT_NE(both.find("| `--top-p P` | `top_p` | > 0, ≤ 1 | from the model | nucleus sampling |\n"),
            std::string::npos)
      << both;
}

struct Sizes {
  int64_t cache_bytes = int64_t{1} << 30;
  bool bias = true;
  template <class V>
  void visit(V& v) {
    Mebibytes cache(cache_bytes);
    OffSwitch no_bias(bias);
    v("cache_mib", cache, "cache size", {.value = "MIB", .range = Bounds::at_least(0)});
    v("no_bias", no_bias, "add no bias");
  }
};

TEST(Settings, BytesAreSetInMebibytes) {
  Sizes s;
  const std::vector<SettingInfo> list = list_settings(s);
  EXPECT_EQ(list.at(0).shown_default(), "1024");
  EXPECT_EQ(list.at(0).type, SettingType::integer);
  set_setting(s, "cache_mib", "3");
  EXPECT_EQ(s.cache_bytes, int64_t{3} << 20);
  EXPECT_EQ(message_of([&] { set_setting(s, "cache_mib", "-1"); }), "cache_mib: -1 is below 0");
  EXPECT_EQ(message_of([&] { set_setting(s, "cache_mib", "9000000000000"); }),
            "cache_mib: '9000000000000' is too large");
  EXPECT_EQ(message_of([&] { set_setting(s, "cache_mib", "x"); }), "cache_mib: 'x' is not a whole number");
  EXPECT_EQ(s.cache_bytes, int64_t{3} << 20) << "a mistake leaves the value";
}

TEST(Settings, JsonHasTheSettingsValue) {
  Sizes s;
  EXPECT_EQ(write_value(s).dump(), R"({"cache_mib":1024,"no_bias":false})");
  from_json(Json::parse(R"({"cache_mib": 5, "no_bias": true})", "options"), s, "options", true);
  EXPECT_EQ(s.cache_bytes, int64_t{5} << 20);
  EXPECT_FALSE(s.bias);
  const auto refusal = [&](const char* json) {
    return message_of([&] { from_json(Json::parse(json, "options"), s, "options", true); });
  };
  EXPECT_EQ(refusal(R"({"cache_mib": 9000000000000})"), "options, cache_mib: 9000000000000 is too large");
  EXPECT_EQ(refusal(R"({"cache_mib": "x"})"), "options, cache_mib: expected an integer, found a string");
  EXPECT_EQ(refusal(R"({"cache_mib": -1})"), "options, cache_mib: -1 is below 0");
}

TEST(Settings, ASwitchTurnsAFieldOff) {
  Sizes s;
  const std::vector<SettingInfo> list = list_settings(s);
  EXPECT_EQ(list.at(1).type, SettingType::toggle);
  EXPECT_EQ(list.at(1).flag_names(), "--no-bias");
  EXPECT_EQ(list.at(1).initial, "false");
  set_setting(s, "no_bias", "true");
  EXPECT_FALSE(s.bias);
}

}  // namespace
}  // namespace quern
