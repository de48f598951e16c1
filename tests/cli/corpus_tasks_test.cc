// quern corpus plan | task | run: the bytes of quern corpus build, and of filter and its like with --tasks, with
// processes killed at any moment, and what is submitted to Slurm, by an sbatch that runs it at once.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <random>
#include <tuple>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

// Stands for Slurm's: checks what it is given, remembers jobs, and runs the tasks of an array one after the other.
constexpr const char* kSbatch = R"(#!/bin/sh
set -eu
here=$(dirname "$0")
[ "$1" = --parsable ] || { echo "no --parsable" >&2; exit 1; }
array= partition= script=
for word in "$@"; do
  case "$word" in
    --array=0-*) array=${word#--array=0-} ;;
    --partition=*) partition=${word#--partition=} ;;
    --dependency=afterok:*)
      for job in $(echo "${word#--dependency=afterok:}" | tr : ' '); do
        [ -e "$here/job-$job" ] || { echo "no job $job" >&2; exit 1; }
      done ;;
    --parsable | --kill-on-invalid-dep=yes) ;;
    --*) echo "unknown: $word" >&2; exit 1 ;;
    *) script=$word ;;
  esac
done
[ "$partition" = long ] && head -1 "$script" | grep -q '^#!/bin/sh' && grep -q '^#SBATCH --requeue' "$script"
number=$(($(ls "$here" | grep -c '^job-' || true) + 1))
i=0
while [ "$i" -le "$array" ]; do
  SLURM_ARRAY_TASK_ID=$i sh "$script" >> "$here/log" 2>&1
  i=$((i + 1))
done
: > "$here/job-$number"
echo "$number;cluster"
)";

class CliCorpusTasks : public ::testing::Test {
 protected:
  // Three files of more than a block each, with exact and near-duplicates in and across them.
  CliCorpusTasks() : dir_(folder_ / "") {
    std::mt19937 random(7);
    for (const char* file : {"a", "b", "c"}) {
      std::string lines;
      while (lines.size() < (size_t{17} << 18)) {
        const unsigned page = random() % 6000;
        std::string text;
        for (unsigned w = 0; w < 150; ++w) text += word((page * 7919 + w * w * (page + 3)) % 9973);
        if (random() % 2) text += "tail " + word(random() % 5);
        if (random() % 3 == 0) text += ".";  // which fineweb asks of a line
        lines += fmt::format("{{\"text\":\"{}\"}}\n", text);
      }
      write_file(dir_ + "/" + file + ".jsonl", lines);
    }
    write_file(dir_ + "/r.toml",
               "[[source]]\nname = \"first\"\npaths = [\"a.jsonl\"]\nshare = 1\n[[source]]\nname = \"second\"\n"
               "paths = [\"b.jsonl\", \"c.jsonl\"]\nshare = 2\n[write]\nshard_mb = 1\n[mix]\nmegabytes = 0.2\n"
               "[tokenize]\ntokenizer = \"" QUERN_SOURCE_DIR "/models/zaya-nano\"\n");
  }
  static std::string word(unsigned n) {
    std::string w;
    for (int i = 0; i < 4; ++i, n /= 13) w += "bcdfgklmnprst"[n % 13], w += "aeiou"[n % 5];
    return w + " ";
  }
  Ran run(const std::string& words) const { return shell(fmt::format("cd {} && quern corpus {}", dir_, words)); }
  // What a build gives, without what says how.
  std::map<std::string, std::string> bytes(const std::string& out) const {
    std::map<std::string, std::string> all;
    for (const auto& e : fs::recursive_directory_iterator(dir_ + "/" + out)) {
      const std::string name = e.path().lexically_relative(dir_ + "/" + out).string();
      if (e.is_regular_file() && !name.ends_with(".json") && !name.ends_with(".html"))
        all[name] = read_file(e.path());
    }
    return all;
  }
  ScratchFolder folder_;
  const std::string dir_;
};

TEST_F(CliCorpusTasks, ThePlanGivesTheBytesOfTheBuild) {
  ASSERT_EQ(run("build r.toml --out whole").code, 0);
  const auto expected = bytes("whole");
  ASSERT_GT(expected.size(), 5u);
  ASSERT_TRUE(expected.contains("tokens.bin"));
  Ran r = run("plan r.toml --out here --tasks 3");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("here.plan.json: 40 tasks in 16 stages, 3 files in 3 shards"), std::string::npos) << r.out;
  r = run("run here.plan.json -j 2");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("exact duplicates and"), std::string::npos) << r.out;
  EXPECT_EQ(bytes("here"), expected);
  EXPECT_FALSE(fs::exists(dir_ + "/here/unfinished"));
  r = run("run here.plan.json");  // again: nothing is to do
  EXPECT_EQ(r.code, 0) << r.err;

  // Slurm.
  ASSERT_EQ(run("plan r.toml --out slurm --tasks 2").code, 0);
  fs::create_directories(dir_ + "/bin");
  write_file(dir_ + "/bin/sbatch", kSbatch);
  fs::permissions(dir_ + "/bin/sbatch", fs::perms::owner_all);
  r =
      shell(fmt::format("cd {0} && PATH={0}/bin:$PATH quern corpus run slurm.plan.json --runner slurm --sbatch "
                        "--partition=long",
                        dir_));
  EXPECT_EQ(r.code, 0) << r.err << read_file(dir_ + "/bin/log");
  EXPECT_NE(r.out.find("cluster  2 tasks, job 5"), std::string::npos) << r.out;
  EXPECT_EQ(bytes("slurm"), expected);
  r = run("run slurm.plan.json --runner cloud");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("expected local or slurm"), std::string::npos) << r.err;
}

TEST_F(CliCorpusTasks, KilledAnywhereTheBytesAreTheSame) {
  ASSERT_EQ(run("build r.toml --out whole").code, 0);
  const auto expected = bytes("whole");
  ASSERT_EQ(run("plan r.toml --out out --tasks 3").code, 0);
  std::mt19937 random(3);
  int killed = 0;
  const Json plan = Json::read(dir_ + "/out.plan.json");
  for (const Json& t : plan.at("tasks").as_array()) {
    const std::string task = fmt::format("corpus task {}/out.plan.json {}", dir_, t.at("id").as_string());
    for (int k = 0; k < 4; ++k)  // 4 ms to a third of a second, whatever the machine
      killed += shell_killed_after(0.004 * std::pow(1.5, random() % 12), "quern " + task).code == 137;
    const Ran r = shell("quern " + task);
    ASSERT_EQ(r.code, 0) << r.err;
  }
  EXPECT_GT(killed, 20) << killed;
  EXPECT_EQ(bytes("out"), expected);
  EXPECT_FALSE(fs::exists(dir_ + "/out/unfinished"));
  // The runner itself, with all that it started.
  ASSERT_EQ(run("plan r.toml --out again --tasks 3").code, 0);
  for (int k = 0; k < 8; ++k)
    shell_killed_after(0.02 * std::pow(1.5, random() % 8),
                       fmt::format("quern corpus run {}/again.plan.json -j 2", dir_));
  const Ran r = run("run again.plan.json -j 2");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(bytes("again"), expected);
}

// filter, annotate and decontaminate: the same flags with --tasks, killed anywhere, and by Slurm.
TEST_F(CliCorpusTasks, StagesThatStandAloneArePlannedToo) {
  const std::string kFilter =
      "filter x=a.jsonl y=b.jsonl y=c.jsonl --filter fineweb --rejects --reasons --shard-mib 1";
  const std::string kAnnotate = "annotate x=a.jsonl y=b.jsonl y=c.jsonl --features --filter fineweb --shard-mib 1";
  const std::string kDecontaminate =
      "decontaminate x=a.jsonl y=b.jsonl y=c.jsonl --against bench.jsonl --rejects --reasons --shard-mib 1";
  const std::string lines = read_file(dir_ + "/a.jsonl");
  write_file(dir_ + "/bench.jsonl", lines.substr(0, lines.find('\n', lines.size() / 6) + 1));
  std::mt19937 random(5);
  int killed = 0;
  for (const auto& [words, name] :
       {std::pair{kFilter, std::string("filter")}, {kAnnotate, "annotate"}, {kDecontaminate, "decontaminate"}}) {
    ASSERT_EQ(run(fmt::format("{} --out {}-whole", words, name)).code, 0);
    const auto expected = bytes(name + "-whole");
    ASSERT_GT(expected.size(), 3u);
    const Json whole = Json::read(fmt::format("{}/{}-whole/manifest.json", dir_, name));
    EXPECT_GT(whole.at("documents_out").as_int(), 1000);
    EXPECT_EQ(whole.at("rejected").as_int() > 1000, name != "annotate");
    Ran r = run(fmt::format("{} --out {} --tasks 3", words, name));
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.out, fmt::format("{}.plan.json: 7 tasks in 3 stages, 3 files in 3 shards\n", name));
    EXPECT_FALSE(fs::exists(fmt::format("{}/{}/manifest.json", dir_, name)));
    const std::string file = fmt::format("{}/{}.plan.json", dir_, name);
    const Json plan = Json::read(file);
    for (const Json& t : plan.at("tasks").as_array()) {
      const std::string task = fmt::format("corpus task {} {}", file, t.at("id").as_string());
      for (int k = 0; k < 4; ++k)
        killed += shell_killed_after(0.004 * std::pow(1.5, random() % 12), "quern " + task).code == 137;
      r = shell("quern " + task);
      ASSERT_EQ(r.code, 0) << r.err;
    }
    EXPECT_EQ(bytes(name), expected) << name;
    EXPECT_FALSE(fs::exists(fmt::format("{}/{}/unfinished", dir_, name)));
    // The runner, killed with what it started; in the place of the run before.
    r = run(fmt::format("{} --out {} --tasks 2", words, name));
    EXPECT_EQ(r.code, 1);
    EXPECT_NE(r.err.find("already contains a manifest.json"), std::string::npos) << r.err;
    ASSERT_EQ(run(fmt::format("{} --out {} --tasks 2 --overwrite", words, name)).code, 0);
    for (int k = 0; k < 4; ++k)
      shell_killed_after(0.02 * std::pow(1.5, random() % 8), fmt::format("quern corpus run {} -j 2", file));
    r = run(fmt::format("run {} -j 2", file));
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(bytes(name), expected) << name;
  }
  EXPECT_GT(killed, 10) << killed;
  // What a run says at its end, and by Slurm.
  ASSERT_EQ(run(kFilter + " --out said").code, 0);
  ASSERT_EQ(run(kFilter + " --out planned --tasks 2 --plan p.json").code, 0);
  fs::create_directories(dir_ + "/bin");
  write_file(dir_ + "/bin/sbatch", kSbatch);
  fs::permissions(dir_ + "/bin/sbatch", fs::perms::owner_all);
  Ran r = shell(fmt::format(
      "cd {0} && PATH={0}/bin:$PATH quern corpus run p.json --runner slurm --sbatch --partition=long", dir_));
  EXPECT_EQ(r.code, 0) << r.err << read_file(dir_ + "/bin/log");
  EXPECT_EQ(bytes("planned"), bytes("said"));
  EXPECT_NE(read_file(dir_ + "/bin/log").find("/planned: kept "), std::string::npos) << read_file(dir_ + "/bin/log");
  EXPECT_EQ(run("stats planned --json").out, run("stats said --json").out);
}

// mix and tokenize likewise: what was mixed and its tokens, killed anywhere.
TEST_F(CliCorpusTasks, MixturesAndTokensArePlannedToo) {
  const std::string kMix =
      "mix x=a.jsonl y=b.jsonl y=c.jsonl --share x=2 --share y=1 --megabytes 9.5 --shard-mib 1 --seed 5";
  const std::string kTokenize = "tokenize a.jsonl b.jsonl c.jsonl --tokenizer zaya-nano --rows";
  std::mt19937 random(9);
  int killed = 0;
  for (const auto& [words, name, out, tasks] :
       {std::tuple{kMix, std::string("mix"), std::string("mix"), 10}, {kTokenize, "tokens", "tokens/t", 7}}) {
    ASSERT_EQ(run(fmt::format("{} --out whole-{}", words, out)).code, 0);
    const auto expected = bytes("whole-" + name);
    ASSERT_GE(expected.size(), 3u);
    Ran r = run(fmt::format("{} --out {} --tasks 3", words, out));
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.out, fmt::format("{}.plan.json: {} tasks in {} stages, 3 files in 3 shards\n", out, tasks,
                                 name == "mix" ? 4 : 3));
    const std::string file = fmt::format("{}/{}.plan.json", dir_, out);
    const Json plan = Json::read(file);
    for (const Json& t : plan.at("tasks").as_array()) {
      const std::string task = fmt::format("corpus task {} {}", file, t.at("id").as_string());
      for (int k = 0; k < 4; ++k)
        killed += shell_killed_after(0.004 * std::pow(1.5, random() % 12), "quern " + task).code == 137;
      r = shell("quern " + task);
      ASSERT_EQ(r.code, 0) << r.err;
    }
    const auto left = [&] {
      auto all = bytes(name);
      all.erase("t.plan.json");
      return all;
    };
    EXPECT_EQ(left(), expected) << name;
    r = run(fmt::format("{} --out {} --tasks 2", words, out));
    EXPECT_EQ(r.code, 1) << r.err;
    ASSERT_EQ(run(fmt::format("{} --out {} --tasks 2 --overwrite", words, out)).code, 0);
    for (int k = 0; k < 4; ++k)
      shell_killed_after(0.004 * std::pow(1.5, random() % 8), fmt::format("quern corpus run {} -j 2", file));
    const std::string prefix = dir_ + "/" + out;  // a run that ended before it was killed has said what came of it
    const bool ended = fs::exists(name == "mix" ? prefix + "/manifest.json" : prefix + ".json");
    const Ran again = run(fmt::format("run {} -j 2", file)), said = run(fmt::format("{} --out said-{}", words, out));
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_TRUE(ended || again.out.find(said.out.substr(said.out.find(':') + 1)) != std::string::npos)
        << again.out << said.out;
    EXPECT_EQ(left(), expected) << name;
    for (const auto& e : fs::recursive_directory_iterator(dir_ + "/" + name))
      EXPECT_EQ(e.path().string().find("unfinished"), std::string::npos) << e.path();
  }
  EXPECT_GT(killed, 15) << killed;
}

// The script of a job starts a task again that was killed, and not one that was told to end.
TEST_F(CliCorpusTasks, AJobStartsKilledTasksAgain) {
  ASSERT_EQ(run("extract a.jsonl --out out --tasks 1").code, 0);
  fs::create_directories(dir_ + "/bin");
  write_file(dir_ + "/bin/sbatch", "#!/bin/sh\necho 7\n");  // takes it, and runs nothing
  fs::permissions(dir_ + "/bin/sbatch", fs::perms::owner_all);
  Ran r = shell(fmt::format("cd {0} && PATH={0}/bin:$PATH quern corpus run out.plan.json --runner slurm", dir_));
  ASSERT_EQ(r.code, 0) << r.err;
  const std::string script = dir_ + "/out.plan.json.slurm/extract-0.sh";
  // In the place of the program, one that ends by the signals that a file names, one after the other.
  write_file(
      dir_ + "/ends",
      "#!/bin/sh\nread -r signal < DIR/left\nsed -i 1d DIR/left\n[ -z \"$signal\" ] || kill -\"$signal\" $$\n");
  ASSERT_EQ(
      shell(fmt::format("cd {0} && sed -i s:DIR:{0}:g ends && chmod +x ends && sed -i 's:^  .* corpus task:  {0}/ends"
                        " corpus task:' {1} && grep -c {0}/ends {1}",
                        dir_, script))
          .out,
      "1\n");
  const auto ran = [&](const std::string& signals) {
    write_file(dir_ + "/left", signals);
    const int code = shell(fmt::format("SLURM_ARRAY_TASK_ID=0 sh {}", script)).code;
    return std::pair(code, read_file(dir_ + "/left"));
  };
  EXPECT_EQ(ran("KILL\nSEGV\n\nrest\n"), std::pair(0, std::string("rest\n")));
  EXPECT_EQ(ran("KILL\nKILL\nKILL\nKILL\nrest\n"), std::pair(137, std::string("rest\n")));
  EXPECT_EQ(ran("TERM\nrest\n"), std::pair(143, std::string("rest\n")));
}

// The first tasks that a runner has are killed, one after the other and each at another moment.
TEST_F(CliCorpusTasks, ARunnerStartsKilledTasksAgain) {
  ASSERT_EQ(run("build r.toml --out whole").code, 0);
  ASSERT_EQ(run("plan r.toml --out out --tasks 3").code, 0);
  Ran r = shell(fmt::format(R"(cd {}
quern corpus run out.plan.json -j 2 &
runner=$!
for wait in 0 0.03 0.1; do
  sleep $wait
  task= tries=0
  while [ -z "$task" ] && [ $tries -lt 1000000 ]; do
    read -r task others < /proc/$runner/task/$runner/children || :
    tries=$((tries + 1))
  done
  kill -KILL $task || exit 9
done
wait $runner)",
                            dir_));
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("was killed by signal 9: it is started again"), std::string::npos) << r.err;
  EXPECT_EQ(bytes("out"), bytes("whole"));
  EXPECT_FALSE(fs::exists(dir_ + "/out/unfinished"));
}

// A thread that is not the runner's, as a profiler has: it starts the program for every task instead of copying itself.
TEST_F(CliCorpusTasks, ARunnerWithAnotherThreadCopiesNothing) {
  ASSERT_EQ(run("build r.toml --out whole").code, 0);
  ASSERT_EQ(run("plan r.toml --out out --tasks 2").code, 0);
  const Ran r = shell(fmt::format("cd {} && LD_PRELOAD={} quern corpus run out.plan.json", dir_, QUERN_EXTRA_THREAD));
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(bytes("out"), bytes("whole"));
}

// Rows of text files name their file as the words of the recipe do, in a plan too, whatever bytes are in the name.
TEST_F(CliCorpusTasks, FilesHaveTheNamesOfTheBuild) {
  fs::create_directories(dir_ + "/n");
  write_file(dir_ + "/n/a.txt", "a short text");
  write_file(dir_ + "/n/b.html", "<title>T</title><p>A page with a sentence in it.</p>");
  write_file(dir_ + "/n/caf\xE9 %.txt", "another text");
  write_file(dir_ + "/n.toml", "[[source]]\nname = \"n\"\npaths = [\"n\"]\n");
  ASSERT_EQ(run("build n.toml --out whole").code, 0);
  Ran r = run("plan n.toml --out out --tasks 2");
  ASSERT_EQ(r.code, 0) << r.err;
  r = run("run out.plan.json");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(bytes("out"), bytes("whole"));
  EXPECT_EQ(read_file(dir_ + "/out/recipe.json"), read_file(dir_ + "/whole/recipe.json"));
  ASSERT_EQ(run("extract n --out e").code, 0);
  ASSERT_EQ(run("extract n --out t --tasks 2").code, 0);
  r = run("run t.plan.json");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(bytes("t"), bytes("e"));
}

// A finished run is in the way of a plan, and --overwrite takes its place.
TEST_F(CliCorpusTasks, APlanOverwrites) {
  write_file(dir_ + "/s.jsonl", "{\"text\":\"one\"}\n");
  write_file(dir_ + "/s.toml", "[[source]]\nname = \"s\"\npaths = [\"s.jsonl\"]\n");
  ASSERT_EQ(run("build s.toml --out out").code, 0);
  write_file(dir_ + "/s.jsonl", "{\"text\":\"two\"}\n");
  Ran r = run("plan s.toml --out out");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("already contains a manifest.json"), std::string::npos) << r.err;
  r = run("plan s.toml --out out --overwrite");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_FALSE(fs::exists(dir_ + "/out/manifest.json"));
  r = run("run out.plan.json");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_FALSE(fs::exists(dir_ + "/out/unfinished"));
  ASSERT_EQ(run("build s.toml --out whole").code, 0);
  EXPECT_EQ(bytes("out"), bytes("whole"));
}

// While one runner is at work, a second one is told so and leaves its results alone.
TEST_F(CliCorpusTasks, OneRunnerAtATime) {
  ASSERT_EQ(run("plan r.toml --out out --tasks 3").code, 0);
  ASSERT_EQ(run("build r.toml --out whole").code, 0);
  Ran r = shell(fmt::format("cd {} && flock out.plan.json quern corpus run out.plan.json", dir_));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("out.plan.json: another process runs this plan"), std::string::npos) << r.err;
  r = run("run out.plan.json");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(bytes("out"), bytes("whole"));
}

TEST_F(CliCorpusTasks, SaysWhatIsWrong) {
  Ran r = run("plan r.toml");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("--out is missing"), std::string::npos) << r.err;
  for (const auto& [words, said] : {std::pair{"--out out --tasks 0", "--tasks 0: expected 1 or more"},
                                    {"--out out --plan p.json", "--plan is for --tasks"},
                                    {"--out out --tasks 2 --json", "--json prints what was counted"},
                                    {"--out - --tasks 2", "--tasks needs an output folder"}})
    for (const char* verb : {"filter", "extract", "annotate", "decontaminate --against b.jsonl"}) {
      r = run(fmt::format("{} a.jsonl {}", verb, words));
      EXPECT_EQ(r.code, 2) << verb << words;
      EXPECT_NE(r.err.find(said), std::string::npos) << r.err;
    }
  r = shell(fmt::format("cd {} && cat a.jsonl | quern corpus filter - --form jsonl --out out --tasks 2", dir_));
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("- is read by this process alone"), std::string::npos) << r.err;
  write_file(dir_ + "/none.jsonl", "{\"no\":1}\n");
  write_file(dir_ + "/lost.toml", "[[source]]\nname = \"a\"\npaths = [\"a.jsonl\", \"none.jsonl\"]\n");
  ASSERT_EQ(run("plan lost.toml --out lost --tasks 2").code, 0);
  r = run("task lost.plan.json write-0");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("write-0 waits for settle-0: run it first"), std::string::npos) << r.err;
  r = run("task lost.plan.json sketch-0 --json");
  EXPECT_EQ(Json::parse(r.out).at("ran").as_bool(), true) << r.err;
  r = run("run lost.plan.json");  // what a build says of an input without documents
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("no document could be read from"), std::string::npos) << r.err;
  EXPECT_TRUE(fs::exists(dir_ + "/lost/manifest.json"));
  ASSERT_EQ(run("plan r.toml --out changed").code, 0);
  write_file(dir_ + "/a.jsonl", "{\"text\":\"another\"}\n");
  r = run("run changed.plan.json");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("a.jsonl is not there as it was planned: plan again"), std::string::npos) << r.err;
}

}  // namespace
}  // namespace quern
