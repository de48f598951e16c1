#include "quern/corpus/stages/mix.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"
#include "quern/base/nearest.h"
#include "quern/base/rng.h"
#include "quern/corpus/bytes/byte_stream.h"
#include "quern/corpus/dedup/dedup.h"
#include "quern/corpus/io/spill.h"
#include "quern/corpus/run/shards.h"

namespace quern::corpus {
namespace {

constexpr double kMaxOutputs = 1000;

struct Picked {  // one block's
  struct One {
    MixedCopy copy;
    size_t at = 0;  // in lines
    uint32_t source = 0;
    uint64_t text_bytes = 0;
    bool own_member = false;
  };
  std::string lines;
  std::vector<One> copies;
};

std::vector<double> shares_by_source(const Inputs& in, const MixConfig& c) {
  std::vector<double> share(in.sources.size(), -1);
  double sum = 0;
  for (const auto& [name, s] : c.shares) {
    const auto at = std::find(in.sources.begin(), in.sources.end(), name);
    if (at == in.sources.end())
      fail("share of '{}': expected one of the sources {}{}", name, fmt::join(in.sources, ", "),
           did_you_mean(name, in.sources));
    double& mine = share[static_cast<size_t>(at - in.sources.begin())];
    if (mine >= 0) fail("source '{}' has two shares", name);
    if (!(s >= 0) || !std::isfinite(s)) fail("share of '{}': {}, expected a number from 0 up", name, s);
    mine = s, sum += s;
  }
  for (size_t i = 0; i < share.size(); ++i)
    if (share[i] < 0) fail("source '{}' has no share", in.sources[i]);
  if (!(sum > 0)) fail("the shares are all 0");
  for (double& s : share) s /= sum;
  return share;
}

// In [0, 1), from 53 bits.
double fraction_of(uint64_t h) { return static_cast<double>(h >> 11) * 0x1p-53; }

struct Nothing {};

}  // namespace

std::string mix_text(const Inputs& in, const ScanOptions& o, const MixConfig& c) {
  return fmt::format("mix 1 {} {} {} {} {} {}{}", o.text(), c.total_bytes, c.max_epochs, c.seed,
                     fmt::join(shares_by_source(in, c), " "), c.to.text(),
                     c.line == MixedLine::named ? " named 2"
                     : !c.source_field.empty()  ? " source " + c.source_field
                                                : "");
}

std::vector<MixedSource> sources_by_share(const Inputs& in, const MixConfig& c) {
  std::vector<MixedSource> sources;
  for (double share : shares_by_source(in, c))
    sources.push_back({.name = in.sources[sources.size()], .share = share});
  return sources;
}

ScanReport count_sources(const Inputs& in, const ScanOptions& o, std::vector<MixedSource>& sources,
                         const ScanCallbacks& callbacks) {
  using Sizes = std::vector<std::pair<uint64_t, uint64_t>>;
  return scan_documents<Nothing, Sizes>(
      in, o, [] { return Nothing(); },
      [&](Nothing&, const DocumentView& d, Sizes& s) {
        s.resize(in.sources.size());
        ++s[d.source].first, s[d.source].second += d.text.size();
      },
      [&](Sizes&& s) {
        for (size_t i = 0; i < s.size(); ++i)
          sources[i].documents_in += s[i].first, sources[i].bytes_in += s[i].second;
      },
      callbacks);
}

size_t plan_mixture(const MixConfig& c, std::vector<MixedSource>& sources) {
  auto total = static_cast<double>(c.total_bytes);
  if (c.total_bytes == 0) {
    total = INFINITY;
    for (const MixedSource& s : sources)
      if (s.share > 0) total = std::min(total, static_cast<double>(s.bytes_in) / s.share);
  }
  for (MixedSource& s : sources) {
    if (s.share > 0 && s.bytes_in == 0) fail("source '{}' has a share but no text", s.name);
    s.epochs = s.share > 0 ? s.share * total / static_cast<double>(s.bytes_in) : 0;
    if (c.max_epochs > 0 && s.epochs > c.max_epochs)
      fail("source '{}' would be read {:.2f} times, at most {}: lower its share or the total", s.name, s.epochs,
           c.max_epochs);
  }
  const double files = std::max(1.0, std::ceil(total / static_cast<double>(c.to.shard_bytes)));
  if (files > kMaxOutputs) fail("{:.0f} output files: expected at most {}; use larger files", files, kMaxOutputs);
  return static_cast<size_t>(files);
}

void pick_documents(const Inputs& in, const ScanOptions& o, const MixPicking& to, const ScanCallbacks& callbacks) {
  const MixConfig& c = to.config;
  const size_t files = to.lines.size();
  scan_documents<Nothing, Picked>(
      in, o, [] { return Nothing(); },
      [&](Nothing&, const DocumentView& d, Picked& p) {
        const double epochs = to.sources[d.source].epochs, full = std::floor(epochs);
        const uint64_t own = mix64(d.id ^ mix64(c.seed));
        const auto n = static_cast<uint64_t>(full) + (fraction_of(own) < epochs - full);
        if (n == 0) return;
        const size_t at = p.lines.size();
        bool own_member = false;
        if (c.line == MixedLine::named) {
          append_named_document(d, in.sources[d.source], p.lines);
        } else {
          append_document(d, d.text, p.lines);
          if (!c.source_field.empty())
            own_member = add_source(c.source_field, in.sources[d.source], at, p.lines) == AddedMember::other;
        }
        for (uint64_t e = 0; e < n; ++e)
          p.copies.push_back({{mix64(own + 0x9e3779b97f4a7c15ull * (e + 1)), d.id, e, p.lines.size() - at},
                              at,
                              d.source,
                              d.text.size(),
                              own_member && e == 0});
      },
      [&](Picked&& p) {
        for (const Picked::One& one : p.copies) {
          const auto b = static_cast<size_t>((static_cast<unsigned __int128>(one.copy.key) * files) >> 64);
          to.lines[b].append(&one.copy, sizeof one.copy);
          to.lines[b].append(p.lines.data() + one.at, one.copy.bytes);
          MixedSource& s = to.sources[one.source];
          ++s.documents_out, s.bytes_out += one.text_bytes, s.own_members += one.own_member;
        }
      },
      callbacks);
}

std::string shuffled_lines(const std::vector<SpillFile>& from) {
  struct Placed {
    MixedCopy copy;
    const SpillFile* file;
    uint64_t at;  // its line
    bool operator<(const Placed& o) const { return copy < o.copy; }
  };
  std::vector<Placed> copies;
  uint64_t bytes = 0;
  for (const SpillFile& lines : from)
    for (uint64_t place = 0; place < lines.size();) {
      MixedCopy k;
      lines.read(place, &k, sizeof k);
      copies.push_back({k, &lines, place + sizeof k});
      place += sizeof k + k.bytes, bytes += k.bytes;
    }
  std::sort(copies.begin(), copies.end());
  std::string all;
  all.reserve(bytes);
  for (const Placed& p : copies) {
    const size_t end = all.size();
    all.resize(end + p.copy.bytes);
    p.file->read(p.at, all.data() + end, p.copy.bytes);
  }
  return all;
}

namespace {

class MixRun {
 public:
  MixRun(const Inputs& inputs, const ScanOptions& o, const MixConfig& c, const ScanProgress& progress)
      : in_(inputs),
        o_(o),
        c_(c),
        progress_(progress),
        stage_(ready(c.to.folder), inputs, mix_text(inputs, o, c), c.to.checkpoint_bytes) {
    r_.sources = sources_by_share(inputs, c);
    r_.went_on = stage_.went_on();
    if (const Json* from = stage_.state()) {
      read_state(from->at("sources"), r_.sources);
    } else {
      prepare_output(c.to.folder);
    }
  }

  MixReport run(const std::function<void(const MixReport&)>& finish) {
    const std::string phase = stage_.phase();
    const bool counted = phase == "pick" || phase == "write";
    if (counted)
      read_state(stage_.state()->at("counted"), r_.scan.read),
          read_state(stage_.state()->at("damaged"), r_.scan.damaged);
    else
      count();
    const size_t files = plan_mixture(c_, r_.sources);
    want_open_files(files + 64);
    if (phase != "write") pick(files);
    write(files);
    r_.add_up();
    if (finish) finish(r_);
    stage_.remove();
    return std::move(r_);
  }

 private:
  static const std::filesystem::path& ready(const std::filesystem::path& folder) {
    refuse_finished(folder);
    return folder;
  }
  std::filesystem::path bucket(size_t b) const { return stage_.file(fmt::format("lines-{:03}", b)); }
  void keep(Json& state) const {
    state.set("sources", write_value(r_.sources));
    state.set("counted", write_value(r_.scan.read)), state.set("damaged", write_value(r_.scan.damaged));
  }
  void count();
  void pick(size_t files);
  void write(size_t files);

  const Inputs& in_;
  const ScanOptions& o_;
  const MixConfig& c_;
  const ScanProgress& progress_;
  StageRun stage_;
  MixReport r_;
};

void MixRun::count() {
  r_.scan = count_sources(in_, o_, r_.sources,
                          {[&](uint64_t bytes, uint64_t total) {
                             if (progress_) progress_(bytes, 2 * total);
                           },
                           stage_.notes("count", [&](Json& state) { keep(state); })});
}

void MixRun::pick(size_t files) {
  std::vector<uint64_t> sizes(files);
  if (stage_.phase() == "pick") read_state(stage_.state()->at("sizes"), sizes);
  QUERN_CHECK(sizes.size() == files, "{} files, {} noted", files, sizes.size());
  std::vector<SpillFile> lines;
  for (size_t b = 0; b < files; ++b) lines.push_back(SpillFile::named(bucket(b), sizes[b]));
  pick_documents(in_, o_, {c_, r_.sources, lines},
                 {[&](uint64_t bytes, uint64_t t) {
                    if (progress_) progress_(t + bytes, 2 * t);
                  },
                  stage_.notes("pick", [&](Json& state) {
                    for (size_t b = 0; b < files; ++b) lines[b].flush(), sizes[b] = lines[b].size();
                    keep(state);
                    state.set("sizes", write_value(sizes));
                  })});
}

// Every file of lines sorted by their keys; noted behind each.
void MixRun::write(size_t files) {
  ShardPosition at;
  size_t next = 0;
  if (stage_.phase() == "write")
    read_state(stage_.state()->at("shard"), at), read_state(stage_.state()->at("next"), next);
  ShardWriter shards(c_.to.folder, "part", c_.to.level, 0, at);  // every frame a file
  for (; next < files; ++next) {
    {
      std::vector<SpillFile> lines;
      lines.push_back(SpillFile::existing(bucket(next)));
      const std::string all = shuffled_lines(lines);
      std::string frame;
      if (!all.empty()) zstd_frame(all, c_.to.level, frame);
      shards.write_frame(frame, all.size());
    }
    Json state = Json::object();
    keep(state);
    state.set("shard", write_value(shards.position())), state.set("next", write_value(next + 1));
    stage_.note("write", std::move(state));
    std::filesystem::remove(bucket(next));
  }
  shards.close();
  r_.files = shards.names(), r_.bytes_out = shards.bytes_out();
}

}  // namespace

void MixReport::add_up() {
  documents = text_bytes = 0;
  for (const MixedSource& s : sources) documents += s.documents_out, text_bytes += s.bytes_out;
}

uint64_t MixReport::own_members() const {
  uint64_t n = 0;
  for (const MixedSource& s : sources) n += s.own_members;
  return n;
}

std::string added_source_field(const Inputs& inputs, const ScanOptions& o) {
  return names_sources(inputs) && o.fields[0].source.empty() ? DedupConfig().source_field : std::string();
}

Json MixReport::json() const {
  Json j = Json::object(), list = Json::array(), names = Json::array();
  const auto whole = [](uint64_t n) { return Json(static_cast<int64_t>(n)); };
  for (const MixedSource& s : sources) {
    Json k = Json::object();
    k.set("source", s.name), k.set("share", s.share), k.set("epochs", s.epochs);
    k.set("documents_in", whole(s.documents_in)), k.set("bytes_in", whole(s.bytes_in));
    k.set("documents_out", whole(s.documents_out)), k.set("bytes_out", whole(s.bytes_out));
    list.push(std::move(k));
  }
  for (const std::string& f : files) names.push(Json(f));
  j.set("sources", std::move(list)), j.set("documents_out", whole(documents)), j.set("text_bytes", whole(text_bytes));
  j.set("bytes_out", whole(bytes_out)), j.set("outputs", std::move(names)), j.set("read", scan.read.json());
  return j;
}

Json mix_stage_json(int64_t seed, const Inputs& inputs, const MixReport& report) {
  Json j = report.json();
  j.set("seed", seed), j.set("inputs", inputs_json(inputs, report.scan.read));
  return j;
}

MixReport mix_corpus(const Inputs& inputs, const ScanOptions& o, const MixConfig& c, const ScanProgress& progress,
                     const std::function<void(const MixReport&)>& finish) {
  refuse_pipes(inputs);
  return MixRun(inputs, o, c, progress).run(finish);
}

}  // namespace quern::corpus
