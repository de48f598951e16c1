#include "quern/recall/store/segment.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace quern::recall {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "QRNRECL2", kMagicBefore = "QRNRECL1";
constexpr size_t kAlign = 64;
enum Section : size_t {
  kMeta,
  kText,
  kChunks,
  kDocuments,
  kKeys,
  kTerms,
  kLengths,
  kSlabs,
  kNorm,
  kGraphBegin,
  kGraphTo,
  kGraphWeight,
  kGraphDegree,
  kLast,
  kCopies,
  kSectionsBefore,  // of the first version
  kPaths = kSectionsBefore,
  kPathEnds,
  kPathText,
  kSections
};

struct SectionEntry {
  uint64_t offset, bytes, check;
};
struct Head {
  char magic[8];
  uint64_t sections, check;
  std::array<SectionEntry, kSections> table;  // the first version's is shorter
};

template <class T>
std::span<const std::byte> bytes_of(const T& container) {
  return std::as_bytes(std::span(container));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

void flush_folder(const fs::path& folder) {
  const Descriptor d(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (d.get() < 0 || ::fsync(d.get()) != 0) fail("cannot flush {}: {}", folder.string(), std::strerror(errno));
}

Json files_json(const std::vector<SegmentFile>& files) {
  Json out = Json::array();
  for (const SegmentFile& f : files) {
    Json j = Json::object();
    j.set("path", f.path), j.set("size", f.size), j.set("modified_ns", f.modified_ns);
    j.set("hash", static_cast<int64_t>(f.hash));
    if (!f.facts.is_null()) j.set("facts", f.facts);
    out.push(std::move(j));
  }
  return out;
}

}  // namespace

FileStamp stamp_of(const fs::path& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return {};
  return {st.st_ino, st.st_size, st.st_mtim.tv_sec * 1'000'000'000LL + st.st_mtim.tv_nsec};
}

uint64_t content_check(std::span<const std::byte> bytes) {
  uint64_t lanes[4] = {1, 2, 3, 4};
  size_t i = 0;
  for (; i + 32 <= bytes.size(); i += 32)
    for (size_t l = 0; l < 4; ++l) {
      uint64_t w;
      std::memcpy(&w, bytes.data() + i + 8 * l, 8);
      lanes[l] = fold_product(lanes[l] ^ w, 0x9e3779b97f4a7c15ull + 2 * l) + w;
    }
  uint64_t h = bytes.size();
  for (const uint64_t l : lanes) h = mix64(h ^ l) + l;
  for (; i < bytes.size(); ++i) h = mix64(h ^ (static_cast<uint64_t>(bytes[i]) + 0x100));
  return h;
}

void write_durably(const fs::path& path, std::span<const std::span<const std::byte>> pieces) {
  fs::path part = path;
  part += ".part";
  bool ok = true;
  {
    const Descriptor d(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (d.get() < 0) fail("cannot write {}: {}", path.string(), std::strerror(errno));
    for (std::span<const std::byte> p : pieces)
      while (ok && !p.empty()) {
        const ssize_t n = ::write(d.get(), p.data(), std::min<size_t>(p.size(), 1 << 30));
        if (n < 0 && errno == EINTR) continue;
        ok = n > 0;
        if (ok) p = p.subspan(static_cast<size_t>(n));
      }
    ok = ok && ::fsync(d.get()) == 0;
  }
  if (!ok || ::rename(part.c_str(), path.c_str()) != 0) {
    const int e = errno;
    ::unlink(part.c_str());
    fail("cannot write {}: {}", path.string(), std::strerror(e));
  }
  flush_folder(path.parent_path());
}

RecallStats write_segment(const fs::path& path, const SegmentInput& in, const RecallOptions& options) {
  const PassageList& passages = in.passages;
  std::vector<std::string_view> context;
  std::vector<uint64_t> path_ends;
  std::string path_text;
  for (const std::string& p : passages.paths) path_text += p, path_ends.push_back(path_text.size());
  if (!path_text.empty())
    for (const uint32_t p : passages.path) context.push_back(passages.paths[p]);
  const RecallIndex index = RecallIndex::build(in.text, passages.chunks, options, context);
  const RecallView v = index.view();
  const RecallStats& s = index.stats();
  Json meta = Json::object();
  meta.set("files", files_json(in.files));
  meta.set("words", static_cast<int64_t>(s.words)), meta.set("threshold", double{s.threshold});
  meta.set("terms_passed_over", s.gram.terms_skipped), meta.set("rows_cut", s.gram.rows_cut);
  const std::string meta_text = meta.dump();

  std::array<std::vector<std::span<const std::byte>>, kSections> sections;
  sections[kMeta] = {bytes_of(meta_text)};
  sections[kText] = {bytes_of(in.text)};
  sections[kChunks] = {bytes_of(passages.chunks)};
  sections[kDocuments] = {bytes_of(in.documents)};
  sections[kKeys] = {bytes_of(v.postings.keys)};
  sections[kTerms] = {bytes_of(v.postings.terms)};
  sections[kLengths] = {bytes_of(v.postings.lengths)};
  for (size_t i = 0; i < v.postings.slabs.size(); ++i)
    sections[kSlabs].push_back(std::as_bytes(
        std::span(v.postings.slabs[i], i + 1 < v.postings.slabs.size() ? kSlabWords : index.last_slab_words())));
  sections[kNorm] = {bytes_of(v.norm)};
  sections[kGraphBegin] = {bytes_of(v.graph.begin)};
  sections[kGraphTo] = {bytes_of(v.graph.to)};
  sections[kGraphWeight] = {bytes_of(v.graph.weight)};
  sections[kGraphDegree] = {bytes_of(v.graph.degree)};
  sections[kLast] = {bytes_of(v.last)};
  sections[kCopies] = {bytes_of(v.copies)};
  sections[kPaths] = {bytes_of(passages.path)};
  sections[kPathEnds] = {bytes_of(path_ends)};
  sections[kPathText] = {bytes_of(path_text)};

  static constexpr std::array<std::byte, kAlign> kZeros{};
  Head head{};
  std::memcpy(head.magic, kMagic.data(), 8);
  head.sections = kSections;
  std::vector<std::span<const std::byte>> pieces = {std::as_bytes(std::span(&head, 1))};
  uint64_t at = sizeof(Head);
  const auto pad = [&] {
    const size_t n = (kAlign - at % kAlign) % kAlign;
    pieces.push_back(std::span(kZeros).first(n));
    at += n;
  };
  for (size_t i = 0; i < kSections; ++i) {
    pad();
    SectionEntry& e = head.table[i];
    e.offset = at;
    for (const auto& piece : sections[i]) {
      e.bytes += piece.size(), e.check = mix64(e.check ^ content_check(piece));
      pieces.push_back(piece);
    }
    at += e.bytes;
  }
  head.check = content_check(std::as_bytes(std::span(head.table)));
  write_durably(path, pieces);
  return s;
}

template <class T>
std::span<const T> Segment::section(size_t i) const {
  const auto& e = reinterpret_cast<const Head*>(file_->bytes().data())->table[i];
  if (e.bytes % sizeof(T) != 0)
    fail("{}: section {} has {} bytes, no multiple of {}", file_->path().string(), i, e.bytes, sizeof(T));
  return {reinterpret_cast<const T*>(file_->bytes().data() + e.offset), e.bytes / sizeof(T)};
}

Segment::Segment(const fs::path& path, const RecallOptions& options)
    : stamp_(stamp_of(path)), file_(std::make_unique<MappedFile>(path)) {
  const std::span<const std::byte> all = file_->bytes();
  const auto damaged = [&](std::string what) {
    fail("{} is damaged or not a recall segment: {}", path.string(), what);
  };
  if (all.size() < sizeof(Head)) damaged(fmt::format("{} bytes, a head has {}", all.size(), sizeof(Head)));
  const Head& head = *reinterpret_cast<const Head*>(all.data());
  const bool before = std::memcmp(head.magic, kMagicBefore.data(), 8) == 0;
  const size_t sections = before ? kSectionsBefore : kSections;
  if ((!before && std::memcmp(head.magic, kMagic.data(), 8) != 0) || head.sections != sections) damaged("its head");
  if (head.check != content_check(std::as_bytes(std::span(head.table).first(sections))))
    damaged("its table of sections");
  for (size_t i = 0; i < sections; ++i) {
    const SectionEntry& e = head.table[i];
    if (e.offset > all.size() || e.bytes > all.size() - e.offset)
      damaged(fmt::format("section {} ends at {} of {} bytes", i, e.offset + e.bytes, all.size()));
    uint64_t check = 0;
    const size_t piece = i == kSlabs ? size_t{kSlabWords} * 4 : e.bytes;
    for (uint64_t at = 0; at < e.bytes; at += piece)
      check = mix64(check ^ content_check(all.subspan(e.offset + at, std::min<uint64_t>(piece, e.bytes - at))));
    if (e.bytes == 0 && i != kSlabs) check = mix64(content_check({}));
    if (check != e.check) damaged(fmt::format("section {} is not what was written", i));
  }
  const auto text = section<char>(kText), meta = section<char>(kMeta);
  text_ = {text.data(), text.size()};
  meta_ = Json::parse({meta.data(), meta.size()}, path.string());
  chunks_ = section<Chunk>(kChunks), documents_ = section<SegmentDocument>(kDocuments);
  for (const Json& f : meta_.at("files").as_array()) {
    const Json* facts = f.find("facts");
    files_.push_back({f.at("path").as_string(), f.at("size").as_int(), f.at("modified_ns").as_int(),
                      static_cast<uint64_t>(f.at("hash").as_int()), facts ? *facts : Json()});
  }
  const auto slabs = section<uint32_t>(kSlabs);
  for (size_t at = 0; at < slabs.size(); at += kSlabWords) slabs_.push_back(slabs.data() + at);
  view_.postings = {.slabs = slabs_,
                    .keys = section<KeyMap::Slot>(kKeys),
                    .terms = section<TermEntry>(kTerms),
                    .lengths = section<uint32_t>(kLengths),
                    .dead = {}};
  view_.norm = section<float>(kNorm);
  view_.graph = {section<uint64_t>(kGraphBegin), section<uint32_t>(kGraphTo), section<float>(kGraphWeight),
                 section<double>(kGraphDegree), 1};
  view_.last = section<uint32_t>(kLast), view_.copies = section<uint32_t>(kCopies);
  view_.words = static_cast<uint64_t>(meta_.at("words").as_int());
  view_.threshold = static_cast<float>(meta_.at("threshold").as_double());
  view_.options = options;
  if (before) return;
  const auto path_text = section<char>(kPathText);
  paths_ = section<uint32_t>(kPaths), path_ends_ = section<uint64_t>(kPathEnds);
  path_text_ = {path_text.data(), path_text.size()};
}

std::string_view Segment::path_of(size_t chunk) const {
  if (!has_paths()) return {};
  const uint32_t p = paths_[chunk];
  const uint64_t begin = p == 0 ? 0 : path_ends_[p - 1];
  return path_text_.substr(begin, path_ends_[p] - begin);
}

const SegmentDocument& Segment::document_of(const Chunk& c) const {
  const auto after = std::upper_bound(documents_.begin(), documents_.end(), c.begin,
                                      [](uint64_t at, const SegmentDocument& d) { return at < d.begin; });
  QUERN_CHECK(after != documents_.begin());
  return *(after - 1);
}

}  // namespace quern::recall
