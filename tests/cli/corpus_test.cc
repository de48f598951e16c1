// quern corpus from outside: filtering and deduplicating a small corpus, sources, bad rows, mistakes.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

constexpr const char* kMpirun = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe";

std::string page(int n, int words = 60) {
  std::string t;
  for (int i = 0; i < words; ++i) t += fmt::format("{}word{}", i ? " " : "", (n * 7919 + i * i * (n + 3)) % 9973);
  return t;
}
std::string line(const std::string& text) { return fmt::format("{{\"id\":1,\"text\":\"{}\"}}\n", text); }

TEST(CliCorpus, DedupKeepsOneOfEach) {
  ScratchFolder d;
  const std::string dir = d / "";
  std::string a, b;
  for (int i = 0; i < 50; ++i) a += line(page(i)), b += line(page(i) + (i % 2 ? "" : " tail"));
  write_file(dir + "/a.jsonl", a), write_file(dir + "/b.jsonl", b + "not json\n");
  Ran r = shell(
      fmt::format("quern corpus dedup good={0}/a.jsonl other={0}/b.jsonl --preset zyda --out {0}/o --json", dir));
  ASSERT_EQ(r.code, 0) << r.err;
  const Json m = Json::parse(r.out);
  EXPECT_EQ(m.at("kept").as_int(), 50);
  EXPECT_EQ(m.at("exact_removed").as_int(), 25);
  EXPECT_EQ(m.at("near_removed").as_int(), 25);
  EXPECT_EQ(m.at("clusters").at("count").as_int(), 50);
  EXPECT_EQ(m.at("clusters").at("largest").as_int(), 2);
  EXPECT_EQ(m.at("clusters").at("removed").as_int(), 50);
  EXPECT_EQ(m.at("read").at("bad_json").as_int(), 1);
  EXPECT_NE(r.err.find("b.jsonl:51: bad JSON"), std::string::npos) << r.err;
  for (const Json& s : m.at("stages").as_array())
    for (const char* key : {"documents_in", "documents_out", "bytes_in", "seconds", "peak_rss"})
      EXPECT_TRUE(s.find(key)) << key;
  EXPECT_EQ(Json::read(dir + "/o/manifest.json"), m);
  // The better source's lines, as they were.
  r = shell(fmt::format("quern corpus dedup {0}/o/part-00000.jsonl.zst --preset exact --out {0}/p --json", dir));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("kept").as_int(), 50);
  // Two threads, the published arithmetic: the same survivors every time.
  for (int threads : {1, 2}) {
    r = shell(fmt::format(
        "quern --threads {1} corpus dedup good={0}/a.jsonl other={0}/b.jsonl --mode compat --out {0}/c{1} --json",
        dir, threads));
    ASSERT_EQ(r.code, 0) << r.err;
  }
  EXPECT_EQ(read_file(dir + "/c1/part-00000.jsonl.zst"), read_file(dir + "/c2/part-00000.jsonl.zst"));
  EXPECT_EQ(read_file(dir + "/c1/clusters.jsonl.zst"), read_file(dir + "/c2/clusters.jsonl.zst"));
  EXPECT_EQ(read_file(dir + "/c1/part-00000.jsonl.zst"), read_file(dir + "/o/part-00000.jsonl.zst"));
}

// Ranks of one process, and of mpirun where there is one: the bytes of one rank.
TEST(CliCorpus, ManyRanksWriteTheSame) {
  ScratchFolder d;
  const std::string dir = d / "";
  std::string a;
  for (int i = 0; i < 5000; ++i) a += line(page(i % 3001, 150) + (i % 3 ? " end" : ""));  // two blocks
  write_file(dir + "/a.jsonl", a + "not json\n");
  write_file(dir + "/r.toml", "title=\"t\"\n[[source]]\nname=\"a\"\npaths=[\"a.jsonl\"]\n");
  const std::string words = fmt::format("corpus build {0}/r.toml --json --out {0}/o", dir);
  Ran r = shell("quern " + words + "1");
  ASSERT_EQ(r.code, 0) << r.err;
  const Json one = Json::parse(r.out);
  EXPECT_GT(one.at("near_removed").as_int(), 50);
  std::vector<std::string> ways = {"quern " + words + "4 --ranks 4"};
  if (shell("mpirun --version").code == 0) ways.push_back(fmt::format("{} -n 2 quern {}m2", kMpirun, words));
  for (const std::string& way : ways) {
    r = shell(way);
    ASSERT_EQ(r.code, 0) << way << "\n" << r.err;
    const Json m = Json::parse(r.out);
    for (const char* key :
         {"read", "kept", "outputs", "clusters", "sources", "overlap", "pairs", "config_hash", "compared"})
      EXPECT_EQ(m.at(key), one.at(key)) << way << " " << key;
    const std::string out = way.substr(way.find("--out ") + 6, way.find(" --ranks") - way.find("--out ") - 6);
    for (const char* name : {"part-00000.jsonl.zst", "clusters.jsonl.zst", "recipe.json"})
      EXPECT_EQ(read_file(out + "/" + name), read_file(dir + "/o1/" + name)) << way;
    EXPECT_FALSE(std::filesystem::exists(out + "/unfinished"));
  }
  if (ways.size() > 1) {
    r = shell(fmt::format("{1} -n 2 quern corpus filter {0}/a.jsonl --out {0}/f", dir, kMpirun));
    EXPECT_NE(r.code, 0);
    EXPECT_NE(r.err.find("runs in one process"), std::string::npos) << r.err;
  }
}

TEST(CliCorpus, NewDocumentsAgainstAnIndex) {
  ScratchFolder d;
  const std::string dir = d / "";
  std::string old, fresh;
  for (int i = 0; i < 40; ++i) old += line(page(i)), fresh += line(page(i + 20) + (i % 2 ? "" : " tail"));
  write_file(dir + "/old.jsonl", old), write_file(dir + "/new.jsonl", fresh);
  Ran r = shell(fmt::format("quern corpus dedup old={0}/old.jsonl --out {0}/o --save-index {0}/index", dir));
  ASSERT_EQ(r.code, 0) << r.err;
  r = shell(fmt::format(
      "quern corpus dedup new={0}/new.jsonl --out {0}/n --against {0}/index --save-index {0}/index2 --json", dir));
  ASSERT_EQ(r.code, 0) << r.err;
  const Json m = Json::parse(r.out);
  EXPECT_EQ(m.at("indexed").as_int(), 40);
  EXPECT_EQ(m.at("kept").as_int(), 20);
  EXPECT_EQ(m.at("exact_removed").as_int(), 10);
  EXPECT_EQ(m.at("near_removed").as_int(), 10);
  EXPECT_EQ(Json::read(dir + "/index2/index.json").at("documents").as_int(), 60);
  r = shell(fmt::format("quern corpus dedup {0}/new.jsonl --out {0}/x --against {0}/index --mode compat", dir));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("use the same value"), std::string::npos) << r.err;
}

TEST(CliCorpus, FilterTellsReasons) {
  ScratchFolder d;
  const std::string dir = d / "";
  std::string prose;
  for (int i = 0; i < 20; ++i) prose += "some longer words follow here and ";
  write_file(dir + "/a.jsonl", line(prose) + line("short") + line(prose + "then a rule " + std::string(60, '-')));
  Ran r =
      shell(fmt::format("quern corpus filter {0}/a.jsonl --filter zyda --reasons --rejects --out {0}/o --json", dir));
  ASSERT_EQ(r.code, 0) << r.err;
  const Json m = Json::parse(r.out);
  EXPECT_EQ(m.at("documents_out").as_int(), 2);
  EXPECT_EQ(m.at("changed").as_int(), 1);
  EXPECT_EQ(m.at("rules").as_array()[0].at("first").as_int(), 1);
  const Json reason = Json::parse(read_file(dir + "/o/reasons.jsonl"));
  EXPECT_EQ(reason.at("row").as_int(), 1);
  EXPECT_EQ(reason.at("failing").as_array()[0].as_string(), "length<100");
  r = shell(fmt::format("quern corpus dedup {0}/a.jsonl --filter zyda --out {0}/p --json", dir));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("filtered").as_int(), 1);
  EXPECT_EQ(Json::parse(r.out).at("near_removed").as_int(), 1);
}

TEST(CliCorpus, WordListsReject) {
  ScratchFolder d;
  const std::string dir = d / "";
  std::filesystem::create_directories(dir + "/lists");
  write_file(dir + "/lists/zh.txt", "spamword\n");
  std::string prose;
  for (int i = 0; i < 20; ++i) prose += "some longer words follow here and ";
  write_file(dir + "/a.jsonl", line(prose + "spamword spamword") + line(prose + "spamword"));
  const auto kept = [&](const std::string& command) {
    const Ran r =
        shell(fmt::format("quern corpus {} {}/a.jsonl --filter zyda --json --out {}", command, dir, d / "o"));
    std::filesystem::remove_all(d / "o");
    return r.code == 0 ? Json::parse(r.out) : Json(r.err);
  };
  EXPECT_EQ(kept("filter").at("documents_out").as_int(), 2);
  const Json m = kept("filter --lists " + dir + "/lists");
  EXPECT_EQ(m.at("documents_out").as_int(), 1);
  EXPECT_EQ(m.at("rules").as_array()[13].at("first").as_int(), 1);
  EXPECT_EQ(kept("dedup --lists " + dir + "/lists").at("filtered").as_int(), 1);
  write_file(
      dir + "/r.toml",
      "lists = 'lists'\n[[source]]\nname = 'web'\npaths = ['a.jsonl']\nfilter = 'zyda'\n[dedup]\npreset = 'zyda'\n");
  Ran r = shell(fmt::format("quern corpus build {0}/r.toml --out {0}/b --json", dir));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("filtered").as_int(), 1);
  r = shell(fmt::format("quern corpus filter {0}/a.jsonl --lists {0}/nowhere --out {0}/n", dir));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("nowhere is not a folder"), std::string::npos) << r.err;
}

TEST(CliCorpus, BuildFollowsARecipe) {
  ScratchFolder d;
  const std::string dir = d / "";
  write_file(dir + "/web.jsonl",
             "{\"content\":\"" + page(1) + "\",\"s\":1}\n{\"content\":\"" + page(2) + "\",\"s\":3}\n");
  write_file(dir + "/notes.txt", page(1) + " and a tail");
  const std::string recipe = R"(
[[source]]
name = "web"
paths = ["web.jsonl"]
text_field = "content"
label_field = "s"
label_at_least = 2
[[source]]
name = "notes"
paths = ["notes.txt"]
[dedup]
)";
  write_file(dir + "/first.toml", recipe);
  write_file(dir + "/late.toml", recipe + "label_late = true\n");
  write_file(dir + "/typo.toml", recipe + "treshold = 0.5\n");
  Ran r = shell(fmt::format("quern corpus build {0}/first.toml --out {0}/o --json", dir));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("kept").as_int(), 2);
  EXPECT_EQ(Json::parse(r.out).at("near_removed").as_int(), 0);
  EXPECT_EQ(Json::read(dir + "/o/recipe.json").at("source").as_array().size(), 2u);
  r = shell(fmt::format("quern corpus build {0}/late.toml --out {0}/l --json", dir));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("kept").as_int(), 1);
  r = shell(fmt::format("quern corpus build {0}/typo.toml --out {0}/t", dir));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("did you mean 'threshold'"), std::string::npos) << r.err;
  for (const char* name : {"zyda", "zyda2"}) {
    r = shell(fmt::format("quern corpus build {}/recipes/{}.toml --check", QUERN_SOURCE_DIR, name));
    ASSERT_EQ(r.code, 1) << r.err;  // its data are not here, which is said
    EXPECT_EQ(Json::parse(r.out).at("preset").as_string(), name);
  }
}

// One recipe from raw text to token shards that a model is trained on; a build that was done up to a stage goes on there.
TEST(CliCorpus, OneRecipeEndsInTokens) {
  ScratchFolder d;
  const std::string dir = d / "";
  std::string a, b;
  for (int i = 0; i < 200; ++i) a += line(page(i % 150)), b += fmt::format("{{\"body\":\"{}\"}}\n", page(i + 1000));
  write_file(dir + "/a.jsonl", a), write_file(dir + "/b.jsonl", b);
  write_file(dir + "/r.toml",
             "[[source]]\nname=\"a\"\npaths=[\"a.jsonl\"]\nshare=1\n"
             "[[source]]\nname=\"b\"\npaths=[\"b.jsonl\"]\ntext_field=\"body\"\nshare=1\n"
             "[mix]\nseed=3\n[tokenize]\ntokenizer=\"" QUERN_SOURCE_DIR "/models/zaya-nano\"\n");
  const std::string build = fmt::format("quern corpus build {0}/r.toml --json --out {0}/", dir);
  Ran r = shell(build + "o");
  ASSERT_EQ(r.code, 0) << r.err;
  const Json m = Json::parse(r.out);
  EXPECT_EQ(m.at("exact_removed").as_int(), 50);
  EXPECT_EQ(m.at("mix").at("sources").as_array()[0].at("documents_in").as_int(), 150);
  EXPECT_EQ(m.at("mix").at("sources").as_array()[1].at("documents_in").as_int(), 200);
  EXPECT_EQ(m.at("tokens").at("documents").as_int(), m.at("mix").at("documents_out").as_int());
  const std::string tokens = read_file(dir + "/o/tokens.bin");
  // Several ranks; and a build that fails when tokens are to be written, then goes on.
  r = shell(build + "o3 --ranks 3");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(read_file(dir + "/o3/tokens.bin"), tokens);
  const std::string model = QUERN_SOURCE_DIR "/models/zaya-nano";
  ASSERT_EQ(shell(fmt::format("cd {0} && cp -r {1} nano && echo '{{}}' > nano/tokenizer.json && "
                              "sed 's|{1}|nano|' r.toml > cut.toml",
                              dir, model))
                .code,
            0);
  const std::string cut = fmt::format("quern corpus build {0}/cut.toml --json --out {0}/cut", dir);
  r = shell(cut);
  EXPECT_EQ(r.code, 1);
  ASSERT_TRUE(std::filesystem::exists(dir + "/cut/mixed/manifest.json")) << r.err;
  write_file(dir + "/nano/tokenizer.json", read_file(model + "/tokenizer.json"));
  r = shell(cut);
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).find("mix"), nullptr);  // it was done
  EXPECT_EQ(read_file(dir + "/cut/tokens.bin"), tokens);
  EXPECT_EQ(shell(cut).code, 1);  // now all of it is
  write_file(dir + "/train.toml", "name = \"hybrid\"\ntokenizer = \"" QUERN_SOURCE_DIR
                                  "/models/zaya-nano\"\n"
                                  "[model.config]\nmodel_type = \"hybrid\"\nvocab_size = 4096\nhidden_size = 16\n"
                                  "intermediate_size = 16\nlayers = [\"near\"]\n[model.config.mixers]\n"
                                  "near = { type = \"attention\", n_head = 1, n_head_kv = 1, head_dim = 16 }\n"
                                  "[[phase]]\nsteps = 2\nsequence_length = 32\nbatch_size = 2\n"
                                  "data = [{ path = \"o/tokens\" }]\n");
  r = shell(fmt::format("cd {} && quern train train.toml --out run", dir));
  EXPECT_EQ(r.code, 0) << r.err;
}

// The plug-ins of tests/sample/corpus, in the binary of a test build.
TEST(CliCorpus, StagesAndFiltersOfPlugins) {
  ScratchFolder d;
  const std::string dir = d / "";
  write_file(dir + "/a.jsonl", line("one two three four") + line("BUY NOW OR NEVER"));
  Ran r = shell("quern corpus stage --list");
  EXPECT_NE(r.out.find("shorten"), std::string::npos) << r.out << r.err;
  EXPECT_NE(r.out.find("capitals"), std::string::npos);
  r = shell(fmt::format("quern corpus stage shorten {0}/a.jsonl --set words=2 --out {0}/s", dir));
  ASSERT_EQ(r.code, 0) << r.err;
  r = shell(fmt::format("quern corpus stats {0}/s/part-00000.jsonl.zst --json", dir));
  EXPECT_EQ(Json::parse(r.out).at("all").at("words").as_int(), 4) << r.err;
  EXPECT_EQ(Json::read(dir + "/s/manifest.json").at("words").as_int(), 2);
  r = shell(fmt::format("quern corpus filter {0}/a.jsonl --filter capitals --out {0}/f --json", dir));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("documents_out").as_int(), 1);
  r = shell(fmt::format("quern corpus stage shorten {0}/a.jsonl --set wrods=2 --out {0}/t", dir));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("did you mean 'words'"), std::string::npos) << r.err;
}

// kill -9 at random points of a run, each followed by nothing but another run, which goes on where the killed one
// was: the last one's bytes are those of a run that was left alone, and nothing else lies in the folder.
struct KilledStage {
  const char* verb = "dedup";
  const char* flags = "--shard-mib 1";
  const char* leaf = "";  // of --out, behind the folder
  const char* manifest = "/manifest.json";
  const char* unfinished = "/unfinished";
};

void kill_runs(const KilledStage& stage, int points, int documents) {
  ScratchFolder d;
  const std::string dir = d / "";
  std::string all;
  for (int i = 0; i < documents; ++i) all += line(page(i % (documents - 500), 200) + (i % 3 ? "" : " tail"));
  write_file(dir + "/a.jsonl", all);
  const auto run = [&](const std::string& out) {
    return fmt::format("quern --threads 1 corpus {1} a={0}/a.jsonl {2} --checkpoint-mib 1 --out {0}/{3}{4}", dir,
                       stage.verb, stage.flags, out, stage.leaf);
  };
  const auto same = [&] {
    return shell(fmt::format("cd {}/whole; for f in *; do case $f in manifest.json|report.html) ;; *) cmp $f "
                             "../cut/$f || exit 1;; esac; done",
                             dir))
        .code;
  };
  const auto seconds_of = [](const auto& what) {
    const auto begin = std::chrono::steady_clock::now();
    what();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  Ran first;
  double whole = seconds_of([&] { first = shell(run("whole")); });
  ASSERT_EQ(first.code, 0) << first.err;
  int killed = 0, went_on = 0;
  for (int i = 0; i < points; ++i) {
    Ran r;
    const double took = seconds_of([&] { r = shell_killed_after(whole * (i * 37 % 50 + 3) / 50.0, run("cut")); });
    const bool was_killed = r.code == 137;
    ASSERT_TRUE(was_killed || r.code == 0) << "run " << i << " ended with status " << r.code << ": " << r.err;
    killed += was_killed;
    // A run that ended sooner than the first: that one had met a busy machine, and kills would mostly come too late.
    const bool resumed = r.err.find("resumed the unfinished run") != std::string::npos;
    if (!was_killed && !resumed) whole = std::min(whole, took);
    went_on += resumed;
    if (!std::filesystem::exists(dir + "/cut" + stage.manifest)) continue;
    // Between the manifest and the end a run clears its own files away; only one that was killed there leaves any.
    EXPECT_TRUE(was_killed || !std::filesystem::exists(dir + "/cut" + stage.unfinished));
    EXPECT_EQ(same(), 0);
    std::filesystem::remove_all(dir + "/cut");
  }
  EXPECT_GT(killed, 0);
  const Ran last = shell(run("cut"));
  ASSERT_EQ(last.code, 0) << last.err;
  went_on += last.err.find("resumed the unfinished run") != std::string::npos;
  EXPECT_GT(went_on, 0);
  EXPECT_EQ(same(), 0);
  EXPECT_EQ(shell(fmt::format("ls {}/whole", dir)).out, shell(fmt::format("ls {}/cut", dir)).out);
}

constexpr KilledStage kFilterStage = {.verb = "filter",
                                      .flags = "--filter c4-any-end --shard-mib 1 --rejects --reasons"};
constexpr KilledStage kMixStage = {.verb = "mix", .flags = "--share a=1 --shard-mib 1"};
constexpr KilledStage kTokenizeStage = {.verb = "tokenize",
                                        .flags = "--tokenizer " QUERN_SOURCE_DIR "/models/zaya-nano",
                                        .leaf = "/t",
                                        .manifest = "/t.json",
                                        .unfinished = "/t.unfinished"};

TEST(CliCorpus, KilledRunsGoOn) { kill_runs({}, 8, 5000); }
TEST(CliCorpus, KilledFilterGoesOn) { kill_runs(kFilterStage, 5, 11000); }
TEST(CliCorpus, KilledMixGoesOn) { kill_runs(kMixStage, 5, 11000); }
TEST(CliCorpus, KilledTokenizeGoesOn) { kill_runs(kTokenizeStage, 5, 11000); }
TEST(CliCorpus, DISABLED_KilledAtFiftyPoints) {
  for (const KilledStage& stage : {KilledStage(), kFilterStage, kMixStage, kTokenizeStage})
    kill_runs(stage, 50, 12000);
}

TEST(CliCorpus, StagesAlone) {
  ScratchFolder d;
  const std::string dir = d / "";
  std::string a, b;
  for (int i = 0; i < 40; ++i) a += line(page(i)), b += line(page(i + 100, 30));
  write_file(dir + "/a.jsonl", a + line(page(3)));
  write_file(dir + "/b.jsonl", b);
  write_file(dir + "/bench.jsonl", line("A question: " + page(7, 20) + "?") + line("too short"));
  const std::string in = fmt::format("web={0}/a.jsonl books={0}/b.jsonl", dir);
  const auto run = [&](const std::string& command) {
    const Ran r = shell("quern corpus " + command);
    EXPECT_EQ(r.code, 0) << command << "\n" << r.err;
    return r;
  };
  Json m = Json::parse(run(fmt::format("exact {} --out {}/exact --json", in, dir)).out);
  EXPECT_EQ(m.at("exact_removed").as_int(), 1);
  EXPECT_TRUE(std::filesystem::exists(dir + "/exact/report.html"));
  m = Json::parse(run(fmt::format("stats {} --json", in)).out);
  EXPECT_EQ(m.at("all").at("documents").as_int(), 81);
  EXPECT_EQ(m.at("sources").as_array()[1].at("words").as_int(), 40 * 30);
  Ran r = run(fmt::format("decontaminate {} --against {}/bench.jsonl --out {}/clean --reasons --json", in, dir, dir));
  m = Json::parse(r.out);
  EXPECT_EQ(m.at("rejected").as_int(), 1);
  EXPECT_EQ(m.at("benchmarks").at("too_short").as_int(), 1);
  EXPECT_NE(r.err.find("skipped 1 of 2 items that are shorter than 8 words"), std::string::npos) << r.err;
  m = Json::parse(run(fmt::format("mix {} --share web=1 --share books=1 --out {}/mix --json", in, dir)).out);
  EXPECT_EQ(m.at("sources").as_array().size(), 2u);
  EXPECT_GT(m.at("documents_out").as_int(), 40);
  run(fmt::format("sketch {} --mode compat --out {}/sketch", in, dir));
  EXPECT_TRUE(std::filesystem::exists(dir + "/sketch/sketch-00000.jsonl.zst"));
  run(fmt::format("parquet {} --out {}/pq", in, dir));
  m = Json::parse(run(fmt::format("stats {}/pq --json", dir)).out);
  EXPECT_EQ(m.at("all").at("documents").as_int(), 81);
  EXPECT_EQ(m.at("all").at("words").as_int(), 41 * 60 + 40 * 30);
  EXPECT_EQ(shell(fmt::format("quern corpus mix {} --share web --out {}/x", in, dir)).code, 2);
  EXPECT_EQ(
      shell(fmt::format("head -c 500 {0}/pq/part-00000.parquet > {0}/cut.parquet; quern corpus stats {0}/cut.parquet",
                        dir))
          .code,
      1);
}

// The same ids as quern data build, whatever the number of threads.
TEST(CliCorpus, TokenShardsAreThoseOfData) {
  ScratchFolder d;
  const std::string dir = d / "", tokenizer = QUERN_SOURCE_DIR "/models/zaya-nano";
  ASSERT_TRUE(std::filesystem::exists(tokenizer + "/tokenizer.json")) << "it comes with Quern";
  std::string a;
  for (int i = 0; i < 60; ++i) a += line(page(i, 20));
  write_file(dir + "/a.jsonl", a + line(""));
  Ran r = shell(
      fmt::format("quern corpus tokenize {0}/a.jsonl --tokenizer {1} --out {0}/c && quern data build {0}/a.jsonl "
                  "--tokenizer {1} --out {0}/d",
                  dir, tokenizer));
  ASSERT_EQ(r.code, 0) << r.err;
  for (const char* end : {".bin", ".idx"}) EXPECT_EQ(read_file(dir + "/c" + end), read_file(dir + "/d" + end)) << end;
  EXPECT_EQ(Json::read(dir + "/c.json").at("empty").as_int(), 1);
}

TEST(CliCorpus, QualityFilters) {
  ScratchFolder d;
  const std::string dir = d / "";
  std::filesystem::create_directories(dir + "/lists/url");
  write_file(dir + "/lists/url/domains.txt", "bad.org\n");
  write_file(dir + "/a.jsonl",
             "{\"text\":\"ask me@here.org\",\"u\":\"http://bad.org/x\"}\n"
             "{\"text\":\"plain\",\"u\":\"http://good.org/x\"}\n");
  Ran r = shell(fmt::format("quern corpus filter {0}/a.jsonl --filter pii --out {0}/p --json", dir));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("changed").as_int(), 1);
  r = shell(fmt::format(
      "quern corpus filter {0}/a.jsonl --filter url --lists {0}/lists --url-field u --out {0}/u --json", dir));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("rules").as_array()[0].at("first").as_int(), 1);
  r = shell(fmt::format("quern corpus filter {0}/a.jsonl --filter url+pii --lists {0}/lists --out {0}/v", dir));
  EXPECT_EQ(r.code, 2);
  r = shell(
      fmt::format("quern corpus filter {0}/a.jsonl --filter gopher-quality+gopher-repetition+c4+fineweb --out {0}/q "
                  "--json",
                  dir));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("documents_out").as_int(), 0);
}

TEST(CliCorpus, MistakesAreNamed) {
  ScratchFolder d;
  const std::string dir = d / "";
  write_file(dir + "/a.jsonl", "{\"txt\":\"x\"}\n");
  EXPECT_EQ(shell("quern corpus").code, 2);
  EXPECT_EQ(shell("quern corpus dedup").code, 2);
  Ran r = shell("quern corpus dedpu");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("did you mean 'dedup'"), std::string::npos) << r.err;
  r = shell(fmt::format("quern corpus dedup {0}/none.jsonl --out {0}/o", dir));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("none.jsonl"), std::string::npos);
  r = shell(fmt::format("quern corpus dedup {0}/a.jsonl --on-bad stop --out {0}/o", dir));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("a.jsonl:1: member 'text' is missing"), std::string::npos) << r.err;
  r = shell(fmt::format("quern corpus filter {0}/a.jsonl --filter zida --out {0}/o", dir));
  EXPECT_NE(r.err.find("did you mean 'zyda'"), std::string::npos) << r.err;
  r = shell(fmt::format("quern corpus dedup {0}/a.jsonl --out {0}/o", dir));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("no document could be read from 1 input files"), std::string::npos) << r.err;
  write_file(dir + "/a.jsonl", "{\"text\":\"x\"}\n");
  EXPECT_EQ(shell(fmt::format("quern corpus dedup {0}/a.jsonl --out {0}/o", dir)).code, 0);
  EXPECT_EQ(shell(fmt::format("quern corpus dedup {0}/a.jsonl --out {0}/o", dir)).code, 1);  // holds a manifest
}

}  // namespace
}  // namespace quern
