// Settings that both the learned memories (memory_model.h) and the untrained ones (store.h) have, with defaults of
// their own.
#pragma once
#include <cstdint>

#include "quern/base/setting_views.h"

namespace quern::lab {

template <class V>
void visit_dictionary(V& v, int64_t& rows, int64_t& chunk) {
  v("dictionary", rows, "rows of an OVQ dictionary, codes of a codebook, keys of a window", {.old_flags = "--rows"});
  v("chunk", chunk, "tokens between two writes to a dictionary or codebook");
}

template <class V>
void visit_count_bias(V& v, bool& count_bias) {
  OffSwitch no_count_bias(count_bias);
  v("no_count_bias", no_count_bias, "ovq: do not add the counts of rows to the attention logits");
}

}  // namespace quern::lab
