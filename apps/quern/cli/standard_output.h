// Whether what a verb printed has reached standard output. stdio keeps bytes back, so a full disk may be told only when
// they are flushed: main() does that for every verb.
#pragma once
#include <string_view>

#include "quern/base/error.h"

namespace quern::cli {

class OutputError : public Error {
 public:
  explicit OutputError(int reason);  // errno; 0: not known any more
  bool closed_pipe() const;          // the reader had enough: nothing to tell anybody
 private:
  int reason_;
};

void write_output(std::string_view text);  // to standard output, at once; throws OutputError
void finish_output();                      // flushes; throws OutputError where a byte of this run was lost

}  // namespace quern::cli
