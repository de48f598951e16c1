// Attention under context parallelism (context_parallel.h). Both forms give every query the keys up to its own
// position in its document (the newest `window` of them):
//   gather  all ranks get all keys and values, Hkv·(d + dv) numbers per row; gradients are reduced to the owner ranks
//   ring    ring attention: keys and values pass from rank to rank while the present ones are used; partial results
//           (o, m, l) are combined as they come: m' = max(m, mⱼ), l' = l·e^(m−m') + lⱼ·e^(mⱼ−m'), o likewise, o/l at
//           the end. In backward they pass around again, and their gradients travel along to the owner
// Memory beyond the inputs: gather T rows of keys and values, ring those of two ranks. Cost: the flops of attention
// divided by P, since zig-zag chunks see equally much; blocks beyond the diagonal are skipped.
#pragma once
#include "quern/mixers/ranks/attend.h"
#include "quern/mixers/ranks/context_parallel.h"

namespace quern::mixers {

// Rows of this rank. q [n, Hq, d], k [n, Hkv, d], v [n, Hkv, dv] → [n, Hq, dv].
grad::Var context_attend(grad::Tape& tape, const ContextParallel& context, const grad::Var& q, const grad::Var& k,
                         const grad::Var& v, AttendOptions o);

}  // namespace quern::mixers
