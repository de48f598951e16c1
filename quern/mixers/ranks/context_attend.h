// Attention over rows that lie on several ranks (context.h). Both forms give every query its keys up to itself in its
// document (the newest `window` of them):
//   gather  all ranks get all keys and values, Hkv·(d + dv) numbers a row; their gradients are summed and sent home
//   ring    keys and values go round from rank to rank while the ones at hand are used; partial results (o, m, l)
//           are joined as they come: m' = max(m, mⱼ), l' = l·e^(m−m') + lⱼ·e^(mⱼ−m'), o likewise, o/l in the end.
//           Backward they go round again and their gradients travel along until they are home
// Memory beside the inputs: gather T rows of keys and values, ring two ranks' worth.
// Cost: the flops of attention over P, as zig-zag chunks see alike; blocks beyond the diagonal are not touched.
#pragma once
#include "quern/mixers/ranks/attend.h"
#include "quern/mixers/ranks/context.h"

namespace quern {

// Rows of this rank. q [n, Hq, d], k [n, Hkv, d], v [n, Hkv, dv] → [n, Hq, dv].
Var context_attend(Tape& tape, const Context& context, const Var& q, const Var& k, const Var& v, AttendOptions o);

}  // namespace quern
