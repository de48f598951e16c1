// Files as other programs write them: JSON of Python, byte order marks, gzip cut short, WARC with URLs and responses.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/corpus/bytes/byte_stream.h"
#include "quern/corpus/io/ingest.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

class DirtyInput : public ::testing::Test {
 protected:
  DirtyInput() : root_(fs::temp_directory_path() / fmt::format("quern-dirty-{}", ::getpid())) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~DirtyInput() override { fs::remove_all(root_); }
  // The documents as lines of output.
  std::string read(const std::string& name, ReadPolicy policy = {}, size_t block = 256) {
    const Inputs in = find_inputs(std::vector<std::string>{(root_ / name).string()});
    BlockReader reader(in, policy, block);
    DocumentReader documents(in, {FieldMap()}, policy);
    std::string lines;
    counts_ = {};
    Block b;
    while (reader.next(b))
      documents.read(
          b, counts_, [&](const DocumentView& d) { append_document(d, d.text, lines); },
          [](uint64_t, RecordProblem) {});
    damaged_ = reader.damaged();
    return lines;
  }
  uint64_t problems(RecordProblem p) const { return counts_.problems[static_cast<int>(p)]; }
  fs::path root_;
  ReadCounts counts_;
  std::vector<std::string> damaged_;
};

std::string mended(std::string line) {
  mend_json_line(line);
  return line;
}

TEST_F(DirtyInput, PatternsAreNamesOfFiles) {
  fs::create_directories(root_ / "x/1"), fs::create_directories(root_ / "x/2");
  for (const char* name : {"x/1/a.jsonl", "x/2/a.jsonl", "x/2/b.txt", "[y].txt", "y.txt"})
    write_file(root_ / name, "t");
  const auto names = [&](const std::string& word) {
    std::vector<std::string> all;
    const Inputs in = find_inputs(std::vector<std::string>{word});
    for (const InputFile& f : in.files) all.push_back(f.path.lexically_relative(root_).string());
    return fmt::format("{}: {}", in.sources[0], fmt::join(all, " "));
  };
  const std::string root = root_.string();
  EXPECT_EQ(names("web=" + root + "/x/*/a.jsonl"), "web: x/1/a.jsonl x/2/a.jsonl");
  EXPECT_EQ(names(root + "/x/[2-9]"), "input: x/2/a.jsonl x/2/b.txt");
  EXPECT_EQ(names(root + "/[y].txt"), "input: [y].txt");  // a file of that name
  EXPECT_EQ(names(root + "/?.txt"), "input: y.txt");
  EXPECT_NE(message_of([&] { names(root + "/z*"); }).find("no file or folder matches"), std::string::npos);
}

TEST(MendJsonLine, OnlyWhatJsonDoesNotHave) {
  EXPECT_EQ(mended(R"({"a": NaN, "b": [Infinity, -Infinity], "c": -1})"),
            R"({"a": null, "b": [null, null], "c": -1})");
  EXPECT_EQ(mended(R"({"NaN": "NaN, \"Infinity\" and -Infinity"})"), R"({"NaN": "NaN, \"Infinity\" and -Infinity"})");
  EXPECT_EQ(mended(R"(["\ud83d\ude00", "\ud83d", "\ude00\ud83d", "\uD83Dx", "\ud83d\ud83d\ude00"])"),
            R"(["\ud83d\ude00", "\ufffd", "\ufffd\ufffd", "\ufffdx", "\ufffd\ud83d\ude00"])");
  EXPECT_EQ(mended(R"(["\\ud83d", "\\\ud83d", "\ud8"])"), R"(["\\ud83d", "\\\ufffd", "\ud8"])");
}

// As Python's json.dumps writes NaN, infinities and text of surrogateescape.
TEST_F(DirtyInput, JsonOfPythonIsMended) {
  write_file(root_ / "a.jsonl",
             "{\"text\": \"one\", \"score\": NaN}\n"
             "{\"text\": \"a\\ud800b\", \"x\": [-Infinity, \"NaN\"]}\n"
             "{\"text\": \"three\", \"y\": Nan}\n"
             "{\"text\": \"\\ud83d\\ude00\"}\n");
  EXPECT_EQ(read("a.jsonl"),
            "{\"text\": \"one\", \"score\": null}\n"
            "{\"text\": \"a\\ufffdb\", \"x\": [null, \"NaN\"]}\n"
            "{\"text\": \"\\ud83d\\ude00\"}\n");
  EXPECT_EQ(counts_.mended, 2u);
  EXPECT_EQ(problems(RecordProblem::bad_json), 1u);
  EXPECT_NE(message_of([&] { read("a.jsonl", {.stop_on_bad = true}); }).find("a.jsonl:1: bad JSON"),
            std::string::npos);
}

TEST_F(DirtyInput, ByteOrderMarksAreNoText) {
  const std::string mark = "\xEF\xBB\xBF";
  write_file(root_ / "a.jsonl", mark + "{\"text\":\"one\"}\n" + "{\"text\":\"" + mark + "two\"}\n");
  write_file(root_ / "b.txt", mark + "a note");
  write_file(root_ / "c.txt", mark);
  const std::string record = "WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: 4\r\n\r\npage\r\n\r\n";
  write_file(root_ / "d.wet", mark + record);
  EXPECT_EQ(read("a.jsonl"),
            "{\"text\":\"one\"}\n{\"text\":\"" + mark + "two\"}\n");  // within a text it is a character
  EXPECT_EQ(read("b.txt"),
            fmt::format("{{\"id\":0,\"file\":\"{}\",\"text\":\"a note\"}}\n", (root_ / "b.txt").string()));
  EXPECT_EQ(read("c.txt"), "");
  EXPECT_EQ(problems(RecordProblem::blank), 1u);
  EXPECT_EQ(read("d.wet"), "{\"id\":0,\"text\":\"page\"}\n");
  write_file(root_ / "e.jsonl", std::string("\xFF\xFE{\0\"\0", 6));
  read("e.jsonl");
  ASSERT_EQ(counts_.examples.size(), 1u);
  EXPECT_NE(counts_.examples[0].text.find("UTF-16: convert it to UTF-8"), std::string::npos);
}

// The row at which a file is cut, whatever part of it was in blocks by then.
TEST_F(DirtyInput, ACutFileNamesTheRow) {
  std::string lines;
  for (int i = 0; i < 5000; ++i) lines += fmt::format("{{\"text\":\"{}\"}}\n", i * 7919 % 10007);
  write_file(root_ / "whole.jsonl", lines);
  const std::string dir = root_.string();
  ASSERT_EQ(std::system(fmt::format("gzip -kc {0}/whole.jsonl > {0}/whole.gz", dir).c_str()), 0);
  const std::string packed = read_file(root_ / "whole.gz");
  for (const size_t part : {4, 2}) {
    write_file(root_ / "cut.jsonl.gz", packed.substr(0, packed.size() * (part - 1) / part));
    for (const size_t block : {size_t{256}, size_t{20000}, size_t{4} << 20}) {
      read("cut.jsonl.gz", {}, block);
      ASSERT_EQ(damaged_.size(), 1u);
      // The last row is the one that is cut, or nothing is left of it.
      const uint64_t first_lost = counts_.documents + 1;
      EXPECT_NE(damaged_[0].find(fmt::format("(row {} and on)", first_lost)), std::string::npos)
          << damaged_[0] << ", " << counts_.documents << " documents, blocks of " << block;
    }
    const std::string row = fmt::format("(row {} and on)", counts_.documents + 1);
    const std::string message = message_of([&] { read("cut.jsonl.gz", {.stop_on_bad = true}); });
    EXPECT_NE(message.find(row), std::string::npos) << message;
  }
}

std::string warc(const std::string& type, const std::string& fields, const std::string& body) {
  return fmt::format("WARC/1.0\r\nWARC-Type: {}\r\n{}Content-Length: {}\r\n\r\n{}\r\n\r\n", type, fields, body.size(),
                     body);
}

TEST_F(DirtyInput, WetRecordsKeepUrlAndDate) {
  write_file(
      root_ / "a.wet",
      warc("warcinfo", "", "software: x") +
          warc("conversion", "WARC-Target-URI: http://a.org/?q=\"1\"\r\nWARC-Date: 2024-05-18T01:58:10Z\r\n", "one") +
          warc("conversion", "WARC-Target-URI: <http://b.org/>\r\n", "two\nlines") + warc("conversion", "", "three"));
  const std::string expected =
      "{\"id\":1,\"url\":\"http://a.org/?q=\\\"1\\\"\",\"date\":\"2024-05-18T01:58:10Z\",\"text\":\"one\"}\n"
      "{\"id\":2,\"url\":\"http://b.org/\",\"text\":\"two\\nlines\"}\n"
      "{\"id\":3,\"text\":\"three\"}\n";
  EXPECT_EQ(read("a.wet"), expected);
  EXPECT_EQ(read("a.wet", {}, 10), expected);
  EXPECT_EQ(problems(RecordProblem::not_text), 1u);
  write_file(root_ / "b.wet", warc("conversion", "WARC-Target-URI: http://\xFF.org/\r\n", "one"));
  EXPECT_EQ(read("b.wet"), "{\"id\":0,\"url\":\"http://\xEF\xBF\xBD.org/\",\"text\":\"one\"}\n");
}

}  // namespace
}  // namespace quern::corpus
