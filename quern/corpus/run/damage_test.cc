// Kinds of damage in files of every form: each row that is there is read or refused with a reason, the rows around it stay,
// and a file of which nothing is left is told as lost.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/corpus/io/ingest.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

enum class Fate { read, refused, blank };
struct Damage {
  const char* kind;
  std::string row;
  Fate fate;
};

class CorpusDamage : public ::testing::Test {
 protected:
  CorpusDamage() : root_(fs::temp_directory_path() / fmt::format("quern-damage-{}", ::getpid())) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~CorpusDamage() override { fs::remove_all(root_); }

  ReadCounts read(const std::string& name, const std::string& bytes, size_t block = 512) {
    write_file(root_ / name, bytes);
    return read_again(name, block);
  }
  ReadCounts read_again(const std::string& name, size_t block = 512) {
    const ReadPolicy policy{.max_row = 4096};
    const Inputs in = find_inputs(std::vector<std::string>{(root_ / name).string()});
    BlockReader reader(in, policy, block);
    DocumentReader documents(in, {FieldMap()}, policy);
    ReadCounts counts;
    uint64_t seen = 0, refused = 0;
    Block b;
    while (reader.next(b))
      documents.read(
          b, counts, [&](const DocumentView&) { ++seen; }, [&](uint64_t, RecordProblem) { ++refused; });
    EXPECT_EQ(seen, counts.documents);
    EXPECT_EQ(seen + refused, counts.rows) << name;  // read + refused = present
    damaged_ = reader.damaged();
    lost_ = !lost_inputs(in, counts, damaged_).empty();
    return counts;
  }
  // The row between two good ones, last, and alone.
  void check(const std::string& name, const std::string& before, const std::string& good, const std::string& after,
             const Damage& d) {
    SCOPED_TRACE(fmt::format("{}: {}", name, d.kind));
    const uint64_t kept = d.fate == Fate::read, refused = d.fate == Fate::refused;
    ReadCounts c = read(name, before + good + d.row + good + after);
    EXPECT_EQ(c.rows, 3u);
    EXPECT_EQ(c.documents, 2 + kept);
    EXPECT_EQ(c.bad(), refused);
    EXPECT_EQ(c.examples.size(), refused);
    EXPECT_FALSE(lost_);
    c = read(name, before + good + d.row + after);
    EXPECT_EQ(c.rows, 2u);
    EXPECT_EQ(c.documents, 1 + kept);
    c = read(name, before + d.row + after);
    EXPECT_EQ(c.documents, kept);
    EXPECT_EQ(lost_, d.fate == Fate::refused);
  }

  fs::path root_;
  std::vector<std::string> damaged_;
  bool lost_ = false;
};

const std::string kDeep = std::string(3000, '[') + std::string(3000, ']');

TEST_F(CorpusDamage, JsonLines) {
  const Damage all[] = {
      {"byte that is no UTF-8", "{\"text\":\"a\xFFz\"}\n", Fate::refused},
      {"continuation byte", "{\"text\":\"\x80\"}\n", Fate::refused},
      {"character cut in two", "{\"text\":\"\xE2\x82\"}\n", Fate::refused},
      {"overlong form", "{\"text\":\"\xC0\xAF\"}\n", Fate::refused},
      {"encoded surrogate", "{\"text\":\"\xED\xA0\x80\"}\n", Fate::refused},
      {"beyond U+10FFFF", "{\"text\":\"\xF4\x90\x80\x80\"}\n", Fate::refused},
      {"bad UTF-8 in another field", "{\"text\":\"a\",\"x\":\"\xFF\"}\n", Fate::refused},
      {"NUL in the text", "{\"text\":\"a\0b\"}\n"s, Fate::refused},
      {"NUL outside", "{\"text\":\"a\"}\0\n"s, Fate::refused},
      {"NUL as an escape", "{\"text\":\"a\\u0000b\"}\n", Fate::read},
      {"tab in a string", "{\"text\":\"a\tb\"}\n", Fate::refused},
      {"mark within", "{\"text\":\"\xEF\xBB\xBF\"}\n", Fate::read},
      {"U+2028", "{\"text\":\"\xE2\x80\xA8\"}\n", Fate::read},
      {"empty text", "{\"text\":\"\"}\n", Fate::read},
      {"missing field", "{\"body\":\"a\"}\n", Fate::refused},
      {"field in other letters", "{\"Text\":\"a\"}\n", Fate::refused},
      {"null", "{\"text\":null}\n", Fate::refused},
      {"number", "{\"text\":1}\n", Fate::refused},
      {"boolean", "{\"text\":true}\n", Fate::refused},
      {"array", "{\"text\":[\"a\"]}\n", Fate::refused},
      {"object", "{\"text\":{\"en\":\"a\"}}\n", Fate::refused},
      {"a bare string", "\"text\"\n", Fate::refused},
      {"a bare array", "[{\"text\":\"a\"}]\n", Fate::refused},
      {"empty object", "{}\n", Fate::refused},
      {"field twice", "{\"text\":\"a\",\"text\":\"b\"}\n", Fate::read},
      {"trailing comma", "{\"text\":\"a\",}\n", Fate::refused},
      {"no closing brace", "{\"text\":\"a\"\n", Fate::refused},
      {"no closing quote", "{\"text\":\"a\n", Fate::refused},
      {"no colon", "{\"text\" \"a\"}\n", Fate::refused},
      {"single quotes", "{'text':'a'}\n", Fate::refused},
      {"key without quotes", "{text:\"a\"}\n", Fate::refused},
      {"rest behind it", "{\"text\":\"a\"} x\n", Fate::refused},
      {"two objects", "{\"text\":\"a\"}{\"text\":\"b\"}\n", Fate::refused},
      {"comma between rows", "{\"text\":\"a\"},\n", Fate::refused},
      {"comment", "// note\n", Fate::refused},
      {"bad escape", "{\"text\":\"\\x\"}\n", Fate::refused},
      {"short escape", "{\"text\":\"\\u12\"}\n", Fate::refused},
      {"half a surrogate pair", "{\"text\":\"\\ud83d\"}\n", Fate::read},
      {"NaN", "{\"text\":\"a\",\"x\":NaN}\n", Fate::read},
      {"number of Python", "{\"text\":\"a\",\"x\":1_000}\n", Fate::refused},
      {"leading zero", "{\"text\":\"a\",\"x\":01}\n", Fate::refused},
      {"binary", "\x89PNG\x0D\x1A\x01\n", Fate::refused},
      {"carriage return", "{\"text\":\"a\"}\r\n", Fate::read},
      {"blanks around", " \t{\"text\":\"a\"} \n", Fate::read},
      {"blank line", " \t\n", Fate::blank},
      {"very long", "{\"text\":\"" + std::string(5000, 'x') + "\"}\n", Fate::refused},
      {"very deep", "{\"text\":\"a\",\"x\":" + kDeep.substr(1500, 3000) + "}\n", Fate::refused},
  };
  for (const Damage& d : all) check("a.jsonl", "", "{\"text\":\"good\"}\n", "", d);
}

TEST_F(CorpusDamage, Tables) {
  const Damage all[] = {
      {"byte that is no UTF-8", "1,a\xFFz\n", Fate::refused},
      {"NUL", "1,a\0b\n"s, Fate::read},
      {"too few cells", "1\n", Fate::refused},
      {"too many cells", "1,a,b\n", Fate::refused},
      {"comma at the end", "1,a,\n", Fate::refused},
      {"empty cell", "1,\n", Fate::read},
      {"empty quoted cell", "1,\"\"\n", Fate::read},
      {"line end in a cell", "1,\"a\nb\"\n", Fate::read},
      {"carriage return in a cell", "1,\"a\rb\"\n", Fate::read},
      {"quote within", "1,a\"b\n", Fate::read},
      {"text behind a quote", "1,\"a\"b\n", Fate::read},
      {"doubled quotes", "1,\"\"\"a\"\"\"\n", Fate::read},
      {"open quote", "1,\"a\n", Fate::refused},
      {"backslash before a quote", "1,\"a\\\"b\"\n", Fate::read},
      {"carriage return and line feed", "1,a\r\n", Fate::read},
      {"carriage return alone", "1,a\r", Fate::read},
      {"blank line", "\n", Fate::blank},
      {"very long", "1," + std::string(5000, 'x') + "\n", Fate::refused},
      {"control characters", "1,a\x01\x02\x1B\n", Fate::read},
      {"only separators", ",\n", Fate::read},
  };
  for (const Damage& d : all) {
    check("a.csv", "id,text\n", "0,good\n", "", d);
    Damage t = d;
    std::ranges::replace(t.row, ',', '\t');
    check("a.tsv", "id\ttext\n", "0\tgood\n", "", t);
    if (d.kind != "byte that is no UTF-8"s) check("a.csv", "\xEF\xBB\xBFid,text\r\n", "0,good\r\n", "", d);
  }
}

std::string record(const std::string& body, const std::string& kind = "conversion", const std::string& more = "") {
  return fmt::format("WARC/1.0\r\nWARC-Type: {}\r\n{}Content-Length: {}\r\n\r\n{}\r\n\r\n", kind, more, body.size(),
                     body);
}
std::string answer(const std::string& body, const std::string& head = "Content-Type: text/html\r\n") {
  return record("HTTP/1.1 200 OK\r\n" + head + "\r\n" + body, "response");
}

TEST_F(CorpusDamage, Warc) {
  const std::string good = record("good"), packed = "Content-Type: text/html\r\nContent-Encoding: gzip\r\n";
  const Damage all[] = {
      {"byte that is no UTF-8", record("a\xFFz"), Fate::refused},
      {"NUL", record("a\0b"s), Fate::read},
      {"UTF-16",
       record("\xFF\xFE"
              "a\0b\0"s),
       Fate::refused},
      {"empty", record(""), Fate::blank},
      {"a record in a record", record(record("inner")), Fate::read},
      {"about itself", record("x", "warcinfo"), Fate::blank},
      {"no kind", "WARC/1.0\r\nContent-Length: 1\r\n\r\nx\r\n\r\n", Fate::blank},
      {"no line ends behind it", "WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: 1\r\n\r\nx", Fate::read},
      {"many line ends behind it", record("x") + "\r\n\r\n\n\n", Fate::read},
      {"very long", record(std::string(5000, 'x')), Fate::refused},
      {"page", answer("<p>text"), Fate::read},
      {"page with bad UTF-8", answer("<meta charset=utf-8><p>\xC3\xA9\xC3\xA9 \xFF"), Fate::read},
      {"page without text", answer("<script>1</script>"), Fate::blank},
      {"picture", answer("x", "Content-Type: image/png\r\n"), Fate::blank},
      {"damaged body", answer("\x1F\x8B\x08\xFF\xFF", packed), Fate::refused},
      {"body of an unknown packing", answer("xyz", "Content-Type: text/html\r\nContent-Encoding: lzw\r\n"),
       Fate::refused},
      {"very long page", answer(std::string(5000, 'x')), Fate::refused},
      {"chunks that are none", answer("<p>text", "Content-Type: text/html\r\nTransfer-Encoding: chunked\r\n"),
       Fate::read},
  };
  for (const Damage& d : all) {
    if (d.kind == "picture"s) continue;  // a file of pictures alone is lost
    check("a.warc", "", good, "", d);
  }
  // What is no record counts as one, up to the next one; where none follows, so does what the file ends with.
  for (const std::string& bad : {"WARC/1.0\r\nWARC-Type: conversion\r\n\r\nx\r\n\r\n"s,
                                 "WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: -1\r\n\r\nx\r\n\r\n"s,
                                 "WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: 1x\r\n\r\nx\r\n\r\n"s,
                                 "WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: 900\r\n\r\nx\r\n\r\n"s,
                                 "GARC/1.0\r\nContent-Length: 1\r\n\r\nx\r\n\r\n"s, "\x1F\x8B\x08"s}) {
    SCOPED_TRACE(bad);
    ReadCounts c = read("b.warc", good + bad + good);
    const bool found = !bad.starts_with('\x1F') && bad.find("900") == bad.npos;  // the next record
    EXPECT_EQ(c.documents, found ? 2u : 1u);
    EXPECT_EQ(c.bad(), 1u);
    EXPECT_EQ(damaged_.size(), found ? 0u : 1u);
    c = read("b.warc", bad.starts_with('\x1F') ? "x" + bad : bad);
    EXPECT_TRUE(lost_);
  }
}

TEST_F(CorpusDamage, WholeFiles) {
  const auto fate = [&](const std::string& name, const std::string& bytes) {
    const ReadCounts c = read(name, bytes);
    EXPECT_LE(c.rows, 1u) << name;
    return c.documents == 1 ? Fate::read : c.bad() == 1 && lost_ ? Fate::refused : Fate::blank;
  };
  for (const char* name : {"a.txt", "a.html"}) {
    EXPECT_EQ(fate(name, "text"), Fate::read);
    EXPECT_EQ(fate(name, "\xEF\xBB\xBFtext"), Fate::read);
    EXPECT_EQ(fate(name, ""), Fate::blank);
    EXPECT_EQ(fate(name, "\xEF\xBB\xBF"), Fate::blank);
    EXPECT_EQ(fate(name, std::string(5000, 'x')), Fate::refused);
    EXPECT_EQ(fate(name, "a\0b"s), Fate::read);
    EXPECT_EQ(fate(name, "a\r\nb\rc\n"), Fate::read);
  }
  EXPECT_EQ(fate("a.txt", "a\xFF"), Fate::refused);
  EXPECT_EQ(fate("a.txt",
                 "\xFF\xFE"
                 "a\0"s),
            Fate::refused);
  EXPECT_EQ(fate("a.html", "a\xFF"), Fate::read);  // browsers show it
  EXPECT_EQ(fate("a.html",
                 "\xFF\xFE"
                 "a\0"s),
            Fate::read);
  EXPECT_EQ(fate("a.html", "<p"), Fate::blank);
  EXPECT_EQ(fate("a.parquet.txt", "PAR1"), Fate::read);
  for (const char* name : {"b.jsonl", "b.csv", "b.tsv", "b.warc"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(read(name, "").rows, 0u);
    EXPECT_FALSE(lost_);  // nothing was there
    read(name, std::string("\xFF\xFE"
                           "{\0\"\0",
                           6));
    EXPECT_TRUE(lost_);
    read(name,
         "\x7F"
         "ELF\x02\x01\x01\x00\x00 binary \x80\x81\x82\n\x01\x02\x03\n"s);
    EXPECT_TRUE(lost_);
  }
  for (const std::string& bad : {""s, "PAR1"s, "PAR1xxxxPAR1"s, "{\"text\":\"a\"}\n"s})
    EXPECT_TRUE((read("c.parquet", bad), lost_)) << bad;
}

// Wherever a file of lines is cut: whole rows are read, and the one that is cut counts.
TEST_F(CorpusDamage, CutAtAnyByte) {
  std::string lines, table = "id,text\n", records;
  std::vector<size_t> line_ends, row_ends, record_ends;
  for (int i = 0; i < 5; ++i) {
    lines += fmt::format("{{\"text\":\"row {}\"}}\n", i), line_ends.push_back(lines.size());
    table += fmt::format("{},\"row\n{}\"\n", i, i), row_ends.push_back(table.size());
    records += record(fmt::format("page {}", i)), record_ends.push_back(records.size());
  }
  const auto whole = [](const std::vector<size_t>& ends, size_t cut, size_t slack) {
    return static_cast<uint64_t>(std::ranges::count_if(ends, [&](size_t e) { return e - slack <= cut; }));
  };
  for (size_t cut = 0; cut <= lines.size(); ++cut) {
    const ReadCounts c = read("a.jsonl", lines.substr(0, cut));
    EXPECT_EQ(c.documents, whole(line_ends, cut, 1)) << cut;
    EXPECT_EQ(c.rows, whole(line_ends, cut, 0) + (cut > 0 && lines[cut - 1] != '\n')) << cut;
  }
  for (size_t cut = 8; cut <= table.size(); ++cut) {
    const ReadCounts c = read("a.csv", table.substr(0, cut));
    EXPECT_GE(c.documents, whole(row_ends, cut, 1)) << cut;
    EXPECT_GE(c.rows, whole(row_ends, cut, 0) + (cut > 8 && table[cut - 1] != '\n')) << cut;
  }
  for (size_t cut = 0; cut <= records.size(); ++cut) {
    const ReadCounts c = read("a.warc", records.substr(0, cut));
    const uint64_t documents = whole(record_ends, cut, 4);
    const bool between = std::ranges::any_of(record_ends, [&](size_t e) { return e - 4 <= cut && cut <= e; });
    EXPECT_EQ(c.documents, documents) << cut;
    EXPECT_EQ(c.rows, documents + (cut > 0 && !between)) << cut;
  }
}

// Compressed files that are cut, damaged, joined, padded or named wrongly.
TEST_F(CorpusDamage, CompressedFiles) {
  std::string lines;
  for (int i = 0; i < 30000; ++i) lines += fmt::format("{{\"text\":\"{}\"}}\n", i * 7919 % 10007);
  const auto count = [&](const std::string& name, const std::string& bytes) {
    return read(name, bytes, size_t{1} << 16).documents;
  };
  for (const auto& [program, ending] :
       {std::pair("gzip", "gz"), std::pair("zstd -q", "zst"), std::pair("xz -T1", "xz"), std::pair("bzip2", "bz2")}) {
    SCOPED_TRACE(ending);
    write_file(root_ / "plain", lines);
    const std::string plain = (root_ / "plain").string(), name = fmt::format("a.jsonl.{}", ending);
    if (std::system(fmt::format("{} -c < {} > {}.packed 2>/dev/null", program, plain, plain).c_str()) != 0)
      GTEST_SKIP() << program << " is not installed";
    const std::string packed = read_file(root_ / "plain.packed");
    EXPECT_EQ(count(name, packed), 30000u);
    EXPECT_TRUE(damaged_.empty());
    write_file(root_ / name, packed);
    for (const size_t piece : {size_t{997}, size_t{1} << 22}) {  // whatever is asked for at a time
      const auto in = open_bytes(root_ / name);
      std::string all, some(piece, ' ');
      while (const size_t n = in->read(some.data(), piece)) all.append(some, 0, n);
      EXPECT_TRUE(all == lines);
    }
    EXPECT_EQ(count(name, packed + packed), 60000u);  // several streams are one file
    EXPECT_EQ(count("a.jsonl", packed), 30000u);      // told by its content
    EXPECT_EQ(count(name, lines.substr(0, 17)), 1u);  // and so is a plain one
    for (const size_t cut : {packed.size() - 1, packed.size() / 2}) {
      EXPECT_LE(count(name, packed.substr(0, cut)), 30000u);
      EXPECT_EQ(damaged_.size(), 1u);
      EXPECT_NE(damaged_.at(0).find("and on)"), std::string::npos) << damaged_[0];
    }
    EXPECT_EQ(count(name, packed.substr(0, 12)), 0u);
    EXPECT_TRUE(lost_);
    std::string bad = packed;
    for (size_t i = bad.size() / 2; i < bad.size() / 2 + 200; ++i) bad[i] = static_cast<char>(bad[i] ^ 0x5A);
    EXPECT_LT(count(name, bad), 30000u);
    EXPECT_EQ(damaged_.size(), 1u);
    const auto before_damage = [&](size_t piece) {
      const auto in = open_bytes(root_ / name);
      std::string all, some(piece, ' ');
      try {
        while (const size_t n = in->read(some.data(), piece)) all.append(some, 0, n);
      } catch (const Error&) {
      }
      return all;
    };
    const std::string once = before_damage(size_t{1} << 22);
    for (const size_t piece : {size_t{1}, size_t{997}, size_t{1} << 17})
      EXPECT_TRUE(before_damage(piece) == once) << piece;
    EXPECT_EQ(count("a.csv." + std::string(ending), packed.substr(0, packed.size() / 2)), 0u);
    EXPECT_TRUE(lost_);
  }
}

}  // namespace
}  // namespace quern::corpus
