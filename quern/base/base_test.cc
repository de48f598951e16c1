// Errors, JSON, TOML, config visitor, arena, random numbers, files, ISA choice, thread splits and reading ahead of
// the base room.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "quern/base/arena.h"
#include "quern/base/bf16.h"
#include "quern/base/config.h"
#include "quern/base/config_keys.h"
#include "quern/base/cpu.h"
#include "quern/base/free_blocks.h"
#include "quern/base/mmap.h"
#include "quern/base/page_block.h"
#include "quern/base/prefetch.h"
#include "quern/base/rng.h"
#include "quern/base/test_message.h"
#include "quern/base/threads.h"
#include "quern/base/toml.h"

namespace quern {
namespace {

TEST(Json, RoundTripKeepsOrderAndTypes) {
  std::string text = R"({"z":1,"a":[true,null,-2.5,"x\ny"],"m":{"k":9007199254740993}})";
  EXPECT_EQ(Json::parse(text).dump(), text);
}

TEST(Json, RefusesDepthTruncationAndWrongTypes) {
  EXPECT_NE(message_of([] { Json::parse(std::string(5000, '['), "deep"); }).find("nested deeper"), std::string::npos);
  EXPECT_NE(message_of([] { Json::parse("{\"a\": ", "cut"); }).find("cut"), std::string::npos);
  EXPECT_NE(
      message_of([] { Json::parse("{\"a\": 1.5}").at("a").as_int("field a"); }).find("field a: expected an integer"),
      std::string::npos);
  EXPECT_EQ(Json::parse("3.0").as_int(), 3);
}

TEST(Json, SaysWhatWasExpectedAtWhichByte) {
  const std::pair<std::string, std::string> faults[] = {
      {"", "byte 1 (line 1, column 1): expected a value, found the end of the text"},
      {"{a: 1}", "byte 2 (line 1, column 2): expected a string in double quotes"},
      {R"({"a" 1})", "byte 6 (line 1, column 6): expected ':', found a number"},
      {R"({"a": 1, })", "byte 10 (line 1, column 10): expected a string in double quotes, found '}'"},
      {R"({"a": 1 "b"})", "byte 11 (line 1, column 11): expected ',' or '}', found a string"},
      {"\n [\n  1, }", "byte 10 (line 3, column 6): expected a value, found '}'"},
      {"[1 true]", "byte 7 (line 1, column 7): expected ',' or ']', found true"},
      {"[1] []", "byte 5 (line 1, column 5): expected the end of the text, found '['"},
      {"[nul]", "byte 5 (line 1, column 5): expected a value"},
      {"[-]", "byte 3 (line 1, column 3): invalid number; expected digit after '-'"},
      {"1e999", "byte 5 (line 1, column 5): the number is too large"},
      {R"("a; expected b - c)", "byte 19 (line 1, column 19): invalid string: missing closing quote"},
      {"\"\xff\"", "byte 2 (line 1, column 2): invalid string: ill-formed UTF-8 byte"},
  };
  for (const auto& [text, fault] : faults)
    EXPECT_EQ(message_of([&] { Json::parse(text, "t.json"); }), "t.json: not valid JSON: " + fault) << text;
}

TEST(Toml, ReadsTablesAndNamesTheLineOfAMistake) {
  Json j = parse_toml("a = 1\n[[claim]]\nid = 'x'\nv = 2.5\n[[claim]]\nid = 'y'\n");
  EXPECT_EQ(j.at("claim").as_array().size(), 2u);
  EXPECT_EQ(j.at("claim").as_array()[1].at("id").as_string(), "y");
  EXPECT_NE(message_of([] { parse_toml("a = 1\nb = = 2\n", "r.toml"); }).find("r.toml, line 2"), std::string::npos);
}

struct Sample {
  int64_t width = 3;
  std::optional<double> rate;
  std::vector<std::string> layers;
  template <class V>
  void visit(V& v) {
    v("width", width), v("rate", rate), v("layers", layers);
  }
};

TEST(Config, OneVisitorReadsWritesAndNamesMistakes) {
  Sample s;
  from_json(Json::parse(R"({"rate":0.5,"layers":["a","b"],"other":1,"width":null})"), s, "f.json");
  EXPECT_EQ(s.width, 3);
  EXPECT_EQ(*s.rate, 0.5);
  Json j = Json::parse(R"({"kept":true})");
  write_json(j, s);
  EXPECT_EQ(j.dump(), R"({"kept":true,"width":3,"rate":0.5,"layers":["a","b"]})");
  EXPECT_NE(message_of([&] {
              from_json(Json::parse(R"({"width":"wide"})"), s, "f.json");
            }).find("f.json, width: expected an integer"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              from_json(Json::parse(R"({"widht":1})"), s, "f.json", UnknownKeys::refuse);
            }).find("did you mean 'width'"),
            std::string::npos);
}

struct Stage {
  int64_t batch_size = 8;
  template <class V>
  void visit(V& v) {
    v("batch_size", batch_size, "sequences per step", aka("rows"));
  }
};
struct Plan {
  Stage first;
  std::vector<Stage> stages;
  std::optional<Stage> last;
  Json open;
  int64_t max_restarts = 5;
  template <class V>
  void visit(V& v) {
    v("first", first), v("stages", stages, "", aka("phase")), v("last", last), v("open", open);
    v("max_restarts", max_restarts, "", aka("most_restarts"));
  }
};

TEST(Config, AnAliasIsReadAndTheNameIsWritten) {
  const auto read = [](const char* text) {
    Plan p;
    from_json(Json::parse(text), p, "p.toml", UnknownKeys::refuse);
    return p;
  };
  EXPECT_EQ(read(R"({"most_restarts":2})").max_restarts, 2);
  EXPECT_EQ(read(R"({"max_restarts":3,"most_restarts":null})").max_restarts, 3);
  EXPECT_EQ(read(R"({"max_restarts":null,"most_restarts":4})").max_restarts, 4);
  const Plan p = read(R"({"phase":[{"rows":1},{"batch_size":2}]})");
  ASSERT_EQ(p.stages.size(), 2u);
  EXPECT_EQ(p.stages[0].batch_size + 10 * p.stages[1].batch_size, 21);
  EXPECT_EQ(write_value(p).at("stages").dump(), R"([{"batch_size":1},{"batch_size":2}])");
  EXPECT_EQ(write_value(p).find("phase"), nullptr);

  const auto message = [&](const char* text) { return message_of([&] { read(text); }); };
  EXPECT_EQ(message(R"({"most_restarts":2,"max_restarts":2})"),
            "p.toml: 'max_restarts' and 'most_restarts' are two names of one setting; give one of them");
  EXPECT_NE(message(R"({"most_restarts":"x"})").find("p.toml, most_restarts: expected"), std::string::npos);
  EXPECT_NE(message(R"({"max_restart":2})").find("did you mean 'max_restarts'"), std::string::npos);
}

TEST(Config, KeysAndPathsOfLayersAreTranslatedBeforeTheyAreMerged) {
  const auto canonical = [](const char* text) { return canonical_keys<Plan>(Json::parse(text), "p.toml").dump(); };
  EXPECT_EQ(
      canonical(R"({"open":{"rows":1},"most_restarts":1,"phase":[{"rows":2},3],"first":{"rows":4},"other":5})"),
      R"({"open":{"rows":1},"max_restarts":1,"stages":[{"batch_size":2},3],"first":{"batch_size":4},"other":5})");
  EXPECT_EQ(canonical(R"({"last":{"rows":1}})"), R"({"last":{"batch_size":1}})");
  EXPECT_EQ(canonical("[1]"), "[1]");
  EXPECT_EQ(message_of([&] { canonical(R"({"phase":[{"rows":2,"batch_size":2}]})"); }),
            "p.toml, stages: 'batch_size' and 'rows' are two names of one setting; give one of them");

  EXPECT_EQ(canonical_path<Plan>("most_restarts"), "max_restarts");
  EXPECT_EQ(canonical_path<Plan>("phase.0.rows"), "stages.0.batch_size");
  EXPECT_EQ(canonical_path<Plan>("first.rows"), "first.batch_size");
  EXPECT_EQ(canonical_path<Plan>("last.rows"), "last.batch_size");
  EXPECT_EQ(canonical_path<Plan>("open.rows.1"), "open.rows.1");
  EXPECT_EQ(canonical_path<Plan>("phase.1"), "stages.1");
  EXPECT_EQ(canonical_path<Plan>("unknown.rows"), "unknown.rows");
}

TEST(Bf16, RoundsToNearestEven) {
  EXPECT_EQ(static_cast<float>(bf16(1.00390625f)), 1.0f);                   // halfway, even below
  EXPECT_EQ(static_cast<float>(bf16(1.01171875f)), 1.015625f);              // halfway, even above
  EXPECT_EQ(static_cast<float>(bf16(-3.0e38f)), -std::ldexp(226.0f, 120));  // 225.7 steps of 2^120
  EXPECT_TRUE(std::isnan(static_cast<float>(bf16(NAN))));
}

TEST(Arena, ScopesGiveBackAndAlign) {
  Arena a;
  void* first = nullptr;
  {
    Arena::Scope scope(a);
    first = a.take<float>(100).data();
    a.take<double>(1 << 20);
  }
  auto again = a.take<char>(3);
  EXPECT_EQ(static_cast<void*>(again.data()), first);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.take<char>(1).data()) % 64, 0u);
}

// Of six free blocks two were taken and put back: four lay there all the time.
TEST(Blocks, LargeOnesGoThatNobodyTookSinceTheLastTrim) {
  constexpr size_t kSize = size_t{5} << 20;
  give_back_free_blocks();
  const size_t before = cached_bytes();
  std::vector<void*> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(cached_alloc(kSize));
  for (void* p : blocks) cached_free(p, kSize);
  EXPECT_EQ(cached_bytes(), before + 6 * kSize);
  trim_free_blocks(0);
  EXPECT_EQ(cached_bytes(), before + 6 * kSize) << "they came after the last one";
  void *a = cached_alloc(kSize), *b = cached_alloc(kSize);
  cached_free(a, kSize), cached_free(b, kSize);
  trim_free_blocks(3600);
  EXPECT_EQ(cached_bytes(), before + 6 * kSize) << "not yet";
  trim_free_blocks(0);
  EXPECT_EQ(cached_bytes(), before + 2 * kSize);
  give_back_free_blocks();
  EXPECT_EQ(cached_bytes(), before);
}

// While another thread of the old process takes and frees.
TEST(Blocks, AForkedProcessMayTakeThem) {
  std::atomic<bool> over = false;
  std::thread other([&] {
    while (!over) cached_free(cached_alloc(1000), 1000);
  });
  for (int i = 0; i < 200; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);  // instead of waiting for ever
      cached_free(cached_alloc(1000), 1000);
      ::_exit(0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (status != 0) i = 200;
    EXPECT_EQ(status, 0);
  }
  over = true;
  other.join();
}

TEST(Blocks, PagesOfOnesOwnAreZeroAndTakenWhenTheyAreWritten) {
  constexpr size_t kPage = 4096, kPages = 300;
  const std::shared_ptr<void> block = page_block(kPages * kPage - 5);
  EXPECT_EQ(page_block_bytes(kPages * kPage - 5), kPages * kPage);
  auto* bytes = static_cast<unsigned char*>(block.get());
  const auto resident = [&] {
    std::vector<unsigned char> pages(kPages);
    EXPECT_EQ(::mincore(bytes, kPages * kPage, pages.data()), 0);
    return std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return p & 1; });
  };
  EXPECT_EQ(resident(), 0);
  bytes[0] = bytes[7 * kPage + 1] = 1;
  EXPECT_EQ(resident(), 2);
  EXPECT_EQ(bytes[7 * kPage + 2], 0);
}

TEST(Rng, IsAFunctionOfItsCounterAndLooksUniform) {
  Rng a(1, 2), b(1, 2), c(1, 3);
  EXPECT_EQ(a.bits(77), b.bits(77));
  EXPECT_NE(a.bits(77), c.bits(77));
  double sum = 0, square = 0;
  std::set<uint64_t> seen;
  for (int i = 0; i < 20000; ++i) {
    double x = a.normal();
    sum += x, square += x * x;
    seen.insert(b.next());
  }
  EXPECT_NEAR(sum / 20000, 0, 0.03);
  EXPECT_NEAR(square / 20000, 1, 0.05);
  EXPECT_EQ(seen.size(), 20000u);
}

TEST(Files, MissingFileAndWriteReadBack) {
  EXPECT_NE(message_of([] { read_file("/nonexistent/quern"); }).find("/nonexistent/quern"), std::string::npos);
  auto path = std::filesystem::temp_directory_path() / fmt::format("quern_base_test_{}", ::getpid());
  write_file(path, "hello");
  EXPECT_EQ(read_file(path), "hello");
  write_file(path, "");
  EXPECT_EQ(read_file(path), "");
  std::filesystem::remove(path);
}

TEST(Isa, OverrideTakesEffectAndCannotExceedTheMachine) {
  Isa before = active_isa();
  set_active_isa(Isa::ref);
  EXPECT_EQ(active_isa(), Isa::ref);
  EXPECT_FALSE(has_avx512_bf16());
  set_active_isa(before);
  EXPECT_NE(message_of([] { parse_isa("sse9"); }).find("expected ref, avx2 or avx512"), std::string::npos);
  if (detected_isa() < Isa::avx512) {
    EXPECT_FALSE(message_of([] { set_active_isa(Isa::avx512); }).empty());
  }
}

TEST(Threads, WhatAPartThrowsReachesTheCaller) {
  int before = thread_count();
  for (int threads : {1, 2, 3}) {
    set_thread_count(threads);
    for (int64_t bad : {0, 5, 9}) {
      std::atomic<int> ran{0};
      try {
        parallel_dynamic(10, [&](int64_t i) {
          if (i == bad) fail("part {}", i);
          ++ran;
        });
        ADD_FAILURE() << "nothing was thrown";
      } catch (const Error& e) {
        EXPECT_EQ(std::string(e.what()), fmt::format("part {}", bad));
      }
      EXPECT_EQ(ran, threads == 1 ? bad : 9) << "the others still run when they are shared out";
    }
    std::atomic<int> sum{0};
    parallel_dynamic(10, [&](int64_t i) { sum += static_cast<int>(i); });
    EXPECT_EQ(sum, 45) << "and the pool goes on";
  }
  set_thread_count(before);
}

// Two parts that wait for each other: one thread would wait for ever.
void meet() {
  std::atomic<int> here = 0;
  run_parts(
      2,
      [](void* context, int64_t) {
        auto& met = *static_cast<std::atomic<int>*>(context);
        for (++met; met < 2;) std::this_thread::yield();
      },
      &here);
}

// A forked process has none of the threads of its parent, and starts its own.
TEST(Threads, AForkedProcessStartsItsOwn) {
  const int before = thread_count();
  set_thread_count(2);
  meet();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    meet();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  meet();
  set_thread_count(before);
}

TEST(Threads, RangesCoverEverythingOnce) {
  int before = thread_count();
  for (int threads : {1, 2, 3}) {
    set_thread_count(threads);
    std::vector<int> hits(1001, 0);
    parallel_for(1001, 10, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) ++hits[static_cast<size_t>(i)];
    });
    parallel_dynamic(1001, [&](int64_t i) { ++hits[static_cast<size_t>(i)]; });
    for (int64_t n : {1001, 3, 0})
      parallel_guided(n, [&](int64_t b, int64_t e) {
        EXPECT_LT(b, e);
        for (int64_t i = b; i < e; ++i) ++hits[static_cast<size_t>(i)];
      });
    for (size_t i = 0; i < hits.size(); ++i) EXPECT_EQ(hits[i], i < 3 ? 4 : 3) << i;
  }
  set_thread_count(before);
}

TEST(ReadAhead, OffersWhatHasFollowedAgainAndAgain) {
  std::vector<char> weights(1 << 20);
  constexpr int64_t kBytes = 1 << 16;
  auto stretch = [&](int i) { return MemorySpan{weights.data() + i * kBytes, kBytes}; };
  std::vector<std::shared_ptr<PrefetchPlan>> order;
  for (int i = 0; i < 12; ++i) order.push_back(std::make_shared<PrefetchPlan>());
  auto token = [&](int expert) {  // two matrices, one of eight experts, and the last one
    for (int i : {0, 1, 2 + expert, 10}) begin_read(stretch(i), order[static_cast<size_t>(i)]);
  };
  token(3);
  token(3);
  EXPECT_EQ(order[0]->at(0).begin, nullptr) << "twice is no habit";
  for (int expert : {1, 2, 3, 4}) token(expert);
  EXPECT_EQ(order[0]->at(0).begin, stretch(1).begin);
  EXPECT_EQ(order[0]->at(0).bytes, kBytes);
  EXPECT_EQ(order[1]->at(0).begin, nullptr) << "another expert every time";
  EXPECT_EQ(order[1]->at(1).begin, stretch(10).begin) << "and after it always the same";
  EXPECT_EQ(order[10]->at(0).begin, stretch(0).begin) << "the next token";

  int64_t pieces = 0;  // no more than halves of what is offered; waiting threads may take some of it
  while (pieces <= 6 * kBytes / 2 / 512 && prefetch_next()) ++pieces;
  EXPECT_LE(pieces, 6 * kBytes / 2 / 512);
  EXPECT_FALSE(prefetch_next());
  order.clear();
  weights = {};  // freed memory may be hinted at
  begin_read({weights.data(), 0}, std::make_shared<PrefetchPlan>());
  EXPECT_FALSE(prefetch_next()) << "nothing is known to follow";
}

TEST(Nearest, FindsTheTypo) {
  EXPECT_EQ(nearest("tokenzie", {"tokenize", "run", "info"}), "tokenize");
  EXPECT_EQ(nearest("zzz", {"tokenize", "run"}), "");
}

}  // namespace
}  // namespace quern
