#include "quern/corpus/filters.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <mutex>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/nearest.h"
#include "quern/base/threads.h"
#include "quern/corpus/filter_makers.h"
#include "quern/corpus/pipeline.h"
#include "quern/corpus/shards.h"
#include "quern/corpus/zyda_filter.h"

namespace quern::corpus {
namespace {

struct NamedFilter {
  const char* name;
  FilterMaker (*make)(const std::string& lists);  // or arguments
};
constexpr NamedFilter kFilters[] = {{"zyda", zyda_filter},
                                    {"gopher-quality", gopher_quality_filter},
                                    {"gopher-repetition", gopher_repetition_filter},
                                    {"c4", c4_filter},
                                    {"c4-any-end", c4_any_end_filter},
                                    {"fineweb", fineweb_filter},
                                    {"pii", pii_filter},
                                    {"url", url_filter}};

// Named with arguments: NAME:ARGUMENTS.
constexpr NamedFilter kModelFilters[] = {{"fasttext", fasttext_filter}, {"classifier", classifier_filter}};

// Several filters behind each other: each sees the text the one before it leaves, all of them judge, so that every
// rule that rejects is told.
class FilterChain : public DocumentFilter {
 public:
  explicit FilterChain(const std::vector<FilterMaker>& makers) {
    for (const FilterMaker& make : makers) {
      links_.push_back(make());
      for (const char* r : links_.back()->rules()) rules_.push_back(r);
    }
    if (rules_.size() > 64) fail("a chain of filters with {} rules, at most 64", rules_.size());
  }
  std::span<const char* const> rules() const override { return rules_; }
  Judgement judge(std::string_view utf8) override { return judge_page(utf8, {}); }
  Judgement judge_page(std::string_view utf8, std::string_view url) override {
    Judgement all;
    all.text = utf8;
    size_t rule = 0;
    for (size_t i = 0; i < links_.size(); ++i) {
      const Judgement j = links_[i]->judge_page(all.text, url);
      if (const size_t n = links_[i]->rules().size(); n > 0) all.failing |= j.failing << rule, rule += n;
      all.changed = all.changed || j.changed;
      all.text = j.text;
    }
    return all;
  }
  bool wants_url() const override {
    return std::any_of(links_.begin(), links_.end(), [](const auto& l) { return l->wants_url(); });
  }

 private:
  std::vector<std::unique_ptr<DocumentFilter>> links_;
  std::vector<const char*> rules_;
};

struct Sifted {  // one block's
  std::string kept, rejected, reasons;
  uint64_t kept_bytes = 0, rejected_bytes = 0;
  FilterReport report;
};

// Readers and filters keep buffers: whoever works on a block borrows one of each.
struct Sieve {
  DocumentReader reader;
  std::unique_ptr<DocumentFilter> filter;
};

}  // namespace

std::vector<std::string> filter_names() {
  std::vector<std::string> names = {"none"};
  for (const NamedFilter& f : kFilters) names.emplace_back(f.name);
  names.insert(names.end(), {"fasttext:MODEL:LABEL:MIN", "classifier:MODEL:MIN"});
  return names;
}

FilterMaker find_filter(const std::string& name, const std::string& lists) {
  if (name == "none") return {};
  std::vector<FilterMaker> chain;
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('+', at), name.size());
    const std::string one = name.substr(at, end - at);
    if (const size_t colon = one.find(':'); colon != one.npos) {
      const auto model = std::find_if(std::begin(kModelFilters), std::end(kModelFilters),
                                      [&](const NamedFilter& f) { return one.substr(0, colon) == f.name; });
      if (model == std::end(kModelFilters))
        fail("filter '{}': expected fasttext:MODEL:LABEL:MIN or classifier:MODEL:MIN", one);
      chain.push_back(model->make(one.substr(colon + 1)));
      at = end + 1;
      continue;
    }
    const auto known =
        std::find_if(std::begin(kFilters), std::end(kFilters), [&](const NamedFilter& f) { return one == f.name; });
    if (known == std::end(kFilters))
      fail("filter '{}': expected one of {}, or several with + between{}", one, fmt::join(filter_names(), ", "),
           did_you_mean(one, filter_names()));
    chain.push_back(known->make(lists));
    at = end + 1;
  }
  if (chain.size() == 1) return chain[0];
  FilterChain whole(chain);  // too many rules are told now
  return [chain] { return std::make_unique<FilterChain>(chain); };
}

Json rules_json(const std::vector<std::string>& rules, const std::vector<uint64_t>& first,
                const std::vector<uint64_t>& any) {
  Json list = Json::array();
  for (size_t i = 0; i < rules.size(); ++i) {
    Json one = Json::object();
    one.set("rule", rules[i]), one.set("first", static_cast<int64_t>(first[i]));
    one.set("any", static_cast<int64_t>(any[i]));
    list.push(std::move(one));
  }
  return list;
}

Json FilterReport::json() const {
  Json j = Json::object(), bad = Json::array();
  j.set("documents_in", static_cast<int64_t>(read.documents)), j.set("documents_out", static_cast<int64_t>(kept));
  j.set("bytes_in", static_cast<int64_t>(read.text_bytes)), j.set("seconds", seconds);
  j.set("rejected", static_cast<int64_t>(rejected)), j.set("changed", static_cast<int64_t>(changed));
  j.set("bytes_out", static_cast<int64_t>(bytes_out));
  j.set("rules", rules_json(rules, rule_first, rule_any));
  j.set("read", read.json());
  for (const std::string& d : damaged) bad.push(Json(d));
  j.set("damaged_files", std::move(bad));
  return j;
}

FilterReport filter_corpus(const Inputs& inputs, const FilterRun& run, const FilterMaker& make,
                           const std::filesystem::path& out,
                           const std::function<void(uint64_t, uint64_t)>& progress) {
  QUERN_CHECK(make);
  const auto begin = std::chrono::steady_clock::now();
  prepare_output(out);
  FilterReport total;
  const std::unique_ptr<DocumentFilter> one = make();  // its rules may be its own
  for (const char* r : one->rules()) total.rules.emplace_back(r);
  total.rule_first.resize(total.rules.size()), total.rule_any.resize(total.rules.size());
  BlockReader blocks(inputs, run.read);
  ShardWriter parts(out, "part", run.level, run.shard_bytes), rejects(out, "reject", run.level, run.shard_bytes);
  std::string reasons;
  std::mutex lock;
  std::vector<std::unique_ptr<Sieve>> idle;
  const auto work = [&](Block&& block) {
    std::unique_ptr<Sieve> s;
    {
      std::lock_guard hold(lock);
      if (!idle.empty()) s = std::move(idle.back()), idle.pop_back();
    }
    if (!s) s.reset(new Sieve{DocumentReader(inputs, {run.fields}, run.read), make()});
    Sifted piece;
    FilterReport& r = piece.report;
    r.rule_first.resize(total.rules.size()), r.rule_any.resize(total.rules.size());
    std::string kept, rejected;
    s->reader.read(
        block, r.read,
        [&](const DocumentView& d) {
          const Judgement j = s->filter->judge_page(d.text, d.url);
          for (uint64_t bits = j.failing; bits; bits &= bits - 1)
            ++r.rule_any[static_cast<size_t>(__builtin_ctzll(bits))];
          if (j.keep()) {
            ++r.kept, r.changed += j.changed, r.kept_bytes += j.text.size();
            append_document(d, j.text, kept);
            return;
          }
          ++r.rejected, ++r.rule_first[static_cast<size_t>(j.first())];
          if (run.rejects) append_document(d, d.text, rejected);
          if (!run.reasons) return;
          piece.reasons += fmt::format("{{\"row\":{},\"id\":{},\"failing\":[", d.number, d.id);
          for (uint64_t bits = j.failing; bits; bits &= bits - 1)
            piece.reasons += fmt::format("{}\"{}\"", bits == j.failing ? "" : ",",
                                         total.rules[static_cast<size_t>(__builtin_ctzll(bits))]);
          piece.reasons += "]}\n";
        },
        [](uint64_t, RowProblem) {});
    piece.kept_bytes = kept.size(), piece.rejected_bytes = rejected.size();
    if (!kept.empty()) zstd_frame(kept, run.level, piece.kept);
    if (!rejected.empty()) zstd_frame(rejected, run.level, piece.rejected);
    std::lock_guard hold(lock);
    idle.push_back(std::move(s));
    return piece;
  };
  ordered_pipeline<Block, Sifted>(
      thread_count(), [&](Block& b) { return blocks.next(b); }, work,
      [&](Sifted&& p) {
        parts.write_frame(p.kept, p.kept_bytes);
        if (run.rejects) rejects.write_frame(p.rejected, p.rejected_bytes);
        reasons += p.reasons;
        total.read.add(p.report.read);
        total.kept += p.report.kept, total.rejected += p.report.rejected, total.changed += p.report.changed;
        total.kept_bytes += p.report.kept_bytes;
        for (size_t i = 0; i < total.rules.size(); ++i)
          total.rule_first[i] += p.report.rule_first[i], total.rule_any[i] += p.report.rule_any[i];
        if (progress) progress(blocks.packed_bytes(), inputs.bytes());
      });
  parts.close();
  if (run.rejects) rejects.close();
  if (run.reasons) write_file(out / "reasons.jsonl", reasons);
  total.bytes_out = parts.bytes_out();
  total.damaged = blocks.damaged();
  total.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return total;
}

}  // namespace quern::corpus
