// The request parser: whatever way the bytes are cut, and what is refused.
#include <algorithm>

#include "quern/serve/http/http_message.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "quern/base/rng.h"

namespace quern::serve {
namespace {

using State = HttpParser::State;

constexpr const char* kPost =
    "POST /v1/x%20y?a=1&b=two+words&c HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nX-Key:  v \r\n\r\nhello";
constexpr const char* kChunked =
    "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\nWiki\r\n6\r\npedia \r\n0\r\nTrailer: t\r\n\r\n";

TEST(HttpParser, ReadsARequest) {
  HttpParser p({});
  ASSERT_EQ(p.feed(kPost), State::whole);
  const HttpRequest r = p.take();
  EXPECT_EQ(r.method, "POST");
  EXPECT_EQ(r.path, "/v1/x y");
  EXPECT_EQ(r.body, "hello");
  EXPECT_EQ(*r.header("x-key"), "v");
  EXPECT_EQ(r.header("nope"), nullptr);
  ASSERT_EQ(r.query.size(), 3u);
  EXPECT_EQ(r.query[1].second, "two words");
  EXPECT_TRUE(r.keep_alive);
  EXPECT_TRUE(p.idle());
}

TEST(HttpParser, DoesNotCareHowBytesAreCut) {
  const std::string all = std::string(kPost) + kChunked + "GET / HTTP/1.0\r\n\r\n" + kPost;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    HttpParser p({});
    std::vector<HttpRequest> got;
    for (size_t at = 0; at < all.size();) {
      const size_t n = std::min<size_t>(all.size() - at, 1 + rng.below(seed % 2 == 0 ? 3 : 60));
      p.feed(std::string_view(all).substr(at, n));
      at += n;
      while (p.state() == State::whole) got.push_back(p.take());
      ASSERT_NE(p.state(), State::bad) << p.complaint();
    }
    ASSERT_EQ(got.size(), 4u);
    EXPECT_EQ(got[0].body, "hello");
    EXPECT_EQ(got[1].body, "Wikipedia ");
    EXPECT_FALSE(got[2].keep_alive);
    EXPECT_EQ(got[3].path, "/v1/x y");
  }
}

TEST(HttpParser, RefusesWithAStatus) {
  const std::string long_line(9000, 'a');
  std::string many = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 101; ++i) many += "a: b\r\n";
  const std::vector<std::pair<std::string, int>> cases = {
      {"GET /\r\n\r\n", 400},
      {"GET / HTTP/2.0\r\n\r\n", 505},
      {"G@T / HTTP/1.1\r\n\r\n", 400},
      {"GET nowhere HTTP/1.1\r\n\r\n", 400},
      {"GET /%zz HTTP/1.1\r\n\r\n", 400},
      {"GET /?a=%1 HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n bad: x\r\n\r\n", 400},
      {"GET /" + long_line + " HTTP/1.1\r\n\r\n", 414},
      {long_line, 414},
      {many + "\r\n", 431},
      {"GET / HTTP/1.1\r\na: " + std::string(40000, 'b'), 431},
      {"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413},
      {"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffff\r\n", 413},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n", 400},
      {"GET /a\nb HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\na: b\nc: d\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\na: b\rc\r\n\r\n", 400},
      {std::string("GET / HTTP/1.1\r\na: b") + '\0' + "c\r\n\r\n", 400},
  };
  for (const auto& [bytes, status] : cases) {
    HttpParser p({});
    EXPECT_EQ(p.feed(bytes), State::bad) << bytes.substr(0, 60);
    EXPECT_EQ(p.status(), status) << bytes.substr(0, 60);
    EXPECT_FALSE(p.complaint().empty());
    EXPECT_EQ(p.feed("GET / HTTP/1.1\r\n\r\n"), State::bad) << "there is no way back";
  }
}

TEST(HttpParser, ReadsManySmallChunks) {
  std::string all = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", body;
  for (int i = 0; i < 20'000; ++i)
    body += static_cast<char>('a' + i % 26), all += fmt::format("1\r\n{}\r\n", body.back());
  all += "0\r\n\r\nGET /next HTTP/1.1\r\n\r\n";
  HttpParser p({});
  ASSERT_EQ(p.feed(all), State::whole);
  EXPECT_EQ(p.take().body, body);
  ASSERT_EQ(p.state(), State::whole);
  EXPECT_EQ(p.take().path, "/next");
  EXPECT_TRUE(p.idle());
}

TEST(HttpParser, AsksForTheBodyOnce) {
  HttpParser p({});
  p.feed("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_TRUE(p.wants_continue());
  EXPECT_FALSE(p.wants_continue());
  EXPECT_EQ(p.feed("ab"), State::whole);
}

TEST(HttpWriter, SpellsHeadsAndChunks) {
  EXPECT_EQ(http_head(200, {{"a", "b"}}, 3, KeepAlive::yes),
            "HTTP/1.1 200 OK\r\na: b\r\ncontent-length: 3\r\nconnection: keep-alive\r\n\r\n");
  EXPECT_NE(http_head(200, {}, -1, KeepAlive::no).find("transfer-encoding: chunked\r\nconnection: close"),
            std::string::npos);
  EXPECT_EQ(http_head(204, {}, 0, KeepAlive::yes).find("content-length"), std::string::npos);
  EXPECT_EQ(http_chunk("0123456789abcdef"), "10\r\n0123456789abcdef\r\n");
  EXPECT_EQ(http_chunk(""), "0\r\n\r\n");
}

}  // namespace
}  // namespace quern::serve
