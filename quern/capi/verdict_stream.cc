#include "quern/capi/verdict_stream.h"

#include <mutex>

#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/corpus/filters/filters.h"

namespace quern::capi {
namespace {

constexpr int64_t kGrain = 16;  // texts that are worth a thread

struct Verdict {
  uint64_t failing = 0;
  bool changed = false;
  std::string text;  // if it has changed
};

class VerdictStream : public RecordSource {
 public:
  VerdictStream(std::unique_ptr<ArrowTexts> texts, corpus::FilterMaker make)
      : texts_(std::move(texts)), make_(std::move(make)) {
    give_back(take());  // a filter that cannot be made is told now
  }

  const std::vector<ArrowField>& fields() const override {
    static const std::vector<ArrowField> kFields = {
        {"keep", ArrowType::truth}, {"failing", ArrowType::texts}, {"text", ArrowType::text}};
    return kFields;
  }

  std::optional<std::vector<ArrowColumn>> next() override {
    if (!texts_->next()) return std::nullopt;
    const auto texts = texts_->texts(0);
    std::vector<Verdict> verdicts(texts.size());
    parallel_for(static_cast<int64_t>(texts.size()), kGrain, [&](int64_t begin, int64_t end) {
      auto filter = take();
      for (int64_t i = begin; i < end; ++i) {
        const corpus::FilterResult r = filter->apply(texts[static_cast<size_t>(i)]);
        Verdict& v = verdicts[static_cast<size_t>(i)];
        v.failing = r.failing, v.changed = r.changed;
        if (r.changed) v.text = r.text;
      }
      give_back(std::move(filter));
    });
    std::vector<ArrowColumn> columns;
    for (const ArrowField& f : fields()) columns.emplace_back(f.type);
    for (size_t i = 0; i < verdicts.size(); ++i) {
      const Verdict& v = verdicts[i];
      columns[0].add_truth(v.failing == 0);
      for (size_t rule = 0; rule < rules_.size(); ++rule)
        if (v.failing >> rule & 1) columns[1].add_to_list(rules_[rule]);
      columns[1].end_list();
      columns[2].add(v.changed ? std::string_view(v.text) : texts[i]);
    }
    return columns;
  }

 private:
  using Filter = std::unique_ptr<corpus::DocumentFilter>;
  Filter take() {  // one for each thread, kept for the next batch
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      Filter f = std::move(idle_.back());
      idle_.pop_back();
      return f;
    }
    Filter f = make_();
    if (rules_.empty()) rules_.assign(f->rules().begin(), f->rules().end());
    return f;
  }
  void give_back(Filter f) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(f));
  }

  std::unique_ptr<ArrowTexts> texts_;
  corpus::FilterMaker make_;
  std::mutex mutex_;
  std::vector<Filter> idle_;
  std::vector<std::string> rules_;
};

}  // namespace

std::unique_ptr<RecordSource> verdict_stream(ArrowArrayStream* texts, const VerdictSettings& s) {
  auto given = std::make_unique<ArrowTexts>(
      texts, s.column.empty() ? std::vector<std::string>() : std::vector<std::string>{s.column});
  corpus::FilterMaker make = corpus::find_filter(s.filter.empty() ? "none" : s.filter, s.lists);
  if (!make) fail("options, filter: missing: expected one of {}", fmt::join(corpus::filter_names(), ", "));
  return std::make_unique<VerdictStream>(std::move(given), std::move(make));
}

}  // namespace quern::capi
