// Reading: JSON lines against the general JSON reader, packed files, rows that are no documents, damaged files, WARC.
#include "quern/corpus/io/ingest.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/corpus/run/pipeline.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

class Folder {  // of one test, gone with it
 public:
  Folder() : path_(fs::temp_directory_path() / fmt::format("quern-corpus-{}", ::getpid())) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

struct Seen {
  std::vector<std::string> texts;
  std::vector<uint64_t> ids;
  std::vector<std::pair<uint64_t, RecordProblem>> problems;
  ReadCounts counts;
  std::vector<std::string> damaged;
};

Seen read_all(const std::vector<std::string>& words, ReadPolicy policy = {}, size_t block = 256,
              const std::string& form = "auto", const std::string& field = "text") {
  const Inputs in = find_inputs(words, form);
  BlockReader reader(in, policy, block);
  FieldMap fields;
  fields.text = field;
  DocumentReader documents(in, {fields}, policy);
  Seen s;
  Block b;
  while (reader.next(b))
    documents.read(
        b, s.counts,
        [&](const DocumentView& d) {
          s.texts.emplace_back(d.text);
          s.ids.push_back(d.id);
        },
        [&](uint64_t row, RecordProblem p) { s.problems.emplace_back(row, p); });
  s.damaged = reader.damaged();
  return s;
}

const char* parse(const std::string& line, std::string* text = nullptr) {
  const std::vector<std::string> names = {"text"};
  std::vector<JsonMember> out(1);
  std::vector<char> scratch(line.size());
  const char* why = read_json_line(line, names, out, scratch.data());
  if (!why && text) *text = std::string(out[0].value);
  return why;
}

TEST(JsonLine, ReadsStrings) {
  std::string t;
  EXPECT_EQ(parse(R"({"a":[1,{"text":"no"}],"text":"a\n\"\\\/\u00e9\ud83d\ude00z","b":null})", &t), nullptr);
  EXPECT_EQ(t, "a\n\"\\/\xC3\xA9\xF0\x9F\x98\x80z");
  EXPECT_EQ(parse(R"({"text":"first","te\u0078t":"last"})", &t), nullptr);
  EXPECT_EQ(t, "last");
  EXPECT_EQ(parse(R"({"te\u0078t":"a long enough key and value to cross sixteen bytes \t twice"})", &t), nullptr);
  EXPECT_EQ(t, "a long enough key and value to cross sixteen bytes \t twice");
}

// A field may be wanted for two things, such as an address that is the id.
TEST(JsonLine, ReadsAMemberTwice) {
  const std::string line = R"({"text":"a","id":"b"})";
  const std::vector<std::string> names = {"id", "text", "id"};
  std::vector<JsonMember> out(3);
  std::vector<char> scratch(line.size());
  EXPECT_EQ(read_json_line(line, names, out, scratch.data()), nullptr);
  EXPECT_EQ(out[0].raw, "\"b\"");
  EXPECT_EQ(out[2].raw, "\"b\"");
}

// Mutated lines: accepted by one reader exactly when by the other, with the same text.
TEST(JsonLine, AgreesWithTheGeneralReader) {
  const std::string seeds[] = {
      R"({"id":12,"text":"some text, with \"quotes\" and \u0041\n and é","meta":{"a":[true,false,null,-1.5e+10,0.25]}})",
      R"({"text":"😀\ud83d\ude00","x":[[[]]],"y":{"z":{}},"n":-0,"m":1E5})", R"({ "text" : "" , "k" : [ 1 , 2 ] })"};
  std::mt19937 random(1);
  int good = 0, bad = 0;
  const std::string alphabet = "{}[]\",:\\u0123456789eE+-.tfn \x01\x1f/abx";
  for (int i = 0; i < 60000; ++i) {
    std::string line = seeds[random() % 3];
    const int edits = static_cast<int>(random() % 3);
    for (int e = 0; e < edits; ++e) {
      const size_t at = random() % line.size();
      switch (random() % 3) {
        case 0:
          line[at] = alphabet[random() % alphabet.size()];
          break;
        case 1:
          line.erase(at, 1 + random() % 3);
          break;
        default:
          line.insert(at, 1, alphabet[random() % alphabet.size()]);
      }
      if (line.empty()) line = "{";
    }
    std::string text, expected;
    const bool ok = parse(line, &text) == nullptr;
    bool general = true;
    try {
      const Json j = Json::parse(line);
      general = j.is_object();
      const Json* t = j.find("text");
      if (general && t && t->is_string()) expected = t->as_string();
      if (general && !(t && t->is_string())) text.clear();
    } catch (const Error& e) {
      general = false;
      // Not the grammar's business: bytes that are no UTF-8, numbers out of range.
      const std::string what = e.what();
      if (what.find("UTF-8") != what.npos || what.find("the number is too large") != what.npos) continue;
    }
    ASSERT_EQ(ok, general) << line;
    if (ok) {
      ASSERT_EQ(text, expected) << line;
    }
    ok ? ++good : ++bad;
  }
  EXPECT_GT(good, 10000);
  EXPECT_GT(bad, 10000);
}

TEST(JsonLine, QuotesComeBack) {
  std::string all;
  for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
  all += "é😀";
  std::string line = "{\"text\":", back;
  append_json_string(line, all);
  line += "}";
  EXPECT_EQ(parse(line, &back), nullptr);
  EXPECT_EQ(back, all);
  EXPECT_EQ(Json::parse(line).at("text").as_string(), all);
}

TEST(Ingest, PlainGzipAndZstdReadAlike) {
  Folder f;
  std::string lines;
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i) {
    texts.push_back(fmt::format("text number {} {}", i, std::string(static_cast<size_t>(i % 50), 'x')));
    lines += fmt::format("{{\"n\":{},\"text\":\"{}\"}}{}", i, texts.back(), i == 299 ? "" : i % 7 ? "\n" : "\r\n");
  }
  write_file(f / "a.jsonl", lines);
  ASSERT_EQ(std::system(fmt::format("gzip -kc {0}/a.jsonl > {0}/b.jsonl.gz", f / "").c_str()), 0);
  {  // two frames, one of them made elsewhere
    ZstdWriter w(f / "c.jsonl.zst", 3);
    w.write(lines.substr(0, 1000));
    std::string frame;
    zstd_frame(std::string_view(lines).substr(1000, 5000), 3, frame);
    w.write_frame(frame, 5000);
    w.write(lines.substr(6000));
    EXPECT_EQ(w.bytes_in(), lines.size());
    w.close();
  }
  for (const char* name : {"a.jsonl", "b.jsonl.gz", "c.jsonl.zst"})
    for (size_t block : {size_t{1}, size_t{100}, size_t{1} << 20}) {
      const Seen s = read_all({f / name}, {}, block);
      EXPECT_EQ(s.texts, texts) << name;
      EXPECT_EQ(s.ids[17], document_id(0, 0, 17));
      EXPECT_EQ(s.counts.documents, 300u);
    }
}

TEST(Ingest, BadRowsAreCountedOrStop) {
  Folder f;
  write_file(f / "x.jsonl",
             "{\"text\":\"good\"}\n\n{\"text\":1}\n{\"tex\":\"a\"}\n{\"text\":\"\xff\"}\nnonsense\n{\"text\":\"" +
                 std::string(500, 'a') + "\"}\n{\"text\":\"end\"}");
  ReadPolicy policy{.max_row = 400};
  for (size_t block : {size_t{1}, size_t{1} << 20}) {
    const Seen s = read_all({f / "x.jsonl"}, policy, block);
    EXPECT_EQ(s.texts, (std::vector<std::string>{"good", "end"}));
    const std::vector<std::pair<uint64_t, RecordProblem>> expected = {
        {1, RecordProblem::blank},    {2, RecordProblem::no_text},  {3, RecordProblem::no_text},
        {4, RecordProblem::bad_utf8}, {5, RecordProblem::bad_json}, {6, RecordProblem::too_long}};
    EXPECT_EQ(s.problems, expected);
    EXPECT_EQ(s.ids.back(), document_id(0, 0, 7));
    EXPECT_EQ(s.counts.json().at("bad_json").as_int(), 1);
    ASSERT_FALSE(s.counts.examples.empty());
    EXPECT_NE(s.counts.examples[0].text.find("x.jsonl:3: member 'text'"), std::string::npos)
        << s.counts.examples[0].text;
  }
  policy.replace_utf8 = true;
  EXPECT_EQ(read_all({f / "x.jsonl"}, policy).texts[1], "\xEF\xBF\xBD");
  policy = {.stop_on_bad = true};
  EXPECT_NE(message_of([&] { read_all({f / "x.jsonl"}, policy); }).find("x.jsonl:3"), std::string::npos);
}

TEST(Ingest, WhatTheTextIsInsteadIsNamed) {
  Folder f;
  const std::pair<const char*, const char*> values[] = {
      {"{\"en\":\"a\"}", "an object, expected a string; nested fields are not supported"},
      {"[\"a\"]", "an array, expected a string"},
      {"-1", "a number, expected a string"},
      {"null", "null, expected a string"},
      {"true", "a boolean, expected a string"}};
  for (const auto& [value, why] : values) {
    write_file(f / "x.jsonl", fmt::format("{{\"text\":{}}}\n", value));
    const Seen s = read_all({f / "x.jsonl"}, {}, 100);
    ASSERT_EQ(s.counts.examples.size(), 1u) << value;
    EXPECT_TRUE(s.counts.examples[0].text.ends_with(fmt::format("x.jsonl:1: member 'text' is {}", why)))
        << s.counts.examples[0].text;
  }
}

TEST(Ingest, FilesCutShortAreTold) {
  Folder f;
  std::string lines;
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; ++i)
    lines += fmt::format("{{\"text\":\"{:x}{:x}{:x}\"}}\n", random(), random(), random());
  write_file(f / "a.jsonl", lines);
  ASSERT_EQ(
      std::system(
          fmt::format("gzip -kc {0}/a.jsonl > {0}/g.gz; head -c 300000 {0}/g.gz > {0}/g.jsonl.gz", f / "").c_str()),
      0);
  {
    ZstdWriter w(f / "z", 3);
    w.write(lines);
    w.close();
  }
  const std::string whole = read_file(f / "z");
  write_file(f / "z.jsonl.zst", whole.substr(0, whole.size() / 2));
  std::string flipped = whole;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 0x55);
  write_file(f / "y.jsonl.zst", flipped);
  for (const char* name : {"g.jsonl.gz", "z.jsonl.zst", "y.jsonl.zst"}) {
    const Seen s = read_all({f / name}, {}, size_t{1} << 16);
    EXPECT_GT(s.texts.size(), 1000u) << name;
    EXPECT_LE(s.texts.size(), name[0] == 'y' ? 20000u : 19999u) << name;  // a frame's sum may be all that tells
    ASSERT_EQ(s.damaged.size(), 1u) << name;
    EXPECT_NE(s.damaged[0].find(name), std::string::npos) << s.damaged[0];
    EXPECT_EQ(s.counts.problems[static_cast<int>(RecordProblem::cut)] + s.counts.documents, s.counts.rows) << name;
    EXPECT_NE(message_of([&] { read_all({f / name}, {.stop_on_bad = true}); }), "") << name;
  }
}

// 1 GiB of one letter on one line, in some 30 KB of zstd: a row too long, in bounded memory.
TEST(Ingest, ABombIsARowTooLong) {
  Folder f;
  {
    ZstdWriter w(f / "bomb.jsonl.zst", 3);
    const std::string piece(size_t{1} << 20, 'a');
    w.write("{\"text\":\"before\"}\n{\"text\":\"");
    for (int i = 0; i < 300; ++i) w.write(piece);
    w.write("\"}\n{\"text\":\"behind\"}\n");
    w.close();
  }
  EXPECT_LT(fs::file_size(f / "bomb.jsonl.zst"), 100000u);
  const Seen s = read_all({f / "bomb.jsonl.zst"}, {.max_row = size_t{8} << 20}, size_t{1} << 20);
  EXPECT_EQ(s.texts, (std::vector<std::string>{"before", "behind"}));
  EXPECT_EQ(s.counts.problems[static_cast<int>(RecordProblem::too_long)], 1u);
}

TEST(Ingest, FoldersSourcesAndText) {
  Folder f;
  fs::create_directories(f / "docs/deep");
  write_file(f / "docs/b.txt", "second\n");
  write_file(f / "docs/a.md", "first");
  write_file(f / "docs/deep/c.txt", "third");
  write_file(f / "docs/picture.png", "no");
  write_file(f / "one.jsonl", "{\"content\":\"line\"}\n");
  const Inputs in = find_inputs(std::vector<std::string>{"web=" + (f / "one.jsonl"), f / "docs"});
  EXPECT_EQ(in.sources, (std::vector<std::string>{"web", "input"}));
  EXPECT_EQ(in.files.size(), 4u);
  EXPECT_EQ(in.skipped.size(), 1u);
  const Seen s = read_all({f / "docs"});
  EXPECT_EQ(s.texts, (std::vector<std::string>{"first", "second\n", "third"}));
  EXPECT_EQ(read_all({f / "one.jsonl"}, {}, 256, "auto", "content").texts, (std::vector<std::string>{"line"}));
  EXPECT_NE(message_of([&] { find_inputs(std::vector<std::string>{f / "nothing"}); }).find("no such file"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              find_inputs(std::vector<std::string>{f / "docs", f / "docs/b.txt"});
            }).find("listed twice"),
            std::string::npos);
  EXPECT_NE(message_of([&] { find_inputs(std::vector<std::string>{f / "docs/picture.png"}); }).find("file extension"),
            std::string::npos);
}

TEST(Ingest, LinksInAFolderAreReadOnce) {
  Folder f;
  fs::create_directories(f / "docs");
  fs::create_directories(f / "store/deep");
  write_file(f / "docs/b.txt", "here");
  write_file(f / "store/c.txt", "there");
  fs::create_symlink("b.txt", f / "docs/a.txt");           // to a file that is read anyway
  fs::create_symlink("../store/c.txt", f / "docs/c.txt");  // to another one, twice
  fs::create_symlink("../store/c.txt", f / "docs/d.txt");
  fs::create_symlink("../store", f / "docs/e");         // to a folder
  fs::create_symlink("nothing.txt", f / "docs/f.txt");  // to nothing
  const Inputs in = find_inputs(std::vector<std::string>{f / "docs"});
  std::vector<std::string> names, links;
  for (const InputFile& file : in.files) names.push_back(file.path.filename().string());
  for (const std::string& link : in.links) links.push_back(fs::path(link).filename().string());
  EXPECT_EQ(names, (std::vector<std::string>{"b.txt", "c.txt"}));
  EXPECT_EQ(links, (std::vector<std::string>{"a.txt", "d.txt", "e", "f.txt"}));
  EXPECT_EQ(read_all({f / "docs"}).texts, (std::vector<std::string>{"here", "there"}));
  // A link that the user names is what it leads to.
  EXPECT_EQ(read_all({f / "docs/a.txt"}).texts, (std::vector<std::string>{"here"}));
}

TEST(Ingest, WetRecords) {
  Folder f;
  auto record = [](const std::string& type, const std::string& body) {
    return fmt::format("WARC/1.0\r\nWARC-Type: {}\r\ncontent-length: {}\r\n\r\n{}\r\n\r\n", type, body.size(), body);
  };
  const std::string good = record("warcinfo", "software: x") + record("conversion", "a page\nof two lines") +
                           record("conversion", "another") + record("conversion", std::string(600, 'l'));
  write_file(f / "a.wet", good);
  Seen s = read_all({f / "a.wet"}, {.max_row = 500}, 10);
  EXPECT_EQ(s.texts, (std::vector<std::string>{"a page\nof two lines", "another"}));
  EXPECT_EQ(s.ids, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(s.counts.problems[static_cast<int>(RecordProblem::not_text)], 1u);
  EXPECT_EQ(s.counts.problems[static_cast<int>(RecordProblem::too_long)], 1u);
  write_file(f / "b.wet", good.substr(0, good.size() - 50));
  s = read_all({f / "b.wet"});
  EXPECT_EQ(s.texts.size(), 2u);
  EXPECT_EQ(s.damaged.size(), 1u);
  write_file(f / "c.wet", "hello");
  EXPECT_NE(message_of([&] { read_all({f / "c.wet"}, {.stop_on_bad = true}); }).find("head"), std::string::npos);
}

// What is read of a damaged file does not hang on how much is asked for at a time.
TEST(Streams, DamageIsWhereItIs) {
  const fs::path file = fs::temp_directory_path() / fmt::format("quern-damage-{}", ::getpid());
  std::string text, packed;
  uint32_t x = 1;
  while (text.size() < 700'000) x = x * 1664525 + 1013904223, text += fmt::format("line {}\n", x >> 12);
  zstd_frame(text, 1, packed);
  for (const size_t at : {packed.size() / 2, packed.size() - 5000}) {
    std::string damaged = packed;
    for (size_t i = at; i < at + 1000; ++i) damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    write_file(file, damaged);
    std::string all[2];
    for (int i = 0; i < 2; ++i) {
      auto in = open_bytes(file);
      std::string piece(i == 0 ? 1000 : 1 << 20, ' ');
      EXPECT_NE(message_of([&] {
                  while (const size_t n = in->read(piece.data(), piece.size())) all[i].append(piece, 0, n);
                }).find("damaged zstd data"),
                std::string::npos);
    }
    EXPECT_TRUE(all[0] == all[1]) << all[0].size() << " bytes, " << all[1].size();
    EXPECT_GT(all[0].size(), 130'000u);
  }
  fs::remove(file);
}

TEST(Pipeline, CommitsInOrderAndPassesErrorsOn) {
  for (int threads : {1, 2, 5}) {
    int made = 0;
    std::vector<int> out;
    ordered_pipeline<int, int>(
        threads, [&](int& x) { return (x = made++) < 500; }, [](int x) { return x * x; },
        [&](int y) { out.push_back(y); });
    ASSERT_EQ(out.size(), 500u);
    for (int i = 0; i < 500; ++i) EXPECT_EQ(out[static_cast<size_t>(i)], i * i);
    made = 0;
    EXPECT_EQ(message_of([&] {
                ordered_pipeline<int, int>(
                    threads, [&](int& x) { return (x = made++) < 500; },
                    [](int x) { return x == 77 ? throw Error("seventy-seven") : x; }, [](int) {});
              }),
              "seventy-seven");
    EXPECT_LT(made, 200);
  }
}

}  // namespace
}  // namespace quern::corpus
