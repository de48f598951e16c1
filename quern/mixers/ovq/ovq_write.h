// Writes a full chunk into a memory.
#pragma once
#include "quern/mixers/ovq/ovq.h"

namespace quern::mixers {

// Adds the memory's chunk to the rows named: keys and values to the sums, one to the count of each. With delta values
// `lacking` [C, dv] is added in place of the values, to a sum that first grows with its count: c·D_v stays c·D_v.
template <class T>
struct OvqWriteArgs {
  int64_t d, dv;
  const int32_t* rows;  // [C]
  int64_t live_after;   // rows that live afterwards
  const T* lacking = nullptr;
};
template <class T>
void ovq_write(const OvqOptions& o, OvqMemory<T>& m, const OvqWriteArgs<T>& in);

// What the rows lack of the chunk's values, v − readout(k), before it is written.
template <class T>
struct OvqLackingArgs {
  int64_t d, dv;
  const T* divisor;  // ovq_divisor()
  T scale;
  T* lacking;  // [C, dv], written
};
template <class T>
void ovq_lacking(const OvqOptions& o, const OvqMemory<T>& m, const OvqLackingArgs<T>& in, Arena& scratch);

}  // namespace quern::mixers
