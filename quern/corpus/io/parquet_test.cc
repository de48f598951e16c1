// Parquet against pyarrow: its files (testdata/parquet, made by tools/oracles/corpus/parquet_files.py) give the rows
// it wrote; what we write is read back by ourselves here and by pyarrow in that script. Cut and damaged files are
// Errors.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/corpus/bytes/brotli.h"
#include "quern/corpus/bytes/lz4.h"
#include "quern/corpus/bytes/snappy.h"
#include "quern/corpus/io/inputs.h"
#include "quern/corpus/io/parquet.h"
#include "quern/corpus/io/parquet_encodings.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

const fs::path kFiles = QUERN_SOURCE_DIR "/quern/corpus/io/testdata/parquet";

std::string lines_of(const fs::path& file, uint64_t max_row = uint64_t{1} << 26) {
  auto in = open_parquet(file, max_row);
  std::string all, piece(1000, ' ');
  while (const size_t n = in->read(piece.data(), piece.size())) all.append(piece, 0, n);
  return all;
}
std::vector<Json> parsed(const std::string& lines) {
  std::vector<Json> rows;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = lines.find('\n', at);
    rows.push_back(Json::parse(lines.substr(at, end - at)));
    at = end + 1;
  }
  return rows;
}

class ParquetTest : public ::testing::Test {
 protected:
  // Whole numbers as such; others may be written with or without ".0".
  static bool same_value(const Json& a, const Json& b) {
    if (a.is_object() && b.is_object()) {
      if (a.as_object().size() != b.as_object().size()) return false;
      for (const auto& [key, value] : b.as_object())
        if (const Json* mine = a.find(key); !mine || !same_value(*mine, value)) return false;
      return true;
    }
    if (a.is_array() && b.is_array()) {
      if (a.as_array().size() != b.as_array().size()) return false;
      for (size_t i = 0; i < a.as_array().size(); ++i)
        if (!same_value(a.as_array()[i], b.as_array()[i])) return false;
      return true;
    }
    return b.is_number() && !b.is_int() ? a.is_number() && a.as_double() == b.as_double() : a == b;
  }
  ParquetTest() : root_(fs::temp_directory_path() / fmt::format("quern-parquet-{}", ::getpid())) {
    fs::create_directories(root_);
  }
  ~ParquetTest() override { fs::remove_all(root_); }
  fs::path root_;
};

TEST_F(ParquetTest, PyarrowsFilesGiveTheirRows) {
  size_t rows = 0;
  for (const char* name : {"plain", "snappy", "gzip", "zstd", "v2", "v2plain", "empty", "runs", "lz4", "deltas",
                           "deltas2", "nested", "nested2", "times"}) {
    const std::vector<Json> got = parsed(lines_of(kFiles / fmt::format("{}.parquet", name)));
    std::string expected = read_file(kFiles / fmt::format("{}.jsonl", name));
    const std::vector<Json> want = parsed(expected);
    ASSERT_EQ(got.size(), want.size()) << name;
    for (size_t i = 0; i < got.size(); ++i) {
      for (const auto& [key, value] : want[i].as_object()) {
        const Json& mine = got[i].at(key);
        ASSERT_TRUE(same_value(mine, value)) << name << " " << i << " " << key << "\n"
                                             << mine.dump() << "\n"
                                             << value.dump();
      }
      ASSERT_EQ(got[i].as_object().size(), want[i].as_object().size());
    }
    rows += got.size();
  }
  EXPECT_EQ(rows, 9 * 120u + 1200u + 2 * 150u + 60u);
  EXPECT_TRUE(parquet_columns_left_out(kFiles / "plain.parquet").empty());
  EXPECT_EQ(parquet_columns_left_out(kFiles / "others.parquet"),
            (std::vector<std::string>{"price (of fixed length)", "key (of fixed length)", "in (of fixed length)"}));
}

TEST_F(ParquetTest, WhatIsNotReadIsNamed) {
  // The footer says that the chunk is packed by method 4, Brotli; now it says 3, LZO.
  std::string packed = read_file(kFiles / "brotli.parquet");
  const std::string codec("text\x15\x08", 6);
  const size_t in_footer = packed.find(codec);
  ASSERT_NE(in_footer, packed.npos);
  packed[in_footer + 5] = 6;
  write_file(root_ / "lzo.parquet", packed);
  EXPECT_NE(lines_of(root_ / "lzo.parquet")
                .find("compressed with lzo; expected none, snappy, gzip, brotli, lz4, lz4_raw or zstd"),
            std::string::npos);
  // The head of a page says that its values share beginnings (7); now it says 4, which nobody writes.
  std::string bytes = read_file(kFiles / "deltas.parquet");
  const std::string head("\x15\x0e\x15\x06\x15\x06", 6);  // encoding 7, levels 3 and 3
  const size_t at = bytes.find(head);
  ASSERT_NE(at, bytes.npos);
  bytes[at + 1] = 8;
  write_file(root_ / "four.parquet", bytes);
  EXPECT_NE(lines_of(root_ / "four.parquet").find("encoding 4"), std::string::npos);
}

// A list of two leaves, in two rows: where elements begin is told for each leaf, and a damaged one moves no value to
// another row.
TEST_F(ParquetTest, LeavesOfAListMustAgree) {
  const std::string whole = read_file(kFiles / "pairs.parquet");
  EXPECT_EQ(lines_of(kFiles / "pairs.parquet"),
            "{\"pairs\":[{\"a\":1,\"b\":10},{\"a\":2,\"b\":20}]}\n{\"pairs\":[{\"a\":3,\"b\":30}]}\n");
  const std::string levels("\x02\0\0\0\x03\x02", 6);  // 0 1 0
  const size_t first = whole.find(levels) + 5, second = whole.find(levels, first) + 5;
  ASSERT_LT(second, whole.size());
  const auto problem = [&](char a, char b) {
    std::string bytes = whole;
    bytes[first] = a, bytes[second] = b;
    write_file(root_ / "pairs.parquet", bytes);
    return lines_of(root_ / "pairs.parquet");
  };
  EXPECT_NE(problem(2, 4).find("has lists of different lengths"), std::string::npos);
  EXPECT_NE(problem(4, 2).find("has lists of different lengths"), std::string::npos);
  EXPECT_NE(problem(0, 0).find("has more values than rows"), std::string::npos);
  EXPECT_NE(problem(6, 6).find("has fewer values than rows"), std::string::npos);
  EXPECT_NE(problem(3, 2).find("has an element between two rows"), std::string::npos);
}

// Lists are not kept in memory beyond the longest row, and what stays of such a row is still too long.
TEST_F(ParquetTest, ListsEndWhereARowIsTooLong) {
  constexpr size_t kLongest = 60;
  const std::string whole = lines_of(kFiles / "nested.parquet"), cut = lines_of(kFiles / "nested.parquet", kLongest);
  EXPECT_LT(cut.size(), whole.size());
  EXPECT_EQ(std::ranges::count(cut, '\n'), std::ranges::count(whole, '\n'));
  for (size_t a = 0, b = 0; b < cut.size();) {
    const size_t a_end = whole.find('\n', a), b_end = cut.find('\n', b);
    const std::string before = whole.substr(a, a_end - a), after = cut.substr(b, b_end - b);
    EXPECT_TRUE(before == after || (before.size() > after.size() && after.size() > kLongest)) << after;
    a = a_end + 1, b = b_end + 1;
  }
}

TEST_F(ParquetTest, BrotliIsRead) {
  std::string expected;
  for (int i = 0; i < 50; ++i) expected += "{\"text\":\"a\"}\n{\"text\":\"b\"}\n";
  EXPECT_EQ(lines_of(kFiles / "brotli.parquet"), expected);
}

// "hello hello hello hello\n" two thousand times, by Python's brotli module.
TEST(Brotli, DamageIsAnError) {
  const std::string packed(
      "\x1b\x7f\xbb\xf8\x8d\x94\x6e\xde\x44\x55\x86\xd6\x0a\x20\x6c\x6f\x4a\x9e\xc7\xea\x80\x13\xb8\x5a\x45\x66\x01"
      "\x08",
      28);
  constexpr size_t kBytes = 48000;
  std::string text;
  decompress_brotli(packed, kBytes, text);
  ASSERT_EQ(text.size(), kBytes);
  for (size_t i = 0; i < kBytes; i += 24) ASSERT_EQ(text.substr(i, 24), "hello hello hello hello\n") << i;
  EXPECT_NE(message_of([&] { decompress_brotli(packed, kBytes - 1, text); }).find("more than 47999 bytes"),
            std::string::npos);
  for (size_t n = 0; n < packed.size(); ++n)
    EXPECT_NE(message_of([&] { decompress_brotli(packed.substr(0, n), kBytes, text); }).find("cut short"),
              std::string::npos)
        << n;
  EXPECT_NE(message_of([&] { decompress_brotli(packed + "x", kBytes, text); }).find("1 bytes after its end"),
            std::string::npos);
}

TEST_F(ParquetTest, CutAnywhereIsAnError) {
  for (const char* name : {"snappy", "zstd", "v2", "brotli"}) {
    const std::string whole = read_file(kFiles / fmt::format("{}.parquet", name));
    for (size_t n = 0; n < whole.size(); n += 97) {
      write_file(root_ / "cut.parquet", whole.substr(0, n));
      EXPECT_THROW(parquet_columns_left_out(root_ / "cut.parquet"), Error) << n;
    }
  }
  EXPECT_NE(message_of([&] { lines_of(root_ / "cut.parquet"); }).find("is cut short"), std::string::npos);
  EXPECT_EQ(find_inputs(std::vector<std::string>{(root_ / "cut.parquet").string()}).files.size(), 1u)
      << "the run goes on without it";
}

// Damage anywhere before the index costs rows of one row group: each is told, and the other groups are read.
TEST_F(ParquetTest, DamageCostsARowGroupAndEveryRowIsToldOf) {
  const std::string whole = read_file(kFiles / "zstd.parquet");
  const std::vector<Json> rows = parsed(lines_of(kFiles / "zstd.parquet"));
  const size_t index = whole.size() - 8 - static_cast<unsigned char>(whole[whole.size() - 8]) -
                       256u * static_cast<unsigned char>(whole[whole.size() - 7]);
  size_t damaged = 0;
  for (size_t at = 4; at < index; at += 41) {
    std::string bytes = whole;
    for (size_t k = 0; k < 20 && at + k < index; ++k) bytes[at + k] = static_cast<char>(~bytes[at + k]);
    write_file(root_ / "bad.parquet", bytes);
    const std::string lines = lines_of(root_ / "bad.parquet");
    size_t told = 0, read = 0;
    for (size_t from = 0; from < lines.size(); from = lines.find('\n', from) + 1)
      ++(lines[from] == kDamagedParquetRow ? told : read);
    EXPECT_GE(told + read, rows.size()) << at;
    EXPECT_LE(told + read, rows.size() + 1) << at;
    EXPECT_LE(told, 38u) << at << ": groups have 37 rows";
    damaged += told > 0;
  }
  EXPECT_GT(damaged, 100u);
}

// Values that are not compressed hold any bit: a page's checksum tells.
TEST_F(ParquetTest, ChecksumsOfPagesAreCompared) {
  const std::string whole = read_file(kFiles / "sums.parquet");
  EXPECT_EQ(lines_of(kFiles / "sums.parquet").find(kDamagedParquetRow), std::string::npos);
  const size_t at = whole.find(std::string("the mill\x09\0\0\0the river", 21));  // not in the statistics
  ASSERT_NE(at, whole.npos);
  std::string bytes = whole;
  bytes[at] ^= 1;
  write_file(root_ / "sums.parquet", bytes);
  EXPECT_NE(lines_of(root_ / "sums.parquet").find("not what its checksum says"), std::string::npos);
}

// Bytes that nobody calls text, and that are none, are base64: a picture's column costs no row.
TEST_F(ParquetTest, BytesAreTextOrBase64) {
  const std::vector<Json> got = parsed(lines_of(kFiles / "bytes.parquet")),
                          want = parsed(read_file(kFiles / "bytes.jsonl"));
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_value(got[i], want[i])) << got[i].dump();
}

TEST_F(ParquetTest, DamageNeverCrashes) {
  std::mt19937 random(6);
  int errors = 0;
  for (int trial = 0; trial < 1200; ++trial) {
    const char* names[] = {"plain",  "snappy",  "gzip",   "zstd",    "v2",   "lz4",
                           "deltas", "deltas2", "nested", "nested2", "times"};
    std::string bytes = read_file(kFiles / fmt::format("{}.parquet", names[trial % 10]));
    for (int k = 0; k < 1 + trial % 4; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
    write_file(root_ / "bad.parquet", bytes);
    try {
      errors += lines_of(root_ / "bad.parquet").find(std::string("\n") + kDamagedParquetRow) != std::string::npos;
    } catch (const Error&) {
      ++errors;
    }
  }
  EXPECT_GT(errors, 100);
}

TEST_F(ParquetTest, WrittenAndReadBack) {
  std::mt19937 random(8);
  std::vector<std::string> texts, members;
  {
    ParquetWriter w(root_ / "out.parquet", 3, 100000);
    for (uint64_t i = 0; i < 3000; ++i) {
      texts.emplace_back(random() % 200, static_cast<char>('a' + i % 26));
      members.push_back(random() % 3 ? fmt::format("{{\"n\":{}}}", i) : "");
      const std::string id = std::to_string(i << 50);
      w.add({.id = id,
             .source = i % 2 ? "web" : "books",
             .url = i % 3 ? "" : "http://a.example/",
             .date = {},
             .language = i % 5 ? "en" : "",
             .language_score = i % 5 ? std::optional(1.0 / static_cast<double>(i)) : std::nullopt,
             .text = texts.back(),
             .members = members.back()});
    }
    w.close();
  }
  const std::vector<Json> rows = parsed(lines_of(root_ / "out.parquet"));
  ASSERT_EQ(rows.size(), texts.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].at("text").as_string(), texts[i]);
    EXPECT_EQ(rows[i].at("source").as_string(), i % 2 ? "web" : "books");
    EXPECT_EQ(rows[i].at("members"), members[i].empty() ? Json() : Json(members[i]));
    EXPECT_EQ(rows[i].at("id").as_string(), std::to_string(uint64_t{i} << 50));
    EXPECT_EQ(rows[i].at("url"), i % 3 ? Json() : Json("http://a.example/"));
    EXPECT_TRUE(rows[i].at("date").is_null());
    EXPECT_EQ(rows[i].at("language"), i % 5 ? Json("en") : Json());
    if (i % 5) {
      EXPECT_EQ(rows[i].at("language_score").as_double(), 1.0 / static_cast<double>(i));
    }
  }
  { ParquetWriter left(root_ / "left.parquet", 3); }
  EXPECT_FALSE(fs::exists(root_ / "left.parquet"));
  EXPECT_FALSE(fs::exists(root_ / "left.parquet.part"));
}

TEST(Snappy, ByHand) {
  using namespace std::string_view_literals;
  std::string out;
  decompress_snappy(
      "\x0b\x08"
      "abc"
      "\x11\x03"sv,
      100, out);  // abc, then 8 bytes from 3 back
  EXPECT_EQ(out, "abcabcabcab");
  decompress_snappy(
      "\x05\x00"
      "x"
      "\x0e\x01\x00"sv,
      100, out);  // x, then 4 from 1 back by the longer form
  EXPECT_EQ(out, "xxxxx");
  EXPECT_THROW(decompress_snappy("\x0b\x08"
                                 "abc"
                                 "\x11\x04"sv,
                                 100, out),
               Error);  // from before the beginning
  EXPECT_THROW(decompress_snappy("\x0b\x08"
                                 "abc"
                                 "\x11\x00"sv,
                                 100, out),
               Error);
  EXPECT_THROW(decompress_snappy("\x0a\x08"
                                 "abc"
                                 "\x11\x03"sv,
                                 100, out),
               Error);  // one more than it says
  EXPECT_THROW(decompress_snappy("\x0c\x08"
                                 "abc"
                                 "\x11\x03"sv,
                                 100, out),
               Error);
  EXPECT_THROW(decompress_snappy("\x0b\x08"
                                 "ab"sv,
                                 100, out),
               Error);
  EXPECT_THROW(decompress_snappy("\x0b\x08"
                                 "abc"
                                 "\x11\x03"sv,
                                 10, out),
               Error);
  std::string small;  // says 2 GiB: no memory is taken for what cannot be there
  EXPECT_THROW(decompress_snappy("\xff\xff\xff\xff\x07\x00x"sv, size_t{1} << 31, small), Error);
  EXPECT_LT(small.capacity(), 1000u);
  EXPECT_THROW(decompress_snappy("\xff\xff\xff\xff\x7f\x00x"sv, size_t{1} << 40, small), Error);  // beyond 32 bits
  EXPECT_THROW(decompress_snappy("\x80"sv, 100, small), Error);
  EXPECT_THROW(decompress_snappy(""sv, 100, small), Error);
}

TEST(Lz4, ByHand) {  // the format wants the last five bytes of a block to be literals
  using namespace std::string_literals;
  using namespace std::string_view_literals;
  std::string out;
  decompress_lz4("\x34xyz\x03\x00\x50-end!"sv, 16, out);  // xyz, eight from 3 back, then five literals
  EXPECT_EQ(out, "xyzxyzxyzxy-end!");
  decompress_lz4(
      "\x1f"
      "a\x01\x00\x02\x50"
      "bcdef"sv,
      27, out);  // a run: 15 + 2 + 4 from 1 back
  EXPECT_EQ(out, std::string(22, 'a') + "bcdef");
  std::string far(300, 'q');
  decompress_lz4("\xf0\xff\x1e"s + far, 300, out);  // 15 + 255 + 30 literals
  EXPECT_EQ(out, far);
  for (const std::string_view bad :
       {""sv, "\x34xyz\x04\x00\x50-end!"sv, "\x34xyz\x00\x00\x50-end!"sv, "\x34xyz\x03"sv, "\x34xy"sv,
        "\x34xyz\x03\x00"sv, "\x3fxyz\x03\x00\xff\xff\x01\x50-end!"sv, "\x30xyz"sv})
    EXPECT_THROW(decompress_lz4(bad, 16, out), Error) << testing::PrintToString(bad);
  const std::string block("\x34xyz\x03\x00\x50-end!", 12);
  EXPECT_THROW(decompress_lz4(block, 15, out), Error);
  EXPECT_THROW(decompress_lz4(block, 17, out), Error);
  EXPECT_THROW(decompress_lz4(block, size_t{1} << 40, out), Error);  // no memory is taken for what cannot be there
  EXPECT_LT(out.capacity(), 255 * block.size() + 100);
  const std::string sized = std::string("\0\0\0\x10\0\0\0\x0c", 8) + block, once = "xyzxyzxyzxy-end!";
  decompress_lz4_sized(sized + sized, 32, out);
  EXPECT_EQ(out, once + once);
  decompress_lz4_sized(block, 16, out);
  decompress_lz4_sized("\0\0\0\0\0\0\0\1\0"s, 0, out);  // an empty page with a packed piece of nothing
  EXPECT_TRUE(out.empty());
  decompress_lz4_sized(block, 16, out);
  EXPECT_EQ(out, once);
  EXPECT_THROW(decompress_lz4_sized(sized + block, 32, out), Error);
  // One size, several pieces: as Hadoop packs a text longer than its buffer.
  const std::string piece = "\x00\x00\x00\x0c"s + block;
  decompress_lz4_sized("\x00\x00\x00\x30"s + piece + piece + piece + sized, 64, out);
  EXPECT_EQ(out, once + once + once + once);
  EXPECT_THROW(decompress_lz4_sized("\x00\x00\x00\x30"s + piece + piece, 48, out), Error);
  EXPECT_THROW(decompress_lz4_sized("\x00\x00\x00\x18"s + piece + piece, 24, out), Error);
  EXPECT_THROW(decompress_lz4_sized("\x00\x00\x00\x10\x00\x00\x00\x00"s + piece, 16, out), Error);
}

TEST(Deltas, ByHand) {
  using namespace std::string_view_literals;
  // Blocks of 128 in four parts; six numbers, the first 7; least difference −2; the first part in 2 bits.
  const std::string head("\x80\x01\x04\x06\x0e\x03\x02\x00\x00\x00", 10);
  const std::string part("\xe4\x01\0\0\0\0\0\0", 8);  // 0 1 2 3 1: differences −2 −1 0 1 −1
  parquet::Deltas d;
  const std::string all = head + part + "rest";
  ASSERT_TRUE(d.begin(all));
  std::string_view rest;
  ASSERT_TRUE(d.behind(rest));
  EXPECT_EQ(rest, "rest");
  std::vector<int64_t> got;
  for (int64_t v = 0; d.next(v);) got.push_back(v);
  EXPECT_EQ(got, (std::vector<int64_t>{7, 5, 4, 4, 5, 4}));
  for (size_t n = 0; n < all.size() - 4; ++n) {  // cut anywhere
    const std::string cut = all.substr(0, n);
    EXPECT_FALSE(d.begin(cut) && d.behind(rest)) << n;
  }
  EXPECT_FALSE(d.begin("\x80\x01\x03\x06\x0e"sv));  // 128 in three parts
  EXPECT_FALSE(d.begin("\x14\x05\x06\x0e"sv));      // parts of four are no whole bytes
  ASSERT_TRUE(d.begin("\x80\x01\x04\x06\x0e\x03\x41\x00\x00\x00"sv));
  EXPECT_FALSE(d.behind(rest));  // 65 bits
}

}  // namespace
}  // namespace quern::corpus
