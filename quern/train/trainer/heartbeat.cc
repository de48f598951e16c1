#include "quern/train/trainer/heartbeat.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>

#include "quern/base/error.h"
#include "quern/base/mmap.h"

namespace quern::train {

namespace fs = std::filesystem;

namespace {

constexpr size_t kPageBytes = 4096;
constexpr uint64_t kMagic = 0x7165726e62656174;  // written last: the page is complete
constexpr int kMaxRanks = 256;                   // of one process
constexpr auto kBeat = std::chrono::milliseconds(100);

// None where the file is no longer there: a supervisor clears all away before it starts anew, also while others look.
std::unique_ptr<MappedFile> map_unless_gone(const fs::path& path) {
  try {
    return std::make_unique<MappedFile>(path);
  } catch (const Error&) {
    return fs::exists(path) ? std::make_unique<MappedFile>(path) : nullptr;  // made anew meanwhile, or truly bad
  }
}

}  // namespace

struct Heartbeat::Page {
  std::atomic<uint64_t> magic;
  int32_t rank, ranks, pid;
  std::atomic<int32_t> section, end, bad_numbers;
  std::atomic<int64_t> pulse, sequence, step;
  std::atomic<double> busy_s;
  char text[3072];
};

const char* section_name(Section s) {
  constexpr std::array kNames = {"setup", "data", "compute", "reduce", "optimizer", "checkpoint", "evaluate"};
  const auto i = static_cast<size_t>(s);
  return i < kNames.size() ? kNames[i] : "an unknown section";
}

std::atomic<Heartbeat::Page*>* Heartbeat::pages() {  // a signal handler can reach nothing else
  static std::array<std::atomic<Page*>, kMaxRanks> all{};
  return all.data();
}

void Heartbeat::on_termination(int signal) {
  for (int i = 0; i < kMaxRanks; ++i)
    if (Page* p = pages()[i].load()) {
      auto running = static_cast<int32_t>(RankEnd::running);
      p->end.compare_exchange_strong(running, static_cast<int32_t>(RankEnd::terminated));
    }
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

void note_termination() {
  Heartbeat::pages();  // made before a handler asks for it
  std::signal(SIGTERM, &Heartbeat::on_termination);
}

Heartbeat::Heartbeat(const fs::path& dir, int rank, int ranks) {
  static_assert(sizeof(Page) <= kPageBytes && std::atomic<double>::is_always_lock_free);
  fs::create_directories(dir);
  const fs::path file = dir / fmt::format("rank_{}", rank);
  write_file(file, std::string(kPageBytes, '\0'));  // written, not grown: a full disk shows here and not as a SIGBUS
  const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) fail("cannot open {}: {}", file.string(), std::strerror(errno));
  void* p = ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int e = errno;
  ::close(fd);
  if (p == MAP_FAILED) fail("cannot map {}: {}", file.string(), std::strerror(e));
  page_ = static_cast<Page*>(p);
  page_->rank = rank, page_->ranks = ranks, page_->pid = static_cast<int32_t>(::getpid());
  page_->magic.store(kMagic);
  for (int i = 0; i < kMaxRanks; ++i) {
    Page* none = nullptr;
    if (pages()[i].compare_exchange_strong(none, page_)) break;
  }
  pulse_ = std::jthread([page = page_](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      page->pulse.fetch_add(1);
      std::this_thread::sleep_for(kBeat);
    }
  });
}

Heartbeat::~Heartbeat() {
  if (!page_) return;
  pulse_.request_stop();
  pulse_.join();
  for (int i = 0; i < kMaxRanks; ++i) {
    Page* mine = page_;
    if (pages()[i].compare_exchange_strong(mine, nullptr)) break;
  }
  ::munmap(page_, kPageBytes);
}

void Heartbeat::enter(Section s, int64_t step) {
  if (!page_) return;
  page_->section.store(static_cast<int32_t>(s));
  page_->step.store(step);
  page_->sequence.fetch_add(1);
}

void Heartbeat::busy(double seconds) {
  if (page_) page_->busy_s.store(seconds);
}

void Heartbeat::finished() {
  if (page_) page_->end.store(static_cast<int32_t>(RankEnd::finished));
}

void Heartbeat::failed(const std::exception& e) {
  if (!page_) return;
  std::strncpy(page_->text, e.what(), sizeof(page_->text) - 1);
  page_->bad_numbers.store(dynamic_cast<const BadNumbers*>(&e) != nullptr);
  page_->end.store(static_cast<int32_t>(RankEnd::failed));
}

std::vector<RankState> read_heartbeats(const fs::path& dir) {
  std::map<int, RankState> found;
  std::error_code e;
  for (fs::directory_iterator it(dir, e), end; !e && it != end; it.increment(e)) {
    const std::string name = it->path().filename().string();
    int rank = -1;
    if (!name.starts_with("rank_")) continue;
    if (auto [p, bad] = std::from_chars(name.data() + 5, name.data() + name.size(), rank); bad != std::errc() || *p)
      continue;  // the sibling that becomes the file
    const std::unique_ptr<MappedFile> file = map_unless_gone(it->path());
    if (!file || file->bytes().size() != kPageBytes) continue;
    const auto* p = reinterpret_cast<const Heartbeat::Page*>(file->bytes().data());
    if (p->magic.load() != kMagic) continue;
    RankState& s = found[rank];
    s.rank = p->rank, s.ranks = p->ranks, s.pid = p->pid;
    s.pulse = p->pulse.load(), s.sequence = p->sequence.load(), s.step = p->step.load();
    s.section = static_cast<Section>(p->section.load()), s.end = static_cast<RankEnd>(p->end.load());
    s.bad_numbers = p->bad_numbers.load() != 0, s.busy_s = p->busy_s.load();
    if (s.end == RankEnd::failed) s.text.assign(p->text, ::strnlen(p->text, sizeof(p->text)));
  }
  std::vector<RankState> all;
  for (auto& [rank, s] : found) all.push_back(std::move(s));
  return all;
}

}  // namespace quern::train
