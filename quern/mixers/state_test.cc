// Rows that were reserved: written and read as those that grew, moved when more are reserved, and no page of them
// taken before it is written.
#include "quern/mixers/state.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>

namespace quern::mixers {
namespace {

// One part [heads, d], one flat, one as large as a huge page when 5,000 rows are asked for; two sites; a fixed part.
std::vector<StateSite> sites() {
  StateSpec spec;
  spec.parts = {{.name = "k", .per_token = true, .shape = {3, 8}, .dtype = DType::f32},
                {.name = "flat", .per_token = true, .shape = {5}, .dtype = DType::bf16},
                {.name = "wide", .per_token = true, .shape = {2, 64}, .dtype = DType::f32},
                {.name = "tail", .shape = {4}}};
  return {{.layer = 0, .spec = spec}, {.layer = 1, .spec = spec}};
}

double value_of(int site, int part, int64_t token) {
  return static_cast<double>((token * 7 + site * 3 + part) % 128);
}

void append(SequenceState& s, int64_t n) {
  for (int site = 0; site < 2; ++site)
    for (int part = 0; part < 3; ++part) {
      Tensor rows = s.append(site, part, n);
      for (int64_t i = 0; i < n; ++i) {
        Tensor row = rows.narrow(0, i, 1);
        row.copy_from(Tensor::full(row.shape(), row.dtype(), value_of(site, part, s.length() + i)));
      }
    }
  s.advance(n);
}

void expect_rows(const SequenceState& s) {
  for (int site = 0; site < 2; ++site)
    for (int part = 0; part < 3; ++part) {
      const Tensor rows = s.rows(site, part).clone();
      ASSERT_EQ(rows.dim(0), s.length());
      const int64_t width = rows.size() / rows.dim(0);
      for (int64_t i = 0; i < rows.size(); ++i)
        ASSERT_EQ(rows.item(i), value_of(site, part, i / width)) << site << " " << part << " " << i;
    }
}

TEST(State, ReservedRowsAreThoseThatGrew) {
  for (const int64_t reserved :
       {0, 3, 40, 700, 5000}) {  // none; in small blocks; in pages; one part in its own block
    SequenceState s(sites());
    s.reserve(reserved);
    append(s, 30);
    s.reserve(reserved + 50);  // they move
    append(s, 1);
    s.reserve(10);
    append(s, 500);
    expect_rows(s);
    SequenceState copy = s.fork();
    append(copy, 2);
    expect_rows(copy);
    expect_rows(s);
  }
}

TEST(State, PartsAreReachedByNameAndByNumber) {
  SequenceState s(sites());
  append(s, 3);
  s.append(1, "wide", 1).copy_from(Tensor::full({1, 2, 64}, DType::f32, 9));
  EXPECT_EQ(s.rows(1, "k").dim(0), 3);
  EXPECT_EQ(s.rows(1, 2).dim(0), 4);
  EXPECT_EQ(s.rows(0, "wide").dim(0), 3);
  EXPECT_EQ(s.rows(1, "wide").narrow(0, 3, 1).clone().item(127), 9);
  s.fixed(0, "tail").fill(5);
  EXPECT_EQ(s.fixed(0, 3).item(2), 5);
  EXPECT_EQ(s.fixed(1, 3).item(2), 0);
  EXPECT_DEATH(s.fixed(0, "tial"), "site 0 keeps no part 'tial'");
}

TEST(State, ReservedPagesAreTakenWhenTheyAreWritten) {
  constexpr int64_t kPage = 4096, kRows = 2000;
  SequenceState s(sites());
  s.reserve(kRows);
  append(s, 1);
  const Tensor row = s.rows(1, 2);  // two heads of 256 bytes, 2,000 rows each
  const auto begin = reinterpret_cast<uintptr_t>(row.raw()) / kPage * kPage;
  const int64_t pages = kRows * 2 * 256 / kPage;
  std::vector<unsigned char> resident(static_cast<size_t>(pages));
  ASSERT_EQ(::mincore(reinterpret_cast<void*>(begin), resident.size() * kPage, resident.data()), 0);
  int64_t taken = 0;
  for (const unsigned char p : resident) taken += p & 1;
  EXPECT_GE(taken, 2);
  EXPECT_LE(taken, 4) << "of " << pages;
}

}  // namespace
}  // namespace quern::mixers
