// Any bytes as a file of each form but Parquet, packed or not: rows and reasons, with the same rows whatever the block
// size. The first byte says which.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/corpus/io/ingest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern::corpus;
  constexpr InputForm kForms[] = {InputForm::jsonl, InputForm::text, InputForm::warc,
                                  InputForm::html,  InputForm::csv,  InputForm::tsv};
  if (size < 1) return 0;
  static const std::string file =
      (std::filesystem::temp_directory_path() / fmt::format("quern-fuzz-{}", ::getpid())).string();
  quern::write_file(file, {reinterpret_cast<const char*>(data) + 1, size - 1});
  Inputs in;
  in.sources = {"a"};
  in.files = {{file, 0, kForms[(data[0] & 7) % 6], size - 1}};
  std::vector<std::string> rows[2];
  for (int pass = 0; pass < 2; ++pass) {
    const ReadPolicy policy{.replace_utf8 = (data[0] & 8) != 0, .max_row = 1000};
    BlockReader reader(in, policy, pass == 0 ? 1 : size_t{1} << 16);
    DocumentReader documents(in, {FieldMap()}, policy);
    ReadCounts counts;
    Block b;
    while (reader.next(b))
      documents.read(
          b, counts, [&](const DocumentView& d) { rows[pass].push_back(fmt::format("{} {}", d.number, d.text)); },
          [&](uint64_t n, RecordProblem p) {
            rows[pass].push_back(fmt::format("{} {}", n, record_problem_name(p)));
          });
  }
  QUERN_CHECK(rows[0] == rows[1], "{} rows, {} rows", rows[0].size(), rows[1].size());
  return 0;
}
