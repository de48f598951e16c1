// Writes a full chunk into a memory.
#pragma once
#include "quern/mixers/ovq/ovq.h"

namespace quern {

// Adds the memory's chunk to the rows named: keys and values to the sums, one to the count of each. With delta values
// `lacking` [C, dv] is added in place of the values, to a sum that first grows with its count: c·D_v stays c·D_v.
template <class T>
void ovq_write(const OvqOptions& o, OvqMemory<T>& m, int64_t d, int64_t dv, const int32_t* rows, int64_t live_after,
               const T* lacking);

// What the rows lack of the chunk's values, v − readout(k), before it is written.
template <class T>
void ovq_lacking(const OvqOptions& o, const OvqMemory<T>& m, int64_t d, int64_t dv, const T* divisor, T scale,
                 T* lacking, Arena& scratch);

}  // namespace quern
