// Any bytes as the index of a token shard: either every document can be read, or an Error says why not.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "quern/base/error.h"
#include "quern/data/indexed.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::filesystem::path prefix = [] {
    std::filesystem::path p = std::filesystem::temp_directory_path() / ("quern_fuzz_" + std::to_string(::getpid()));
    quern::write_file(quern::data::with_suffix(p, ".bin"), std::string(18, '\7'));
    return p;
  }();
  quern::write_file(quern::data::with_suffix(prefix, ".idx"), {reinterpret_cast<const char*>(data), size});
  try {
    quern::data::IndexedTokens t(prefix);
    std::vector<int32_t> ids;
    int64_t sum = 0;
    for (int64_t d = 0; d < t.documents(); ++d) {
      ids.resize(static_cast<size_t>(t.document_length(d)));
      t.read(t.document_begin(d), ids);
      for (int32_t id : ids) sum += id;
      if (!ids.empty()) sum += t.document_at(t.document_begin(d));
    }
    volatile int64_t keep = sum;
    (void)keep;
  } catch (const quern::Error&) {
  }
  return 0;
}
