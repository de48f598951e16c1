#include "quern/corpus/mix.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"
#include "quern/base/nearest.h"
#include "quern/base/rng.h"
#include "quern/corpus/byte_stream.h"
#include "quern/corpus/shards.h"
#include "quern/corpus/spill.h"

namespace quern::corpus {
namespace {

struct Copy {  // one line on its way out
  uint64_t key = 0, id = 0, epoch = 0, at = 0, bytes = 0;
  bool operator<(const Copy& o) const {
    return key != o.key ? key < o.key : id != o.id ? id < o.id : epoch < o.epoch;
  }
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

}  // namespace

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

MixReport mix_corpus(const Inputs& inputs, const ScanOptions& o, const MixConfig& c, const std::filesystem::path& out,
                     const ScanProgress& progress) {
  struct Nothing {};
  const std::vector<double> share = shares_by_source(inputs, c);
  prepare_output(out);
  MixReport r;
  r.sources.resize(inputs.sources.size());
  const ScanProgress half = [&](uint64_t bytes, uint64_t total) {
    if (progress) progress(bytes, 2 * total);
  };
  using Sizes = std::vector<std::pair<uint64_t, uint64_t>>;
  r.scan = scan_documents<Nothing, Sizes>(
      inputs, o, [] { return Nothing(); },
      [&](Nothing&, const DocumentView& d, Sizes& s) {
        s.resize(inputs.sources.size());
        ++s[d.source].first, s[d.source].second += d.text.size();
      },
      [&](Sizes&& s) {
        for (size_t i = 0; i < s.size(); ++i)
          r.sources[i].documents_in += s[i].first, r.sources[i].bytes_in += s[i].second;
      },
      half);
  double total = static_cast<double>(c.total_bytes);
  if (c.total_bytes == 0) {
    total = INFINITY;
    for (size_t i = 0; i < share.size(); ++i)
      if (share[i] > 0) total = std::min(total, static_cast<double>(r.sources[i].bytes_in) / share[i]);
  }
  for (size_t i = 0; i < share.size(); ++i) {
    MixedSource& s = r.sources[i];
    s.name = inputs.sources[i], s.share = share[i];
    if (share[i] > 0 && s.bytes_in == 0) fail("source '{}' has a share and no text", s.name);
    s.epochs = share[i] > 0 ? share[i] * total / static_cast<double>(s.bytes_in) : 0;
    if (c.most_epochs > 0 && s.epochs > c.most_epochs)
      fail("source '{}' would be read {:.2f} times, at most {}: lower its share or the total", s.name, s.epochs,
           c.most_epochs);
  }
  const auto buckets = static_cast<size_t>(std::max(1.0, std::ceil(total / static_cast<double>(c.shard_bytes))));
  if (buckets > 1000) fail("{} output files, at most 1000: raise the size of one", buckets);
  std::vector<SpillFile> lines;
  std::vector<std::vector<Copy>> copies(buckets);
  for (size_t b = 0; b < buckets; ++b) lines.emplace_back(out);
  struct Picked {
    std::string lines;
    std::vector<Copy> copies;
    std::vector<std::pair<uint32_t, uint64_t>> counts;  // source, bytes
  };
  scan_documents<Nothing, Picked>(
      inputs, o, [] { return Nothing(); },
      [&](Nothing&, const DocumentView& d, Picked& p) {
        const double epochs = r.sources[d.source].epochs, full = std::floor(epochs);
        const uint64_t own = mix64(d.id ^ mix64(c.seed));
        const auto n = static_cast<uint64_t>(full) + (fraction_of(own) < epochs - full);
        if (n == 0) return;
        const size_t at = p.lines.size();
        append_document(d, d.text, p.lines);
        for (uint64_t e = 0; e < n; ++e) {
          p.copies.push_back({mix64(own + 0x9e3779b97f4a7c15ull * (e + 1)), d.id, e, at, p.lines.size() - at});
          p.counts.emplace_back(d.source, d.text.size());
        }
      },
      [&](Picked&& p) {
        for (size_t i = 0; i < p.copies.size(); ++i) {
          Copy k = p.copies[i];
          const auto b = static_cast<size_t>((static_cast<unsigned __int128>(k.key) * buckets) >> 64);
          const std::string_view line = std::string_view(p.lines).substr(k.at, k.bytes);
          k.at = lines[b].size();
          lines[b].append(line.data(), line.size());
          copies[b].push_back(k);
          MixedSource& s = r.sources[p.counts[i].first];
          ++s.documents_out, s.bytes_out += p.counts[i].second;
          ++r.documents, r.text_bytes += p.counts[i].second;
        }
      },
      [&](uint64_t bytes, uint64_t t) {
        if (progress) progress(t + bytes, 2 * t);
      });
  ShardWriter shards(out, "part", c.level, 0);  // every frame a file
  for (size_t b = 0; b < buckets; ++b) {
    lines[b].flush();
    std::sort(copies[b].begin(), copies[b].end());
    std::string all, frame;
    for (const Copy& k : copies[b]) {
      const size_t at = all.size();
      all.resize(at + k.bytes);
      lines[b].read(k.at, all.data() + at, k.bytes);
    }
    lines[b] = SpillFile();
    if (all.empty()) continue;
    zstd_frame(all, c.level, frame);
    shards.write_frame(frame, all.size());
  }
  shards.close();
  r.files = shards.names(), r.bytes_out = shards.bytes_out();
  return r;
}

}  // namespace quern::corpus
