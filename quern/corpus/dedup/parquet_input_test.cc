// Deduplication reads Parquet files as it reads the same rows in JSON lines.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "quern/corpus/dedup/dedup.h"
#include "quern/corpus/io/inputs.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

TEST(ParquetInput, IsReadLikeJsonLines) {
  const fs::path files = QUERN_SOURCE_DIR "/quern/corpus/io/testdata/parquet",
                 root = fs::temp_directory_path() / fmt::format("quern-parquet-input-{}", ::getpid());
  fs::create_directories(root);
  for (const char* name : {"snappy", "zstd"})
    for (const char* form : {"parquet", "jsonl"})
      fs::copy_file(files / fmt::format("{}.{}", name, form), root / fmt::format("{}-{}.{}", form, name, form));
  const auto kept = [&](const char* form) {
    const Inputs in = find_inputs(std::vector<std::string>{(root / fmt::format("{}-snappy.{}", form, form)).string(),
                                                           (root / fmt::format("{}-zstd.{}", form, form)).string()});
    return deduplicate(in, dedup_preset("zyda", "fast"), root / form);
  };
  const DedupReport a = kept("parquet"), b = kept("jsonl");
  EXPECT_EQ(a.read.documents, b.read.documents);
  EXPECT_GT(a.read.documents, 200u);
  EXPECT_EQ(a.kept, b.kept);
  fs::remove_all(root);
}

}  // namespace
}  // namespace quern::corpus
