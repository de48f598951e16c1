#include "quern/measure/storage_sweep.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace quern::measure {
namespace {

TEST(Storage, EveryRateIsMeasuredAndNothingStays) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("quern-storage-test-{}", ::getpid());
  std::filesystem::create_directory(folder);
  const StorageRates r = measure_storage({.folder = folder, .bytes = 4 << 20, .files = 20, .seconds = 0.02});
  for (const double rate : {r.write_gbs, r.read_gbs, r.random_iops, r.random_iops_all, r.fsync_ms, r.create_files,
                            r.read_files, r.delete_files})
    EXPECT_GT(rate, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove(folder);
}

TEST(Storage, AFolderThatCannotBeIsNamed) {
  try {
    measure_storage({.folder = "/proc", .bytes = 1 << 20});
    FAIL();
  } catch (const std::exception& e) {
    EXPECT_NE(std::string(e.what()).find("/proc"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace quern::measure
