// Records what the program does from now on; finish() writes it in Chrome's format and as an HTML page, and prints where
// the time went. Files that cannot be written are refused at once.
#pragma once
#include <optional>
#include <string>

#include "apps/quern/cli/line_file.h"

namespace quern::cli {

class TraceFile {
 public:
  explicit TraceFile(const std::string& path, int process = 0);  // the page lies beside it: trace.json, trace.html
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  std::string finish();  // the tables, and where the files lie

 private:
  std::string path_, page_path_;
  int process_;
  LineFile file_;
  std::optional<LineFile> page_;  // none beside stdout
};

}  // namespace quern::cli
