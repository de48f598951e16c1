// GET /v1/cache: what the prefix cache holds, to whom it is shown.
#include <gtest/gtest.h>

#include "tests/serve/serving.h"

namespace quern {
namespace {

class CacheView : public Serving {
 protected:
  Json view(const char* query = "") { return ok(http(port(), "GET", fmt::format("/v1/cache{}", query))); }
  void complete(const std::string& prompt) {
    ok(post("/v1/completions", fmt::format(R"({{"prompt": "{}", "max_tokens": 1, "temperature": 0}})", prompt)));
  }
  const Json& children(const Json& of) { return of.at("children"); }
};

TEST_F(CacheView, IsATreeOfWhatRequestsShare) {
  start();
  EXPECT_TRUE(view().at("models").as_array().at(0).at("trees").as_array().empty());
  const std::string shared = "The castle is old and nobody remembers who built it. ";
  complete(shared + "It has seven towers, of which six stand."),
      complete(shared + "Its garden is full of thistles now.");
  const Json m = view().at("models").as_array().at(0);
  EXPECT_EQ(m.at("model"), Json("tiny"));
  EXPECT_GT(m.at("memory_bytes").as_int(), 0);
  EXPECT_TRUE(m.at("disk").is_null());
  const auto& tops = children(m.at("trees").as_array().at(0)).as_array();
  ASSERT_EQ(tops.size(), 1u);
  EXPECT_EQ(tops[0].at("begin"), Json(int64_t{0}));
  EXPECT_EQ(tops[0].at("where"), Json("memory"));
  EXPECT_EQ(tops[0].at("hits"), Json(int64_t{1}));
  const auto& ends = children(tops[0]).as_array();
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[0].at("begin"), tops[0].at("tokens"));
  EXPECT_LE(ends[0].at("age_seconds").as_double(), ends[1].at("age_seconds").as_double()) << "the last used first";
  EXPECT_EQ(m.dump().find("castle"), std::string::npos);
  refused(http(port(), "GET", "/v1/cache?text=true"), 403, "does not show the text");
}

TEST_F(CacheView, ShowsTextToKeyHolders) {
  serve::AppOptions locked;
  locked.api_keys = {"k"};
  start(locked);
  EXPECT_EQ(http(port(), "GET", "/v1/cache").status, 401);
  const char* key = "Authorization: Bearer k\r\n";
  ok(post("/v1/completions", R"({"prompt": "The castle is old and nobody remembers who built it", "max_tokens": 1})",
          key));
  EXPECT_EQ(ok(http(port(), "GET", "/v1/cache", {}, key)).dump().find("castle"), std::string::npos);
  EXPECT_NE(ok(http(port(), "GET", "/v1/cache?text=true", {}, key)).dump().find("castle"), std::string::npos);
}

}  // namespace
}  // namespace quern
