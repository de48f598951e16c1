// Where token shards are written: flags of data build and corpus tokenize.
#pragma once
#include <string>

#include "quern/base/setting_views.h"

namespace quern::cli {

struct ShardFlags {
  std::string out;
  bool end_token = true;
  template <class V>
  void visit(V& v) {
    OffSwitch no_end_token(end_token);
    v("out", out, "output files: PREFIX.bin, PREFIX.idx and PREFIX.json", {.value = "PREFIX"});
    v("no_end_token", no_end_token, "add no end token after documents");
  }
};

}  // namespace quern::cli
