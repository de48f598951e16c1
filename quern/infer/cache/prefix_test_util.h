// For tests of the prefix cache: states made up so that every byte says where it came from. A row holds its token, the
// recurrent part a hash of all tokens seen.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

#include "quern/mixers/state.h"

namespace quern::infer {

using Tokens = std::vector<int32_t>;

inline std::vector<mixers::StateSite> sites(int recurrent_parts) {
  mixers::StateSite attention{0, 0, {{{.name = "k", .per_token = true, .shape = {2}}}}};
  mixers::StateSite ssm{1, 0, {{{.name = "h", .shape = {3}}}}};
  return recurrent_parts > 0 ? std::vector<mixers::StateSite>{attention, ssm}
                             : std::vector<mixers::StateSite>{attention};
}

inline double hash(std::span<const int32_t> t) {
  double h = 1;
  for (int32_t x : t) h = std::fmod(h * 31 + x, 65521);
  return h;
}

inline mixers::SequenceState seen(const Tokens& t, int recurrent_parts) {
  mixers::SequenceState s(sites(recurrent_parts));
  if (!t.empty()) {
    Tensor rows = s.append(0, 0, static_cast<int64_t>(t.size()));
    for (size_t i = 0; i < t.size(); ++i) rows.narrow(0, static_cast<int64_t>(i), 1).fill(t[i]);
  }
  if (recurrent_parts > 0) s.fixed(1, 0).fill(hash(t));
  s.advance(static_cast<int64_t>(t.size()));
  return s;
}

inline void expect_state(const mixers::SequenceState& s, const Tokens& t, int recurrent_parts) {
  Tensor rows = s.rows(0, 0);
  ASSERT_EQ(rows.dim(0), s.length());
  for (int64_t i = 0; i < s.length(); ++i) ASSERT_EQ(rows.narrow(0, i, 1).clone().item(1), t[static_cast<size_t>(i)]);
  if (recurrent_parts > 0 && s.length() > 0) {
    ASSERT_EQ(s.fixed(1, 0).item(2), hash(std::span(t).first(static_cast<size_t>(s.length()))));
  }
}

}  // namespace quern::infer
