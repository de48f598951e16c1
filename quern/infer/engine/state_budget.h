// Memory for the state of running sequences: how much a sequence may need, and how much of the limit is reserved. A
// sequence reserves what it needs at its full length when it is admitted, so that none runs out of memory half-way.
#pragma once
#include <cstdint>
#include <vector>

#include "quern/mixers/state.h"

namespace quern::infer {

class StateBudget {
 public:
  StateBudget(const std::vector<mixers::StateSite>& sites, int64_t limit_bytes);  // 0 = no limit

  // Bytes of one sequence: its recurrent state, `rows` rows of its KV cache, and the rollback points of drafts of
  // `max_draft` tokens.
  int64_t need(int64_t rows, int64_t max_draft) const;

  int64_t limit() const { return limit_; }
  int64_t reserved() const { return reserved_; }
  bool fits_alone(int64_t bytes) const { return limit_ <= 0 || bytes <= limit_; }
  bool fits_now(int64_t bytes) const { return limit_ <= 0 || reserved_ + bytes <= limit_; }
  void reserve(int64_t bytes) { reserved_ += bytes; }
  void release(int64_t bytes) { reserved_ -= bytes; }

 private:
  std::vector<mixers::StateSite> sites_;
  int64_t row_bytes_, fixed_bytes_, limit_, reserved_ = 0;
};

}  // namespace quern::infer
