// Storage under one folder: what training reads, what checkpoints write, and how long it takes until data is safe.
#pragma once
#include <cstdint>
#include <filesystem>

#include "quern/base/config.h"

namespace quern::measure {

struct StorageRates {
  double write_gbs = 0;        // sequential, blocks of 1 MiB, until the data is on the device (fsync)
  double read_gbs = 0;         // sequential
  double random_iops = 0;      // reads of 4 KiB, one after the other
  double random_iops_all = 0;  // the same of 16 threads at once
  double fsync_ms = 0;         // median of a write of 4 KiB at the end of a file with fdatasync
  double create_files = 0, read_files = 0, delete_files = 0;  // of 4 KiB, a second
  bool direct = false;  // reads went around the page cache; false: the file system cannot, rates are those of memory

  template <class V>
  void visit(V& v) {
    v("write_gbs", write_gbs, "sequential writes with fsync, GB/s");
    v("read_gbs", read_gbs, "sequential reads, GB/s");
    v("random_iops", random_iops, "random reads of 4 KiB a second, one thread");
    v("random_iops_all", random_iops_all, "random reads of 4 KiB a second, 16 threads");
    v("fsync_ms", fsync_ms, "write of 4 KiB with fdatasync, ms");
    v("create_files", create_files, "files of 4 KiB made a second");
    v("read_files", read_files, "files of 4 KiB read a second");
    v("delete_files", delete_files, "files of 4 KiB deleted a second");
    v("direct", direct, "reads went around the page cache");
  }
};

struct StorageOptions {
  std::filesystem::path folder;  // must exist; a folder is made in it and removed at the end
  int64_t bytes = int64_t{256} << 20;
  int64_t files = 1000;
  double seconds = 0.5;  // of random reads and of fsyncs
};
StorageRates measure_storage(const StorageOptions& o);  // throws Error naming what failed

}  // namespace quern::measure
