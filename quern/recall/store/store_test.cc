// The index on disk: equal to one in memory, up to date after files change, whole after damage is noticed, and after
// kill −9 at random moments of appending and merging: nothing acknowledged is lost. This program runs itself as the
// victim.
#include "quern/recall/store/store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <thread>

#include "quern/base/test_message.h"

namespace quern::recall {
namespace {

namespace fs = std::filesystem;

struct Scratch {
  fs::path path = fs::temp_directory_path() / fmt::format("quern-recall-{}-{}", ::getpid(), count++);
  Scratch() { fs::create_directories(path); }
  ~Scratch() { fs::remove_all(path); }
  static inline int count = 0;
};

RecallStore store_at(const fs::path& p) { return RecallStore::open_or_create(p, {}); }

std::vector<std::string> texts(const RecallAnswer& a) {
  std::vector<std::string> out;
  for (const RecallHit& h : a.hits) out.push_back(h.text);
  return out;
}
using Strings = std::vector<std::string>;

TEST(RecallStore, EqualsTheIndexInMemory) {
  Scratch d;
  Rng rng(8);
  std::string text;
  for (int i = 0; i < 4000; ++i) {
    for (int w = 0; w < 8; ++w) text += fmt::format("w{} ", static_cast<int>(std::pow(2000, rng.uniform())));
    text += "\n";
  }
  write_file(d.path / "t.txt", text);
  RecallStore store = store_at(d.path / "db");
  SourceOptions o;
  o.unit = ChunkUnit::line;
  const IndexReport r = store.index({(d.path / "t.txt").string()}, o);
  EXPECT_EQ(r.chunks, 4000);
  EXPECT_EQ(r.segments, 1);
  const auto chunks = chunk_text(text, {.unit = ChunkUnit::line});
  const RecallIndex index = RecallIndex::build(text, chunks, {});
  const RecallStore again(d.path / "db");  // mapped afresh
  for (int i = 0; i < 30; ++i) {
    const std::string q = fmt::format("w{} w{} w9", rng.below(200), rng.below(2000));
    RecallQuery query;
    query.k = 25, query.score_order = i % 2 == 0;
    const Recalled a = index.mixpr(q, query);
    const RecallAnswer b = again.mixpr(q, query);
    ASSERT_EQ(a.chunks.size(), b.hits.size());
    for (size_t k = 0; k < b.hits.size(); ++k) {
      EXPECT_EQ(b.hits[k].begin, chunks[a.chunks[k].chunk].begin);
      EXPECT_EQ(b.hits[k].end, chunks[a.chunks[k].chunk].end);
    }
    const Recalled c = index.bm25(q, 10);
    const RecallAnswer e = again.bm25(q, 10);
    ASSERT_EQ(c.chunks.size(), e.hits.size());
    for (size_t k = 0; k < e.hits.size(); ++k) EXPECT_EQ(e.hits[k].score, c.chunks[k].score);
  }
}

TEST(RecallStore, KeepsItsLanguage) {
  Scratch d;
  RecallOptions german;
  german.words.language = "german";
  RecallStore store = RecallStore::open_or_create(d.path / "db", german);
  store.put("a", "Die Kätzchen schlafen.", {});
  store.put("b", "Der Hund bellt.", {});
  const RecallStore again(d.path / "db");  // opened without saying the language
  EXPECT_EQ(again.options().words.language, "german");
  EXPECT_EQ(again.stats().at("options").at("language").as_string(), "german");
  EXPECT_EQ(texts(again.bm25("ein KÄTZCHENS schlief, schlafend", 1)), Strings{"Die Kätzchen schlafen."});
  RecallStore english = store_at(d.path / "english");
  english.put("a", "Die Kätzchen schlafen.", {});
  EXPECT_TRUE(english.bm25("schlafend", 1).hits.empty());  // "schlafen" has another stem in English
  // An index from before there was a choice is English; a language that this build lacks is refused.
  const fs::path manifest = d.path / "db/manifest.json";
  Json m = Json::read(manifest);
  Json options = m.at("options");
  options.set("language", "klingon"), m.set("options", options);
  write_file(manifest, m.dump());
  EXPECT_NE(message_of([&] { RecallStore{d.path / "db"}; }).find("'klingon'"), std::string::npos);
  options.erase("language"), m.set("options", options);
  write_file(manifest, m.dump());
  EXPECT_EQ(RecallStore(d.path / "db").options().words.language, "english");
}

TEST(RecallStore, IsNotMadeAmongOtherFiles) {
  Scratch d;
  write_file(d.path / "letter.txt", "Dear miller,");
  EXPECT_NE(message_of([&] { store_at(d.path); }).find("holds 'letter.txt' and no index"), std::string::npos);
  fs::remove(d.path / "letter.txt");
  for (const char* left : {"lock", "segment-000001.qrs.part", "manifest.json.part"}) write_file(d.path / left, "");
  RecallStore store = store_at(d.path);
  store.put("a", "Rye ripens.", {});
  EXPECT_NE(message_of([&] { store.put("", "Oats ripen.", {}); }).find("has no name"), std::string::npos);
  EXPECT_EQ(texts(store_at(d.path).bm25("rye", 3)), Strings{"Rye ripens."});
}

TEST(RecallStore, FollowsFiles) {
  Scratch d;
  const fs::path docs = d.path / "docs";
  fs::create_directories(docs / "sub");
  write_file(docs / "a.md", "The miller grinds wheat. The river turns the wheel.");
  write_file(docs / "sub" / "b.txt", "The baker bakes bread.");
  write_file(docs / "c.jsonl",
             "{\"text\": \"Barley is for beer.\"}\n\n{\"no\": 1}\n{\"text\": \"Rye is for bread.\"}\n");
  write_file(docs / "d.txt", std::string("zero\0byte", 9));
  write_file(docs / "e.png", "not looked at");
  write_file(docs / "h.1", "Release 1, no man page.");
  write_file(docs / "f.py", "def mill():\n    return 1\n\ndef wheel():\n    return 2\n");
  RecallStore store = store_at(d.path / "db");
  IndexReport r = store.index({docs.string()}, {});
  EXPECT_EQ(r.files, 6);
  EXPECT_EQ(r.added, 4);
  ASSERT_EQ(r.sources.skipped.size(), 3u);
  EXPECT_NE(r.sources.skipped[2].find("h.1: is named like a man page"), std::string::npos) << r.sources.skipped[2];
  EXPECT_EQ(r.sources.unread_kinds, (std::map<std::string, int64_t>{{".png", 1}}));
  EXPECT_NE(r.sources.skipped[0].find("c.jsonl:3"), std::string::npos) << r.sources.skipped[0];
  EXPECT_EQ(texts(store.bm25("barley", 5)), Strings{"Barley is for beer."});
  EXPECT_EQ(store.bm25("barley", 5).hits[0].line, 1u);
  EXPECT_EQ(store.bm25("wheel", 5).hits.size(), 2u);
  EXPECT_EQ(store.bm25("river", 5).hits[0].text, "The miller grinds wheat. The river turns the wheel.");

  r = store.index({docs.string()}, {});
  EXPECT_EQ(r.unchanged, 4);
  EXPECT_EQ(r.added + r.changed + r.gone, 0);
  write_file(docs / "a.md", "The miller sleeps.");
  fs::remove(docs / "sub" / "b.txt");
  write_file(docs / "g.txt", "A new page about oats.");
  r = store.index({docs.string()}, {});
  EXPECT_EQ(r.changed, 1);
  EXPECT_EQ(r.gone, 1);
  EXPECT_EQ(r.added, 1);
  EXPECT_TRUE(store.bm25("river", 5).hits.empty());
  EXPECT_TRUE(store.bm25("baker", 5).hits.empty());
  EXPECT_EQ(texts(store.bm25("miller", 5)), Strings{"The miller sleeps."});
  EXPECT_EQ(texts(store.bm25("oats", 5)), Strings{"A new page about oats."});
  EXPECT_EQ(texts(store.bm25("rye", 5)), Strings{"Rye is for bread."});
  EXPECT_NE(message_of([&] { store.index({(d.path / "nowhere").string()}, {}); }).find("nowhere"), std::string::npos);
}

TEST(RecallStore, FormatsAreReadAndHeadingsAreFound) {
  Scratch d;
  const fs::path docs = d.path / "docs";
  fs::create_directories(docs);
  write_file(docs / "a.html", "<title>Mill</title><script>var oats;</script><h1>Repair</h1><p>Oil the axle.</p>");
  write_file(docs / "b.md", "# Garden\n\n## Winter\n\nCover the roses.\n");
  write_file(docs / "c.rst", "Harvest\n=======\n\nCut the barley.\n");
  write_file(docs / "e.html", "<nav>Only links</nav>");
  RecallStore store = store_at(d.path / "db");
  const IndexReport r = store.index({docs.string()}, {});
  EXPECT_EQ(r.sources.without_text, 1);
  const RecallAnswer repair = store.fused("mill repair", 1);
  ASSERT_EQ(repair.hits.size(), 1u);
  EXPECT_EQ(repair.hits[0].heading, "Mill > Repair");
  EXPECT_EQ(repair.hits[0].text, "Repair\n\nOil the axle.");
  EXPECT_TRUE(store.bm25("oats script links", 3).hits.empty());
  const RecallAnswer winter = store.fused("winter in the garden", 1);
  ASSERT_EQ(winter.hits.size(), 1u);
  EXPECT_EQ(winter.hits[0].heading, "Garden > Winter");
  EXPECT_EQ(winter.json().at("chunks").as_array()[0].at("heading").as_string(), "Garden > Winter");
  EXPECT_EQ(pack_prompt(winter, "?").substr(0, pack_prompt(winter, "?").find('\n')),
            fmt::format("[{}] Garden > Winter", (docs / "b.md").string()));
  // Headings stay with chunks that are merged, and after a change of another file.
  write_file(docs / "c.rst", "Harvest\n=======\n\nCut the rye.\n");
  store.index({docs.string()}, {}, SegmentMerge::all);
  EXPECT_EQ(store.fused("winter in the garden", 1).hits.at(0).heading, "Garden > Winter");
  EXPECT_EQ(store.fused("harvest", 1).hits.at(0).text, "Harvest\n=======\n\nCut the rye.");
  EXPECT_EQ(store.fused("zebra", 3).fallback, "none");
  EXPECT_TRUE(store.mixpr("zebra", {}).hits.empty());
  EXPECT_EQ(store.mixpr("zebra", {}).fallback, "none");
}

// A segment as earlier versions wrote it: a shorter table, and no paths of headings.
TEST(RecallStore, OpensSegmentsOfTheFirstVersion) {
  Scratch d;
  fs::create_directories(d.path / "docs");
  write_file(d.path / "docs/a.md", "# Mill\n\nThe lantern hangs here.\n");
  const std::string docs = (d.path / "docs").string();
  store_at(d.path / "db").index({docs}, {});
  const fs::path file = d.path / "db/segment-000001.qrs";
  std::string bytes = read_file(file);
  constexpr size_t kHead = 24, kEntry = 24, kBefore = 15;
  bytes.replace(0, 8, "QRNRECL1");
  const uint64_t sections = kBefore;
  const uint64_t check = content_check(std::as_bytes(std::span(bytes).subspan(kHead, kBefore * kEntry)));
  std::memcpy(&bytes[8], &sections, 8), std::memcpy(&bytes[16], &check, 8);
  write_file(file, bytes);
  RecallStore old(d.path / "db");
  EXPECT_EQ(old.fused("lantern", 1).hits.at(0).heading, "");
  EXPECT_EQ(old.index({docs}, {}).changed, 1) << "its files are read again, for their headings";
  EXPECT_EQ(old.fused("lantern", 1).hits.at(0).heading, "Mill");
  EXPECT_EQ(old.index({docs}, {}).unchanged, 1);
}

TEST(RecallStore, DeletedTextsLeaveAnswersStatisticsAndTheDisk) {
  Scratch d;
  fs::create_directories(d.path / "docs/sub");
  write_file(d.path / "docs/a.txt", "The lantern hangs in the mill.");
  write_file(d.path / "docs/sub/b.txt", "A secret word: xylophone. The mill is old.");
  write_file(d.path / "docs/sub/c.txt", "The xylophone again.");
  RecallStore store = store_at(d.path / "db"), never = store_at(d.path / "never");
  store.index({(d.path / "docs").string()}, {});
  never.index({(d.path / "docs/a.txt").string()}, {});
  EXPECT_NE(message_of([&] {
              store.remove({(d.path / "docs/sub").string(), "nowhere"});
            }).find("nowhere"),
            std::string::npos);
  EXPECT_EQ(store.bm25("xylophone", 5).hits.size(), 2u) << "nothing was deleted";
  EXPECT_EQ(store.remove({(d.path / "docs/sub/").string()}), 2);
  const RecallStore again(d.path / "db");
  for (const RecallStore* s : {&std::as_const(store), &again}) {
    EXPECT_EQ(s->fused("xylophone", 5).fallback, "none");
    EXPECT_EQ(s->bm25("mill", 5).hits.at(0).score, never.bm25("mill", 5).hits.at(0).score);
  }
  for (const auto& e : fs::directory_iterator(d.path / "db"))
    EXPECT_EQ(read_file(e.path()).find("xylophone"), std::string::npos) << e.path();
  EXPECT_EQ(store.remove({(d.path / "docs/a.txt").string()}), 1);
  EXPECT_TRUE(store.segments().empty());
  store.index({(d.path / "docs").string()}, {});
  EXPECT_EQ(store.bm25("xylophone", 5).hits.size(), 2u);
}

TEST(RecallStore, AReaderSeesChangesWhenItAsks) {
  Scratch d;
  RecallStore writer = store_at(d.path / "db");
  std::string large;
  for (int i = 0; i < 3000; ++i) large += fmt::format("The large text number {}. ", i);
  writer.put("large", large, {});
  const RecallStore reader(d.path / "db");
  EXPECT_FALSE(reader.changed_on_disk());
  writer.put("a", "The lantern.", {});
  EXPECT_TRUE(reader.changed_on_disk());
  EXPECT_TRUE(reader.fused("lantern", 1).hits.empty());
  const RecallStore now = reader.reopened();
  EXPECT_EQ(now.fused("lantern", 1).hits.size(), 1u);
  EXPECT_FALSE(now.changed_on_disk());
  EXPECT_EQ(now.segments().at(0), reader.segments().at(0)) << "the segment that stayed is read once";
  // A new index under the same name, whose segment has the old one's number.
  fs::remove_all(d.path / "db");
  store_at(d.path / "db").put("b", "The orchard.", {});
  const RecallStore other = now.reopened();
  EXPECT_TRUE(other.fused("lantern", 1).hits.empty());
  EXPECT_EQ(other.fused("orchard", 1).hits.size(), 1u);
}

TEST(RecallStore, AnswersComeInDocumentOrderWhenAsked) {
  Scratch d;
  RecallStore s = store_at(d.path);
  s.put("b.txt", "One oat. Nothing here. Oats oats oats. An oat field of barley.", {});
  s.put("a.txt", "Oats oats.", {});
  for (const RecallAnswer& a : {s.fused("oats", 10, HitOrder::document), s.bm25("oats", 10, HitOrder::document)}) {
    ASSERT_EQ(a.hits.size(), 4u);
    for (size_t i = 1; i < a.hits.size(); ++i) {
      const RecallHit &x = a.hits[i - 1], &y = a.hits[i];
      EXPECT_TRUE(x.sequence < y.sequence || (x.sequence == y.sequence && x.begin < y.begin));
    }
  }
  const RecallAnswer best = s.fused("oats", 10);
  for (size_t i = 1; i < best.hits.size(); ++i) EXPECT_GE(best.hits[i - 1].score, best.hits[i].score);
}

TEST(RecallStore, SegmentsScoreAsOne) {
  Scratch d;
  RecallStore many = store_at(d.path / "many"), one = store_at(d.path / "one");
  Rng rng(12);
  fs::create_directories(d.path / "in");
  for (int i = 0; i < 30; ++i) {
    std::string text;
    for (uint64_t w = 5 + rng.below(i % 7 == 0 ? 4000 : 300); w > 0; --w)
      text += fmt::format("w{}{} ", rng.below(400), rng.below(9) == 0 ? "." : "");
    write_file(d.path / "in" / fmt::format("{:02}.txt", i), text);
    many.index({(d.path / "in" / fmt::format("{:02}.txt", i)).string()}, {});
  }
  one.index({(d.path / "in").string()}, {});
  EXPECT_GT(many.segments().size(), 1u);
  EXPECT_EQ(one.segments().size(), 1u);
  for (int i = 0; i < 40; ++i) {
    const std::string q = fmt::format("w{} w{} w{}", rng.below(400), rng.below(400), rng.below(400));
    const RecallAnswer a = many.bm25(q, 10), b = one.bm25(q, 10);
    ASSERT_EQ(a.hits.size(), b.hits.size());
    for (size_t k = 0; k < a.hits.size(); ++k) EXPECT_NEAR(a.hits[k].score, b.hits[k].score, 1e-4);
  }
  many.index({(d.path / "in").string()}, {}, SegmentMerge::all);
  EXPECT_EQ(many.segments().size(), 1u);
  const RecallAnswer a = many.mixpr("w3 w70", {}), b = one.mixpr("w3 w70", {});
  EXPECT_EQ(texts(a).size(), texts(b).size());
}

// A chain whose links lie in different segments: no walk crosses from one to the other, and merging joins them.
TEST(RecallStore, MergingJoinsWhatSegmentsKeepApart) {
  Scratch d;
  const auto story = [](const std::string& first, uint64_t seed, int lines) {
    Rng rng(seed);
    std::string text = first + "\n";
    for (int i = 0; i < lines; ++i) {
      for (int w = 0; w < 6; ++w) text += fmt::format("noise{} ", rng.below(400));
      text += "\n";
    }
    return text;
  };
  SourceOptions o;
  o.unit = ChunkUnit::line;
  RecallStore store = store_at(d.path / "db");
  write_file(d.path / "a.txt", story("Mara walked to the orchard", 1, 900));  // much larger: it stays by itself
  store.index({(d.path / "a.txt").string()}, o);
  write_file(d.path / "b.txt", story("Mara took the lantern", 2, 100));
  store.index({(d.path / "b.txt").string()}, o);
  ASSERT_EQ(store.segments().size(), 2u);
  RecallQuery q;
  q.k = 2, q.min_joined = 1, q.mode = RecallMode::local, q.score_order = true;
  const auto found = [&] {
    const Strings t = texts(store.mixpr("Where is the lantern?", q));
    return std::count(t.begin(), t.end(), "Mara walked to the orchard");
  };
  EXPECT_EQ(found(), 0);
  const IndexReport merged =
      store.index({(d.path / "a.txt").string(), (d.path / "b.txt").string()}, o, SegmentMerge::all);
  EXPECT_EQ(merged.unchanged, 2);
  ASSERT_EQ(store.segments().size(), 1u);
  EXPECT_EQ(found(), 1);
}

TEST(RecallStore, DamageIsNoticed) {
  Scratch d;
  store_at(d.path).put("a", "The miller grinds wheat. The river turns the wheel.", {});
  const fs::path file = d.path / "segment-000001.qrs";
  const std::string good = read_file(file);
  Rng rng(2);
  for (int i = 0; i < 60; ++i) {
    std::string bad = good;
    if (i % 3 == 0) {
      bad.resize(rng.below(bad.size()));
    } else {
      bad[rng.below(448) + (i % 3 == 1 ? 0 : rng.below(bad.size() - 448))] ^= static_cast<char>(1 + rng.below(255));
    }
    write_file(file, bad);
    std::string message;
    try {
      const RecallStore s(d.path);
      EXPECT_EQ(s.bm25("river", 3).hits.size(), 1u);  // the change fell between sections
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("segment-000001"), std::string::npos) << e.what();
    }
  }
  write_file(file, good);
  write_file(d.path / "manifest.json", "{\"format\": 7}");
  EXPECT_NE(message_of([&] { RecallStore s(d.path); }).find("format 7"), std::string::npos);
  EXPECT_NE(message_of([&] { RecallStore s(d.path / "no"); }).find("is not a recall index"), std::string::npos);
}

TEST(RecallStore, PacksInDocumentOrderWithTheQuestionBehind) {
  Scratch d;
  RecallStore s = store_at(d.path);
  s.put("b.txt", "Oats first. Something else. Oats again.", {});
  s.put("a.txt", "More oats.", {});
  EXPECT_EQ(pack_prompt(s.bm25("oats", 10, HitOrder::document), "What of oats?"),
            "[b.txt]\nOats first.\n…\nOats again.\n\n[a.txt]\nMore oats.\n\nQuestion: What of oats?\n");
}

TEST(RecallStore, HostileTexts) {
  Scratch d;
  RecallStore s = store_at(d.path / "db");
  std::string same;
  for (int i = 0; i < 100000; ++i) same += "All work and no play makes Jack a dull boy.\n";
  write_file(d.path / "same.txt", same);
  std::string line(10'000'000, 'x');
  for (size_t i = 0; i < line.size(); i += 7) line[i] = ' ';
  write_file(d.path / "long.txt", line + " needle");
  write_file(d.path / "word.txt", std::string(10'000'000, 'y'));
  write_file(d.path / "bytes.txt", "caf\xC3 mill\xFF\xFEwheel '; DROP TABLE turn; --");
  write_file(d.path / "empty.txt", "");
  SourceOptions o;
  o.unit = ChunkUnit::line;
  const IndexReport r =
      s.index({(d.path / "same.txt").string(), (d.path / "long.txt").string(), (d.path / "word.txt").string(),
               (d.path / "bytes.txt").string(), (d.path / "empty.txt").string()},
              o);
  EXPECT_EQ(r.sources.ill_formed, 1);
  EXPECT_GE(r.chunks, 100000);
  const RecallAnswer jack = s.mixpr("dull Jack", {});
  EXPECT_EQ(jack.hits[0].copies, 100000u);
  EXPECT_EQ(s.bm25("needle", 3).hits.size(), 1u);
  EXPECT_LT(s.bm25("needle", 3).hits[0].text.size(), 1000u);
  EXPECT_EQ(s.bm25("wheel table", 3).hits.size(), 1u);
  EXPECT_FALSE(s.bm25("wheel", 3).json().dump().empty());
}

constexpr const char* kVictim = "QUERN_RECALL_VICTIM";

std::string victim_text(int64_t n) {
  return fmt::format("Turn number unique{} said something about mills. And a second sentence unique{}b.", n, n);
}

TEST(RecallVictim, DISABLED_AppendsWithoutEnd) {
  const char* dir = std::getenv(kVictim);
  if (!dir) GTEST_SKIP() << "run by RecallKill";
  RecallStore s = store_at(fs::path(dir) / "db");
  const int log = ::open((fs::path(dir) / "acknowledged").c_str(), O_WRONLY | O_APPEND | O_CREAT, 0644);
  int64_t n = 0;
  for (const auto& seg : s.segments()) n += static_cast<int64_t>(seg->documents().size());
  for (;; ++n) {
    s.put(fmt::format("turn{}", n), victim_text(n), {});
    const std::string line = fmt::format("{}\n", n);
    QUERN_CHECK(::write(log, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
  }
}

// The last number the victim has written down; −1 when there is none.
int64_t acknowledged(const fs::path& dir) {
  std::ifstream in(dir / "acknowledged");
  int64_t last = -1;
  for (int64_t n; in >> n;) last = n;
  return last;
}

TEST(RecallKill, NothingAcknowledgedIsLost) {
  Scratch d;
  ASSERT_EQ(::setenv(kVictim, d.path.c_str(), 1), 0);
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  Rng rng(static_cast<uint64_t>(::getpid()));
  const int kills = std::getenv("QUERN_RECALL_KILLS") ? std::atoi(std::getenv("QUERN_RECALL_KILLS")) : 12;
  int64_t seen = -1, held = 0;
  for (int i = 0; i < kills; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const int null = ::open("/dev/null", O_WRONLY);
      ::dup2(null, 1), ::dup2(null, 2);
      ::execl(self.c_str(), self.c_str(), "--gtest_also_run_disabled_tests", "--gtest_filter=RecallVictim.*",
              nullptr);
      ::_exit(127);
    }
    // Every second one is killed wherever it is, the others while they are adding, however slow the machine.
    for (int wait = 0; i % 2 == 0 && acknowledged(d.path) <= seen && wait < 3000; ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(rng.below(i % 2 == 0 ? 100 : 180)));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the victim ended by itself with " << status;
    const int64_t last = acknowledged(d.path);
    EXPECT_TRUE(i % 2 != 0 || last > seen) << "nothing was added before kill " << i;
    if (last < 0) continue;
    const RecallStore s(d.path / "db");
    std::set<std::string> names;
    for (const auto& seg : s.segments())
      for (const SegmentFile& f : seg->files()) EXPECT_TRUE(names.insert(f.path).second) << f.path << " twice";
    for (int64_t n = 0; n <= last; ++n)
      ASSERT_TRUE(names.contains(fmt::format("turn{}", n))) << n << " after kill " << i;
    // At most the one that was being added when the kill came.
    EXPECT_LE(static_cast<int64_t>(names.size()), std::max(held, last + 1) + 1);
    held = static_cast<int64_t>(names.size());
    for (int64_t n = last; n >= 0 && n > last - 3; --n) {
      const RecallAnswer a = s.bm25(fmt::format("unique{}", n), 2);
      ASSERT_EQ(a.hits.size(), 1u);
      EXPECT_EQ(a.hits[0].path, fmt::format("turn{}", n));
    }
    seen = last;
  }
  ::unsetenv(kVictim);
}

}  // namespace
}  // namespace quern::recall
