// Deduplication against the obvious way: every pair's exact Jaccard similarity over sets of joined words, kept as
// strings. And what must not matter: threads, the order inputs are named in, how much memory sorting gets.
#include "quern/corpus/dedup/dedup.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <random>
#include <set>

#include "quern/base/cpu.h"
#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/base/threads.h"
#include "quern/corpus/sketch/similarity.h"
#include "quern/corpus/sketch/similarity_merge.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

class DedupTest : public ::testing::Test {
 protected:
  DedupTest() : root_(fs::temp_directory_path() / fmt::format("quern-dedup-{}", ::getpid())) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~DedupTest() override { fs::remove_all(root_); }

  static std::string line(const std::string& text, double score = 0) {
    std::string l = fmt::format("{{\"q\":{},\"text\":", score);
    append_json_string(l, text);
    return l + "}\n";
  }
  void file(const std::string& name, const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& t : texts) all += line(t);
    write_file(root_ / name, all);
  }
  std::vector<std::string> words(std::vector<std::string> names) const {  // "a=x.jsonl" or "x.jsonl"
    for (std::string& n : names) {
      const size_t cut = n.find('=');
      n = cut == n.npos ? (root_ / n).string() : n.substr(0, cut + 1) + (root_ / n.substr(cut + 1)).string();
    }
    return names;
  }
  DedupReport run(const std::vector<std::string>& names, const DedupConfig& c, const std::string& out = "out") {
    fs::remove_all(root_ / out);
    return deduplicate(find_inputs(words(names)), c, root_ / out);
  }
  std::string unpacked(const std::string& name) const {
    auto in = open_bytes(root_ / name);
    std::string all, piece(1 << 16, ' ');
    while (const size_t n = in->read(piece.data(), piece.size())) all.append(piece, 0, n);
    return all;
  }
  std::vector<std::string> kept(const std::string& out = "out") const {
    std::vector<std::string> texts;
    for (const auto& e : fs::directory_iterator(root_ / out))
      if (e.path().filename().string().starts_with("part-")) {
        const std::string all = unpacked(out + "/" + e.path().filename().string());
        for (size_t at = 0; at < all.size();) {
          const size_t end = all.find('\n', at);
          texts.push_back(Json::parse(all.substr(at, end - at)).at("text").as_string());
          at = end + 1;
        }
      }
    return texts;
  }
  fs::path root_;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> w;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) w.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return w;
}

std::set<std::string> shingle_set(const std::string& text, size_t k = 13) {
  const std::vector<std::string> w = split(text);
  std::set<std::string> s;
  for (size_t i = 0; i + k <= w.size(); ++i) {
    std::string x;
    for (size_t j = 0; j < k; ++j) x += w[i + j] + " ";
    s.insert(x);
  }
  return s;
}

double set_jaccard(const std::set<std::string>& a, const std::set<std::string>& b) {
  size_t both = 0;
  for (const std::string& x : a) both += b.contains(x);
  return a.empty() && b.empty() ? 0 : static_cast<double>(both) / static_cast<double>(a.size() + b.size() - both);
}

// Families of texts that differ by replaced words, from nearly equal to hardly alike.
std::vector<std::string> families(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::string> texts;
  for (int f = 0; f < count; ++f) {
    std::vector<std::string> base;
    const size_t n = 40 + random() % 200;
    for (size_t i = 0; i < n; ++i) base.push_back(fmt::format("w{}", random() % 5000));
    const int members = 1 + static_cast<int>(random() % 7);
    for (int m = 0; m < members; ++m) {
      std::vector<std::string> w = base;
      const unsigned edits = m == 0 ? 0 : random() % 6;
      for (unsigned e = 0; e < edits; ++e) w[random() % w.size()] = fmt::format("x{}", random());
      if (random() % 3 == 0) w.resize(w.size() - random() % (w.size() / 2));
      texts.push_back(fmt::format("{}", fmt::join(w, " ")));
    }
  }
  std::shuffle(texts.begin(), texts.end(), random);
  return texts;
}

TEST_F(DedupTest, StarRemovesOnlyWhatIsLikeItsSurvivorAndMissesLittle) {
  const std::vector<std::string> texts = families(70, 5);
  file("a.jsonl", texts);
  std::vector<std::set<std::string>> sets;
  for (const std::string& t : texts) sets.push_back(shingle_set(t));
  for (const char* mode : {"fast", "compat"}) {
    const DedupReport r = run({"a.jsonl"}, dedup_preset("zyda", mode));
    const std::vector<std::string> left = kept();
    EXPECT_EQ(left.size(), r.kept);
    EXPECT_EQ(r.kept + r.exact_removed + r.near_removed, texts.size());
    EXPECT_GT(r.near_removed, 60u);
    EXPECT_EQ(r.wrongful, 0);
    const std::multiset<std::string> survivors(left.begin(), left.end());
    std::vector<std::set<std::string>> survivor_sets;
    for (const std::string& t : left) survivor_sets.push_back(shingle_set(t));
    int wrongful = 0, residual = 0;
    for (size_t i = 0; i < texts.size(); ++i) {
      if (survivors.contains(texts[i])) continue;
      double best = 0;
      for (const auto& s : survivor_sets) best = std::max(best, set_jaccard(sets[i], s));
      wrongful += best < 0.4;
    }
    for (size_t i = 0; i < left.size(); ++i)
      for (size_t j = 0; j < i; ++j) residual += set_jaccard(survivor_sets[i], survivor_sets[j]) >= 0.6;
    EXPECT_EQ(wrongful, 0) << mode;
    EXPECT_LE(residual, 3) << mode;
  }
}

TEST_F(DedupTest, ClosureIsTheComponentsOfTheTrueGraph) {
  const std::vector<std::string> texts = families(50, 9);
  file("a.jsonl", texts);
  DedupConfig c = dedup_preset("zyda", "compat");
  c.clustering = Clustering::closure;
  c.threshold = 0.7;  // where 32 × 4 bands miss nothing
  run({"a.jsonl"}, c);
  std::vector<size_t> root(texts.size());
  for (size_t i = 0; i < root.size(); ++i) root[i] = i;
  const auto find = [&](size_t x) {
    while (root[x] != x) x = root[x];
    return x;
  };
  for (size_t i = 0; i < texts.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (texts[i] == texts[j] || set_jaccard(shingle_set(texts[i]), shingle_set(texts[j])) >= 0.7)
        root[find(i)] = find(j);
  std::map<size_t, size_t> left;  // survivors of each component
  std::map<std::string, size_t> component;
  for (size_t i = 0; i < texts.size(); ++i) component[texts[i]] = find(i), left[find(i)] = 0;
  for (const std::string& t : kept()) ++left[component.at(t)];
  for (const auto& [c_root, n] : left) EXPECT_EQ(n, 1u);
}

TEST_F(DedupTest, ThreadsOrderAndMemoryDoNotMatter) {
  const std::vector<std::string> texts = families(400, 6);
  const auto third = static_cast<std::ptrdiff_t>(texts.size() / 3);
  file("a.jsonl", {texts.begin(), texts.begin() + third});
  file("b.jsonl", {texts.begin() + third, texts.begin() + 2 * third});
  file("c.jsonl", {texts.begin() + 2 * third, texts.end()});
  const DedupConfig c = dedup_preset("zyda", "fast");
  const int before = thread_count();
  set_thread_count(1);
  const DedupReport one = run({"a.jsonl", "b.jsonl", "c.jsonl"}, c);
  set_thread_count(3);
  const DedupReport three = run({"c.jsonl", "a.jsonl", "b.jsonl"}, c);
  DedupConfig tight = c;
  tight.memory = 1;
  const DedupReport small = run({"a.jsonl", "b.jsonl", "c.jsonl"}, tight);
  set_thread_count(before);
  ASSERT_EQ(one.outputs.size(), 2u);
  EXPECT_EQ(one.outputs, three.outputs);
  EXPECT_EQ(one.outputs, small.outputs);
  EXPECT_EQ(one.compared, three.compared);
  // The rows dealt out to other files: the same texts survive.
  std::vector<std::string> shuffled = texts;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(1));
  file("d.jsonl", shuffled);
  run({"a.jsonl", "b.jsonl", "c.jsonl"}, c);
  std::vector<std::string> x = kept();
  run({"d.jsonl"}, c);
  std::vector<std::string> y = kept();
  std::sort(x.begin(), x.end()), std::sort(y.begin(), y.end());
  EXPECT_EQ(x, y);
}

TEST_F(DedupTest, ShortDocumentsAreOnlyExactCopies) {
  std::vector<std::string> texts;
  for (int i = 0; i < 2000; ++i) texts.push_back(fmt::format("a b c d e f g h i j k {}", i));
  texts.push_back("a b c d e f g h i j k 7");
  texts.emplace_back("!!!");
  texts.emplace_back("...");
  file("a.jsonl", texts);
  DedupReport r = run({"a.jsonl"}, dedup_preset("zyda", "fast"));
  EXPECT_EQ(r.kept, 2002u);
  EXPECT_EQ(r.exact_removed, 1u);
  DedupConfig published = dedup_preset("zyda", "compat");
  published.collide_empty = true, published.verify = Verification::none, published.clustering = Clustering::closure;
  r = run({"a.jsonl"}, published);
  EXPECT_EQ(r.kept, 1u);
}

// 30 000 copies of one page that differ in one word: one group a band, compared with one survivor each.
// "exact" is said of the document that is kept: a copy of one that was removed is as near to it as that one.
TEST_F(DedupTest, ExactMeansACopyOfTheSurvivor) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += fmt::format("w{} ", i * i % 5003);
  const std::string near = text + "another end";
  file("a.jsonl", {text}), file("b.jsonl", {near, text}), file("c.jsonl", {near, near, text});
  for (const Clustering c : {Clustering::star, Clustering::closure}) {
    DedupConfig config = dedup_preset("zyda", "fast");
    config.clustering = c;
    const DedupReport r = run({"a=a.jsonl", "b=b.jsonl", "c=c.jsonl"}, config);
    EXPECT_EQ(r.kept, 1u);
    EXPECT_EQ(r.exact_removed, 4u);  // two of them copies of the near-duplicate
    const Json cluster = Json::parse(unpacked("out/clusters.jsonl.zst"));
    EXPECT_EQ(cluster.at("survivor").as_int(), 0);
    std::map<uint64_t, std::string> copies;
    for (const Json& one : cluster.at("removed").as_array())
      copies[static_cast<uint64_t>(one.at("id").as_int())] = one.at("copy").as_string();
    EXPECT_EQ(copies, (std::map<uint64_t, std::string>{{document_id(1, 1, 0), "near"},
                                                       {document_id(1, 1, 1), "exact"},
                                                       {document_id(2, 2, 0), "near"},
                                                       {document_id(2, 2, 1), "near"},
                                                       {document_id(2, 2, 2), "exact"}}));
    ASSERT_EQ(r.samples.size(), 1u);
    for (const SampleDocument& d : r.samples[0].removed) EXPECT_EQ(d.exact, d.similarity == 1) << d.id;
  }
}

TEST_F(DedupTest, OneHugeFamilyIsLinear) {
  std::string all, base;
  for (int i = 0; i < 80; ++i) base += fmt::format("word{} ", i);
  for (int i = 0; i < 30000; ++i) all += line(base + fmt::format("end{}", i));
  write_file(root_ / "a.jsonl", all);
  for (Clustering how : {Clustering::star, Clustering::closure}) {
    DedupConfig c = dedup_preset("zyda", "fast");
    c.clustering = how;
    const DedupReport r = run({"a.jsonl"}, c);
    EXPECT_EQ(r.kept, 1u);
    EXPECT_EQ(r.largest, 30000u);
    EXPECT_LT(r.compared, 40u * 30000u);
  }
}

TEST_F(DedupTest, SourcesAndScoresRank) {
  const std::string text = families(1, 3)[0], near = text + " and one more word at the end";
  write_file(root_ / "x.jsonl", line(text, 1));
  write_file(root_ / "y.jsonl", line(near, 2));
  DedupConfig c = dedup_preset("zyda", "fast");
  run({"x.jsonl", "y.jsonl"}, c);
  EXPECT_EQ(kept(), std::vector<std::string>{near});  // the longer one
  c.fields[0].score = "q";
  run({"good=x.jsonl", "poor=y.jsonl"}, c);
  EXPECT_EQ(kept(), std::vector<std::string>{text});  // the better source
  write_file(root_ / "x.jsonl", line(text, 3));
  run({"x.jsonl", "y.jsonl"}, c);
  EXPECT_EQ(kept(), std::vector<std::string>{text});  // the higher score
}

// Zyda-2's rule: of a cluster over several sources all documents of the best source stay; a cluster of one stays
// whole.
TEST_F(DedupTest, AcrossSourcesOnly) {
  const std::vector<std::string> f = families(2, 31);
  const std::string page = "p " + f[0] + " " + f[0], lone = "l " + f.back() + " " + f.back();
  file("a.jsonl", {page, page, page + " x"});
  file("b.jsonl", {page, page + " y", lone, lone, lone + " z"});
  for (Clustering how : {Clustering::star, Clustering::closure}) {
    DedupConfig c = dedup_preset("zyda2", "compat");
    c.clustering = how;
    const DedupReport r = run({"a=a.jsonl", "b=b.jsonl"}, c);
    std::vector<std::string> left = kept();
    std::sort(left.begin(), left.end());
    std::vector<std::string> expected = {page, page, page + " x", lone, lone, lone + " z"};
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(left, expected);
    EXPECT_EQ(r.exact_removed + r.near_removed, 2u);
  }
}

// A document of the better source stands for a copy and is then kept out by its label: late labels, as published,
// lose both; looked at first, the copy stays.
TEST_F(DedupTest, LabelsFirstOrLate) {
  const std::string text = families(1, 3)[0];
  write_file(root_ / "x.jsonl", line(text, 2));
  write_file(root_ / "y.jsonl", line(text + " more", 0));
  DedupConfig c = dedup_preset("zyda", "fast");
  c.fields = {FieldMap(), FieldMap()};
  c.fields[0].label = "q", c.fields[0].label_at_least = 3;
  const DedupReport first = run({"a=x.jsonl", "b=y.jsonl"}, c);
  EXPECT_EQ(kept(), std::vector<std::string>{text + " more"});
  EXPECT_EQ(first.unlabeled, 1u);
  c.label_late = true;
  const DedupReport late = run({"a=x.jsonl", "b=y.jsonl"}, c);
  EXPECT_TRUE(kept().empty());
  EXPECT_EQ(late.unlabeled, 1u);
  c.fields[0].label_at_least = 2;
  run({"a=x.jsonl", "b=y.jsonl"}, c);
  EXPECT_EQ(kept(), std::vector<std::string>{text});
}

// Filters by source: the second source's rules do not touch the first.
TEST_F(DedupTest, FiltersBySource) {
  file("a.jsonl", {"short"});
  file("b.jsonl", {"short too", "long enough " + std::string(12, '-') +
                                    " sentences remain inside collections whenever published thresholds "
                                    "examined everything carefully without finding anything objectionable there"});
  DedupConfig c = dedup_preset("zyda", "fast");
  c.filters = {"none", "zyda"};
  const DedupReport r = run({"a=a.jsonl", "b=b.jsonl"}, c);
  EXPECT_EQ(r.filtered, 1u);
  EXPECT_EQ(r.rules[0], "length<100");
  EXPECT_EQ(r.rule_first[0], 1u);
  const std::vector<std::string> left = kept();
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0], "short");
  EXPECT_EQ(left[1].substr(0, 20), "long enough - senten");
}

TEST_F(DedupTest, MistakesAreNamed) {
  file("a.jsonl", {"text"});
  run({"a.jsonl"}, dedup_preset("exact", "fast"));
  EXPECT_EQ(kept(), std::vector<std::string>{"text"});
  EXPECT_NE(message_of([] { dedup_preset("zydda", "fast"); }).find("did you mean 'zyda'"), std::string::npos);
  DedupConfig c = dedup_preset("zyda", "fast");
  c.bands = {64, 4};
  EXPECT_NE(message_of([&] { run({"a.jsonl"}, c); }).find("need a signature of 256 rows"), std::string::npos);
}

TEST(Similarity, AgreesWithSets) {
  std::mt19937_64 random(2);
  std::vector<uint64_t> scratch;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<uint64_t> a, b;
    const size_t n = random() % 400, m = random() % (trial % 3 ? 400 : 4000);
    const uint64_t all = trial % 5 ? 100 : 700, spread = trial % 2 ? ~uint64_t{0} / all : 1;
    for (size_t i = 0; i < n; ++i) a.push_back(random() % all * spread);
    for (size_t i = 0; i < m; ++i) b.push_back(random() % all * spread);
    std::set<uint64_t> sa(a.begin(), a.end()), sb(b.begin(), b.end());
    sort_unique(a, scratch), sort_unique(b, scratch);
    ASSERT_EQ(a, std::vector<uint64_t>(sa.begin(), sa.end()));
    size_t both = 0;
    for (uint64_t x : sa) both += sb.contains(x);
    ASSERT_EQ(intersection_size(a, b), both);
    ASSERT_EQ(intersection_ref(a, b, 0), both);
    for (uint64_t minimum : {both, both + 1})
      if (active_isa() == Isa::avx512) {
        ASSERT_EQ(intersection_avx512(a, b, minimum), minimum > both ? UINT64_MAX : both);
      }
    const double j =
        a.empty() && b.empty() ? 0 : static_cast<double>(both) / static_cast<double>(sa.size() + sb.size() - both);
    ASSERT_DOUBLE_EQ(jaccard(a, b), j);
    if (a.empty() || b.empty()) continue;
    for (double t : {0.1, j, 0.4, 0.9}) {
      ASSERT_EQ(jaccard_at_least(a, b, t), j >= t ? j : -1);
      const double share = static_cast<double>(both) / static_cast<double>(std::min(a.size(), b.size()));
      ASSERT_EQ(containment_at_least(a, b, t), share >= t ? share : -1);
    }
  }
}

}  // namespace
}  // namespace quern::corpus
