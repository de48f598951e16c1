// Repeated stretches of words against the obvious way: every window as a list of words in a set.
#include "quern/corpus/stages/spans.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <set>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/threads.h"
#include "quern/corpus/bytes/byte_stream.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

TEST(Spans, AreThoseOfTheObviousWay) {
  const fs::path root = fs::temp_directory_path() / fmt::format("quern-spans-{}", ::getpid());
  fs::remove_all(root);
  fs::create_directories(root);
  std::mt19937 random(17);
  const auto word = [&] { return fmt::format("w{}", random() % 50000); };
  std::vector<std::vector<std::string>> shared(6), documents;
  for (auto& s : shared)
    for (int i = 0; i < 40; ++i) s.push_back(word());
  for (int d = 0; d < 300; ++d) {
    std::vector<std::string> w;
    for (int piece = 0; piece < 6; ++piece) {
      if (random() % 3 == 0) {
        const auto& s = shared[random() % shared.size()];
        const size_t from = random() % 30, to = from + random() % (40 - from);
        w.insert(w.end(), s.begin() + static_cast<std::ptrdiff_t>(from), s.begin() + static_cast<std::ptrdiff_t>(to));
      }
      for (unsigned i = random() % 12; i > 0; --i) w.push_back(word());
    }
    if (d % 40 == 0) w = std::vector<std::string>(35, "same");  // overlaps itself
    documents.push_back(std::move(w));
  }
  constexpr size_t kWindow = 8;
  // The obvious way, windows in order; a window stands for its first place.
  std::set<std::vector<std::string>> seen;
  std::vector<std::string> expected;
  std::string lines;
  uint64_t windows = 0, repeated = 0;
  for (const auto& w : documents) {
    std::vector<bool> cut(w.size());
    for (size_t i = 0; i + kWindow <= w.size(); ++i) {
      ++windows;
      if (seen.insert(
                  {w.begin() + static_cast<std::ptrdiff_t>(i), w.begin() + static_cast<std::ptrdiff_t>(i + kWindow)})
              .second)
        continue;
      ++repeated;
      for (size_t k = 0; k < kWindow; ++k) cut[i + k] = true;
    }
    std::vector<std::string> left;
    for (size_t i = 0; i < w.size(); ++i)
      if (!cut[i]) left.push_back(w[i]);
    if (!left.empty() || w.empty()) expected.push_back(fmt::format("{}", fmt::join(left, " ")));
    lines += fmt::format("{{\"text\":\"{}\"}}\n", fmt::join(w, " "));
  }
  write_file(root / "in.jsonl", lines);
  ASSERT_GT(repeated, 500u);
  const int before = thread_count();
  // Numbers of words begin at 0, pass 2^32 in a later block, and begin beyond.
  constexpr uint64_t k32 = uint64_t{1} << 32;
  const std::pair<int, uint64_t> runs[] = {{1, 0},          {3, 0},   {1, k32 - 3000},
                                           {3, k32 - 3000}, {1, k32}, {3, 200 * k32 + 7}};
  for (const auto& [threads, first_word] : runs) {
    set_thread_count(threads);
    fs::remove_all(root / "out");
    SpanConfig c;
    c.window = kWindow, c.first_word = first_word;
    ScanOptions o;
    o.block_bytes = 8192;
    const RepeatReport r =
        drop_repeated_spans(find_inputs(std::vector<std::string>{(root / "in.jsonl").string()}), o, c, root / "out");
    EXPECT_EQ(r.pieces, windows);
    EXPECT_EQ(r.repeated, repeated);
    auto in = open_bytes(root / "out/part-00000.jsonl.zst");
    std::string all, piece(1 << 16, ' ');
    while (const size_t n = in->read(piece.data(), piece.size())) all.append(piece, 0, n);
    std::vector<std::string> got;
    for (size_t at = 0; at < all.size();) {
      const size_t end = all.find('\n', at);
      got.push_back(Json::parse(all.substr(at, end - at)).at("text").as_string());
      at = end + 1;
    }
    EXPECT_EQ(got, expected);
  }
  set_thread_count(before);
  fs::remove_all(root);
}

TEST(Spans, OfTooManyWordsAreRefused) {
  const fs::path root = fs::temp_directory_path() / fmt::format("quern-spans-many-{}", ::getpid());
  fs::remove_all(root);
  fs::create_directories(root);
  write_file(root / "in.jsonl", "{\"text\":\"one two three four five six\"}\n");
  const Inputs in = find_inputs(std::vector<std::string>{(root / "in.jsonl").string()});
  SpanConfig c;
  c.first_word = (uint64_t{1} << 40) - 6;
  EXPECT_EQ(drop_repeated_spans(in, {}, c, root / "fits").kept, 1u);
  ++c.first_word;
  EXPECT_THROW(drop_repeated_spans(in, {}, c, root / "out"), Error);
  fs::remove_all(root);
}

}  // namespace
}  // namespace quern::corpus
