// CSV and TSV as inputs: what Python's csv module and spreadsheets write, and what is wrong with such files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/rng.h"
#include "quern/base/test_message.h"
#include "quern/corpus/io/csv.h"
#include "quern/corpus/io/ingest.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

class TableInput : public ::testing::Test {
 protected:
  TableInput() : root_(fs::temp_directory_path() / fmt::format("quern-table-{}", ::getpid())) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~TableInput() override { fs::remove_all(root_); }
  std::string lines(const std::string& csv, char separator = ',', size_t piece = 1 << 16, size_t max_row = 1 << 20) {
    write_file(root_ / "a.csv", csv);
    const auto in = csv_as_json(open_bytes(root_ / "a.csv"), root_ / "a.csv", separator, max_row);
    std::string all, buffer(piece, ' ');
    while (const size_t n = in->read(buffer.data(), buffer.size())) all.append(buffer, 0, n);
    return without_places(all);
  }
  // Rows as the reader of blocks has them; where they stood goes to places_.
  std::string without_places(const std::string& all) {
    std::string rows;
    places_.clear();
    for (size_t at = 0, end = 0; at < all.size(); at = end + 1) {
      end = all.find('\n', at);
      const std::string_view row = std::string_view(all).substr(at, end - at);
      places_.push_back(csv_place(row));
      rows += std::string(row.substr(places_.back().bytes)) + '\n';
    }
    return rows;
  }
  ReadCounts read(const std::string& file) const {
    const Inputs in = find_inputs(std::vector<std::string>{(root_ / file).string()});
    DocumentReader documents(in, {FieldMap()}, {});
    BlockReader reader(in, {});
    ReadCounts counts;
    Block b;
    while (reader.next(b))
      documents.read(
          b, counts, [](const DocumentView&) {}, [](uint64_t, RecordProblem) {});
    return counts;
  }
  fs::path root_;
  std::vector<CsvPlace> places_;
};

TEST_F(TableInput, Rfc4180) {
  EXPECT_EQ(lines("text,id\none,1\ntwo,2\n"), "{\"text\":\"one\",\"id\":\"1\"}\n{\"text\":\"two\",\"id\":\"2\"}\n");
  EXPECT_EQ(lines("text\r\n\"a, \"\"b\"\"\r\nc\"\r\n\"\"\r\nlast"),
            "{\"text\":\"a, \\\"b\\\"\\r\\nc\"}\n{\"text\":\"\"}\n{\"text\":\"last\"}\n");
  EXPECT_EQ(lines("\xEF\xBB\xBFtext,b\rone,\r\r,two\r"),
            "{\"text\":\"one\",\"b\":\"\"}\n\n{\"text\":\"\",\"b\":\"two\"}\n");  // the blank line is one
  EXPECT_EQ(lines("a\tb\none, \"x\"\t2\n", '\t'), "{\"a\":\"one, \\\"x\\\"\",\"b\":\"2\"}\n");
  EXPECT_EQ(lines(",text,text,text.1\n0,a,b,c\n"),
            "{\"column0\":\"0\",\"text\":\"a\",\"text.1\":\"b\",\"text.1.1\":\"c\"}\n");
  EXPECT_EQ(lines("text\n\"a\"b\"c\n"), "{\"text\":\"ab\\\"c\"}\n");  // as Python reads it
  EXPECT_EQ(lines(std::string("text\na\0b\n", 9)), "{\"text\":\"a\\u0000b\"}\n");
  EXPECT_EQ(lines(""), "");
  EXPECT_EQ(lines("text\n"), "");
}

TEST_F(TableInput, RowsThatAreNoneAreLines) {
  EXPECT_EQ(lines("a,b\n1,2,3\n1\n1,2\n"),
            "!3 cells where the first row names 2\n!1 cells where the first row names 2\n"
            "{\"a\":\"1\",\"b\":\"2\"}\n");
  EXPECT_EQ(lines("text\none\n\"two\nthree\nfour\n"),
            "{\"text\":\"one\"}\n!a quote that nothing closes\n{\"text\":\"three\"}\n{\"text\":\"four\"}\n");
  const std::string long_cell(600'000, 'x');
  EXPECT_EQ(lines("text\n\"" + long_cell + "\n\"\nb\n", ',', 1 << 16, 100'000).substr(0, 29),
            "!a quote that nothing closes\n");
  EXPECT_NE(message_of([&] { lines("\"text\none\n"); }).find("the row of column names: a quote that nothing closes"),
            std::string::npos);
  EXPECT_NE(message_of([&] { lines("\xFF\xFEt"); }).find("UTF-16: convert it to UTF-8"), std::string::npos);
}

// One stray quote in a large file takes one row, and the time stays bounded.
TEST_F(TableInput, AStrayQuoteLosesOneRow) {
  std::string csv = "text\n";
  for (int i = 0; i < 30000; ++i) csv += i == 100 ? "\"stray\n" : fmt::format("row {}\n", i);
  const std::string out = lines(csv);
  EXPECT_EQ(std::ranges::count(out, '\n'), 30000);
  EXPECT_EQ(std::ranges::count(out, '!'), 1);
}

// Random tables come back as they are, whatever is asked for at a time.
TEST_F(TableInput, AnyTable) {
  Rng rng(3);
  constexpr const char* kPieces[] = {"a", "word ", ",", "\"", "\n", "\r\n", "\t", "é", "", "\\", "{"};
  for (int round = 0; round < 50; ++round) {
    std::string csv = "x,y\n", expected;
    for (int r = 0; r < 40; ++r) {
      std::string cells[2];
      for (std::string& cell : cells) {
        for (uint64_t k = rng.below(5); k > 0; --k) cell += kPieces[rng.below(std::size(kPieces))];
        std::string quoted = "\"";
        for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
        const bool plain = cell.find_first_of("\",\r\n") == cell.npos && rng.below(2) == 0;
        csv += (plain ? cell : quoted + "\"") + (&cell == cells ? "," : r % 2 == 0 ? "\n" : "\r\n");
      }
      expected += "{\"x\":";
      append_json_string(expected, cells[0]);
      expected += ",\"y\":";
      append_json_string(expected, cells[1]);
      expected += "}\n";
    }
    for (const size_t piece : {size_t{1}, size_t{13}, size_t{1} << 16})
      EXPECT_EQ(lines(csv, ',', piece), expected) << csv;
  }
}

TEST_F(TableInput, TheSeparatorIsFoundInTheFirstRow) {
  const std::pair<const char*, const char*> all[] = {
      {"text;n\n\"a;b\",1\n", "!1 cells where"},
      {"text;n\n\"a;b\";1,5\n", "{\"text\":\"a;b\",\"n\":\"1,5\"}"},
      {"text|n\nx|2\n", "{\"text\":\"x\",\"n\":\"2\"}"},
      {"text\tn\nx\t2\n", "{\"text\":\"x\",\"n\":\"2\"}"},
      {"text,n\nx;y,2\n", "{\"text\":\"x;y\",\"n\":\"2\"}"},
      {"\"a;b;c\",n\nx,2\n", "{\"a;b;c\":\"x\",\"n\":\"2\"}"},
      {"text\na;b\n", "{\"text\":\"a;b\"}"},
      {"\xEF\xBB\xBFn, m;text;z\r\n1;a;b\r\n", "{\"n, m\":\"1\",\"text\":\"a\",\"z\":\"b\"}"}};
  for (const auto& [csv, row] : all)
    for (const size_t piece : {size_t{1}, size_t{1} << 16})
      EXPECT_TRUE(lines(csv, kFindSeparator, piece).starts_with(row)) << csv << lines(csv, kFindSeparator, piece);
  lines("text;n\nx;2\n", kFindSeparator);
  EXPECT_EQ(places_.at(0).separator, ';');
}

// A row may span lines; what is wrong with one is told with the line that an editor goes to.
TEST_F(TableInput, PlacesAreLinesOfTheFile) {
  lines("text,n\n\"a\nb\",1\n\nbad\n\"c\r\nd\re\",2\r\nlast,3\n");
  std::vector<uint64_t> at;
  for (const CsvPlace& p : places_) at.push_back(p.line);
  EXPECT_EQ(at, (std::vector<uint64_t>{2, 0, 5, 6, 9}));  // a blank row has none
  write_file(root_ / "l.csv", "text,n\n\"a\nb\",1\nbad\n");
  EXPECT_TRUE(read("l.csv").examples.at(0).text.ends_with("l.csv:4: 1 cells where the first row names 2"))
      << read("l.csv").examples[0].text;
  write_file(root_ / "q.csv", "text,n\n\"a\nb\",1\n\"open,2\nc,3\nbad\n");
  const ReadCounts counts = read("q.csv");
  ASSERT_EQ(counts.examples.size(), 2u);
  EXPECT_TRUE(counts.examples[0].text.ends_with("q.csv:4: a quote that nothing closes")) << counts.examples[0].text;
  EXPECT_TRUE(counts.examples[1].text.ends_with("q.csv:6: 1 cells where the first row names 2"))
      << counts.examples[1].text;
  EXPECT_EQ(counts.documents, 2u);
}

TEST_F(TableInput, AMissingColumnIsToldWithTheOthers) {
  write_file(root_ / "a.csv", "id;body\n1;x\n");
  ReadCounts counts = read("a.csv");
  EXPECT_TRUE(counts.examples.at(0).text.ends_with(
      "a.csv:2: no column 'text': the first row names id, body, separated by ';'"))
      << counts.examples[0].text;
  EXPECT_EQ(counts.no_field, 1u);
  std::string names = "c0", cells = "0";
  for (int i = 1; i < 20; ++i) names += fmt::format("\tc{}", i), cells += "\t0";
  write_file(root_ / "b.tsv", names + "\n" + cells + "\n");
  EXPECT_TRUE(read("b.tsv").examples.at(0).text.ends_with("c10, c11 and 8 more, separated by tabs"))
      << read("b.tsv").examples[0].text;
}

TEST_F(TableInput, IsReadAsDocuments) {
  write_file(root_ / "b.csv", "id,body,score\n1,one,0.5\n2,two\n\n3,\xFF,2\n4,four,x\n");
  const Inputs in = find_inputs(std::vector<std::string>{(root_ / "b.csv").string()});
  FieldMap fields;
  fields.text = "body", fields.score = "score";
  DocumentReader documents(in, {fields}, {});
  BlockReader reader(in, {});
  ReadCounts counts;
  std::vector<std::string> texts;
  double score = 0;
  Block b;
  while (reader.next(b))
    documents.read(
        b, counts, [&](const DocumentView& d) { texts.emplace_back(d.text), score += d.score; },
        [](uint64_t, RecordProblem) {});
  EXPECT_EQ(texts, std::vector<std::string>{"one"});
  EXPECT_EQ(score, 0.5);
  EXPECT_EQ(counts.rows, 5u);
  EXPECT_EQ(counts.problems[static_cast<int>(RecordProblem::bad_csv)], 1u);
  EXPECT_EQ(counts.problems[static_cast<int>(RecordProblem::blank)], 1u);
  EXPECT_EQ(counts.problems[static_cast<int>(RecordProblem::bad_utf8)], 1u);
  EXPECT_EQ(counts.problems[static_cast<int>(RecordProblem::bad_field)], 1u);
  EXPECT_TRUE(counts.examples.at(0).text.ends_with("b.csv:3: 2 cells where the first row names 3"))
      << counts.examples[0].text;
}

}  // namespace
}  // namespace quern::corpus
