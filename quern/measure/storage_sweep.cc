#include "quern/measure/storage_sweep.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/base/stopwatch.h"
#include "quern/host/bench.h"
#include "quern/tensor/tensor.h"

namespace quern::measure {
namespace {

constexpr int64_t kBlock = int64_t{1} << 20, kPage = 4096;
constexpr int kThreads = 16;

[[noreturn]] void failed(const char* what, const std::filesystem::path& file) {
  fail("{} {}: {}", what, file.string(), std::strerror(errno));
}

class File {
 public:
  File(const std::filesystem::path& path, int flags)
      : path_(path), fd_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  void write(const Tensor& block, int64_t bytes) {
    if (::write(fd_, block.raw(), static_cast<size_t>(bytes)) != bytes) failed("writing", path_);
  }
  void read(std::byte* into, int64_t bytes, int64_t at) {
    if (::pread(fd_, into, static_cast<size_t>(bytes), at) != bytes) failed("reading", path_);
  }

 private:
  std::filesystem::path path_;
  int fd_;
};

// Memory at the border of a page, as reads around the page cache want it.
class Pages {
 public:
  explicit Pages(int64_t bytes) : memory_(Tensor::empty({bytes + kPage}, DType::u8)) {}
  std::byte* data() {
    auto* p = static_cast<std::byte*>(memory_.raw());
    return p + (kPage - static_cast<int64_t>(reinterpret_cast<uintptr_t>(p) % kPage)) % kPage;
  }

 private:
  Tensor memory_;
};

class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::filesystem::path& in)
      : path_(in / fmt::format("quern-storage-{}", ::getpid())) {
    std::error_code e;
    std::filesystem::create_directory(path_, e);
    if (e) fail("{}: {}; name a folder that may be written", path_.string(), e.message());
  }
  ~TemporaryFolder() {
    std::error_code e;
    std::filesystem::remove_all(path_, e);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

Tensor random_bytes(int64_t n) {  // that no device compresses
  Tensor t = Tensor::empty({n / 8}, DType::i64);
  Rng rng(11);
  for (int64_t& x : t.span<int64_t>()) x = static_cast<int64_t>(rng.next());
  return t;
}

double sequential_write(const std::filesystem::path& path, const StorageOptions& o, const Tensor& block) {
  File f(path, O_CREAT | O_TRUNC | O_WRONLY);
  if (!f.open()) failed("creating", path);
  const Stopwatch watch;
  for (int64_t at = 0; at < o.bytes; at += kBlock) f.write(block, kBlock);
  if (::fsync(f.fd()) != 0) failed("fsync of", path);
  return static_cast<double>(o.bytes) / watch.seconds() * 1e-9;
}

int direct_flags(const std::filesystem::path& path) {
  return File(path, O_RDONLY | O_DIRECT).open() ? O_RDONLY | O_DIRECT : O_RDONLY;
}

double sequential_read(const std::filesystem::path& path, const StorageOptions& o) {
  File f(path, direct_flags(path));
  Pages block(kBlock);
  const Stopwatch watch;
  for (int64_t at = 0; at < o.bytes; at += kBlock) f.read(block.data(), kBlock, at);
  return static_cast<double>(o.bytes) / watch.seconds() * 1e-9;
}

double random_reads(const std::filesystem::path& path, const StorageOptions& o, int threads) {
  std::vector<double> rates(static_cast<size_t>(threads));
  const auto read = [&](int t) {
    File f(path, direct_flags(path));
    Pages page(kPage);
    Rng rng(3, static_cast<uint64_t>(t));
    const Stopwatch watch;
    int64_t reads = 0;
    for (; watch.seconds() < o.seconds; ++reads)
      f.read(page.data(), kPage, static_cast<int64_t>(rng.below(static_cast<uint64_t>(o.bytes / kPage))) * kPage);
    rates[static_cast<size_t>(t)] = static_cast<double>(reads) / watch.seconds();
  };
  {
    std::vector<std::jthread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(read, t);
    read(0);
  }
  double sum = 0;
  for (const double r : rates) sum += r;
  return sum;
}

double median_fsync(const std::filesystem::path& path, const StorageOptions& o, const Tensor& block) {
  File f(path, O_CREAT | O_TRUNC | O_WRONLY);
  if (!f.open()) failed("creating", path);
  std::vector<double> times;
  for (const Stopwatch all; all.seconds() < o.seconds || times.size() < 5;) {
    const Stopwatch watch;
    f.write(block, kPage);
    if (::fdatasync(f.fd()) != 0) failed("fdatasync of", path);
    times.push_back(watch.seconds());
  }
  return 1e3 * host::median(std::move(times));
}

void small_files(const TemporaryFolder& folder, const StorageOptions& o, const Tensor& block, StorageRates& r) {
  const auto name = [&](int64_t i) { return folder / fmt::format("small-{}", i); };
  const auto rate = [&](auto&& each) {
    const Stopwatch watch;
    for (int64_t i = 0; i < o.files; ++i) each(name(i));
    return static_cast<double>(o.files) / watch.seconds();
  };
  r.create_files = rate([&](const std::filesystem::path& p) {
    File f(p, O_CREAT | O_TRUNC | O_WRONLY);
    if (!f.open()) failed("creating", p);
    f.write(block, kPage);
  });
  Pages page(kPage);
  r.read_files = rate([&](const std::filesystem::path& p) {
    File f(p, O_RDONLY);
    f.read(page.data(), kPage, 0);
  });
  r.delete_files = rate([](const std::filesystem::path& p) { std::filesystem::remove(p); });
}

}  // namespace

StorageRates measure_storage(const StorageOptions& o) {
  QUERN_CHECK(o.bytes >= kBlock && o.bytes % kBlock == 0 && o.files > 0);
  const std::filesystem::space_info space = std::filesystem::space(o.folder);
  if (static_cast<int64_t>(space.available) < 2 * o.bytes)
    fail("{}: {} MiB are free, and {} MiB are needed; name another folder", o.folder.string(), space.available >> 20,
         2 * o.bytes >> 20);
  const TemporaryFolder folder(o.folder);
  const Tensor block = random_bytes(kBlock);
  const std::filesystem::path big = folder / "big";
  StorageRates r;
  r.write_gbs = sequential_write(big, o, block);
  r.direct = direct_flags(big) != O_RDONLY;
  r.read_gbs = sequential_read(big, o);
  r.random_iops = random_reads(big, o, 1), r.random_iops_all = random_reads(big, o, kThreads);
  r.fsync_ms = median_fsync(folder / "log", o, block);
  small_files(folder, o, block, r);
  return r;
}

}  // namespace quern::measure
