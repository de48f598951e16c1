#include "quern/recall/store/store.h"

#include <algorithm>
#include <map>
#include <set>

#include "quern/base/stopwatch.h"
#include "quern/encoders/words/shipped_words.h"
#include "quern/recall/mixpr/fused.h"

namespace quern::recall {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = "manifest.json";
// A sum of word vectors weighs little for a question of few words, and is never quite without likeness.
constexpr double kManyWords = 10, kMinCosine = 0.35;

Json options_json(const RecallOptions& o) {
  Json j = Json::object();
  j.set("stem", o.words.stem), j.set("drop_stopwords", o.words.drop_stopwords);
  j.set("language", o.words.language);
  j.set("k1", o.bm25.k1), j.set("b", o.bm25.b);
  j.set("graph", o.graph), j.set("threshold", double{o.threshold});
  j.set("most_work", o.max_work), j.set("most_neighbours", o.max_neighbors);
  return j;
}

RecallOptions options_from(const Json& j) {
  RecallOptions o;
  o.words = {.stem = j.at("stem").as_bool(), .drop_stopwords = j.at("drop_stopwords").as_bool()};
  if (const Json* language = j.find("language")) o.words.language = language->as_string("language");  // else English
  if (o.words.stem) check_language(o.words.language);
  o.bm25 = {.k1 = j.at("k1").as_double(), .b = j.at("b").as_double()};
  o.graph = j.at("graph").as_bool(), o.threshold = static_cast<float>(j.at("threshold").as_double());
  o.max_work = j.at("most_work").as_double(), o.max_neighbors = j.at("most_neighbours").as_int();
  return o;
}

// Documents of a segment whose files stay, with their chunks, behind what `in` holds.
void carry_over(const Segment& s, const std::set<std::string>& replaced, SegmentInput& in) {
  std::vector<uint32_t> moved(s.files().size(), KeyMap::kNone);
  for (size_t f = 0; f < s.files().size(); ++f) {
    if (replaced.contains(s.files()[f].path)) continue;
    moved[f] = static_cast<uint32_t>(in.files.size());
    in.files.push_back(s.files()[f]);
  }
  size_t c = 0;
  for (const SegmentDocument& d : s.documents()) {
    const bool stays = moved[d.file] != KeyMap::kNone;
    const uint64_t begin = in.text.size();
    for (; c < s.chunks().size() && s.chunks()[c].begin < d.end; ++c)
      if (stays) {
        in.passages.add_path(std::string(s.path_of(c)));
        in.passages.add({s.chunks()[c].begin - d.begin + begin, s.chunks()[c].end - d.begin + begin});
      }
    if (!stays) continue;
    in.text += s.text().substr(d.begin, d.end - d.begin);
    in.documents.push_back({begin, in.text.size(), d.sequence, moved[d.file], d.line});
    in.text += '\n';
  }
}

}  // namespace

RecallStore::RecallStore(fs::path folder) : folder_(std::move(folder)) {
  if (!fs::exists(folder_ / kManifest)) fail("{} is not a recall index ({} is missing)", folder_.string(), kManifest);
  load();
}

RecallStore::RecallStore(fs::path folder, const RecallOptions& options)
    : folder_(std::move(folder)), options_(options) {}

RecallStore RecallStore::open_or_create(const fs::path& folder, const RecallOptions& options) {
  if (fs::exists(folder / kManifest)) return RecallStore(folder);
  std::error_code e;
  fs::create_directories(folder, e);
  if (e) fail("cannot make {}: {}", folder.string(), e.message());
  for (const fs::directory_entry& there :
       fs::directory_iterator(folder))  // a killed writer may have left some of its own
    if (const std::string name = there.path().filename();
        name != "lock" && !name.starts_with("segment-") && !name.starts_with(kManifest))
      fail("{} holds '{}' and no index: expected the folder of an index, an empty or a new one", folder.string(),
           name);
  RecallStore fresh(folder, options);
  if (options.words.language == kEnglish) fresh.encoder_ = shipped_chunk_encoder();
  return fresh;
}

// A writer may replace the manifest and remove the segments that it named while they are opened here.
void RecallStore::load() {
  constexpr int kAttempts = 5;
  for (int i = 1;; ++i) {
    try {
      return load_once();
    } catch (const Error&) {
      if (i == kAttempts || !changed_on_disk()) throw;
    }
  }
}

void RecallStore::load_once() {
  const fs::path file = folder_ / kManifest;
  manifest_ = stamp_of(file);
  const Json m = Json::read(file);
  const std::string where = file.string();
  if (const int64_t format = m.at("format", where).as_int(where + ", format"); format != 1)
    fail("{}: format {}, this program reads 1", where, format);
  options_ = options_from(m.at("options", where));
  next_segment_ = m.at("next_segment", where).as_int(where + ", next_segment");
  next_sequence_ = static_cast<uint64_t>(m.at("next_sequence", where).as_int(where + ", next_sequence"));
  std::map<std::string, std::shared_ptr<const Segment>> open;
  for (size_t i = 0; i < names_.size(); ++i) open[names_[i]] = segments_[i];
  std::vector<std::string> names;
  std::vector<std::shared_ptr<const Segment>> segments;
  for (const Json& s : m.at("segments", where).as_array(where + ", segments")) {
    names.push_back(s.as_string(where + ", segments"));
    const fs::path path = folder_ / names.back();
    const auto before = open.find(names.back());
    if (before != open.end() && before->second->stamp() == stamp_of(path)) {
      segments.push_back(before->second);
    } else {
      segments.push_back(std::make_shared<Segment>(path, options_));
    }
  }
  const Json* encoder = m.find("encoder");
  const IndexEncoder by = encoder ? IndexEncoder::from(*encoder) : IndexEncoder();
  std::vector<std::shared_ptr<const ChunkVectors>> vectors;
  for (size_t i = 0; i < names.size() && by.width > 0; ++i)
    vectors.push_back(std::make_shared<ChunkVectors>(folder_ / vector_file_of(names[i]), by.width));
  for (size_t i = 0; i < vectors.size(); ++i)
    if (vectors[i]->rows() != static_cast<int64_t>(segments[i]->view().rows()))
      fail("{}: {} vectors for {} chunks", (folder_ / vector_file_of(names[i])).string(), vectors[i]->rows(),
           segments[i]->view().rows());
  if (by.fingerprint.starts_with(encoders::kWordVectors) && !encoder_ && !words_alone_ &&
      by.fingerprint == shipped_chunk_encoder()->fingerprint())
    encoder_ = shipped_chunk_encoder();
  made_by_ = by, names_ = std::move(names), segments_ = std::move(segments), vectors_ = std::move(vectors);
}

bool RecallStore::is_there() const { return fs::exists(folder_ / kManifest); }

bool RecallStore::changed_on_disk() const { return stamp_of(folder_ / kManifest) != manifest_; }

RecallStore RecallStore::reopened() const {
  RecallStore fresh(folder_, options_);
  fresh.names_ = names_, fresh.segments_ = segments_, fresh.encoder_ = encoder_;
  fresh.words_alone_ = words_alone_;
  fresh.load();
  return fresh;
}

void RecallStore::commit(SegmentInput&& fresh, const std::vector<std::string>& replaced, SegmentMerge merge) {
  const bool merge_all = merge == SegmentMerge::all || vectors_by().width != made_by_.width;
  const std::set<std::string> gone(replaced.begin(), replaced.end());
  // Which segments go into the new one: those with replaced files, then small ones while they are not much larger
  // than what is together already, or there are too many.
  constexpr size_t kMaxSegments = 8;
  std::vector<bool> merged(segments_.size(), merge_all);
  uint64_t size = fresh.text.size();
  size_t left = segments_.size();
  const auto take = [&](size_t i) { merged[i] = true, size += segments_[i]->text().size(), --left; };
  for (size_t i = 0; i < segments_.size() && !merge_all; ++i)
    if (std::any_of(segments_[i]->files().begin(), segments_[i]->files().end(),
                    [&](const SegmentFile& f) { return gone.contains(f.path); }))
      take(i);
  while (!merge_all && left > 0) {
    size_t smallest = segments_.size();
    for (size_t i = 0; i < segments_.size(); ++i)
      if (!merged[i] &&
          (smallest == segments_.size() || segments_[i]->text().size() < segments_[smallest]->text().size()))
        smallest = i;
    if (segments_[smallest]->text().size() > 2 * size && left < kMaxSegments) break;
    take(smallest);
  }
  SegmentInput in;
  for (size_t i = 0; i < segments_.size(); ++i)
    if (merged[i]) carry_over(*segments_[i], gone, in);
  const uint64_t base = in.text.size();
  const auto file_base = static_cast<uint32_t>(in.files.size());
  in.text += fresh.text;
  for (size_t c = 0; c < fresh.passages.chunks.size(); ++c) {
    in.passages.add_path(std::string(fresh.passages.path_of(c)));
    in.passages.add({fresh.passages.chunks[c].begin + base, fresh.passages.chunks[c].end + base});
  }
  for (SegmentDocument d : fresh.documents) {
    d.begin += base, d.end += base, d.file += file_base;
    in.documents.push_back(d);
  }
  std::move(fresh.files.begin(), fresh.files.end(), std::back_inserter(in.files));

  std::vector<std::string> names;
  for (size_t i = 0; i < segments_.size(); ++i)
    if (!merged[i]) names.push_back(names_[i]);
  if (!in.files.empty()) {
    names.push_back(fmt::format("segment-{:06}.qrs", next_segment_));
    write_segment(folder_ / names.back(), in, options_);
    write_vectors(names.back());
  }
  Json m = Json::object();
  m.set("format", 1), m.set("options", options_json(options_));
  m.set("next_segment", next_segment_ + 1), m.set("next_sequence", static_cast<int64_t>(next_sequence_));
  Json list = Json::array();
  for (const std::string& n : names) list.push(n);
  m.set("segments", std::move(list));
  if (const IndexEncoder by = vectors_by(); by.width > 0) m.set("encoder", by.json());
  const std::string text = m.dump(2) + "\n";
  const std::span<const std::byte> piece = std::as_bytes(std::span(text));
  write_durably(folder_ / kManifest, std::span(&piece, 1));
  load();
  // What no manifest names: merged segments, and leftovers of writers that were killed.
  std::set<std::string> named(names.begin(), names.end());
  for (const std::string& n : names) named.insert(vector_file_of(n));
  for (const auto& e : fs::directory_iterator(folder_)) {
    const std::string n = e.path().filename().string();
    if (n.starts_with("segment-") && !named.contains(n)) fs::remove(e.path());
  }
}

IndexReport RecallStore::index(const std::vector<std::string>& paths, const SourceOptions& o, SegmentMerge merge) {
  const Stopwatch watch;
  const WriterLock lock(folder_);
  if (is_there()) load();  // what another writer did meanwhile
  struct Known {
    const SegmentFile* file;
    bool current;  // false: chunks of an older version, which know no headings
  };
  std::map<std::string, Known> known;
  for (const auto& s : segments_)
    for (const SegmentFile& f : s->files()) known[f.path] = {&f, s->has_paths()};
  IndexReport report;
  SegmentInput fresh;
  std::vector<std::string> replaced;
  std::set<std::string> present;
  for (const fs::path& p : source_files(paths, &report.sources)) {
    ++report.files;
    SegmentFile file = stat_file(p);
    present.insert(file.path);
    const auto before = known.find(file.path);
    if (before != known.end()) {
      const SegmentFile& b = *before->second.file;
      if (before->second.current && b.size == file.size &&
          (b.modified_ns == file.modified_ns || b.hash == content_check(MappedFile(p).bytes()))) {
        ++report.unchanged;
        continue;
      }
      replaced.push_back(file.path);
    }
    if (append_file(p, file, o, next_sequence_, fresh, report.sources))
      before == known.end() ? ++report.added : ++report.changed;
  }
  for (const auto& [path, before] : known)
    if (!present.contains(path) &&
        std::any_of(paths.begin(), paths.end(), [&](const std::string& root) { return is_below(path, root); })) {
      replaced.push_back(path);
      ++report.gone;
    }
  if (!fresh.files.empty() || !replaced.empty() || (merge == SegmentMerge::all && segments_.size() > 1) ||
      vectors_by().width != made_by_.width || names_.empty())
    commit(std::move(fresh), replaced, merge);
  for (const auto& s : segments_) {
    report.documents += static_cast<int64_t>(s->documents().size());
    report.chunks += static_cast<int64_t>(s->chunks().size());
    report.words += static_cast<int64_t>(s->view().words);
  }
  report.segments = static_cast<int64_t>(segments_.size());
  report.seconds = watch.seconds();
  return report;
}

RecallHit RecallStore::hit(const Segment& s, const RecalledChunk& c) const {
  const Chunk& chunk = s.chunks()[c.chunk];
  const SegmentDocument& d = s.document_of(chunk);
  return {.path = s.files()[d.file].path,
          .line = d.line,
          .begin = chunk.begin - d.begin,
          .end = chunk.end - d.begin,
          .sequence = d.sequence,
          .copies = c.copies,
          .score = c.score,
          .heading = std::string(s.path_of(c.chunk)),
          .text = std::string(s.text().substr(chunk.begin, chunk.end - chunk.begin)),
          .facts = s.files()[d.file].facts};
}

namespace {

void keep_best(std::vector<RecallHit>& hits, size_t k, HitOrder order) {
  const auto before = [](const RecallHit& a, const RecallHit& b) {
    return a.sequence != b.sequence ? a.sequence < b.sequence : a.begin < b.begin;
  };
  std::sort(hits.begin(), hits.end(), [&](const RecallHit& a, const RecallHit& b) {
    return a.score != b.score ? a.score > b.score : before(a, b);
  });
  if (hits.size() > k) hits.resize(k);
  if (order == HitOrder::document) std::sort(hits.begin(), hits.end(), before);
}

}  // namespace

RecallAnswer RecallStore::bm25(std::string_view question, size_t k, HitOrder order) const {
  std::vector<RecallView> views;
  for (const auto& s : segments_) views.push_back(s->view());
  RecallAnswer a;
  const auto ranked = rank_across(views, question, k);
  for (size_t i = 0; i < ranked.size(); ++i)
    for (const RankedDocument& r : ranked[i])
      a.hits.push_back(hit(*segments_[i], {views[i].last[r.document], views[i].copies[r.document], r.score}));
  keep_best(a.hits, k, order);
  if (a.hits.empty()) a.fallback = "none";
  return a;
}

RecallAnswer RecallStore::fused(std::string_view question, size_t k, HitOrder order) const {
  if (options_.graph && asks_only_for_the_whole(question)) {
    RecallQuery q;
    q.k = k, q.mode = RecallMode::global, q.score_order = order == HitOrder::score;
    if (RecallAnswer whole = mixpr(question, q); !whole.hits.empty()) return whole;
  }
  const std::vector<std::vector<float>> cosine = cosines(question);
  std::vector<FusedPart> parts;
  for (size_t i = 0; i < segments_.size(); ++i)
    parts.push_back({segments_[i]->view(),
                     [segment = segments_[i].get()](uint32_t row) {
                       const uint32_t c = segment->view().last[row];
                       const Chunk& chunk = segment->chunks()[c];
                       const std::string_view path = segment->path_of(c);
                       const size_t above = path.rfind(kPathBetween);
                       const uint64_t document = segment->document_of(chunk).sequence;
                       return FusedText{
                           .text = segment->text().substr(chunk.begin, chunk.end - chunk.begin),
                           .heading = above == path.npos ? path : path.substr(above + kPathBetween.size()),
                           .section = path.empty() ? 0 : mix64(document << 32 ^ word_key(path)) | 1};
                     },
                     cosine.empty() ? std::span<const float>() : std::span<const float>(cosine[i])});
  RecallAnswer a;
  FusedOptions options;
  if (made_by_.fingerprint.starts_with(encoders::kWordVectors))
    options.meaning_words = kManyWords, options.min_cosine = kMinCosine;
  for (const FusedRow& r : rank_fused(parts, question, k, options)) {
    const RecallView& v = parts[r.part].view;
    a.hits.push_back(hit(*segments_[r.part], {v.last[r.row], v.copies[r.row], r.score}));
  }
  keep_best(a.hits, k, order);
  if (a.hits.empty()) a.fallback = "none";
  return a;
}

RecallAnswer RecallStore::mixpr(std::string_view question, const RecallQuery& q) const {
  RecallAnswer a;
  std::vector<Recalled> parts;
  double weight = 0;
  bool walked = false;
  for (const auto& s : segments_) {
    parts.push_back(recall_mixpr(s->view(), question, q));
    walked = walked || parts.back().fallback.empty();
    if (parts.back().fallback.empty()) weight += parts.back().weight;
  }
  if (parts.empty()) return a;
  a.mode = parts[0].mode, a.alpha = parts[0].alpha;
  if (!walked) {
    RecallAnswer plain = bm25(question, q.k, HitOrder{q.score_order});
    a.fallback = plain.hits.empty() ? "none" : "bm25";
    a.hits = std::move(plain.hits);
    return a;
  }
  const bool global = a.alpha == 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].fallback.empty()) continue;
    for (RecalledChunk c : parts[i].chunks) {
      if (!global) c.score *= parts[i].weight / weight;
      a.hits.push_back(hit(*segments_[i], c));
    }
  }
  keep_best(a.hits, q.k, HitOrder{q.score_order});
  return a;
}

Json IndexReport::json() const {
  Json j = Json::object();
  j.set("files", files), j.set("added", added), j.set("changed", changed), j.set("gone", gone);
  j.set("unchanged", unchanged), j.set("skipped", static_cast<int64_t>(sources.skipped.size()));
  Json kinds = Json::object();
  for (const auto& [kind, n] : sources.unread_kinds) kinds.set(kind, n);
  j.set("unread_kinds", std::move(kinds)), j.set("without_text", sources.without_text);
  j.set("ill_formed", sources.ill_formed), j.set("segments", segments), j.set("documents", documents);
  j.set("chunks", chunks), j.set("words", words), j.set("seconds", seconds);
  return j;
}

Json RecallAnswer::json() const {
  Json j = Json::object();
  j.set("mode", name_of(mode)), j.set("alpha", alpha);
  j.set("fallback", fallback.empty() ? Json() : Json(fallback));
  Json list = Json::array();
  for (const RecallHit& h : hits) {
    Json c = Json::object();
    c.set("path", h.path);
    if (h.line > 0) c.set("line", int64_t{h.line});
    c.set("begin", static_cast<int64_t>(h.begin)), c.set("end", static_cast<int64_t>(h.end));
    c.set("copies", int64_t{h.copies}), c.set("score", h.score);
    if (!h.heading.empty()) c.set("heading", h.heading);
    c.set("text", h.text);
    if (!h.facts.is_null()) c.set("facts", h.facts);
    list.push(std::move(c));
  }
  j.set("chunks", std::move(list));
  return j;
}

std::string pack_prompt(const RecallAnswer& answer, std::string_view question) {
  std::string out;
  const RecallHit* last = nullptr;
  for (const RecallHit& h : answer.hits) {
    if (!last || last->sequence != h.sequence || last->heading != h.heading) {
      out += fmt::format("{}[{}{}]{}{}\n", last ? "\n" : "", h.path, h.line > 0 ? fmt::format(":{}", h.line) : "",
                         h.heading.empty() ? "" : " ", h.heading);
    } else if (last->end + 2 < h.begin) {
      out += "…\n";
    }
    out += h.text + "\n";
    last = &h;
  }
  return out + fmt::format("\nQuestion: {}\n", question);
}

Json RecallStore::stats() const {
  Json j = Json::object(), list = Json::array();
  int64_t documents = 0, chunks = 0, rows = 0, words = 0, bytes = 0, text = 0, edges = 0;
  for (size_t i = 0; i < segments_.size(); ++i) {
    const Segment& s = *segments_[i];
    Json e = Json::object();
    e.set("file", names_[i]), e.set("bytes", static_cast<int64_t>(s.bytes()));
    e.set("documents", static_cast<int64_t>(s.documents().size()));
    e.set("chunks", static_cast<int64_t>(s.chunks().size()));
    e.set("edges", static_cast<int64_t>(s.view().graph.to.size()));
    for (const char* key : {"threshold", "terms_passed_over", "rows_cut"}) e.set(key, s.meta().at(key));
    list.push(std::move(e));
    documents += static_cast<int64_t>(s.documents().size()), chunks += static_cast<int64_t>(s.chunks().size());
    rows += static_cast<int64_t>(s.view().rows()), words += static_cast<int64_t>(s.view().words);
    bytes += static_cast<int64_t>(s.bytes()), text += static_cast<int64_t>(s.text().size());
    edges += static_cast<int64_t>(s.view().graph.to.size());
  }
  j.set("documents", documents), j.set("chunks", chunks), j.set("distinct_chunks", rows), j.set("words", words);
  j.set("text_bytes", text), j.set("bytes", bytes), j.set("edges", edges), j.set("options", options_json(options_));
  j.set("segments", std::move(list));
  return j;
}

}  // namespace quern::recall
