// filter, extract, annotate and decontaminate as tasks: the bytes and counts of one process, whatever their number.
#include <map>
#include <set>

#include "quern/base/test_message.h"
#include "quern/corpus/dedup/small_corpus.h"
#include "quern/corpus/tasks/task_results.h"
#include "quern/corpus/tasks/task_run.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

class RowTasksTest : public SmallCorpus {
 protected:
  static constexpr uint64_t kBlock = 32 << 10;
  RowTasksTest() {
    recipe_.source.resize(1);
    recipe_.write.shard_mb = 1;
    const std::string lines = with_full_stops(read_file(root_ / "in/a.jsonl"));
    std::string frame;
    zstd_frame(lines.substr(lines.find('\n', lines.size() / 2) + 1) + lines, 3, frame);
    write_file(root_ / "in/a.jsonl", lines);
    write_file(root_ / "in/b.jsonl.zst", frame);
    write_file(root_ / "in/d.csv", "id,text\nx-1,one cell of a table\nx-2,\"another, with a comma\"\nx-3\n");
    write_file(root_ / "in/e.html",
               "<title>Mill</title><article><p>It stands at the river, and it still turns.</p></article>");
  }
  // Every third text ends as fineweb asks of a line.
  static std::string with_full_stops(const std::string& lines) {
    std::string out;
    int number = 0;
    for (size_t at = 0, end; (end = lines.find('\n', at)) != lines.npos; at = end + 1) {
      out += lines.substr(at, end - at);
      if (++number % 3 == 0 && out.ends_with("\"}")) out.insert(out.size() - 2, ".");
      out += '\n';
    }
    return out;
  }
  Inputs named_inputs() const {
    const std::string in = (root_ / "in").string();
    return find_inputs(std::vector<std::string>{"first=" + in + "/a.jsonl", "second=" + in + "/b.jsonl.zst",
                                                "first=" + in + "/n0*.txt", "second=" + in + "/c.jsonl.zst",
                                                "third=" + in + "/n1*.txt", "third=" + in + "/d.csv",
                                                "third=" + in + "/e.html"});
  }
  TaskPlan plan(const RowStage& stage, const Inputs& in, const std::string& out, uint64_t tasks) const {
    const RowStageRun loaded = row_stage_run(recipe_, stage, in);
    return plan_rows(
        {.recipe = recipe_, .stage = stage, .inputs = in, .run = loaded.run},
        {.out = (root_ / out).string(), .tasks = tasks, .file = root_ / "plan.json", .block_bytes = kBlock});
  }
  // One process; what its manifest would say.
  Json run_alone(const RowStage& stage, const Inputs& in, const std::string& out) const {
    const RowStageRun loaded = row_stage_run(recipe_, stage, in);
    FilterRun run = loaded.run;
    run.to.folder = root_ / out, run.scan.block_bytes = kBlock;
    return row_stage_json(loaded.settings, in, filter_corpus(in, run));
  }
  std::map<std::string, std::string> files(const std::string& out) const {
    std::map<std::string, std::string> all;
    for (const auto& e : fs::directory_iterator(root_ / out))
      if (e.path().filename() != "manifest.json")
        all[e.path().filename()] = e.is_regular_file() ? read_file(e.path()) : "a folder";
    return all;
  }
  void expect_equal(const RowStage& stage, const Inputs& in) const {
    const std::string alone = stage.verb + "-alone";
    const Json expected = run_alone(stage, in, alone);
    for (const uint64_t tasks : {1, 3, 8}) {
      const std::string out = fmt::format("{}-{}", stage.verb, tasks);
      const TaskPlan p = plan(stage, in, out, tasks);
      EXPECT_EQ(p.shards.size(), std::min<uint64_t>(tasks, 4));
      PlanReport last;
      for (const PlannedTask& t : p.tasks) EXPECT_TRUE(run_task(p, t.id, &last)) << t.id;
      EXPECT_EQ(files(out), files(alone)) << out;
      const Json m = Json::read(root_ / out / "manifest.json");
      for (const auto& [key, value] : expected.as_object()) {
        if (key == "seconds") continue;
        ASSERT_NE(m.find(key), nullptr) << key;
        EXPECT_EQ(m.at(key).dump(), value.dump()) << key << " " << out;
      }
      std::map<std::string, std::string> roles;
      for (const auto& [name, role] : m.at("files").as_object()) roles[name] = role.as_string();
      for (const auto& [name, bytes] : files(out))
        EXPECT_EQ(roles[name], name.starts_with("part-") ? "rows" : "other") << name;
      EXPECT_EQ(last.rows.kept, static_cast<uint64_t>(expected.at("documents_out").as_int()));
      for (const PlannedTask& t : p.tasks) EXPECT_FALSE(run_task(p, t.id)) << t.id;  // all done
    }
  }
  CorpusRecipe recipe_;
};

TEST_F(RowTasksTest, FilteringGivesTheBytesOfOneProcess) {
  recipe_.source[0].filter = "gopher-repetition+fineweb";
  const RowStage stage{.verb = "filter", .rejects = true, .reasons = true};
  expect_equal(stage, named_inputs());
  // Both kinds of rows, and of rows that are none, in more than one shard: else there was nothing to sum up.
  const Json m = Json::read(root_ / "filter-3/manifest.json");
  EXPECT_GT(m.at("rejected").as_int(), 100);
  EXPECT_GT(m.at("documents_out").as_int(), 100);
  EXPECT_GT(m.at("read").at("rows").as_int(), m.at("read").at("documents").as_int() + 5);
  EXPECT_EQ(m.at("damaged_files").as_array().size(), 1u);
  const std::string reasons = read_file(root_ / "filter-3/reasons.jsonl");
  EXPECT_EQ(std::ranges::count(reasons, '\n'), m.at("rejected").as_int());
}

TEST_F(RowTasksTest, WithoutSourcesAndWithFewRows) {
  recipe_.source[0].filter = "zyda", recipe_.write.level = 1;
  expect_equal({.verb = "filter"}, inputs());
}

TEST_F(RowTasksTest, ExtractionGivesTheBytesOfOneProcess) {
  expect_equal({.verb = "extract"}, named_inputs());
  EXPECT_GT(files("extract-3").size(), 1u);  // several files of 1 MiB
}

TEST_F(RowTasksTest, AnnotationGivesTheBytesOfOneProcess) {
  write_file(root_ / "labels.jsonl", "{\"id\":\"x-1\",\"grade\":4.50}\n{\"id\":\"x-2\",\"grade\":1}\n");
  AnnotateSettings columns;
  columns.language = true, columns.features = true, columns.filter = "gopher-quality", columns.prefix = "q_";
  columns.labels = {(root_ / "labels.jsonl").string()};
  const RowStage stage{.verb = "annotate", .annotate = columns};
  expect_equal(stage, named_inputs());
  EXPECT_EQ(Json::read(root_ / "annotate-3/manifest.json").at("labeled").as_int(), 2);
  // A side file that changed.
  const TaskPlan p = plan(stage, named_inputs(), "later", 2);
  write_file(root_ / "labels.jsonl", "{\"id\":\"x-1\",\"grade\":5}\n");
  EXPECT_NE(
      message_of([&] { run_task(p, "annotate-0"); }).find("a side file or a benchmark is not as it was planned"),
      std::string::npos);
}

TEST_F(RowTasksTest, DecontaminationGivesTheBytesOfOneProcess) {
  const std::string lines = read_file(root_ / "in/a.jsonl");
  write_file(root_ / "bench.jsonl", lines.substr(0, lines.find('\n', lines.size() / 20) + 1));
  DecontaminateSettings against;
  against.against = {(root_ / "bench.jsonl").string()}, against.fields = {"text"}, against.minimum = 3;
  expect_equal({.verb = "decontaminate", .rejects = true, .reasons = true, .decontaminate = against}, named_inputs());
  const Json m = Json::read(root_ / "decontaminate-3/manifest.json");
  EXPECT_GT(m.at("rejected").as_int(), 30);
  EXPECT_GT(m.at("documents_out").as_int(), 100);
  EXPECT_GT(m.at("benchmarks").at("ngrams").as_int(), 1000);
}

TEST_F(RowTasksTest, APlanIsAFileAndResumes) {
  recipe_.source[0].filter = "gopher-repetition";
  const RowStage stage{.verb = "filter", .rejects = true, .reasons = true};
  const Inputs in = named_inputs();
  run_alone(stage, in, "alone");
  const TaskPlan p = plan(stage, in, "out", 3);
  p.save(root_ / "plan.json");
  const TaskPlan again = TaskPlan::load(root_ / "plan.json");
  EXPECT_EQ(again.identity, p.identity);
  ASSERT_TRUE(again.rows);
  EXPECT_EQ(again.rows->verb, "filter");
  const PlannedTask& t = again.task("filter-1");
  EXPECT_EQ(t.command,
            (std::vector<std::string>{"quern", "corpus", "task", (root_ / "plan.json").string(), "filter-1"}));
  EXPECT_FALSE(t.inputs.empty());
  EXPECT_NE(message_of([&] { run_task(again, "parts-0"); }).find("parts-0 waits for filter-0"), std::string::npos);
  ASSERT_TRUE(run_task(again, "filter-0"));
  fs::create_directories(p.work() / fmt::format("filter-1.{}.999999999", "elsewhere"));  // of one that was killed
  plan(stage, in, "out", 3);  // the same plan again: what is done stays done
  EXPECT_FALSE(run_task(again, "filter-0"));
  for (const PlannedTask& one : again.tasks) EXPECT_EQ(run_task(again, one.id).has_value(), one.id != "filter-0");
  EXPECT_EQ(files("out"), files("alone"));
  // The last task, killed between two files and behind the manifest.
  const TaskPlan cut = plan(stage, in, "cut", 2);
  for (const PlannedTask& one : cut.tasks) {
    if (one.stage == "finish") {
      list_file(root_ / "cut/unfinished", {"part-00000.jsonl.zst", true});
      fs::rename(cut.work() / "parts-0/part-00000.jsonl.zst", root_ / "cut/part-00000.jsonl.zst");
      write_file(cut.work() / "reasons.jsonl", "{\"row\":1,");
    }
    ASSERT_TRUE(run_task(cut, one.id)) << one.id;
  }
  EXPECT_EQ(files("cut"), files("alone"));
  fs::create_directories(root_ / "cut/unfinished/tasks/filter-0");
  EXPECT_FALSE(run_task(cut, "finish-0"));
  EXPECT_EQ(files("cut"), files("alone"));
}

TEST_F(RowTasksTest, RefusesWhatIsNotAsPlanned) {
  const Inputs in = named_inputs();
  const TaskPlan p = plan({.verb = "extract"}, in, "out", 3);
  write_file(root_ / "in/a.jsonl", "{\"text\":\"another\"}\n");
  EXPECT_NE(message_of([&] { run_task(p, "extract-0"); }).find("is not there as it was planned: plan again"),
            std::string::npos);
  const TaskPlan other = plan({.verb = "extract"}, named_inputs(), "out", 2);
  EXPECT_NE(message_of([&] { run_task(p, "extract-1"); }).find("another run took it"), std::string::npos);
  for (const PlannedTask& t : other.tasks) ASSERT_TRUE(run_task(other, t.id)) << t.id;
  EXPECT_NE(message_of([&] { plan({.verb = "extract"}, in, "out", 2); }).find("already contains a manifest.json"),
            std::string::npos);
}

// A shard without documents is told at the end, with the others; all of them are an error then, as in one process.
TEST_F(RowTasksTest, ALostInputIsToldAtTheEnd) {
  std::string lost;
  for (int i = 0; i < 4000; ++i) lost += "{\"body\":\"no text\"}\n";
  write_file(root_ / "lost-1.jsonl", lost);
  write_file(root_ / "lost-2.jsonl", lost);
  const std::string good = (root_ / "in/a.jsonl").string(), one = (root_ / "lost-1.jsonl").string(),
                    two = (root_ / "lost-2.jsonl").string();
  const Inputs some = find_inputs(std::vector<std::string>{good, one, two});
  const RowStage stage{.verb = "extract"};
  const Json expected = run_alone(stage, some, "alone");
  const TaskPlan p = plan(stage, some, "out", 3);
  ASSERT_EQ(p.shards.size(), 3u);
  for (const PlannedTask& t : p.tasks) ASSERT_TRUE(run_task(p, t.id)) << t.id;
  EXPECT_EQ(files("out"), files("alone"));
  EXPECT_EQ(Json::read(root_ / "out/manifest.json").at("read").dump(), expected.at("read").dump());
  const Inputs none = find_inputs(std::vector<std::string>{one, two});
  const std::string told = message_of([&] { run_alone(stage, none, "alone-2"); });
  const TaskPlan q = plan(stage, none, "out-2", 2);
  std::string said;
  for (const PlannedTask& t : q.tasks) said = message_of([&] { run_task(q, t.id); });
  EXPECT_FALSE(told.empty());
  EXPECT_EQ(said, told);
  EXPECT_FALSE(fs::exists(root_ / "out-2/manifest.json"));
}

}  // namespace
}  // namespace quern::corpus
