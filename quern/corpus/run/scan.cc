#include "quern/corpus/run/scan.h"

#include "quern/base/error.h"

namespace quern::corpus {

std::string ScanOptions::text() const {
  std::string all = fmt::format("2 {} {} {} {}", read.stop_on_bad, read.replace_utf8, read.max_row, block_bytes);
  for (const FieldMap& f : fields)
    for (const std::string& s :
         {f.text, f.score, f.source, f.url, f.label, f.label_equals, fmt::format("{}", f.label_at_least)})
      append_json_string(all, s);
  return all;
}

}  // namespace quern::corpus
