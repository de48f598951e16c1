// A build as tasks: the bytes of one process, whatever their number; work and tables fall with it.
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "quern/base/test_message.h"
#include "quern/corpus/dedup/small_corpus.h"
#include "quern/corpus/stages/corpus_build.h"
#include "quern/corpus/tasks/task_results.h"
#include "quern/corpus/tasks/task_run.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

class TasksTest : public SmallCorpus {
 protected:
  static constexpr uint64_t kBlock = 32 << 10;
  CorpusRecipe recipe(const std::string& dedup) const {
    write_file(root_ / "r.toml",
               "[[source]]\nname = \"a\"\npaths = [\"in/a.jsonl\", \"in/n0*.txt\"]\nfilter = \"zyda\"\n"
               "[[source]]\nname = \"b\"\npaths = [\"in/b.jsonl.zst\", \"in/c.jsonl.zst\", "
               "\"in/n1*.txt\"]\n[dedup]\n" +
                   dedup);
    return CorpusRecipe::load(root_ / "r.toml");
  }
  TaskPlan plan(const CorpusRecipe& r, const std::string& out, uint64_t tasks) const {
    return plan_tasks(r, {.out = (root_ / out).string(),
                          .tasks = tasks,
                          .file = root_ / "plan.json",
                          .block_bytes = kBlock,
                          .tool = Json::parse(R"({"name":"test","version":"0"})")});
  }
  void run_all(const TaskPlan& p) const {
    for (const PlannedTask& t : p.tasks) EXPECT_TRUE(run_task(p, t.id)) << t.id;
  }
  DedupReport run_alone(const CorpusRecipe& r, const std::string& out) const {
    DedupConfig c = r.config();
    c.block_bytes = kBlock;
    return deduplicate(r.inputs(), c, root_ / out);
  }
  // Parts and clusters.
  std::map<std::string, std::string> rows(const std::string& out) const {
    std::map<std::string, std::string> all;
    for (const auto& e : fs::directory_iterator(root_ / out))
      if (e.path().extension() == ".zst") all[e.path().filename()] = read_file(e.path());
    return all;
  }
};

TEST_F(TasksTest, BytesOfOneProcess) {
  int number = 0;
  for (const char* dedup : {"", "clustering = \"closure\"\n", "preset = \"zyda2\"\n", "verify = \"signature\"\n",
                            "preset = \"exact\"\nscope = \"within\"\n", "scope = \"across\"\ncluster_field = \"c\"\n",
                            "verify = \"none\"\ncollide_empty = true\n"}) {
    const CorpusRecipe r = recipe(dedup);
    const std::string alone = fmt::format("alone{}", ++number);
    const DedupReport whole = run_alone(r, alone);
    for (const uint64_t tasks : number == 1 ? std::vector<uint64_t>{1, 3, 8} : std::vector<uint64_t>{4}) {
      const std::string out = fmt::format("tasks{}-{}", number, tasks);
      const TaskPlan p = plan(r, out, tasks);
      EXPECT_EQ(p.shards.size(), std::min<uint64_t>(tasks, 4)) << p.shards.size();
      run_all(p);
      EXPECT_EQ(rows(out), rows(alone)) << dedup << tasks;
      const Json m = Json::read(root_ / out / "manifest.json"), expected = whole.json();
      for (const char* key :
           {"read", "damaged_files", "rules", "clusters", "filtered", "unlabelled", "exact_removed", "near_removed",
            "kept", "meetings", "candidate_pairs", "sources", "overlap", "cluster_sizes", "pairs", "bytes_out"}) {
        const Json* mine = m.find(key);
        const Json* theirs = expected.find(key);
        ASSERT_EQ(mine != nullptr, theirs != nullptr) << key;
        if (!mine) continue;
        EXPECT_EQ(mine->dump(), theirs->dump()) << key << " " << dedup << tasks;
      }
      EXPECT_FALSE(fs::exists(root_ / out / "unfinished"));
      EXPECT_NE(read_file(root_ / out / "report.html").find(whole.samples.at(0).survivor.text.substr(0, 60)),
                std::string::npos);
      for (const PlannedTask& t : p.tasks) EXPECT_FALSE(run_task(p, t.id)) << t.id;  // all done
    }
  }
}

TEST_F(TasksTest, APlanIsAFile) {
  const TaskPlan p = plan(recipe(""), "out", 3);
  p.save(root_ / "plan.json");
  const TaskPlan again = TaskPlan::load(root_ / "plan.json");
  EXPECT_EQ(again.identity, p.identity);
  EXPECT_EQ(again.config().json().dump(), p.config().json().dump());
  std::set<std::string> stages;
  for (const PlannedStage& s : again.stages) {
    for (const std::string& before : s.after) EXPECT_TRUE(stages.contains(before)) << s.name;
    stages.insert(s.name);
  }
  const PlannedTask& t = again.task("sketch-1");
  EXPECT_EQ(t.command,
            (std::vector<std::string>{"quern", "corpus", "task", (root_ / "plan.json").string(), "sketch-1"}));
  EXPECT_FALSE(t.inputs.empty());
  run_all(again);
  write_file(root_ / "other.json", "{}");
  EXPECT_NE(message_of([&] { TaskPlan::load(root_ / "other.json"); }).find("expected a plan"), std::string::npos);
}

TEST_F(TasksTest, RefusesWhatIsNotAsPlanned) {
  const CorpusRecipe r = recipe("");
  const TaskPlan p = plan(r, "out", 3);
  EXPECT_NE(message_of([&] { run_task(p, "exact-0"); }).find("exact-0 waits for sketch-0"), std::string::npos);
  EXPECT_NE(message_of([&] { run_task(p, "sketch-9"); }).find("is no task of the plan"), std::string::npos);
  ASSERT_TRUE(run_task(p, "sketch-0"));
  write_file(root_ / "in/c.jsonl.zst", read_file(root_ / "in/b.jsonl.zst"));
  EXPECT_NE(message_of([&] {
              for (const PlannedTask& t : p.tasks) run_task(p, t.id);
            }).find("is not there as it was planned"),
            std::string::npos);
  // The same folder for another plan: the first one has it no longer.
  const TaskPlan other = plan(r, "out", 2);
  EXPECT_NE(message_of([&] { run_task(p, "sketch-1"); }).find("another run took it"), std::string::npos);
  run_all(other);
  EXPECT_EQ(rows("out"), (run_alone(r, "alone"), rows("alone")));
  EXPECT_NE(message_of([&] { plan(r, "out", 2); }).find("already contains a manifest.json"), std::string::npos);
}

// A process that is killed while it ends a plan leaves a file that it was about to rename.
TEST_F(TasksTest, TheEndRemovesWhatKilledOnesLeft) {
  const CorpusRecipe r = recipe("");
  const TaskPlan p = plan(r, "out", 2);
  for (const PlannedTask& t : p.tasks) {
    if (t.stage == "finish")
      for (const char* name : {"clusters.jsonl.zst.part17", "report.html.part17", "recipe.json.part4", "mine.part17"})
        write_file(root_ / "out" / name, "half");
    ASSERT_TRUE(run_task(p, t.id)) << t.id;
  }
  const auto left = [&] {
    std::set<std::string> names;
    for (const auto& e : fs::directory_iterator(root_ / "out"))
      if (e.path().filename().string().find(".part") != std::string::npos) names.insert(e.path().filename());
    return names;
  };
  EXPECT_EQ(left(), std::set<std::string>{"mine.part17"});
  // Killed behind the manifest: whoever asks for the task again cleans up.
  write_file(root_ / "out/report.html.part18", "half");
  EXPECT_FALSE(run_task(p, "finish-0"));
  EXPECT_EQ(left(), std::set<std::string>{"mine.part17"});
}

// Numbers of the later shards begin behind 2^33, as if the second had as many records more.
TEST_F(TasksTest, BytesWithRecordNumbersAbove33Bits) {
  constexpr uint64_t kGap = (uint64_t{1} << 33) + 12345;
  int number = 0;
  for (const char* dedup : {"", "clustering = \"closure\"\n", "preset = \"exact\"\nscope = \"within\"\n",
                            "scope = \"across\"\ncluster_field = \"c\"\n"}) {
    const CorpusRecipe r = recipe(dedup);
    const std::string alone = fmt::format("alone{}", ++number), out = fmt::format("tasks{}", number);
    run_alone(r, alone);
    const TaskPlan p = plan(r, out, 3);
    ASSERT_EQ(p.shards.size(), 3u);
    uint64_t largest = 0;
    for (const PlannedTask& t : p.tasks) {
      EXPECT_TRUE(run_task(p, t.id)) << t.id;
      const fs::path file = p.work() / t.id / "result.json";
      if (t.id == "sketch-1") {
        SketchResult result;
        read_state(Json::read(file), result);
        const RecordRange absent{result.at.position.next, kGap};
        std::ofstream(p.work() / "sketch-1/stretches", std::ios::app)
            .write(reinterpret_cast<const char*>(&absent), sizeof absent);
        result.at.position.next += kGap;
        write_file(file, write_value(result).dump());
      } else if (t.stage == "settle") {
        SettleResult result;
        read_state(Json::read(file), result);
        for (const ClusterSample& c : result.samples)
          for (const SampleDocument& d : c.removed) largest = std::max(largest, d.number);
      }
    }
    EXPECT_GT(largest, kGap) << dedup;
    EXPECT_EQ(rows(out), rows(alone)) << dedup;
  }
}

// What a plan of 6 TB and 12 billion rows divides, with keys of 100,000 rows a shard standing for all of them.
TEST_F(TasksTest, TwelveBillionRowsAreDividedEvenly) {
  constexpr uint64_t kRows = 12'000'000'000, kSampled = 100'000;
  fs::create_directories(root_ / "vast");
  for (int f = 0; f < 96; ++f) {
    const fs::path file = root_ / fmt::format("vast/{:02}.jsonl", f);
    write_file(file, "{\"text\":\"a\"}\n");
    fs::resize_file(file, kRows / 96 * 500);  // sparse
  }
  write_file(root_ / "r.toml", "[[source]]\nname = \"vast\"\npaths = [\"vast\"]\n");
  const TaskPlan p = plan(CorpusRecipe::load(root_ / "r.toml"), "out", 8);
  ASSERT_EQ(p.shards, (std::vector<uint64_t>{0, 12, 24, 36, 48, 60, 72, 84}));
  std::mt19937_64 random(3);
  for (uint64_t t = 0; t < 8; ++t) {
    const fs::path folder = p.work() / fmt::format("sketch-{}", t);
    fs::create_directories(folder);
    SketchResult result;
    result.at.position.next = kRows / 8;
    write_file(folder / "result.json", write_value(result).dump());
    std::vector<uint64_t> before(9);
    for (uint64_t i = 0; i < kSampled; ++i) ++before[random() / (uint64_t{1} << 61) + 1];
    for (size_t k = 1; k < 9; ++k) before[k] += before[k - 1];
    for (uint64_t& n : before) n *= kRows / 8 / kSampled;
    write_file(folder / "exact", "");
    fs::resize_file(folder / "exact", before.back() * sizeof(BandRecord));
    write_file(folder / "cuts", std::string(reinterpret_cast<const char*>(before.data()), before.size() * 8));
  }
  uint64_t all = 0;
  for (uint64_t k = 0; k < 8; ++k) {
    const TaskWork w{.plan = p, .index = k, .folder = root_, .config = p.config()};
    const std::vector<uint64_t> firsts = w.firsts();
    EXPECT_EQ(firsts.back(), kRows);
    const KeyFiles keys = open_keys(w, 0, firsts);
    uint64_t bytes = 0;
    for (size_t t = 0; t < 8; ++t) {
      bytes += keys.slices[t].bytes();
      EXPECT_EQ(keys.slices[t].first, kRows / 8 * t);
    }
    EXPECT_LE(static_cast<double>(bytes), 1.2 / 8 * kRows * sizeof(BandRecord));
    all += bytes;
  }
  EXPECT_EQ(all, kRows * sizeof(BandRecord));
  SketchResult vast;
  vast.at.position.next = RecordNumber::kEnd;
  write_file(p.work() / "sketch-3/result.json", write_value(vast).dump());
  const TaskWork w{.plan = p, .index = 0, .folder = root_, .config = p.config()};
  EXPECT_NE(message_of([&] { w.firsts(); }).find("more than 2^40 records in one plan"), std::string::npos);
}

// Several files of a block and more each, so that shards are even.
TEST_F(TasksTest, WorkFallsWithTheNumberOfTasks) {
  std::mt19937 random(5);
  for (int f = 0; f < 32; ++f) {
    std::string lines;
    for (int i = 0; i < 250; ++i) {
      const unsigned page = random() % 6000;
      std::string text;
      for (unsigned w = 0; w < 300; ++w) text += word((page * 7919 + w * w * (page + 3)) % 9973);
      if (random() % 2) text += "tail " + word(random() % 5);
      lines += fmt::format("{{\"text\":\"{}\"}}\n", text);
    }
    fs::create_directories(root_ / "many");
    write_file(root_ / fmt::format("many/{:02}.jsonl", f), lines);
  }
  write_file(root_ / "r.toml", "[[source]]\nname = \"many\"\npaths = [\"many\"]\n[write]\nshard_mb = 1\n");
  const CorpusRecipe r = CorpusRecipe::load(root_ / "r.toml");
  std::map<std::string, Json> stages[2];
  for (const int many : {0, 1}) {
    const std::string out = many ? "eight" : "one";
    run_all(plan(r, out, many ? 8 : 1));
    const Json manifest = Json::read(root_ / out / "manifest.json");
    for (const Json& s : manifest.at("plan").at("stages").as_array()) stages[many][s.at("stage").as_string()] = s;
  }
  EXPECT_EQ(rows("one"), rows("eight"));
  const auto of = [&](int many, const std::string& stage, const char* key) {
    return stages[many].at(stage).at(key).as_double();
  };
  // What a node of eight does: its share of what all tasks do, and those tasks that nobody shares.
  double bytes[2] = {}, tables[2] = {};
  for (const auto& [name, s] : stages[0])
    for (const int many : {0, 1}) {
      bytes[many] += of(many, name, "read_bytes") / of(many, name, "tasks");
      tables[many] = std::max(tables[many], of(many, name, "max_table_bytes"));
    }
  for (const char* stage : {"sketch", "merge", "cluster", "write"}) {
    EXPECT_LE(of(1, stage, "max_read_bytes"), 1.1 / 8 * of(0, stage, "max_read_bytes")) << stage;
    EXPECT_LE(of(1, stage, "max_table_bytes"), 1.2 / 8 * of(0, stage, "max_table_bytes")) << stage;
  }
  for (const char* stage : {"sketch", "exact", "merge", "join", "cluster", "settle", "write", "parts"})
    fmt::print("{:<8} bytes {:>9} → {:>9}, tables {:>9} → {:>9}\n", stage, of(0, stage, "max_read_bytes"),
               of(1, stage, "max_read_bytes"), of(0, stage, "max_table_bytes"), of(1, stage, "max_table_bytes"));
  EXPECT_LE(bytes[1], 1.1 / 8 * bytes[0]);
  EXPECT_LE(tables[1], 1.2 / 8 * tables[0]);
  fmt::print("a node: bytes {:.3f}, tables {:.3f} of one\n", bytes[1] / bytes[0], tables[1] / tables[0]);
}

}  // namespace
}  // namespace quern::corpus
