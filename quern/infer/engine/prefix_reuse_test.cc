// Where sequences start from, and what they leave behind.
#include "quern/infer/engine/prefix_reuse.h"

#include <gtest/gtest.h>

namespace quern::infer {
namespace {

std::vector<mixers::StateSite> sites() { return {{0, 0, {{{.name = "k", .per_token = true, .shape = {1}}}}}}; }

Sequence sequence(int64_t length) {
  Request r;
  for (int64_t i = 0; i < length; ++i) r.prompt.push_back(static_cast<int32_t>(i));
  return Sequence(std::move(r), 1000);
}

void process(Sequence& s) {  // all its tokens
  const int64_t n = s.pending();
  s.state.append(0, 0, n), s.state.advance(n);
}

TEST(PrefixReuse, ASecondSequenceStartsWhereTheFirstEnded) {
  PrefixReuse prefix(sites(), {.cache_bytes = 1 << 20, .max_positions = 1000});
  Sequence first = sequence(40), second = sequence(100), same = sequence(40);
  prefix.start(first);
  EXPECT_EQ(first.out.cached_tokens, 0);
  EXPECT_EQ(first.snapshot_points, (SnapshotPositions{{39, SnapshotKind::turn_end}}));
  process(first);
  prefix.store_end(first);
  prefix.start(second), prefix.start(same);
  EXPECT_EQ(second.fed(), 40);
  EXPECT_EQ(second.out.cached_tokens, 40);
  EXPECT_EQ(second.out.recomputed_tokens, 60);
  EXPECT_EQ(same.fed(), 39) << "the last token is processed for its logits";
}

TEST(PrefixReuse, NothingIsReusedWhereItMayNotBe) {
  PrefixReuse off(sites(), {.cache_bytes = 0}), exact(sites(), {.cache_bytes = 1 << 20, .deterministic = true});
  for (PrefixReuse* prefix : {&off, &exact}) {
    Sequence first = sequence(40), second = sequence(40);
    prefix->start(first), process(first), prefix->store_end(first);
    prefix->start(second);
    EXPECT_EQ(second.fed(), 0);
    EXPECT_TRUE(second.snapshot_points.empty());
  }
  PrefixReuse prefix(sites(), {.cache_bytes = 1 << 20, .max_positions = 1000});
  Sequence first = sequence(40), scored = sequence(40);
  prefix.start(first), process(first), prefix.store_end(first);
  scored.r.options.score_prompt = true;
  prefix.start(scored);
  EXPECT_EQ(scored.fed(), 0);
  EXPECT_EQ(scored.out.cache_note, "a prompt's scores need all of it");
}

}  // namespace
}  // namespace quern::infer
