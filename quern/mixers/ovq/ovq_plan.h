// Chooses the dictionary rows that the tokens of a full chunk are written to.
#pragma once
#include "quern/mixers/ovq/ovq.h"

namespace quern::mixers {

// What the rows' key sums are divided by when they are read: counts, or norms into `room` [live].
template <class T>
const T* ovq_divisor(const OvqOptions& o, const OvqMemory<T>& m, int64_t d, T* room);

// rows[C]: the row of each token of the memory's chunk, whose last token is number `seen`. Returns how many rows live
// afterwards. Ties go to the lower index.
template <class T>
int64_t ovq_plan(const OvqOptions& o, const OvqMemory<T>& m, int64_t d, const T* divisor, int32_t* rows,
                 Arena& scratch);

// The `fresh` of n tokens that open rows `first`, `first` + 1, … in the order of time: those that resemble least
// (`best`, lowest first), or as many drawn at random.
template <class T>
struct OvqOpening {
  int64_t seen;   // tokens, the last of these included
  const T* best;  // [n], similarity of each token to its nearest row
  int64_t n, fresh, first;
  int32_t* rows;  // [n]; those of the tokens chosen are written
};
template <class T>
void ovq_open_rows(const OvqOptions& o, const OvqOpening<T>& in, Arena& scratch);

}  // namespace quern::mixers
