// One mutex guards the index and the queue. Files are written and read without it.
#include "quern/infer/cache/prefix_disk.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "quern/base/error.h"
#include "quern/infer/cache/contiguous_copy.h"

namespace quern::infer {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxQueued = int64_t{512} << 20;  // bytes waiting for the disk; one text may be longer
constexpr double kStampSeconds = 60;                // how exactly files remember when they were used
constexpr int64_t kHeader = 1024;                   // of a file, until it is written
constexpr const char *kRows = ".rows", *kSnapshot = ".state", *kPart = ".part";

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double age_of(const fs::path& file) {
  std::error_code error;
  const auto written = fs::last_write_time(file, error);
  return error ? 0 : std::chrono::duration<double>(fs::file_time_type::clock::now() - written).count();
}

int64_t mib(int64_t bytes) { return (bytes + (1 << 20) - 1) >> 20; }

}  // namespace

std::unique_ptr<PrefixDisk> PrefixDisk::open(PrefixDiskOptions options, const std::vector<mixers::StateSite>& sites) {
  auto folder = std::make_unique<CacheFolder>(options.folder, options.identity);
  if (!folder->locked()) {
    if (options.say)
      options.say(
          fmt::format("prefix cache on disk: {} is in use by another process; this one keeps its cache in memory",
                      folder->path().string()));
    return nullptr;
  }
  return std::unique_ptr<PrefixDisk>(new PrefixDisk(std::move(options), std::move(folder), sites));
}

PrefixDisk::PrefixDisk(PrefixDiskOptions options, std::unique_ptr<CacheFolder> folder,
                       const std::vector<mixers::StateSite>& sites)
    : o_(std::move(options)), folder_(std::move(folder)), sites_(sites) {
  for (size_t s = 0; s < sites_.size(); ++s) {
    const mixers::StateSpec& spec = sites_[s].spec;
    row_bytes_ += spec.bytes_per_token(), snapshot_bytes_ += spec.fixed_bytes();
    for (size_t p = 0; p < spec.parts.size(); ++p)
      (spec.parts[p].per_token ? rows_ : fixed_).emplace_back(static_cast<int>(s), static_cast<int>(p));
  }
  scan();
  writer_ = std::thread([this] { write_loop(); });
}

PrefixDisk::~PrefixDisk() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  writer_.join();
}

fs::path PrefixDisk::rows_file(const std::string& piece) const { return folder_->path() / (piece + kRows); }

fs::path PrefixDisk::snapshot_file(const std::string& piece, int64_t position) const {
  return folder_->path() / fmt::format("{}-{}{}", piece, position, kSnapshot);
}

void PrefixDisk::say(const std::string& line) const {
  if (o_.say) o_.say("prefix cache on disk: " + line);
}

// What an earlier process left. Pieces come before those that continue them: a file's place in the text is in it.
void PrefixDisk::scan() {
  std::vector<fs::path> rows, snapshots;
  std::vector<std::pair<PieceFacts, fs::path>> found;
  std::error_code error;
  for (const auto& f : fs::directory_iterator(folder_->path(), error)) {
    const fs::path& p = f.path();
    if (p.extension() == kRows) rows.push_back(p);
    if (p.extension() == kSnapshot) snapshots.push_back(p);
    if (p.extension().string().starts_with(kPart)) fs::remove(p, error);  // by a write that was cut off
  }
  int64_t damaged = 0, orphans = 0;
  for (const fs::path& p : rows) {
    try {
      found.emplace_back(read_piece_facts(p), p);
    } catch (const Error& e) {
      if (damaged++ == 0) say(fmt::format("{}; ignored and removed", e.what()));
      fs::remove(p, error);
    }
  }
  std::ranges::sort(found, {}, [](const auto& f) { return f.first.begin; });
  const double now = now_seconds();
  for (auto& [facts, p] : found) {
    const IndexedFile file{.bytes = static_cast<int64_t>(fs::file_size(p, error)), .ready = true};
    if (index_.add(std::move(facts), file, now - age_of(p))) continue;
    ++orphans;  // what it continues is gone
    fs::remove(p, error);
  }
  scan_snapshots(snapshots);
  if (damaged > 1) say(fmt::format("{} damaged files in all", damaged));
  if (orphans > 0) say(fmt::format("{} files continued texts that are gone; removed", orphans));
  say(fmt::format("{} tokens in {} MiB of {} MiB in {}", index_.tokens(), mib(index_.bytes()), mib(o_.bytes),
                  folder_->path().string()));
  for (const CacheFolder::Other& other : folder_->others())
    say(fmt::format("{} ({} MiB) is ignored: {}", other.path.filename().string(), mib(other.bytes),
                    other.difference));
}

void PrefixDisk::scan_snapshots(const std::vector<fs::path>& files) {
  std::error_code error;
  for (const fs::path& p : files) {
    const std::string name = p.stem().string();
    const size_t dash = name.find('-');
    int64_t position = 0;
    if (dash != name.npos) std::from_chars(name.data() + dash + 1, name.data() + name.size(), position);
    IndexedPiece* piece = index_.find(name.substr(0, dash));
    if (piece && position > piece->facts.begin && position <= piece->facts.end())
      index_.add_snapshot(*piece, position, {static_cast<int64_t>(fs::file_size(p, error)), true});
    else
      fs::remove(p, error);
  }
}

int64_t PrefixDisk::reach(const PrefixText& text, int64_t limit, int64_t aligned) {
  std::lock_guard lock(mutex_);
  int64_t best = 0;
  for (const PieceIndex::Step& step : index_.walk(text)) {
    if (!step.piece->file.ready) break;
    const int64_t end = std::min(step.end, limit);
    if (fixed_.empty()) best = std::max(best, end / aligned * aligned);
    for (const auto& [position, file] : step.piece->snapshots)
      if (file.ready && position <= end && position % aligned == 0) best = position;
  }
  return best;
}

bool PrefixDisk::restore(const PrefixText& text, int64_t from, int64_t to, mixers::SequenceState& state,
                         const std::function<void()>& before) {
  struct Extent {
    std::string piece;
    int64_t begin, tokens, first, end;  // of the piece; rows that are taken, by their positions
    std::vector<Tensor> parts = {};
  };
  std::vector<Extent> extents;
  std::string holds;  // the piece with the snapshot
  std::unique_lock lock(mutex_);
  const std::vector<PieceIndex::Step> path = index_.walk(text.until(to));
  if (path.empty() || path.back().end < to) return false;  // evicted since reach()
  for (const PieceIndex::Step& step : path) {
    const PieceFacts& f = step.piece->facts;
    holds = step.piece->id;
    mark_used(*step.piece, now_seconds());
    if (step.end <= from) continue;
    ++step.piece->hits;
    extents.push_back({step.piece->id, f.begin, std::ssize(f.tokens), std::max(from, f.begin), step.end});
  }
  lock.unlock();
  std::string reading = holds;
  std::vector<Tensor> fixed;
  try {
    if (!fixed_.empty()) fixed = read_snapshot(snapshot_file(holds, to), holds, to, sites_);
    for (Extent& e : extents) reading = e.piece, e.parts = read_piece_rows(rows_file(e.piece), e.tokens, sites_);
  } catch (const Error& e) {
    lock.lock();
    IndexedPiece* damaged = index_.find(reading);
    if (!damaged) return false;  // evicted just now
    say(fmt::format("{}; ignored and removed", e.what()));
    if (!fixed_.empty() && fixed.empty()) {
      std::error_code error;
      fs::remove(snapshot_file(holds, to), error);
      index_.erase_snapshot(*damaged, to);
    } else {
      drop(*damaged);
    }
    return false;
  }
  before();
  for (const Extent& e : extents)
    for (size_t i = 0; i < rows_.size(); ++i)
      state.append(rows_[i].first, rows_[i].second, e.end - e.first)
          .copy_from(e.parts[i].narrow(0, e.first - e.begin, e.end - e.first));
  for (size_t i = 0; i < fixed_.size(); ++i) state.fixed(fixed_[i].first, fixed_[i].second).copy_from(fixed[i]);
  lock.lock();
  read_tokens_ += to - from;
  return true;
}

void PrefixDisk::store(const PrefixText& text, const mixers::SequenceState& rows, const SharedRows& shared,
                       const std::vector<Tensor>& fixed) {
  const auto n = std::ssize(text.tokens);
  const double now = now_seconds();
  std::unique_lock lock(mutex_);
  const std::vector<PieceIndex::Step> path = index_.walk(text);
  for (const PieceIndex::Step& step : path) mark_used(*step.piece, now);
  IndexedPiece* piece = path.empty() ? nullptr : path.back().piece;
  const int64_t at = path.empty() ? 0 : path.back().end;
  if (at < n) {
    Job job{.what = Write::rows, .piece = {}, .bytes = (n - at) * (row_bytes_ + 4) + kHeader};
    if (job.bytes > o_.bytes) return;
    if (queued_bytes_ > 0 && queued_bytes_ + job.bytes > kMaxQueued) {
      ++skipped_;
      return;
    }
    PieceFacts facts{.parent = piece ? piece->id : "", .variant = std::string(text.variant), .begin = at};
    facts.tokens.assign(text.tokens.begin() + at, text.tokens.end());
    piece = index_.add(std::move(facts), {.bytes = job.bytes}, now);
    if (!piece) return;
    job.piece = piece->id;
    try {
      for (size_t i = 0; i < rows_.size(); ++i)
        job.tensors.push_back(shared.parts && shared.begin <= at
                                  ? (*shared.parts)[i].narrow(0, at - shared.begin, n - at)
                                  : rows.rows(rows_[i].first, rows_[i].second).narrow(0, at, n - at));
      if (!shared.parts || shared.begin > at) job.tensors = contiguous_copy(job.tensors);
    } catch (const std::bad_alloc&) {
      index_.erase(*piece);  // the disk is no reason to fail
      return;
    }
    push(std::move(job));
  }
  if (fixed_.empty() || piece->snapshots.contains(n)) return;
  Job job{.what = Write::snapshot,
          .piece = piece->id,
          .position = n,
          .tensors = fixed,
          .bytes = snapshot_bytes_ + kHeader};
  if (job.bytes > o_.bytes) return;
  if (queued_bytes_ > 0 && queued_bytes_ + job.bytes > kMaxQueued) {
    ++skipped_;
    return;
  }
  index_.add_snapshot(*piece, n, {.bytes = job.bytes});
  push(std::move(job));
}

void PrefixDisk::touch(const PrefixText& text) {
  const double now = now_seconds();
  std::lock_guard lock(mutex_);
  for (const PieceIndex::Step& step : index_.walk(text)) mark_used(*step.piece, now);
}

void PrefixDisk::mark_used(IndexedPiece& piece, double now) {
  piece.used = now;
  if (now - piece.stamped < kStampSeconds || !piece.file.ready) return;
  piece.stamped = now;
  push({.what = Write::time, .piece = piece.id});
}

void PrefixDisk::push(Job job) {
  queued_bytes_ += job.bytes;
  queue_.push_back(std::move(job));
  work_.notify_one();
}

void PrefixDisk::finish() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return queue_.empty() && !writing_; });
}

void PrefixDisk::write_loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Job job = std::move(queue_.front());
    queue_.pop_front();
    writing_ = true;
    lock.unlock();
    write(job);
    lock.lock();
    writing_ = false;
    queued_bytes_ -= job.bytes;
    shrink();
    if (queue_.empty()) idle_.notify_all();
  }
}

void PrefixDisk::write(const Job& job) {
  std::error_code error;
  const fs::path file = job.what == Write::snapshot ? snapshot_file(job.piece, job.position) : rows_file(job.piece);
  PieceFacts facts;
  {
    std::lock_guard lock(mutex_);
    const IndexedPiece* piece = index_.find(job.piece);
    if (!piece) return;  // evicted before it was written
    if (job.what == Write::rows) facts = piece->facts;
  }
  if (job.what == Write::time) return fs::last_write_time(file, fs::file_time_type::clock::now(), error);
  int64_t bytes = 0;
  std::string fault;
  try {
    bytes = job.what == Write::rows ? write_piece(file, facts, sites_, job.tensors)
                                    : write_snapshot(file, job.piece, job.position, sites_, job.tensors);
  } catch (const std::exception& e) {
    fault = e.what();
  }
  std::lock_guard lock(mutex_);
  IndexedPiece* piece = index_.find(job.piece);
  const bool snapshot = job.what == Write::snapshot;
  if (!piece || (snapshot && !piece->snapshots.contains(job.position))) {  // dropped meanwhile
    fs::remove(file, error);
    return;
  }
  if (!fault.empty()) {
    if (!std::exchange(told_full_, true)) say(fmt::format("{}; what cannot be written is in memory only", fault));
    if (snapshot)
      index_.erase_snapshot(*piece, job.position);
    else
      drop(*piece);
    return;
  }
  IndexedFile& written = snapshot ? piece->snapshots.at(job.position) : piece->file;
  index_.resize(written, bytes);
  written.ready = true;
}

void PrefixDisk::drop(IndexedPiece& piece) {
  std::error_code error;
  for (IndexedPiece* p : index_.subtree(piece)) {
    for (const auto& [position, file] : p->snapshots) fs::remove(snapshot_file(p->id, position), error);
    fs::remove(rows_file(p->id), error);
    index_.erase(*p);
  }
}

void PrefixDisk::shrink() {
  while (index_.bytes() + folder_->other_bytes() > o_.bytes) {
    if (folder_->drop_oldest_other()) continue;
    IndexedPiece* oldest = index_.oldest_leaf();
    if (!oldest) return;
    drop(*oldest);
  }
}

PrefixDisk::Counts PrefixDisk::counts() const {
  std::lock_guard lock(mutex_);
  return {.bytes = index_.bytes(),
          .budget = o_.bytes,
          .pieces = index_.count(),
          .tokens = index_.tokens(),
          .read_tokens = read_tokens_,
          .skipped = skipped_};
}

std::vector<CacheEdge> PrefixDisk::edges() const {
  std::lock_guard lock(mutex_);
  return index_.edges(now_seconds());
}

}  // namespace quern::infer
