#include "quern/models/token_ids.h"

#include <gtest/gtest.h>

#include <vector>

#include "quern/base/error.h"

namespace quern::models {
namespace {

std::string refusal(const std::vector<int32_t>& ids, int64_t vocab, std::string_view what = "") {
  try {
    check_token_ids(ids, vocab, what);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(TokenIds, TheFirstOutsideTheVocabularyIsNamed) {
  EXPECT_EQ(refusal({}, 10), "");
  EXPECT_EQ(refusal({0, 9}, 10), "");
  EXPECT_EQ(refusal({0, 10, -1}, 10), "token 10 at position 1: ids run from 0 to 9");
  EXPECT_EQ(refusal({-1}, 10, "prompt"), "prompt token -1 at position 0: ids run from 0 to 9");
}

}  // namespace
}  // namespace quern::models
