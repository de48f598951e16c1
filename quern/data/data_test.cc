// Shards in and out, the shuffle, the mixture, packing against the exhaustive optimum, and that a loader's batches
// are a function of the count alone.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "quern/base/mmap.h"
#include "quern/base/rng.h"
#include "quern/base/test_message.h"
#include "quern/base/threads.h"
#include "quern/data/samples.h"
#include "quern/data/shuffle.h"

namespace quern::data {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / fmt::format("quern_data_{}_{}", ::getpid(), counter()++);
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  static int& counter() {
    static int n = 0;
    return n;
  }
};

using Documents = std::vector<std::vector<int32_t>>;

void write(const fs::path& prefix, const Documents& documents, TokenType type = TokenType::u16) {
  IndexedWriter w(prefix, type);
  for (const auto& d : documents) w.add(d);
  w.finish();
}

Documents some_documents(int n, uint64_t seed, int longest = 40) {
  Rng rng(seed);
  Documents all;
  for (int d = 0; d < n; ++d) {
    all.emplace_back(1 + rng.below(static_cast<uint64_t>(longest)));
    for (int32_t& t : all.back()) t = static_cast<int32_t>(rng.below(5000));
  }
  return all;
}

TEST(Indexed, WrittenAndReadAgain) {
  Folder f;
  Documents documents = some_documents(50, 1);
  documents.insert(documents.begin() + 3, std::vector<int32_t>{});
  std::vector<int32_t> stream;
  for (const auto& d : documents) stream.insert(stream.end(), d.begin(), d.end());
  for (TokenType type : {TokenType::u16, TokenType::i32, TokenType::i64, TokenType::i16}) {
    write(f.path / "a.b", documents, type);
    IndexedTokens t(f.path / "a.b");
    ASSERT_EQ(t.documents(), 51);
    ASSERT_EQ(t.tokens(), static_cast<int64_t>(stream.size()));
    for (int64_t begin : {int64_t{0}, int64_t{17}, t.tokens() - 5}) {
      std::vector<int32_t> got(static_cast<size_t>(std::min<int64_t>(300, t.tokens() - begin)));
      t.read(begin, got);
      EXPECT_TRUE(std::equal(got.begin(), got.end(), stream.begin() + begin));
    }
    for (int64_t d = 0; d < t.documents(); ++d) {
      EXPECT_EQ(t.document_length(d), static_cast<int64_t>(documents[static_cast<size_t>(d)].size()));
      if (t.document_length(d) > 0) {
        EXPECT_EQ(t.document_at(t.document_begin(d + 1) - 1), d);
      }
    }
  }
}

// tools/oracles/data writes this one with Python's struct from the published layout: sequences that are not in the
// order of the file, documents of two sequences, modes behind.
TEST(Indexed, ReadsForeignFiles) {
  IndexedTokens t(fs::path(QUERN_SOURCE_DIR) / "tests/goldens/data/foreign");
  ASSERT_EQ(t.sequences(), 3);
  ASSERT_EQ(t.documents(), 2);
  EXPECT_EQ(t.document_begin(1), 5);
  std::vector<int32_t> got(9);
  t.read(0, got);
  EXPECT_EQ(got, (std::vector<int32_t>{10, 11, 12, 20, 21, 30, 31, 32, 65535}));
}

TEST(Indexed, HostileHeadersAreRefused) {
  Folder f;
  write(f.path / "x", {{1, 2, 3}, {4, 5}});
  const std::string good = read_file(f.path / "x.idx");
  auto refusal = [&](std::string bytes) {
    write_file(f.path / "x.idx", bytes);
    return message_of([&] { IndexedTokens t(f.path / "x"); });
  };
  auto with = [&](size_t at, auto value) {
    std::string s = good;
    std::memcpy(s.data() + at, &value, sizeof value);
    return s;
  };
  EXPECT_EQ(refusal(good), "");
  for (size_t n = 0; n < good.size(); ++n) EXPECT_NE(refusal(good.substr(0, n)), "") << n << " bytes";
  EXPECT_NE(refusal(with(0, 'X')).find("MMIDIDX"), std::string::npos);
  EXPECT_NE(refusal(with(9, uint64_t{2})).find("version 2"), std::string::npos);
  EXPECT_NE(refusal(with(17, uint8_t{6})).find("element type 6"), std::string::npos);
  EXPECT_NE(refusal(with(18, uint64_t{1} << 62)).find("do not fit"), std::string::npos);
  EXPECT_NE(refusal(with(26, ~uint64_t{0})).find("do not fit"), std::string::npos);
  EXPECT_NE(refusal(with(34, int32_t{-1})).find("length -1"), std::string::npos);
  EXPECT_NE(refusal(with(34, int32_t{100})).find("reaches past"), std::string::npos);
  EXPECT_NE(refusal(with(42, int64_t{-2})).find("reaches past"), std::string::npos);
  EXPECT_NE(refusal(with(50, INT64_MAX)).find("reaches past"), std::string::npos);
  EXPECT_NE(refusal(with(66, int64_t{3})).find("document mark 1"), std::string::npos);
  EXPECT_NE(refusal(with(74, int64_t{1})).find("last document mark"), std::string::npos);
}

TEST(Indexed, NothingIsLeftOfAnUnfinishedSet) {
  Folder f;
  {
    IndexedWriter w(f.path / "x", TokenType::u16);
    w.add(std::vector<int32_t>{1, 2});
    EXPECT_THROW(w.add(std::vector<int32_t>{70000}), Error);
  }
  EXPECT_TRUE(fs::is_empty(f.path));
}

TEST(Indexed, DataWaitsWhereTheCallerSays) {
  Folder f;
  fs::create_directories(f.path / "work");
  const fs::path part = f.path / "work" / "bin";
  write_file(part, "what a killed process left");
  IndexedWriter w(f.path / "x", TokenType::u16, part);
  w.add(std::vector<int32_t>{1, 2});
  EXPECT_TRUE(fs::exists(part));
  EXPECT_EQ(std::distance(fs::directory_iterator(f.path), fs::directory_iterator()), 1);  // a kill leaves no more
  w.finish();
  EXPECT_FALSE(fs::exists(part));
  EXPECT_EQ(fs::file_size(f.path / "x.bin"), 4);
}

TEST(Shuffle, IsAPermutationAndDependsOnTheKey) {
  for (uint64_t n : {1, 2, 3, 17, 1000, 4097}) {
    std::vector<bool> seen(n);
    Permutation p(n, 5, 6);
    for (uint64_t i = 0; i < n; ++i) {
      ASSERT_LT(p(i), n);
      EXPECT_FALSE(seen[p(i)]);
      seen[p(i)] = true;
    }
  }
  Permutation a(1000, 1, 0), b(1000, 1, 1), c(1000, 2, 0);
  int same_b = 0, same_c = 0, stay = 0, rising = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    same_b += a(i) == b(i), same_c += a(i) == c(i), stay += a(i) == i;
    if (i > 0) rising += a(i) > a(i - 1);
  }
  for (int hits : {same_b, same_c, stay}) EXPECT_LT(hits, 10);
  EXPECT_GT(rising, 440);
  EXPECT_LT(rising, 560);
}

// Every prefix of every mixture: each set within one sample of its share.
TEST(Mixture, EveryPrefixMatchesWithinOneSample) {
  Rng rng(9);
  std::vector<std::vector<double>> cases = {{1}, {1, 1}, {86.1, 5.7, 0.8, 3.0, 3.0, 1.4}, {1000, 1, 1, 1, 1}};
  for (int k = 0; k < 40; ++k) {
    cases.emplace_back(2 + rng.below(20));
    for (double& w : cases.back()) w = std::exp(6 * rng.uniform());
  }
  for (const auto& weights : cases) {
    Mixture m(weights);
    for (int64_t k = 1; k <= 3000; ++k) {
      m.next();
      for (size_t i = 0; i < weights.size(); ++i)
        ASSERT_LT(std::abs(static_cast<double>(m.given()[i]) - m.shares()[i] * static_cast<double>(k)), 1 + 1e-9)
            << weights.size() << " sets, after " << k;
    }
  }
}

TEST(Mixture, SeekIsAsIfOneHadWalked) {
  Mixture walked({3, 1, 2.5}), sought({3, 1, 2.5});
  for (int k = 0; k < 777; ++k) walked.next();
  sought.seek(900);
  sought.seek(777);
  EXPECT_EQ(sought.given(), walked.given());
  for (int k = 0; k < 50; ++k) EXPECT_EQ(sought.next(), walked.next());
  EXPECT_THROW(Mixture({1, 0}), Error);
  EXPECT_THROW(Mixture(std::vector<double>{}), Error);
}

int64_t best_rows(std::vector<int64_t> lengths, int64_t width) {  // by trying every assignment
  int64_t best = static_cast<int64_t>(lengths.size());
  std::vector<int64_t> room;
  std::function<void(size_t)> place = [&](size_t i) {
    if (static_cast<int64_t>(room.size()) >= best) return;
    if (i == lengths.size()) return void(best = static_cast<int64_t>(room.size()));
    for (size_t r = 0; r < room.size(); ++r)  // by index: deeper calls push
      if (room[r] >= lengths[i]) {
        room[r] -= lengths[i];
        place(i + 1);
        room[r] += lengths[i];
      }
    room.push_back(width - lengths[i]);
    place(i + 1);
    room.pop_back();
  };
  place(0);
  return best;
}

void expect_whole(const RowPacking& p, const std::vector<int64_t>& lengths) {
  std::vector<int> seen(lengths.size());
  for (int64_t r = 0; r < p.rows(); ++r) {
    int64_t used = 0;
    for (int64_t d : p.row(r)) used += lengths[static_cast<size_t>(d)], ++seen[static_cast<size_t>(d)];
    EXPECT_LE(used, p.width);
    EXPECT_GT(used, 0);
  }
  for (size_t d = 0; d < lengths.size(); ++d) EXPECT_EQ(seen[d], lengths[d] > 0 ? 1 : 0);
}

TEST(RowPacking, CloseToTheOptimumAndNeverCuts) {
  Rng rng(4);
  for (int k = 0; k < 60; ++k) {
    const int64_t width = 10 + static_cast<int64_t>(rng.below(20));
    std::vector<int64_t> lengths(7);
    for (int64_t& l : lengths) l = static_cast<int64_t>(rng.below(static_cast<uint64_t>(width) + 1));
    const RowPacking p = pack_best_fit(lengths, width);
    expect_whole(p, lengths);
    std::erase(lengths, 0);
    const int64_t best = best_rows(lengths, width);
    EXPECT_GE(p.rows(), best);
    EXPECT_LE(p.rows(), best + best / 4);  // 11/9 of the optimum at worst
  }
}

// The tree finds what a walk over all rows finds.
TEST(RowPacking, IsBestFitDecreasing) {
  Rng rng(5);
  std::vector<int64_t> lengths(400);
  for (int64_t& l : lengths) l = 1 + static_cast<int64_t>(rng.below(97));
  std::vector<int64_t> sorted = lengths, room;
  std::sort(sorted.rbegin(), sorted.rend());
  for (int64_t l : sorted) {
    int64_t* best = nullptr;
    for (int64_t& r : room)
      if (r >= l && (!best || r < *best)) best = &r;
    best ? void(*best -= l) : room.push_back(128 - l);
  }
  std::vector<int64_t> left;
  const RowPacking p = pack_best_fit(lengths, 128);
  for (int64_t r = 0; r < p.rows(); ++r) {
    left.push_back(128);
    for (int64_t d : p.row(r)) left.back() -= lengths[static_cast<size_t>(d)];
  }
  std::sort(left.begin(), left.end()), std::sort(room.begin(), room.end());
  EXPECT_EQ(left, room);
}

TEST(RowPacking, FillsWideRows) {
  Rng rng(6);
  std::vector<int64_t> lengths(20000);
  for (int64_t& l : lengths) l = 1 + static_cast<int64_t>(std::exp(6.5 * rng.uniform()));
  const RowPacking p = pack_best_fit(lengths, 16384);
  expect_whole(p, lengths);
  EXPECT_GT(p.fill_ratio(), 0.99);
  EXPECT_GT(p.max_documents(), 10);
  EXPECT_NE(message_of([] {
              pack_best_fit(std::vector<int64_t>{3, 9}, 8);
            }).find("document 1 has 9"),
            std::string::npos);
}

TEST(StreamSamples, CutsWithoutLosingAToken) {
  Folder f;
  const Documents documents = some_documents(40, 2);
  write(f.path / "s", documents);
  StreamSamples s(f.path / "s", 32);
  std::vector<int32_t> stream;
  std::vector<bool> last;  // of its document
  for (const auto& d : documents)
    for (size_t i = 0; i < d.size(); ++i) stream.push_back(d[i]), last.push_back(i + 1 == d.size());
  TokenBatch b;
  for (int64_t i = 0; i < s.count(); ++i) s.append(i, b);
  ASSERT_EQ(b.tokens.size(), static_cast<size_t>(s.count() * 32));
  EXPECT_EQ(b.rows, s.count());
  EXPECT_EQ(std::accumulate(b.lengths.begin(), b.lengths.end(), int64_t{0}), s.count() * 32);
  int64_t learned = 0;
  for (size_t i = 0; i < b.tokens.size(); ++i) {
    EXPECT_EQ(b.tokens[i], stream[i]);
    EXPECT_EQ(b.targets[i], last[i] ? -1 : stream[i + 1]);
    learned += !last[i];
  }
  EXPECT_EQ(b.loss_tokens, learned);
  int64_t at = 0;  // a piece ends where a document or a row does, and nowhere else
  for (int64_t n : b.lengths) {
    for (int64_t i = at; i + 1 < at + n; ++i) EXPECT_FALSE(last[static_cast<size_t>(i)]);
    at += n;
    EXPECT_TRUE(last[static_cast<size_t>(at - 1)] || at % 32 == 0);
  }
}

TEST(PackedSamples, KeepsDocumentsWholeAndHeedsTheMask) {
  Folder f;
  Documents documents = some_documents(60, 3), mask;
  for (size_t d = 0; d < documents.size(); ++d) {
    documents[d][0] = static_cast<int32_t>(10000 + d);  // tells which it is
    mask.emplace_back(documents[d].size());
    for (size_t i = 0; i < mask[d].size(); ++i) mask[d][i] = i % 3 != 1;
  }
  write(f.path / "p", documents);
  write(f.path / "p.mask", mask, TokenType::u8);
  PackedSamples s(f.path / "p", 64);
  std::set<size_t> seen;
  for (int64_t r = 0; r < s.count(); ++r) {
    TokenBatch b;
    s.append(r, b);
    EXPECT_LE(b.tokens.size(), 64u);
    size_t at = 0;
    for (int64_t n : b.lengths) {
      const size_t d = static_cast<size_t>(b.tokens[at]) - 10000;
      EXPECT_TRUE(seen.insert(d).second);
      ASSERT_EQ(static_cast<size_t>(n) + 1, documents[d].size());
      for (size_t i = 0; i < static_cast<size_t>(n); ++i, ++at) {
        EXPECT_EQ(b.tokens[at], documents[d][i]);
        EXPECT_EQ(b.targets[at], mask[d][i + 1] ? documents[d][i + 1] : -1);
      }
    }
  }
  size_t with_inputs = 0;
  for (const auto& d : documents) with_inputs += d.size() > 1;
  EXPECT_EQ(seen.size(), with_inputs);
  EXPECT_NE(message_of([&] { PackedSamples(f.path / "p", 8); }).find("max_tokens 9"), std::string::npos);
  write(f.path / "p.mask", {{1}}, TokenType::u8);
  EXPECT_THROW(PackedSamples(f.path / "p", 64), Error);
}

std::vector<DataSetConfig> two_sets(const Folder& f) {
  write(f.path / "a", some_documents(200, 7));
  write(f.path / "b", some_documents(30, 8));
  return {{.path = "a", .weight = 2}, {.path = "b", .packing = "pack", .weight = 1}};
}

TEST(Loader, BatchesAreAFunctionOfTheCount) {
  Folder f;
  const auto sets = two_sets(f);
  Loader whole(sets, 48, 11, f.path);
  std::vector<TokenBatch> want;
  for (int k = 0; k < 30; ++k) want.push_back(whole.next(6));
  EXPECT_EQ(whole.consumed(), 180);
  EXPECT_GT(whole.epochs(1), 2);

  Loader resumed(sets, 48, 11, f.path);
  resumed.seek(17 * 6);
  for (size_t k = 17; k < 30; ++k) {
    const TokenBatch b = resumed.next(6);
    EXPECT_EQ(b.tokens, want[k].tokens);
    EXPECT_EQ(b.targets, want[k].targets);
    EXPECT_EQ(b.lengths, want[k].lengths);
  }
  Loader ranks[] = {Loader(sets, 48, 11, f.path), Loader(sets, 48, 11, f.path), Loader(sets, 48, 11, f.path),
                    Loader(sets, 48, 11, f.path)};
  for (size_t k = 0; k < 5; ++k) {
    TokenBatch all;
    for (int64_t r = 0; r < 4; ++r) all.add(ranks[r].next(6, r, 4));
    EXPECT_EQ(all.tokens, want[k].tokens);
    EXPECT_EQ(all.rows, 6);
  }
  Loader other(sets, 48, 12, f.path);
  EXPECT_NE(other.next(6).tokens, want[0].tokens);
}

TEST(Loader, AnEpochGivesEverySampleOnceInAnotherOrder) {
  Folder f;
  write(f.path / "a", some_documents(200, 7));
  Loader l({{.path = "a"}}, 16, 3, f.path);
  StreamSamples s(f.path / "a", 16);
  std::multiset<std::vector<int32_t>> all, epochs[2];
  std::vector<std::vector<int32_t>> order[2];
  for (int64_t i = 0; i < s.count(); ++i) {
    TokenBatch b;
    s.append(i, b);
    all.insert(b.tokens);
  }
  for (int e = 0; e < 2; ++e)
    for (int64_t i = 0; i < s.count(); ++i) {
      order[e].push_back(l.next(1).tokens);
      epochs[e].insert(order[e].back());
    }
  EXPECT_EQ(epochs[0], all);
  EXPECT_EQ(epochs[1], all);
  EXPECT_NE(order[0], order[1]);
}

TEST(Loader, MistakesAreNamed) {
  Folder f;
  auto sets = two_sets(f);
  sets[0].packing = "packed";
  EXPECT_NE(message_of([&] { Loader(sets, 48, 1, f.path); }).find("'packed'"), std::string::npos);
  sets[0] = {.path = "nowhere"};
  EXPECT_NE(message_of([&] { Loader(sets, 48, 1, f.path); }).find("nowhere.idx"), std::string::npos);
  EXPECT_THROW(Loader(std::vector<DataSetConfig>{}, 48, 1), Error);
}

}  // namespace
}  // namespace quern::data
