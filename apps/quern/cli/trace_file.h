// Records what the program does from now on; finish() writes it in Chrome's format and prints where the time went. A
// file that cannot be written is refused at once.
#pragma once
#include <string>

#include "apps/quern/cli/line_file.h"

namespace quern::cli {

class TraceFile {
 public:
  explicit TraceFile(const std::string& path, int process = 0);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  std::string finish();  // the tables, and where the file lies

 private:
  std::string path_;
  int process_;
  LineFile file_;
};

}  // namespace quern::cli
