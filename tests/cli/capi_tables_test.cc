// Tables over the Arrow C interfaces: documents as record batches, verdicts of filters, columns of texts in every form that
// strings have. Other libraries read and write the same streams in python/tests.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <quern.h>

#include <cstring>
#include <fstream>

#include "quern/base/json.h"
#include "quern/capi/arrow_format.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

template <class T>
T at(const ArrowArray* a, int buffer, int64_t i) {
  return static_cast<const T*>(a->buffers[buffer])[i];
}
bool bit(const ArrowArray* a, int buffer, int64_t i) { return at<uint8_t>(a, buffer, i / 8) >> (i % 8) & 1; }
bool is_null(const ArrowArray* a, int64_t i) { return a->null_count > 0 && !bit(a, 0, i); }
std::string text(const ArrowArray* a, int64_t i) {
  const auto begin = at<int32_t>(a, 1, i), end = at<int32_t>(a, 1, i + 1);
  return {static_cast<const char*>(a->buffers[2]) + begin, static_cast<size_t>(end - begin)};
}

class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (batch.release) batch.release(&batch);
    if (schema.release) schema.release(&schema);
    if (stream.release) stream.release(&stream);
  }
  std::string fields() {
    if (schema.release) schema.release(&schema);
    EXPECT_EQ(stream.get_schema(&stream, &schema), 0) << stream.get_last_error(&stream);
    std::string out;
    for (int64_t i = 0; i < schema.n_children; ++i)
      out += fmt::format("{}{}:{}", i ? " " : "", schema.children[i]->name, schema.children[i]->format);
    return out;
  }
  bool next() {
    if (batch.release) batch.release(&batch);
    EXPECT_EQ(stream.get_next(&stream, &batch), 0) << stream.get_last_error(&stream);
    return batch.release != nullptr;
  }
  ArrowArrayStream stream = {};
  ArrowSchema schema = {};
  ArrowArray batch = {};
};

class CApiTables : public testing::Test {
 protected:
  std::string options(const std::string& more) const {
    return R"({"paths": ["notes=)" + (scratch_ / "a.jsonl") + "\"]" + more + "}";
  }
  void write(const std::string& lines) const { std::ofstream(scratch_ / "a.jsonl") << lines; }
  ScratchFolder scratch_;
};

TEST_F(CApiTables, DocumentsAreRecordBatches) {
  write(
      "{\"text\": \"one ä\", \"n\": 7, \"x\": 2.5, \"ok\": true, \"t\": \"a\"}\nnothing\n"
      "{\"text\": \"two\", \"n\": \"8\", \"x\": null, \"ok\": 1, \"t\": {\"a\": 1}}\n{\"text\": \"three\"}\n"
      "{\"text\": \"four\", \"t\": \"null\"}\n");
  Stream s;
  ASSERT_EQ(quern_rows_stream(
                options(R"(, "columns": ["text", "source", "n:integer", "x:number", "ok:truth", "t:text"])").c_str(),
                &s.stream),
            0)
      << quern_last_error();
  EXPECT_EQ(s.fields(), "text:u source:u n:l x:g ok:b t:u");
  ASSERT_TRUE(s.next());
  ASSERT_EQ(s.batch.length, 4);
  ArrowArray* const* c = s.batch.children;
  EXPECT_EQ(text(c[0], 0) + text(c[0], 1) + text(c[0], 2), "one ätwothree");
  EXPECT_EQ(text(c[1], 2), "notes");
  EXPECT_EQ((std::vector{at<int64_t>(c[2], 1, 0), at<int64_t>(c[2], 1, 1)}), (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(at<double>(c[3], 1, 0), 2.5);
  EXPECT_TRUE(bit(c[4], 1, 0));
  EXPECT_EQ(text(c[5], 0) + text(c[5], 1), "a{\"a\": 1}");
  EXPECT_FALSE(is_null(c[5], 3));
  EXPECT_EQ(text(c[5], 3), "null");  // a text of four letters
  for (int i = 2; i < 6; ++i) EXPECT_TRUE(is_null(c[i], 2)) << i;
  EXPECT_TRUE(is_null(c[3], 1) && is_null(c[4], 1) && !is_null(c[2], 1));
  // A child may be kept longer than its batch.
  ArrowArray kept = *c[0];
  c[0]->release = nullptr;
  EXPECT_FALSE(s.next());
  EXPECT_EQ(text(&kept, 1), "two");
  kept.release(&kept);
  EXPECT_FALSE(s.next());

  const auto refused = [&](const char* columns, const char* message) {
    Stream other;
    EXPECT_EQ(quern_rows_stream(options(columns).c_str(), &other.stream), -1);
    EXPECT_NE(std::string(quern_last_error()).find(message), std::string::npos) << quern_last_error();
  };
  // What a stage of the command reads of them.
  Stream in;
  ASSERT_EQ(quern_rows_stream(options("").c_str(), &in.stream), 0);
  quern_texts* texts = quern_texts_open(&in.stream, nullptr);
  EXPECT_EQ(quern_texts_write(texts, (scratch_ / "rows.jsonl").c_str()), 4) << quern_last_error();
  EXPECT_EQ(quern_texts_write(texts, (scratch_ / "no/rows.jsonl").c_str()), -1);
  quern_texts_free(texts);
  EXPECT_EQ(shell("cat " + (scratch_ / "rows.jsonl")).out,
            "{\"row\":0,\"text\":\"one ä\"}\n{\"row\":1,\"text\":\"two\"}\n{\"row\":2,\"text\":\"three\"}\n"
            "{\"row\":3,\"text\":\"four\"}\n");

  refused(R"(, "columns": ["txet"])", "did you mean 'text'");
  refused(R"(, "columns": ["n:int"])", "integer, number or truth");
  refused(R"(, "columns": [])", "at least one");
  refused(R"(, "colums": ["text"])", "did you mean 'columns'");
  EXPECT_EQ(quern_rows_stream(nullptr, &s.stream), -1);
}

// The stream says of a damaged file what quern_rows says.
TEST_F(CApiTables, AStreamFailsWithAMessage) {
  write("{\"text\": \"one\"}\n{\"text\": \n");
  Stream s;
  ASSERT_EQ(quern_rows_stream(options(R"(, "on_bad": "stop")").c_str(), &s.stream), 0) << quern_last_error();
  EXPECT_NE(s.stream.get_next(&s.stream, &s.batch), 0);
  EXPECT_NE(std::string(s.stream.get_last_error(&s.stream)).find("a.jsonl"), std::string::npos);
}

TEST_F(CApiTables, FiltersJudgeEveryRow) {
  std::string lines, sentences;
  for (int i = 0; i < 6; ++i) sentences += "Write to ada@example.org today. ";
  for (int i = 0; i < 300; ++i)
    lines += fmt::format("{{\"text\": \"{}\"}}\n", i % 3 == 0   ? "{ code here }"
                                                   : i % 3 == 1 ? sentences.c_str()
                                                                : "");
  write(lines);
  Stream in, out;
  ASSERT_EQ(quern_rows_stream(options("").c_str(), &in.stream), 0);
  ASSERT_EQ(quern_filter_stream(R"({"filter": "c4+pii"})", &in.stream, &out.stream), 0) << quern_last_error();
  EXPECT_EQ(in.stream.release, nullptr);  // taken over
  EXPECT_EQ(out.fields(), "keep:b failing:+l text:u");
  const Ran r = shell("quern corpus filter " + (scratch_ / "a.jsonl") + " --filter c4+pii --reasons --out " +
                      (scratch_ / "out") + " --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const auto kept = Json::parse(r.out).at("documents_out").as_int();
  int64_t rows = 0, keep = 0;
  std::string masked;
  while (out.next()) {
    ArrowArray* const* c = out.batch.children;
    for (int64_t i = 0; i < out.batch.length; ++i, ++rows) {
      keep += bit(c[0], 1, i);
      const auto rules = at<int32_t>(c[1], 1, i + 1) - at<int32_t>(c[1], 1, i);
      EXPECT_EQ(rules == 0, bit(c[0], 1, i)) << i;
      EXPECT_TRUE(rules == 0 || !text(c[1]->children[0], at<int32_t>(c[1], 1, i)).empty()) << i;
      if (rows == 1) masked = text(c[2], i);
    }
  }
  EXPECT_EQ(rows, 300);
  EXPECT_EQ(keep, kept);
  EXPECT_EQ(keep, 100);
  EXPECT_EQ(masked.find("ada@"), std::string::npos) << masked;
  Stream again;
  ASSERT_EQ(quern_rows_stream(options("").c_str(), &in.stream), 0);
  EXPECT_EQ(quern_filter_stream(R"({"filter": "gopher-qualty"})", &in.stream, &again.stream), -1);
  EXPECT_NE(std::string(quern_last_error()).find("gopher-quality"), std::string::npos) << quern_last_error();
}

template <size_t N>
ArrowArray array_of(int64_t length, const void* (&buffers)[N], int64_t offset = 0, int64_t nulls = 0) {
  ArrowArray a = {};
  a.length = length, a.offset = offset, a.null_count = nulls;
  a.n_buffers = N, a.buffers = buffers;
  return a;
}

// Arrays as another library makes them, in this test's own memory.
struct Given {
  std::vector<const void*> buffers;
  std::vector<ArrowSchema> schemas = std::vector<ArrowSchema>(4);
  std::vector<ArrowArray> arrays = std::vector<ArrowArray>(4);
  std::vector<ArrowSchema*> schema_children;
  std::vector<ArrowArray*> array_children;

  void set(size_t i, const char* format, const char* name, const ArrowArray& array) {
    schemas[i].format = format, schemas[i].name = name;
    schemas[i].release = [](ArrowSchema* s) { s->release = nullptr; };
    arrays[i] = array;
    arrays[i].release = [](ArrowArray* a) { a->release = nullptr; };
  }
  std::string read(const char* columns) {
    ArrowArrayStream stream = {};
    EXPECT_EQ(quern_array_stream(&schemas[0], &arrays[0], &stream), 0) << quern_last_error();
    quern_texts* texts = quern_texts_open(&stream, columns);
    if (!texts) return std::string("no: ") + quern_last_error();
    EXPECT_EQ(stream.release, nullptr);
    std::string out;
    for (int64_t n; (n = quern_texts_next(texts)) != 0;) {
      if (n < 0) {
        out = std::string("no: ") + quern_last_error();
        break;
      }
      for (int64_t c = 0;; ++c) {
        const int64_t* ends = nullptr;
        const char* bytes = quern_texts_block(texts, c, &ends);
        if (!bytes) break;
        for (int64_t i = 0; i < n; ++i)
          out += fmt::format("[{}]", std::string_view(bytes + (i ? ends[i - 1] : 0), bytes + ends[i]));
      }
    }
    quern_texts_free(texts);
    return out;
  }
};

TEST(CApiTexts, StringsOfEveryKind) {
  const char* letters = "abcdefä";
  const uint8_t valid[] = {0b1011};
  {
    const int32_t offsets[] = {0, 1, 3, 3, 8};
    const void* buffers[] = {valid, offsets, letters};
    Given g;
    g.set(0, "u", "t", array_of(4, buffers, 0, 1));
    EXPECT_EQ(g.read(nullptr), "[a][bc][][defä]");
    g.set(0, "u", "t", array_of(2, buffers, 2, -1));
    EXPECT_EQ(g.read(nullptr), "[][defä]");
  }
  {
    const int64_t offsets[] = {0, 1, 3};
    const void* buffers[] = {nullptr, offsets, letters};
    Given g;
    g.set(0, "U", "t", array_of(2, buffers));
    EXPECT_EQ(g.read(nullptr), "[a][bc]");
    const int64_t backwards[] = {0, 3, 1};
    buffers[1] = backwards;
    g.set(0, "U", "t", array_of(2, buffers));
    EXPECT_EQ(g.read(nullptr).substr(0, 3), "no:");
  }
  {  // views: 12 bytes inside, more in a buffer
    struct View {
      int32_t length;
      char bytes[12];
    } views[2] = {};
    views[0].length = 12, std::memcpy(views[0].bytes, "twelve bytes", 12);
    const char* apart = "..thirteen bytes";
    const int32_t where[] = {0, 2};
    views[1].length = 14, std::memcpy(views[1].bytes, "thir", 4), std::memcpy(views[1].bytes + 4, where, 8);
    const int64_t sizes[] = {16};
    const void* buffers[] = {nullptr, views, apart, sizes};
    Given g;
    g.set(0, "vu", "t", array_of(2, buffers));
    EXPECT_EQ(g.read(nullptr), "[twelve bytes][thirteen bytes]");
  }
  {  // a table of a dictionary and of numbers, from its second row on
    const int32_t offsets[] = {0, 1, 3};
    const int8_t codes[] = {1, 0, 1};
    const uint64_t numbers[] = {1, 2, UINT64_MAX};
    const void *words[] = {nullptr, offsets, letters}, *coded[] = {nullptr, codes}, *counted[] = {nullptr, numbers};
    const void* none[] = {nullptr};
    Given g;
    g.set(1, "c", "word", array_of(3, coded));
    g.set(2, "L", "n", array_of(3, counted));
    g.set(3, "u", "", array_of(2, words));
    g.schemas[1].dictionary = &g.schemas[3], g.arrays[1].dictionary = &g.arrays[3];
    g.schema_children = {&g.schemas[1], &g.schemas[2]}, g.array_children = {&g.arrays[1], &g.arrays[2]};
    const auto table = [&] {
      g.set(0, "+s", "", array_of(2, none, 1));
      g.arrays[0].n_children = 2, g.arrays[0].children = g.array_children.data();
      g.schemas[0].n_children = 2, g.schemas[0].children = g.schema_children.data();
    };
    table();
    EXPECT_EQ(g.read(R"(["n", "word"])"), "[2][18446744073709551615][a][bc]");
    table();
    EXPECT_NE(g.read(nullptr).find("whose columns are word, n"), std::string::npos);
    table();
    EXPECT_NE(g.read(R"(["wrd"])").find("did you mean 'word'"), std::string::npos);
    g.schemas[2].format = "g";
    table();
    EXPECT_NE(g.read(R"(["n"])").find("Arrow type 'g' holds no text"), std::string::npos);
  }
  EXPECT_EQ(quern_texts_open(nullptr, nullptr), nullptr);
}

// What another reader has taken, or released, is refused and not read.
TEST(CApiTexts, WhatIsGoneIsRefused) {
  const int32_t offsets[] = {0, 1, 3};
  const void* buffers[] = {nullptr, offsets, "abc"};
  Given g;
  g.set(0, "u", "t", array_of(2, buffers));
  Stream one, again;
  ASSERT_EQ(quern_array_stream(&g.schemas[0], &g.arrays[0], &one.stream), 0) << quern_last_error();
  EXPECT_EQ(quern_array_stream(&g.schemas[0], &g.arrays[0], &again.stream), -1);
  EXPECT_NE(std::string(quern_last_error()).find("another reader"), std::string::npos) << quern_last_error();
  EXPECT_EQ(one.fields(), "");
  EXPECT_NE(one.stream.get_schema(&one.stream, &again.schema), 0);  // a second time
  EXPECT_NE(std::string(one.stream.get_last_error(&one.stream)).find("once"), std::string::npos);
  EXPECT_TRUE(one.next());
  EXPECT_FALSE(one.next());
  one.stream.release(&one.stream);
  EXPECT_EQ(quern_texts_open(&one.stream, nullptr), nullptr);
  EXPECT_NE(std::string(quern_last_error()).find("another reader"), std::string::npos) << quern_last_error();
  EXPECT_EQ(quern_filter_stream(R"({"filter": "c4"})", &one.stream, &again.stream), -1);
}

// What a capsule holds ends with it, whether its stream was taken or not.
TEST(CApiTexts, CapsulesEnd) {
  static void* held = nullptr;
  const quern_capsule_end end =
      quern_arrow_capsule_end([](void*) { return "arrow_array_stream"; }, [](void*, const char*) { return held; });
  ASSERT_NE(end, nullptr);
  held = quern_arrow_new("arrow_array_stream");
  end(nullptr);
  held = quern_arrow_new("arrow_array_stream");
  static int released = 0;
  static_cast<ArrowArrayStream*>(held)->release = [](ArrowArrayStream* s) { ++released, s->release = nullptr; };
  end(nullptr);
  EXPECT_EQ(released, 1);
  EXPECT_EQ(quern_arrow_new("arrow"), nullptr);
  EXPECT_EQ(quern_arrow_capsule_end(nullptr, nullptr), nullptr);
}

}  // namespace
}  // namespace quern
