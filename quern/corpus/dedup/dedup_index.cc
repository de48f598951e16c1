// Saved indices: writes the kept documents of a run, old and new, as a segment that a later run reads first, and a
// head with the configuration they were compared under. Only star clustering over all sources can be continued:
// closure, or sources compared only across, might remove documents that an earlier run already released.
#include <algorithm>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/corpus/dedup/dedup_stages.h"

namespace quern::corpus {

namespace fs = std::filesystem;

Json index_settings(const DedupConfig& c) {
  if (c.near && c.clustering != Clustering::star)
    fail(
        "an index needs star clustering, found another: set clustering to star, or use no index (against, "
        "save_index)");
  if (c.scope != Scope::all)
    fail("an index needs scope all, found another: set scope to all, or use no index (against, save_index)");
  DedupConfig told = c;  // what the preset is called, and where things are read and written, is nothing to an index
  const Json all = told.json();
  Json j = Json::object();
  for (const char* key : {"near", "sketch", "bands", "rows_a_band", "verify", "threshold", "collide_empty"})
    if (const Json* v = all.find(key)) j.set(key, Json(*v));
  return j;
}

namespace {

// What index.json says of its files, against what lies there: their sizes, and their bytes if asked for.
void check_parts(const fs::path& folder, const Json& parts, IndexCheck check) {
  for (const auto& [name, part] : parts.as_object("parts")) {
    const fs::path file = folder / name;
    if (!fs::exists(file)) fail("{} is missing, but index.json lists it", file.string());
    const auto expected = static_cast<uint64_t>(part.at("bytes", "index.json").as_int("bytes"));
    if (const uint64_t found = fs::file_size(file); found != expected)
      fail("{} is damaged: expected {} bytes, found {}", file.string(), expected, found);
    const std::string hash = part.at("xxh3", "index.json").as_string("xxh3");
    if (check == IndexCheck::sizes) continue;
    if (const std::string found = fmt::format("{:016x}", file_hash(file)); found != hash)
      fail("{} is damaged: expected bytes of XXH3 {}, found {}", file.string(), hash, found);
  }
}

fs::path without_slash(const std::string& folder) { return (fs::path(folder) / "").parent_path(); }

}  // namespace

IndexHead read_index_head(const DedupConfig& c, IndexCheck check) {
  if (!c.save_index.empty()) index_settings(c);
  IndexHead head;
  if (c.against.empty()) return head;
  const fs::path file = fs::path(c.against) / "index.json";
  if (!fs::exists(file)) fail("{}: expected the folder of a saved index, found no index.json", c.against);
  const Json j = Json::read(file);
  const Json wanted = index_settings(c), &found = j.at("settings", "index.json");
  for (const auto& [key, value] : wanted.as_object())
    if (const Json* theirs = found.find(key); !theirs || *theirs != value)
      fail("{}: {} is {} in the index and {} in this run; use the same value", c.against, key,
           theirs ? theirs->dump() : "missing", value.dump());
  check_parts(c.against, j.at("parts", "index.json"), check);
  head.documents = static_cast<uint64_t>(j.at("documents", "index.json").as_int("documents"));
  head.files = static_cast<uint64_t>(j.at("files", "index.json").as_int("files"));
  for (const Json& s : j.at("sources", "index.json").as_array("sources"))
    head.sources.push_back(s.as_string("sources"));
  return head;
}

void write_index_head(const fs::path& folder, const IndexHead& head, const DedupConfig& c, const Json& sizes) {
  Json j = Json::object(), sources = Json::array(), parts = Json::object();
  for (const auto& [name, bytes] : sizes.as_object()) {
    Json part = Json::object();
    part.set("bytes", Json(bytes)), part.set("xxh3", fmt::format("{:016x}", file_hash(folder / name)));
    parts.set(name, std::move(part));
  }
  for (const std::string& s : head.sources) sources.push(Json(s));
  j.set("documents", static_cast<int64_t>(head.documents)), j.set("files", static_cast<int64_t>(head.files));
  j.set("sources", std::move(sources)), j.set("settings", index_settings(c));
  j.set("parts", std::move(parts));
  write_file(folder / "index.json", j.dump(2) + "\n");
}

fs::path index_part(const std::string& folder) {
  fs::path part = without_slash(folder);
  return part += ".part";
}

void check_index_name(const std::string& folder) {
  if (!folder.empty() && fs::exists(folder)) fail("{} exists already: name another folder for the index", folder);
}

void finish_index(const std::string& folder) {
  const fs::path part = index_part(folder);
  if (!fs::exists(part)) return;
  commit_folder(part, fs::absolute(without_slash(folder)));
}

// The survivors have done their work: the vector becomes the documents' numbers in the index.
Documents save_index(const DedupJob& job, Documents all) {
  const fs::path folder = index_part(job.config.save_index);
  fs::remove_all(folder);
  fs::create_directories(folder);
  Segment to = Segment::open(folder, job.band_files(), nullptr);
  std::vector<uint64_t> set;
  std::vector<uint32_t> rows(static_cast<size_t>(job.config.sketch.rows));
  const bool signatures = job.wants_signatures();
  uint32_t next = 0;
  for (uint64_t d = 0; d < all.statuses.size(); ++d) {
    const bool stays = status_of(all.statuses[d]) == kKept;
    all.survivor[d] = stays ? next++ : UINT32_MAX;
    if (!stays) continue;
    DocumentRecord r = all.segments.record(d);
    if (job.wants_sets()) {
      all.segments.set(d, r, set);
      r.set_at = to.sets.size() / sizeof(uint64_t);
      to.sets.append(set.data(), set.size() * sizeof(uint64_t));
    }
    if (signatures) {
      all.segments.signature(d, rows);
      to.rows.append(rows.data(), rows.size() * sizeof(uint32_t));
    }
    to.records.append(&r, sizeof r);
    const auto status = static_cast<uint8_t>(kKept), source = static_cast<uint8_t>(r.source);
    to.statuses.append(&status, 1), to.sources.append(&source, 1);
  }
  const RecordRange range{0, next};
  to.record_ranges.append(&range, sizeof range);
  std::vector<BandRecord> buffer(65536);
  const auto copy = [&](const Band& from, SpillFile& file) {
    for (const RecordSlice& s : from)
      for (uint64_t at = s.begin; at < s.end;) {
        const uint64_t some = std::min<uint64_t>(s.end - at, buffer.size());
        s.file->read(at * sizeof(BandRecord), buffer.data(), some * sizeof(BandRecord));
        for (uint64_t i = 0; i < some; ++i) {
          const BandRecord r{buffer[i].key, all.survivor[buffer[i].document]};
          if (r.document != UINT32_MAX) file.append(&r, sizeof r);
        }
        at += some;
      }
  };
  copy(all.segments.exact(), to.exact);
  for (size_t b = 0; b < to.bands.size(); ++b) copy(all.segments.band(b), to.bands[b]);
  const Json sizes = to.sizes();  // flushed
  IndexHead head = job.index;
  head.documents = next, head.files += job.inputs.files.size();
  head.sources.insert(head.sources.end(), job.inputs.sources.begin(), job.inputs.sources.end());
  write_index_head(folder, head, job.config, sizes);
  return all;
}

}  // namespace quern::corpus
