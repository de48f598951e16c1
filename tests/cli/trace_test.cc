// quern train --trace and quern run --trace: a file for Chrome and tables whose parts add up to the steps.
#include <gtest/gtest.h>

#include <algorithm>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

void expect_page(const std::string& file, std::initializer_list<const char*> texts) {
  const std::string html = read_file(file);
  for (const char* text : texts) EXPECT_NE(html.find(text), std::string::npos) << file << " lacks " << text;
  for (const char* outside : {"http:", "https:", "src="}) EXPECT_EQ(html.find(outside), std::string::npos) << outside;
}

struct Traced {
  int64_t steps = 0, events = 0;
  double seconds = 0, parts = 0;
  std::vector<std::string> part_names, operations;
};

Traced read_trace(const std::string& file) {
  const Json j = Json::parse(read_file(file), file);
  const Json& summary = j.at("otherData", file);
  Traced t;
  t.steps = summary.at("steps", file).as_int("steps"), t.seconds = summary.at("seconds", file).as_double("seconds");
  t.events = std::ssize(j.at("traceEvents", file).as_array("traceEvents"));
  for (const Json& p : summary.at("parts", file).as_array("parts")) {
    if (p.at("name", file).as_string() == "other") continue;
    t.part_names.push_back(p.at("name", file).as_string());
    t.parts += p.at("seconds", file).as_double("seconds");
  }
  for (const Json& o : summary.at("operations", file).as_array("operations"))
    t.operations.push_back(o.at("name", file).as_string() + (o.at("backward", file).as_bool() ? ", backward" : ""));
  return t;
}

void expect_among(const std::vector<std::string>& names, std::initializer_list<const char*> wanted) {
  for (const char* w : wanted)
    EXPECT_TRUE(std::ranges::count(names, w)) << w << " is none of " << fmt::format("{}", fmt::join(names, ", "));
}

TEST(CliTrace, TrainingSteps) {
  const ScratchFolder d;
  const std::string dir = d / "";
  std::string text;
  for (int i = 0; i < 200; ++i) text += "The mill stands still. It turns on Monday.\n\n";
  write_file(dir + "/a.txt", text);
  const Ran built =
      shell(fmt::format("quern data build {0}/a.txt --split-by blank --tokenizer {1}/models/zaya-nano --out {0}/set",
                        dir, QUERN_SOURCE_DIR));
  ASSERT_EQ(built.code, 0) << built.err;
  write_file(dir + "/r.toml", R"(name = "traced"
model = { from = "zaya-nano" }
checkpoint = { every = 0 }
[[phase]]
steps = 6
sequence_length = 32
batch_size = 2
schedule = { peak = 1e-4, warmup = 0, final = 1e-4 }
data = [{ path = "set" }]
)");
  const Ran r = shell(fmt::format("cd {} && quern train r.toml --out run --trace 2", dir));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("2 steps, "), std::string::npos) << r.err;
  const Traced t = read_trace(dir + "/run/trace.json");
  EXPECT_EQ(t.steps, 2);
  EXPECT_GT(t.events, 100);
  expect_among(t.part_names, {"data", "forward", "backward", "optimizer"});
  expect_among(t.operations, {"experts", "experts, backward", "linear, backward", "attention", "router"});
  EXPECT_GT(t.parts, 0.8 * t.seconds);
  expect_page(dir + "/run/trace.html", {"<h1>Training steps 3 to 4</h1>", "optimizer", "router", "% of the peak"});
  EXPECT_LE(t.parts, t.seconds);

  const Ran all = shell(fmt::format("cd {} && quern train r.toml --out short --steps 3 --trace 9", dir));
  ASSERT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(read_trace(dir + "/short/trace.json").steps, 1) << "what there is, where the run ends before";
  EXPECT_EQ(shell(fmt::format("cd {} && quern train r.toml --out b --trace -1", dir)).code, 2);
  EXPECT_EQ(shell(fmt::format("cd {} && quern train r.toml --out b --trace 2 --supervise", dir)).code, 2);
}

TEST(CliTrace, RanksOfAProcessHaveTheirLanes) {
  const ScratchFolder d;
  const std::string dir = d / "";
  std::string text;
  for (int i = 0; i < 60; ++i) text += "The mill stands still. It turns on Monday.\n\n";
  write_file(dir + "/a.txt", text);
  ASSERT_EQ(
      shell(fmt::format("quern data build {0}/a.txt --split-by blank --tokenizer {1}/models/zaya-nano --out {0}/set",
                        dir, QUERN_SOURCE_DIR))
          .code,
      0);
  write_file(dir + "/r.toml", R"(name = "ranks"
model = { from = "zaya-nano" }
checkpoint = { every = 1 }
parallel = { zero = 1 }
[[phase]]
steps = 4
sequence_length = 32
batch_size = 2
data = [{ path = "set" }]
)");
  const Ran r = shell(fmt::format("cd {} && quern train r.toml --out run --ranks 2 --trace 2", dir));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("hidden by other work"), std::string::npos) << r.err;
  expect_page(dir + "/run/trace.html", {"\"rank 0\"", "\"rank 1, transfers\"", "communication exposed",
                                        "checkpoint writer", "reduce_scatter", "all_gather"});
  EXPECT_NE(read_file(dir + "/run/trace.json").find("thread_name"), std::string::npos);
}

TEST(CliTrace, Inference) {
  const ScratchFolder d;
  const std::string file = d / "trace.json";
  const Ran r = shell(fmt::format("quern run zaya-nano -p 'Once upon a time' -n 8 --trace {}", file));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("decoding"), std::string::npos) << r.err;
  const Traced t = read_trace(file);
  EXPECT_GE(t.steps, 8);
  expect_among(t.part_names, {"prompt", "decoding", "sampling"});
  expect_among(t.operations, {"experts", "linear", "CCA convolutions and norms"});
  expect_page(d / "trace.html", {"engine step", "decoding", "sampling", "experts"});
  const Ran refused = shell("quern run zaya-nano -p a -n 1 --trace /nowhere/trace.json");
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("cannot write /nowhere/trace.json"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace quern
