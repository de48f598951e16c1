// Any bytes as a Parquet file: rows or an Error.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/corpus/io/parquet.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("quern-fuzz-parquet-" + std::to_string(::getpid()));
  quern::write_file(file, {reinterpret_cast<const char*>(data), size});
  try {
    auto in = quern::corpus::open_parquet(file);
    std::string piece(65536, ' ');
    while (in->read(piece.data(), piece.size()) > 0) {
    }
  } catch (const quern::Error&) {
  }
  return 0;
}
