// Mixture and tokens as tasks, alone and as later stages of a build: the bytes and counts of one process, whatever the
// number of tasks.
#include <map>
#include <set>

#include "quern/base/test_message.h"
#include "quern/corpus/dedup/small_corpus.h"
#include "quern/corpus/io/run_manifest.h"
#include "quern/corpus/stages/corpus_build.h"
#include "quern/corpus/stages/row_stage.h"
#include "quern/corpus/tasks/joined_file.h"
#include "quern/corpus/tasks/later_plan.h"
#include "quern/corpus/tasks/task_results.h"
#include "quern/corpus/tasks/task_run.h"
#include "quern/data/indexed.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTokenizer = QUERN_SOURCE_DIR "/models/zaya-nano";

class MixtureTasksTest : public SmallCorpus {
 protected:
  static constexpr uint64_t kBlock = 32 << 10;
  MixtureTasksTest() {
    recipe_.source.resize(1);
    recipe_.mix.emplace(), recipe_.tokenize.emplace();
    recipe_.mix->shard_mb = 1, recipe_.mix->megabytes = 3.5, recipe_.mix->seed = 7;
    recipe_.tokenize->tokenizer = kTokenizer, recipe_.tokenize->rows = true;
    for (const char* folder : {"rows", "short", "empty", "named", "t"}) fs::create_directories(root_ / folder);
    write_file(root_ / "in/d.csv",
               "id,text,source\nx-1,one cell of a table,tables\nx-2,\"another, with a comma\",\n");
  }
  Inputs named_inputs() const {
    const std::string in = (root_ / "in").string();
    return find_inputs(std::vector<std::string>{"first=" + in + "/a.jsonl", "second=" + in + "/b.jsonl.zst",
                                                "first=" + in + "/n0*.txt", "second=" + in + "/c.jsonl.zst",
                                                "third=" + in + "/n1*.txt", "third=" + in + "/d.csv"});
  }
  PlanSettings settings(const std::string& out, uint64_t tasks) const {
    return {.out = (root_ / out).string(), .tasks = tasks, .file = root_ / "plan.json", .block_bytes = kBlock};
  }
  static Json without_plan(const fs::path& manifest) {
    Json all = Json::object(), j = Json::read(manifest);
    for (const auto& [key, value] : j.as_object())
      if (key != "plan") all.set(key, value);
    return all;
  }
  // Names and bytes, but for the manifests' plans.
  std::map<std::string, std::string> files(const std::string& out) const {
    std::map<std::string, std::string> all;
    for (const auto& e : fs::recursive_directory_iterator(root_ / out)) {
      const std::string name = e.path().lexically_relative(root_ / out).string();
      if (e.is_directory()) continue;
      all[name] = name.ends_with(".json") ? without_plan(e.path()).dump() : read_file(e.path());
    }
    return all;
  }
  void mix_alone(const Inputs& in, const MixStage& stage, const std::string& out) const {
    MixConfig c = recipe_.mix->config();
    c.shares = stage.shares;
    c.to = WriteSettings{.level = recipe_.write.level, .shard_mb = recipe_.mix->shard_mb}.output(root_ / out);
    ScanOptions scan = row_scan(recipe_);
    scan.block_bytes = kBlock, scan.fields[0].source = stage.source_field;
    c.source_field = added_source_field(in, scan);
    mix_corpus(in, scan, c, {},
               [&](const MixReport& r) { write_manifest(root_ / out, mix_stage_json(recipe_.mix->seed, in, r)); });
  }
  void tokenize_alone(const Inputs& in, const std::string& out) const {
    TokenRun run;
    run.scan = row_scan(recipe_), run.scan.block_bytes = kBlock;
    run.end_token = recipe_.tokenize->end_token, run.rows = recipe_.tokenize->rows;
    run.tokenizer = "zaya-nano", run.prefix = root_ / out / "t";
    write_token_shards(in, text::Tokenizer::load(kTokenizer), run, {}, [&](const TokenShardReport& r) {
      const fs::path file = run.prefix.string() + ".json";
      write_file(file, with_files(token_stage_json("mine", in, r), unfinished_of(file)).dump(2) + "\n");
    });
  }
  static void run_all(const TaskPlan& p) {
    for (const PlannedTask& t : p.tasks) {
      EXPECT_TRUE(run_task(p, t.id)) << t.id;
    }
    for (const PlannedTask& t : p.tasks) EXPECT_FALSE(run_task(p, t.id)) << t.id;  // all done
  }
  CorpusRecipe recipe_;
};

TEST_F(MixtureTasksTest, MixingGivesTheBytesOfOneProcess) {
  const MixStage stage{.shares = {{"first", 3}, {"second", 5}, {"third", 0.01}}, .source_field = {}};
  const Inputs in = named_inputs();
  mix_alone(in, stage, "alone");
  const auto expected = files("alone");
  ASSERT_EQ(expected.size(), 5u);  // four of 1 MiB and the manifest
  for (const uint64_t tasks : {1, 3, 4, 8}) {
    const std::string out = fmt::format("mix-{}", tasks);
    const TaskPlan p = plan_mix(recipe_, stage, in, settings(out, tasks));
    EXPECT_EQ(p.shards.size(), std::min<uint64_t>(tasks, 4));
    run_all(p);
    EXPECT_EQ(files(out), expected) << out;
  }
  const Json sources = Json::read(root_ / "mix-4/manifest.json").at("sources");
  EXPECT_GT(sources.as_array()[0].at("epochs").as_double(), 1.5);  // some documents come out more often than others
}

TEST_F(MixtureTasksTest, MixingBySourcesThatRowsName) {
  std::string lines = "{\"text\":\"nobody's\",\"source\":null}\n";
  for (int i = 0; i < 3000; ++i)
    lines += fmt::format("{{\"text\":\"{}{}\",\"source\":\"{}\"}}\n", word(static_cast<unsigned>(i) * 77), i,
                         i % 3 ? "many" : "few");
  for (const char* name : {"x", "y", "z"}) write_file(root_ / fmt::format("rows/{}.jsonl", name), lines);
  Inputs in = find_inputs(std::vector<std::string>{(root_ / "rows").string()});
  in.sources = {"many", "few"};
  const MixStage stage{.shares = {{"many", 1}, {"few", 1}}, .source_field = "source"};
  recipe_.mix->megabytes = 0;
  mix_alone(in, stage, "alone");
  const TaskPlan p = plan_mix(recipe_, stage, in, settings("out", 3));
  ASSERT_EQ(p.shards.size(), 3u);
  run_all(p);
  EXPECT_EQ(files("out"), files("alone"));
}

TEST_F(MixtureTasksTest, TokensGiveTheBytesOfOneProcess) {
  const Inputs in = named_inputs();
  for (const bool rows : {false, true}) {
    recipe_.tokenize->rows = rows;
    const std::string alone = fmt::format("alone-{}", rows);
    tokenize_alone(in, alone);
    const auto expected = files(alone);
    ASSERT_EQ(expected.size(), rows ? 4u : 3u);
    ASSERT_GT(expected.at("t.bin").size(), kJoinedPage);  // ranges of more than one task
    for (const uint64_t tasks : {1, 3, 4, 8}) {
      const std::string out = fmt::format("tokens-{}-{}", rows, tasks);
      const TaskPlan p = plan_tokens(recipe_, {.tokenizer = "mine"}, in, settings(out + "/t", tasks));
      EXPECT_EQ(p.shards.size(), std::min<uint64_t>(tasks, 4));
      run_all(p);
      EXPECT_EQ(files(out), expected) << out;
    }
  }
  EXPECT_GT(data::IndexedTokens(root_ / "tokens-true-8/t").documents(), 1000);
}

// Lengths of more than 1 MiB of index: its parts begin within pages and tasks.
TEST_F(MixtureTasksTest, AnIndexOfSeveralPages) {
  std::string lines;
  for (int i = 0; i < 60'000; ++i) lines += fmt::format("{{\"text\":\"{}\"}}\n", i % 7 ? std::to_string(i) : "");
  for (const char* name : {"x", "y", "z"}) write_file(root_ / fmt::format("short/{}.jsonl", name), lines);
  const Inputs in = find_inputs(std::vector<std::string>{(root_ / "short").string()});
  recipe_.tokenize->rows = false;
  tokenize_alone(in, "alone");
  ASSERT_GT(fs::file_size(root_ / "alone/t.idx"), 2 * kJoinedPage);
  for (const uint64_t tasks : {2, 3, 7}) {
    const std::string out = fmt::format("out-{}", tasks);
    run_all(plan_tokens(recipe_, {.tokenizer = "mine"}, in, settings(out + "/t", tasks)));
    EXPECT_EQ(files(out), files("alone"));
  }
}

TEST_F(MixtureTasksTest, NoTokensAreFilesToo) {
  write_file(root_ / "empty/x.jsonl", "{\"text\":\"\"}\n{\"text\":\"\"}\n");
  const Inputs in = find_inputs(std::vector<std::string>{(root_ / "empty").string()});
  tokenize_alone(in, "alone");
  run_all(plan_tokens(recipe_, {.tokenizer = "mine"}, in, settings("out/t", 2)));
  EXPECT_EQ(files("out"), files("alone"));
}

// The first thousand names count, in the order of the rows: more of them than a shard's list holds, and old ones among them.
TEST_F(MixtureTasksTest, TheFirstThousandSourcesCount) {
  std::mt19937 random(3);
  for (int f = 0; f < 4; ++f) {
    std::string lines;
    for (int i = 0; i < 3000; ++i) {
      const unsigned name = random() % 5 ? random() % 700 + static_cast<unsigned>(f) * 250 : random() % 50;
      lines += fmt::format("{{\"text\":\"{}\",\"source\":\"{}{}\"}}\n", word(random()),
                           std::string(random() % 400 == 0 ? 300 : 0, 'x'), word(name * 31));
    }
    write_file(root_ / fmt::format("named/{}.jsonl", f), lines);
  }
  const Inputs in = find_inputs(std::vector<std::string>{(root_ / "named").string()});
  recipe_.tokenize->rows = false;
  tokenize_alone(in, "alone");
  for (const uint64_t tasks : {1, 4}) {
    const std::string out = fmt::format("out-{}", tasks);
    run_all(plan_tokens(recipe_, {.tokenizer = "mine"}, in, settings(out + "/t", tasks)));
    EXPECT_EQ(files(out), files("alone"));
  }
  EXPECT_EQ(Json::read(root_ / "out-4/t.json").at("sources").as_array().size(), 1000u);
}

TEST_F(MixtureTasksTest, APlanIsAFileAndResumes) {
  const Inputs in = named_inputs();
  const MixStage stage{.shares = {{"first", 1}, {"second", 1}, {"third", 0}}, .source_field = {}};
  mix_alone(in, stage, "mixed-alone");
  tokenize_alone(in, "tokens-alone");
  for (const bool tokens : {false, true}) {
    const std::string out = tokens ? "tokens" : "mixed";
    const auto make = [&] {
      return tokens ? plan_tokens(recipe_, {.tokenizer = "mine"}, in, settings(out + "/t", 3))
                    : plan_mix(recipe_, stage, in, settings(out, 3));
    };
    make().save(root_ / "plan.json");
    const TaskPlan p = TaskPlan::load(root_ / "plan.json");
    EXPECT_EQ(p.identity, make().identity);
    const std::string first = p.tasks[0].id, waits = p.tasks.back().id;
    EXPECT_NE(message_of([&] { run_task(p, waits); }).find("finish-0 waits for"), std::string::npos);
    EXPECT_EQ(p.tasks[1].command,
              (std::vector<std::string>{"quern", "corpus", "task", (root_ / "plan.json").string(), p.tasks[1].id}));
    EXPECT_FALSE(p.tasks[1].inputs.empty());
    ASSERT_TRUE(run_task(p, first));
    make();  // the same plan again: what is done stays done
    EXPECT_FALSE(run_task(p, first));
    for (const PlannedTask& t : p.tasks) {
      if (t.id == "concat-1")
        write_file(p.work() / "whole.bin",
                   std::string(read_file(root_ / "tokens-alone/t.bin").size(), '?'));  // half of a task
      if (t.id == "concat-1") fs::remove_all(p.work() / "concat-0");
      if (t.id == "concat-1") {
        ASSERT_TRUE(run_task(p, "concat-0"));
      }
      if (t.stage == "finish") {  // killed between two files
        const fs::path from = tokens ? p.work() / "whole.bin" : p.work() / "shuffle-0/part-00000.jsonl.zst";
        const std::string to = tokens ? "t.bin" : "part-00000.jsonl.zst";
        list_file(p.unfinished(), {to, !tokens});
        fs::rename(from, p.base() / to);
      }
      EXPECT_EQ(run_task(p, t.id).has_value(), t.id != first) << t.id;
    }
    EXPECT_EQ(files(out), files(out + "-alone"));
    EXPECT_FALSE(message_of(make).empty());  // it is there
    // Killed behind the manifest.
    fs::create_directories(p.work() / first);
    EXPECT_FALSE(run_task(p, waits));
    EXPECT_EQ(files(out), files(out + "-alone"));
    EXPECT_FALSE(fs::exists(p.unfinished()));
  }
}

TEST_F(MixtureTasksTest, RefusesWhatCannotBeOrIsNotAsPlanned) {
  const Inputs in = named_inputs();
  const MixStage stage{.shares = {{"first", 1}, {"second", 1}}, .source_field = {}};
  EXPECT_NE(message_of([&] { plan_mix(recipe_, stage, in, settings("out", 2)); }).find("source 'third' has no share"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(root_ / "out"));
  write_file(root_ / "t/x.bin", "another's");
  EXPECT_NE(message_of([&] {
              plan_tokens(recipe_, {.tokenizer = "mine"}, in, settings("t/x", 2));
            }).find("no corpus run that can be resumed wrote it"),
            std::string::npos);
  const TaskPlan p = plan_tokens(recipe_, {.tokenizer = "mine"}, in, settings("t/y", 2));
  write_file(root_ / "in/a.jsonl", "{\"text\":\"another\"}\n");
  EXPECT_NE(message_of([&] { run_task(p, "tokenize-0"); }).find("is not there as it was planned"), std::string::npos);
  // A source with a share and without text is known when all shards are counted.
  write_file(root_ / "none.jsonl", "{\"text\":\"\"}\n");
  const Inputs none = find_inputs(
      std::vector<std::string>{"a=" + (root_ / "in/b.jsonl.zst").string(), "b=" + (root_ / "none.jsonl").string()});
  const TaskPlan q =
      plan_mix(recipe_, {.shares = {{"a", 1}, {"b", 1}}, .source_field = {}}, none, settings("out", 2));
  for (uint64_t i = 0; i < q.stage("count").tasks; ++i) {
    ASSERT_TRUE(run_task(q, fmt::format("count-{}", i)));
  }
  EXPECT_NE(message_of([&] { run_task(q, "pick-0"); }).find("source 'b' has a share but no text"), std::string::npos);
}

class BuildTasksTest : public MixtureTasksTest {
 protected:
  // Some MiB of documents that stay: several parts.
  BuildTasksTest() {
    std::string lines;
    for (unsigned i = 0; i < 4000; ++i) {
      std::string text;
      for (unsigned w = 0; w < 100; ++w) text += word(i * 104729 + w * 7919 * (i + 3));
      lines += fmt::format("{{\"text\":\"{}\"}}\n", text);
    }
    write_file(root_ / "in/e.jsonl", lines);
  }
  CorpusRecipe recipe(const std::string& tables) const {
    std::string all;
    for (const auto& [source, share] :
         {std::pair("name = \"a\"\npaths = [\"in/a.jsonl\", \"in/n0*.txt\"]\n", "share = 1\n"),
          {"name = \"b\"\npaths = [\"in/b.jsonl.zst\", \"in/c.jsonl.zst\", \"in/e.jsonl\"]\n", "share = 2\n"},
          {"name = \"c\"\npaths = [\"in/d.csv\"]\n", "share = 0.0001\n"}})
      all += "[[source]]\n" + std::string(source) + (tables.find("[mix]") != tables.npos ? share : "");
    write_file(root_ / "r.toml", all + "[write]\nshard_mb = 1\n" + tables);
    return CorpusRecipe::load(root_ / "r.toml");
  }
  static std::string tokens(const std::string& more = "") {
    return "[tokenize]\ntokenizer = \"" + std::string(kTokenizer) + "\"\n" + more;
  }
  TaskPlan plan(const CorpusRecipe& r, const std::string& out, uint64_t tasks) const {
    PlanSettings s = settings(out, tasks);
    s.tool = Json::parse(R"({"name":"test","version":"0"})");
    return plan_tasks(r, s);
  }
  // Deduplication in small blocks, as the tasks have them, and the later stages in one process.
  void run_alone(const CorpusRecipe& r, const std::string& out) const {
    DedupConfig c = r.config();
    c.block_bytes = kBlock;
    BuildState state = plan_build(r, c, r.inputs()).value();
    const DedupReport report = deduplicate(r.inputs(), c, root_ / out);
    for (const SourceFunnel& s : report.sources) state.kept.push_back(s.kept);
    run_later_stages(r, state, root_ / out);
  }
  // But for what says how it was deduplicated.
  std::map<std::string, std::string> output(const std::string& out) const {
    std::map<std::string, std::string> all = files(out);
    for (const char* name : {"manifest.json", "report.html", "recipe.json"}) all.erase(name);
    // Its frames are blocks, which are larger in a build than these tests'.
    if (const fs::path rows = root_ / out / "tokens.rows.jsonl.zst"; fs::exists(rows)) {
      std::string& lines = all.at(rows.filename());
      const auto stream = open_bytes(rows);
      char piece[4096];
      lines.clear();
      for (size_t n; (n = stream->read(piece, sizeof piece)) > 0;) lines.append(piece, n);
      EXPECT_GT(std::ranges::count(lines, '\n'), 1000);
    }
    return all;
  }
};

TEST_F(BuildTasksTest, LaterStagesGiveTheBytesOfOneProcess) {
  int number = 0;
  for (const std::string& tables :
       {"[mix]\nmegabytes = 2.5\nshard_mb = 1\n" + tokens(), tokens(), std::string("[mix]\nmegabytes = 0.2\n"),
        "[mix]\nshard_mb = 1\n" + tokens("rows = true\n")}) {
    const CorpusRecipe r = recipe(tables);
    const std::string alone = fmt::format("alone{}", ++number);
    run_alone(r, alone);
    const auto expected = output(alone);
    EXPECT_EQ(expected.contains("tokens.bin"), tables.find("tokenize") != tables.npos);
    for (const uint64_t tasks : number == 1 ? std::vector<uint64_t>{1, 3, 8} : std::vector<uint64_t>{4}) {
      const std::string out = fmt::format("tasks{}-{}", number, tasks);
      const TaskPlan p = plan(r, out, tasks);
      std::map<std::string, uint64_t> ran;
      for (const PlannedTask& t : p.tasks) ran[t.stage] += run_task(p, t.id).has_value();
      EXPECT_EQ(output(out), expected) << tables << tasks;
      if (tasks > 1 && tables.find("mix") != tables.npos) {
        EXPECT_GE(ran["pick"], 2u);  // parts of 1 MiB
      }
      if (tasks > 1 && number == 1) {
        EXPECT_GE(ran["tokenize"], 3u);
      }
      for (const PlannedTask& t : p.tasks) EXPECT_FALSE(run_task(p, t.id)) << t.id;  // all done
      std::set<std::string> counted;
      const Json manifest = Json::read(root_ / out / "manifest.json");
      for (const Json& s : manifest.at("plan").at("stages").as_array()) counted.insert(s.at("stage").as_string());
      for (const PlannedStage& s : p.stages)
        EXPECT_EQ(counted.contains(s.name), s.name != "finish" && s.name != "mixed" && s.name != "later") << s.name;
      EXPECT_NE(read_file(root_ / out / "report.html").find("<h2 id=\"later\">"), std::string::npos);
    }
  }
}

// Every stage behind deduplication, cut off and taken up in another process, that makes its plan anew.
TEST_F(BuildTasksTest, LaterStagesResume) {
  const CorpusRecipe r = recipe("[mix]\nmegabytes = 2.5\nshard_mb = 1\n" + tokens());
  run_alone(r, "alone");
  plan(r, "out", 3).save(root_ / "plan.json");
  const TaskPlan p = TaskPlan::load(root_ / "plan.json");
  EXPECT_NE(message_of([&] { run_task(p, "count-0"); }).find("count-0 waits for finish-0"), std::string::npos);
  for (const PlannedTask& t : p.tasks) {
    if (t.stage == "pick") {
      const fs::path killed =
          fmt::format("{}/out/mixed/unfinished/tasks/x/{}.elsewhere.999999", root_.string(), t.id);
      fs::create_directories(killed);
    }
    if (t.id == "mixed-0") {
      fs::create_directories(root_ / "out/mixed");
      PlanProgress progress(p);
      const TaskPlan& mixture = progress.later(LaterPart::mixture);
      list_file(mixture.unfinished(), {"part-00000.jsonl.zst", true});
      fs::rename(mixture.work() / "shuffle-0/part-00000.jsonl.zst", root_ / "out/mixed/part-00000.jsonl.zst");
      write_file(root_ / "out/mixed/manifest.json.part17", "half");
    }
    if (t.stage == "later") write_file(root_ / "out/tokens.json.part17", "half");
    if (t.stage == "tokenize") {
      EXPECT_FALSE(run_task(p, "mixed-0"));
    }
    ASSERT_TRUE(run_task(p, t.id)) << t.id;
  }
  EXPECT_EQ(output("out"), output("alone"));
}

// `quern corpus build` goes on where a plan was left, and has nothing of it in its output.
TEST_F(BuildTasksTest, OneProcessGoesOnBehindDeduplication) {
  const CorpusRecipe r = recipe("[mix]\nmegabytes = 2.5\nshard_mb = 1\n" + tokens());
  run_alone(r, "alone");
  const TaskPlan p = plan(r, "out", 3);
  for (const PlannedTask& t : p.tasks) {
    if (t.stage == "shuffle") break;
    ASSERT_TRUE(run_task(p, t.id)) << t.id;
  }
  const auto state = saved_build(p.out, plan_build(p.recipe, p.config(), p.inputs()).value().identity);
  ASSERT_TRUE(state);
  run_later_stages(p.recipe, *state, p.out);
  EXPECT_EQ(output("out"), output("alone"));
  for (const PlannedTask& t : p.tasks) {
    EXPECT_FALSE(run_task(p, t.id)) << t.id;
  }
}

}  // namespace
}  // namespace quern::corpus
