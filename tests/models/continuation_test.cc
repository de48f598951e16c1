// One sequence, however it is fed: token by token, in chunks of any split, whole; several sequences in one ragged
// batch against each alone; packed documents against separate ones, gradients too; greedy text from a session.
#include <gtest/gtest.h>

#include <cmath>

#include "quern/infer/cache/prefix_cache.h"
#include "quern/infer/cache/session.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

class Continuation : public testing::TestWithParam<const char*> {};

Tensor feed(models::Model& m, mixers::SequenceState& s, std::span<const int32_t> ids) {
  grad::Tape tape(grad::Tape::inference);
  return m.logits(tape, m.hidden(tape, ids, mixers::Batch::resume({&s}, {static_cast<int64_t>(ids.size())}))).value;
}

TEST_P(Continuation, AnySplitEqualsWhole) {
  Golden g(GetParam());
  auto model = load_golden(g, DType::f32, true);
  const int64_t n = 96;
  std::span<const int32_t> ids = std::span(g.tokens).first(n);
  Tensor whole = infer::all_logits(*model, ids);
  for (const std::vector<int64_t>& split :
       {std::vector<int64_t>(96, 1), {1, 95}, {2, 1, 93}, {3, 2, 64, 27}, {95, 1}, {17, 17, 17, 17, 17, 11}}) {
    mixers::SequenceState state(model->sites(DType::f32));
    int64_t at = 0;
    for (int64_t len : split) {
      Tensor part = feed(*model, state, ids.subspan(static_cast<size_t>(at), static_cast<size_t>(len)));
      EXPECT_LE(relative_error(part, whole.narrow(0, at, len)), 2e-5)
          << "rows " << at << " … of a split into " << split.size();
      at += len;
    }
    EXPECT_EQ(state.length(), n);
  }
}

TEST_P(Continuation, SnapshotsInsideAForwardAreStatesOfTheirPlace) {
  Golden g(GetParam());
  auto model = load_golden(g, DType::f32, true);
  std::vector<mixers::StateSite> sites = model->sites(DType::f32);
  std::span<const int32_t> ids = g.tokens;
  const std::vector<int64_t> begins = {30, 3}, lengths = {101, 90};  // of two sequences, resumed where they were
  std::vector<mixers::SequenceState> states(2), snapshots;
  for (size_t s = 0; s < 2; ++s) {
    states[s] = mixers::SequenceState(sites);
    feed(*model, states[s], ids.subspan(s, static_cast<size_t>(begins[s])));
  }
  mixers::Batch batch = mixers::Batch::resume({&states[0], &states[1]}, lengths);
  const std::vector<std::pair<int64_t, int64_t>> places = {{0, 1}, {0, 2}, {0, 64}, {0, 100}, {1, 37}};
  for (size_t i = 0; i < places.size(); ++i) snapshots.emplace_back(sites);
  for (size_t i = 0; i < places.size(); ++i)
    batch.snapshot_points.push_back({places[i].first, places[i].second, &snapshots[i]});
  std::vector<int32_t> rows;
  for (size_t s = 0; s < 2; ++s) {
    auto from = ids.begin() + static_cast<std::ptrdiff_t>(s) + begins[s];
    rows.insert(rows.end(), from, from + lengths[s]);
  }
  grad::Tape tape(grad::Tape::inference);
  model->hidden(tape, rows, batch);
  int checked = 0;
  auto equal = [&](const mixers::SequenceState& got, int64_t s, int64_t tokens) {
    mixers::SequenceState alone(sites);
    feed(*model, alone, ids.subspan(static_cast<size_t>(s), static_cast<size_t>(tokens)));
    for (size_t site = 0; site < sites.size(); ++site)
      for (size_t part = 0; part < sites[site].spec.parts.size(); ++part) {
        const mixers::StatePart& p = sites[site].spec.parts[part];
        if (p.per_token) continue;
        EXPECT_TRUE(p.snapshots_inside) << p.name;
        int a = static_cast<int>(site), b = static_cast<int>(part);
        EXPECT_LE(relative_error(got.fixed(a, b), alone.fixed(a, b)), 2e-5)
            << p.name << " of site " << site << ", sequence " << s << " after " << tokens;
        ++checked;
      }
  };
  for (size_t i = 0; i < places.size(); ++i)
    equal(snapshots[i], places[i].first, begins[static_cast<size_t>(places[i].first)] + places[i].second);
  for (size_t s = 0; s < 2; ++s) equal(states[s], static_cast<int64_t>(s), begins[s] + lengths[s]);
  EXPECT_EQ(checked > 0, infer::PrefixCache(sites, 1).needs_snapshots());
}

TEST_P(Continuation, ForkedStateGoesItsOwnWay) {
  Golden g(GetParam());
  auto model = load_golden(g, DType::f32, true);
  std::span<const int32_t> ids = g.tokens;
  mixers::SequenceState a(model->sites(DType::f32));
  feed(*model, a, ids.first(20));
  mixers::SequenceState b = a.fork();
  feed(*model, b, ids.subspan(200, 7));
  Tensor after = feed(*model, a, ids.subspan(20, 4));
  mixers::SequenceState fresh(model->sites(DType::f32));
  Tensor expected = feed(*model, fresh, ids.first(24)).narrow(0, 20, 4);
  EXPECT_LE(relative_error(after, expected), 2e-5);
}

TEST_P(Continuation, LeftPaddedBatchEqualsSingle) {
  Golden g(GetParam());
  auto model = load_golden(g, DType::f32, true);
  // Rows of a left-padded batch become segments: padding never reaches the model.
  const std::vector<int64_t> lengths = {3, 11, 1, 40};
  std::vector<int32_t> ids;
  std::vector<mixers::SequenceState> states;
  for (size_t r = 0; r < lengths.size(); ++r) states.emplace_back(model->sites(DType::f32));
  std::vector<mixers::SequenceState*> pointers;
  std::vector<std::vector<int32_t>> rows;
  for (size_t r = 0; r < lengths.size(); ++r) {
    std::vector<int32_t> row(40 - static_cast<size_t>(lengths[r]), 0);
    row.insert(row.end(), g.tokens.begin() + static_cast<std::ptrdiff_t>(50 * r),
               g.tokens.begin() + static_cast<std::ptrdiff_t>(50 * r) + lengths[r]);
    rows.push_back(row);
    ids.insert(ids.end(), row.end() - lengths[r], row.end());
    pointers.push_back(&states[r]);
  }
  grad::Tape tape(grad::Tape::inference);
  Tensor all = model->logits(tape, model->hidden(tape, ids, mixers::Batch::resume(pointers, lengths))).value;
  int64_t at = 0;
  for (size_t r = 0; r < lengths.size(); ++r) {
    Tensor alone = infer::all_logits(*model, std::span(rows[r]).last(static_cast<size_t>(lengths[r])));
    EXPECT_LE(relative_error(all.narrow(0, at, lengths[r]), alone), 2e-5);
    at += lengths[r];
  }
  // …and one decode step of all of them at once.
  std::vector<int32_t> next = {5, 6, 7, 8};
  Tensor step = model->logits(tape, model->hidden(tape, next, mixers::Batch::resume(pointers, {1, 1, 1, 1}))).value;
  for (size_t r = 0; r < lengths.size(); ++r) {
    std::vector<int32_t> longer(rows[r].end() - lengths[r], rows[r].end());
    longer.push_back(next[r]);
    Tensor alone = infer::all_logits(*model, longer);
    EXPECT_LE(relative_error(step.narrow(0, static_cast<int64_t>(r), 1), alone.narrow(0, lengths[r], 1)), 2e-5);
  }
}

TEST_P(Continuation, PackedDocumentsEqualSeparate) {
  Golden g(GetParam());
  auto model = load_golden(g, DType::f64, false);
  const std::vector<int64_t> lengths = {5, 1, 13, 2};
  std::vector<int32_t> ids(g.tokens.begin(), g.tokens.begin() + 21), targets(ids.begin(), ids.end());
  auto run = [&](std::span<const int32_t> x, std::span<const int32_t> y, const mixers::Batch& b) {
    grad::Tape tape;
    grad::Var h = model->hidden(tape, x, b);
    grad::Var loss = model->loss(tape, h, y);
    tape.backward(loss, static_cast<double>(x.size()));  // undo the mean, so that documents add up
    return h.value;
  };
  nn::zero_grad(*model);
  Tensor packed = run(ids, targets, mixers::Batch::documents(lengths));
  std::vector<Tensor> grads;
  model->visit("", [&](const std::string&, grad::Parameter& p) {
    grads.push_back(p.grad.defined() ? p.grad.clone() : Tensor());
  });
  nn::zero_grad(*model);
  int64_t at = 0;
  for (int64_t n : lengths) {
    size_t b = static_cast<size_t>(at), len = static_cast<size_t>(n);
    Tensor alone = run(std::span(ids).subspan(b, len), std::span(targets).subspan(b, len), mixers::Batch::single(n));
    EXPECT_LE(relative_error(packed.narrow(0, at, n), alone), 1e-12);
    at += n;
  }
  size_t i = 0;
  model->visit("", [&](const std::string& name, grad::Parameter& p) {
    if (grads[i].defined()) {
      EXPECT_LE(relative_error(grads[i], p.grad), 1e-9) << name;
    }
    ++i;
  });
}

TEST(SessionLimits, RefusedCallsLeaveTheSessionAsItWas) {
  Golden g("zaya-2-4x2");
  auto model = load_golden(g, DType::f32, true);
  infer::Session session(*model);
  std::vector<int32_t> bad = {1, 2, 9999};
  EXPECT_THROW(session.feed(bad), Error);
  EXPECT_EQ(session.length(), 0);
  std::vector<int32_t> many(1025, 1);
  EXPECT_THROW(session.feed(many), Error);
  EXPECT_EQ(session.length(), 0);
  session.feed(std::span(g.tokens).first(3));
  EXPECT_EQ(session.length(), 3);
}

INSTANTIATE_TEST_SUITE_P(Families, Continuation,
                         testing::Values("zaya-2-4x2", "zaya-2-4x1", "zaya-5-sliding", "zaya-2-bias", "llama-gqa",
                                         "llama-yarn", "mistral-window", "zamba-6", "zamba2-1block",
                                         "zamba2-2block-rope", "granite-h", "granite-h-moe", "bamba", "falcon-h1",
                                         "nemotron-h"),
                         [](const auto& i) {
                           std::string s = i.param;
                           for (char& c : s)
                             if (c == '-') c = '_';
                           return s;
                         });

}  // namespace
}  // namespace quern
