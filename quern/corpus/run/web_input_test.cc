// Web pages as inputs: HTML files and responses of WARC files, as other programs store them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/corpus/io/http_body.h"
#include "quern/corpus/io/ingest.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

class WebInput : public ::testing::Test {
 protected:
  WebInput() : root_(fs::temp_directory_path() / fmt::format("quern-web-{}", ::getpid())) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~WebInput() override { fs::remove_all(root_); }
  std::vector<Json> read(const std::string& name, ReadPolicy policy = {}, size_t block = 4096) {
    const Inputs in = find_inputs(std::vector<std::string>{(root_ / name).string()});
    BlockReader reader(in, policy, block);
    DocumentReader documents(in, {FieldMap()}, policy);
    std::vector<Json> rows;
    counts_ = {};
    Block b;
    while (reader.next(b))
      documents.read(
          b, counts_,
          [&](const DocumentView& d) {
            std::string line;
            append_document(d, d.text, line);
            rows.push_back(Json::parse(line));
          },
          [](uint64_t, RecordProblem) {});
    damaged_ = reader.damaged();
    return rows;
  }
  uint64_t problems(RecordProblem p) const { return counts_.problems[static_cast<int>(p)]; }
  std::string packed(const std::string& bytes, const std::string& program) const {
    write_file(root_ / "plain", bytes);
    const std::string plain = (root_ / "plain").string();
    EXPECT_EQ(std::system(fmt::format("{} < {} > {}.packed", program, plain, plain).c_str()), 0);
    return read_file(root_ / "plain.packed");
  }
  fs::path root_;
  ReadCounts counts_;
  std::vector<std::string> damaged_;
};

constexpr std::string_view kText =
    "The mill stands at the river since the time of the great flood, and it still turns.";
std::string html(std::string_view more = "") { return fmt::format("<title>Mill</title><p>{}</p>{}", kText, more); }

std::string sentences() {
  std::string page = "<p>";
  for (int i = 0; i < 8; ++i) page += "A long sentence about a mill. ";
  return page + "</p>";
}

std::string record(const std::string& kind, const std::string& body, const std::string& fields = "") {
  return fmt::format(
      "WARC/1.1\r\nWARC-Type: {}\r\nWARC-Target-URI: http://a.org/\r\nWARC-Date: 2024-05-18T01:58:10Z\r\n{}"
      "Content-Length: {}\r\n\r\n{}\r\n\r\n",
      kind, fields, body.size(), body);
}
std::string response(const std::string& body, const std::string& fields = "Content-Type: text/html\r\n",
                     const std::string& status = "200 OK") {
  return record("response", "HTTP/1.1 " + status + "\r\n" + fields + "\r\n" + body);
}
std::string chunks(const std::string& body, size_t size) {
  std::string out;
  for (size_t i = 0; i < body.size(); i += size)
    out += fmt::format("{:x};x=y\r\n{}\r\n", std::min(size, body.size() - i), body.substr(i, size));
  return out + "0\r\n\r\n";
}

TEST_F(WebInput, HtmlFilesAreTheirMainText) {
  write_file(root_ / "a.html", "<meta charset=windows-1251><title>\xCC\xE5\xEB\xFC</title><nav>Home</nav>" + html());
  const std::vector<Json> rows = read("a.html");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].dump(),
            fmt::format("{{\"id\":0,\"file\":\"{}\",\"mime\":\"text/html\",\"title\":\"Мель\",\"text\":\"{}\"}}",
                        (root_ / "a.html").string(), kText));
  write_file(root_ / "b.htm", "<script>1</script>");
  EXPECT_EQ(read("b.htm").size(), 0u);
  EXPECT_EQ(problems(RecordProblem::empty_page), 1u);
  EXPECT_EQ(counts_.bad(), 0u);
  write_file(root_ / "c.html", "%PDF-1.7 ...");
  read("c.html");
  EXPECT_EQ(problems(RecordProblem::other_type), 1u);
  EXPECT_EQ(types_in_words(counts_), "1 application/pdf");
  write_file(root_ / "d.pdf", "%PDF-1.7 ...");
  EXPECT_NE(message_of([&] { read("d.pdf"); }).find("PDF is not read: extract its text before"), std::string::npos);
}

// Manuals have folders of any name, such as ref/files.
TEST_F(WebInput, AFolderCalledFilesIsNoRun) {
  fs::create_directories(root_ / "manual/ref/files");
  write_file(root_ / "manual/ref/files/storage.html", html());
  fs::create_directories(root_ / "manual/kept");
  write_file(root_ / "manual/kept/files", "rows storage.html\n");
  write_file(root_ / "manual/index.html", html());
  EXPECT_EQ(read("manual/ref").size(), 1u);
  EXPECT_EQ(read("manual").size(), 2u);
}

TEST_F(WebInput, ResponsesKnowWhereTheyComeFrom) {
  write_file(root_ / "a.warc", record("warcinfo", "x") + record("request", "GET /") + response(html()) +
                                   record("resource", html(), "Content-Type: text/html\r\n") + record("revisit", ""));
  const std::vector<Json> rows = read("a.warc");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(
      rows[0].dump(),
      fmt::format("{{\"id\":2,\"url\":\"http://a.org/\",\"date\":\"2024-05-18T01:58:10Z\",\"mime\":\"text/html\","
                  "\"title\":\"Mill\",\"text\":\"{}\"}}",
                  kText));
  EXPECT_EQ(rows[1].at("text").as_string(), kText);
  EXPECT_EQ(problems(RecordProblem::not_text), 3u);
  for (const size_t block : {size_t{16}, size_t{1} << 20}) EXPECT_EQ(read("a.warc", {}, block).size(), 2u);
}

TEST_F(WebInput, BodiesAreUnpacked) {
  const std::string page = sentences(), gzip = packed(page, "gzip -c");
  // zlib.compress(page), of Python 3.11.
  constexpr unsigned char kZlib[] = {0x78, 0x9C, 0xB3, 0x29, 0xB0, 0x73, 0x54, 0xC8, 0xC9, 0xCF, 0x4B, 0x57,
                                     0x28, 0x4E, 0xCD, 0x2B, 0x49, 0xCD, 0x4B, 0x4E, 0x55, 0x48, 0x4C, 0xCA,
                                     0x2F, 0x2D, 0x51, 0x48, 0x54, 0xC8, 0xCD, 0xCC, 0xC9, 0xD1, 0x53, 0x18,
                                     0x7E, 0xB2, 0x36, 0xFA, 0x05, 0x76, 0x00, 0x58, 0x9B, 0x54, 0xF4};
  const std::string zlib(reinterpret_cast<const char*>(kZlib), sizeof kZlib);
  const std::string type = "Content-Type: text/html\r\n";
  const std::vector<std::string> bodies = {
      response(gzip, type + "Content-Encoding: gzip\r\n"),
      response(gzip, type + "content-encoding: x-gzip\r\n"),
      response(zlib, type + "Content-Encoding: deflate\r\n"),
      response(zlib.substr(2, zlib.size() - 6), type + "Content-Encoding: deflate\r\n"),  // raw, as some servers send
      response(chunks(page, 7), type + "Transfer-Encoding: chunked\r\n"),
      response(chunks(gzip, 50), type + "Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n"),
      response(page, type + "Content-Encoding: gzip\r\n"),      // the crawler has unpacked it
      response(page, type + "Transfer-Encoding: chunked\r\n"),  // and joined it
      response(page, ""),                                       // looks like HTML
  };
  for (const std::string& body : bodies) {
    write_file(root_ / "a.warc", &body == &bodies.back() ? response("<!DOCTYPE html>" + page, "") : body);
    const std::vector<Json> rows = read("a.warc");
    ASSERT_EQ(rows.size(), 1u) << body;
    EXPECT_EQ(rows[0].at("text").as_string(), page.substr(3, page.size() - 8));
    EXPECT_EQ(counts_.truncated, 0u);
  }
}

TEST_F(WebInput, BrotliBodies) {
  // brotli.compress(sentences()), of the brotli package 1.1.
  constexpr unsigned char kPacked[] = {0x1B, 0xF6, 0x00, 0x20, 0x1C, 0x07, 0x6E, 0xAC, 0x1B, 0xA0, 0xB7, 0x4C,
                                       0x8D, 0x25, 0x08, 0x4F, 0x5B, 0xFB, 0x04, 0xA5, 0xC1, 0x29, 0x17, 0x36,
                                       0x98, 0xC8, 0x01, 0x7B, 0x5B, 0x19, 0x9C, 0x5C, 0xDF, 0x17, 0xD0, 0x88,
                                       0x64, 0x8D, 0xB8, 0x82, 0xC9, 0xE9, 0x3E, 0xC6, 0x0D, 0x80, 0x53};
  const std::string body(reinterpret_cast<const char*>(kPacked), sizeof kPacked);
  write_file(root_ / "a.warc", response(body, "Content-Type: text/html\r\nContent-Encoding: br\r\n"));
  const std::vector<Json> rows = read("a.warc");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].at("text").as_string().size(), 8 * 30 - 1u);
  write_file(root_ / "b.warc", response(body.substr(0, 10), "Content-Type: text/html\r\nContent-Encoding: br\r\n"));
  read("b.warc");
  EXPECT_EQ(counts_.documents + problems(RecordProblem::bad_body), 1u);
}

TEST_F(WebInput, TheServerSaysTheEncodingFirst) {
  write_file(root_ / "a.warc", response(html("<p>\xEF\xF0\xE8 \xEF\xF0\xE8 \xEF\xF0\xE8</p>"),
                                        "Content-Type: text/html; charset=windows-1251\r\n"));
  EXPECT_EQ(read("a.warc").at(0).at("text").as_string(), fmt::format("{}\n\nпри при при", kText));
}

TEST_F(WebInput, OtherTypesAreCountedByKind) {
  write_file(root_ / "a.warc", response("x", "Content-Type: image/PNG\r\n") +
                                   response("y", "Content-Type: image/png; a=b\r\n") +
                                   response("%PDF-1.4", "Content-Type: application/pdf\r\n") +
                                   response("z", "Content-Type: <bad>\r\n") +
                                   response(html(), "Content-Type: text/html\r\n", "404 Not Found") +
                                   record("response", "not HTTP") + response(html()));
  EXPECT_EQ(read("a.warc").size(), 1u);
  EXPECT_EQ(problems(RecordProblem::other_type), 6u);
  EXPECT_EQ(counts_.bad(), 0u);
  EXPECT_EQ(types_in_words(counts_), "2 image/png, 1 application/pdf, 1 unknown, 1 HTTP 404, 1 no HTTP");
  EXPECT_EQ(counts_.json().at("other_types").at("image/png").as_int(), 2);
  ReadCounts many;
  for (int i = 0; i < 200; ++i) many.count_type(fmt::format("type/{}", i));
  EXPECT_EQ(many.types.size(), 64u);
  EXPECT_EQ(many.types.back().type, "others");
  EXPECT_EQ(many.types.back().rows, 200u - 63u);
}

// A WARC file of pictures holds no page, which is a failure.
TEST_F(WebInput, AFileWithoutPagesIsLost) {
  write_file(root_ / "a.warc", response("x", "Content-Type: image/png\r\n"));
  EXPECT_EQ(read("a.warc").size(), 0u);
  const Inputs in = find_inputs(std::vector<std::string>{(root_ / "a.warc").string()});
  EXPECT_EQ(lost_inputs(in, counts_, damaged_).size(), 1u);
  EXPECT_NE(message_of([&] {
              refuse_when_all_is_lost(in, counts_, damaged_);
            }).find("no web page is in 1 input files: 1 image/png"),
            std::string::npos);
}

TEST_F(WebInput, WhatIsCutShortIsNamed) {
  const std::string gzip = packed(html(std::string(5000, 'x') + "</p>"), "gzip -c");
  const std::string headers = "Content-Type: text/html\r\nContent-Encoding: gzip\r\n";
  write_file(root_ / "a.warc", response(html()) +
                                   record("response", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + html(),
                                          "WARC-Truncated: length\r\n") +
                                   response(gzip.substr(0, gzip.size() - 12), headers) +
                                   response("\x1F\x8B\x08", headers) +
                                   response(html(), "Content-Type: text/html\r\nContent-Encoding: zstd\r\n"));
  const std::vector<Json> rows = read("a.warc");
  EXPECT_EQ(rows.size(), 4u);  // the last was stored unpacked
  EXPECT_EQ(counts_.truncated, 2u);
  EXPECT_TRUE(counts_.first_truncated.ends_with("a.warc:2"));
  EXPECT_EQ(problems(RecordProblem::bad_body), 1u);
  ASSERT_EQ(counts_.examples.size(), 1u);
  EXPECT_NE(counts_.examples[0].text.find("a.warc:4: its body is damaged"), std::string::npos);
  write_file(root_ / "b.warc", response("(\xB5/\xFD", "Content-Type: text/html\r\nContent-Encoding: zstd\r\n"));
  read("b.warc");
  EXPECT_NE(counts_.examples.at(0).text.find("compressed in a way that is not read"), std::string::npos);
}

TEST_F(WebInput, AnUnpackedBodyHasALimit) {
  const std::string bomb = packed(html(std::string(3 << 20, ' ')), "gzip -c");
  write_file(root_ / "a.warc", response(bomb, "Content-Type: text/html\r\nContent-Encoding: gzip\r\n"));
  EXPECT_EQ(read("a.warc", {.max_row = 1 << 20}).size(), 0u);
  EXPECT_EQ(problems(RecordProblem::too_long), 1u);
}

TEST(HttpBody, MessagesOfAllKinds) {
  std::string buffer;
  const auto read = [&](std::string_view m) { return read_http_response(m, 1000, buffer); };
  EXPECT_EQ(read("").status, 0);
  EXPECT_EQ(read("GET / HTTP/1.1\r\n\r\n").status, 0);
  EXPECT_EQ(read("HTTP/1.1").status, 0);
  EXPECT_EQ(read("HTTP/1.0 200\n\nx").body, "x");
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nContent-type : text/html \r\n\r\nx").type, "text/html");
  EXPECT_EQ(read("HTTP/2 204 \r\nA: b").body, "");
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n5\r\nde").body, "abcde");
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n5\r\nde").state, BodyState::cut);
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nab").body, "ab");
  EXPECT_EQ(media_type("Text/HTML; charset=x"), "text/html");
  for (const char* none : {"", "html", "a/\x01", "text/html text/plain"})
    EXPECT_EQ(media_type(none), "unknown") << none;
}

}  // namespace
}  // namespace quern::corpus
