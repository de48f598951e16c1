// Words of the normalizer datatrove against datatrove's own text (testdata/datatrove_words.json, made by
// tools/oracles/corpus/datatrove_words.py). The others are tested where they are sketched.
#include "quern/corpus/text/text_normalizer.h"

#include <gtest/gtest.h>

#include "quern/base/json.h"

namespace quern::corpus {
namespace {

TEST(DatatroveWords, AreDatatroves) {
  const Json rows = Json::read(QUERN_SOURCE_DIR "/quern/corpus/text/testdata/datatrove_words.json");
  ASSERT_GT(rows.as_array().size(), 20u);
  Tokens t;
  std::string scratch;
  for (const Json& row : rows.as_array()) {
    const std::string& text = row.as_array()[0].as_string();
    std::vector<std::string> expected, got;
    for (const Json& w : row.as_array()[1].as_array()) expected.push_back(w.as_string());
    normalize(TextNormalizer::datatrove, text, t, scratch);
    for (size_t i = 0; i < t.size(); ++i) got.emplace_back(t[i]);
    EXPECT_EQ(got, expected) << text;
    std::string joined;
    for (const std::string& w : expected) joined += (joined.empty() ? "" : " ") + w;
    EXPECT_EQ(t.joined(), joined);
  }
}

}  // namespace
}  // namespace quern::corpus
