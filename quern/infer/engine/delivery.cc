// Sampling, the ends of an output, and the calls of on_token.
#include "quern/infer/engine/delivery.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include "quern/base/threads.h"

namespace quern::infer {
namespace {

// False: the client cancels.
bool emit(Sequence& s, int32_t token, double logprob, const std::string& text) {
  s.out.text += text;
  if (token < 0 && text.empty()) return true;
  std::span<const TokenLogprob> top;
  if (token >= 0 && !s.out.top.empty()) top = s.out.top.back();
  return !s.r.on_token || s.r.on_token({token, logprob, text, top});
}

}  // namespace

std::span<const float> SequenceLogits::row(int64_t k) const {
  return {logits.view<const float, 2>().row(first + k), static_cast<size_t>(logits.dim(1))};
}

std::vector<SequenceLogits> split_logits(const std::vector<Sequence*>& sequences, const Tensor& logits) {
  std::vector<SequenceLogits> out;
  int64_t first = 0;
  for (Sequence* s : sequences) {
    out.push_back({s, logits, first});
    first += 1 + static_cast<int64_t>(s->draft().size());
  }
  if (out.size() < 2) return out;
  parallel_dynamic(static_cast<int64_t>(out.size()), [&](int64_t i) {
    SequenceLogits& rows = out[static_cast<size_t>(i)];
    Sequence& s = *rows.sequence;
    if (s.samples_freely()) try {
        rows.sampled = s.sampler.next(rows.row(0), s.tokens.size());
      } catch (const std::exception&) {  // it fails again in deliver(), where it is this sequence's own failure
      }
  });
  return out;
}

const char* deliver(const SequenceLogits& rows) {
  Sequence& s = *rows.sequence;
  const size_t drafted = s.draft().size();
  size_t k = 0;
  const char* end = deliver_token(s, rows.row(0), rows.sampled);
  while (!end && k < drafted && s.draft()[k] == s.tokens.back())
    end = deliver_token(s, rows.row(static_cast<int64_t>(++k)), std::nullopt);
  if (!end && drafted > 0) s.settle();
  return end;
}

const char* deliver_token(Sequence& s, std::span<const float> logits, const std::optional<TokenLogprob>& sampled) {
  const GenerateOptions& g = s.r.options;
  if (g.max_tokens == 0) return "length";
  const size_t i = s.out.tokens.size();
  const bool forced = i < g.forced.size();
  const auto given = [&](int32_t id) {
    const double p = logprob_of(logits, id);
    return TokenLogprob{id, p, p};
  };
  const TokenLogprob t = forced ? given(g.forced[i]) : sampled ? *sampled : s.sample(logits);
  if (i == 0) s.first_token = Sequence::Clock::now();
  if (s.out.record) s.out.record->add(t);
  if (!forced && std::find(g.stop_ids.begin(), g.stop_ids.end(), t.token) != g.stop_ids.end()) return "stop";
  s.sampler.accept_token(t.token);
  if (s.constrained && i >= s.forced_prefix) s.constrained->accept_token(t.token);
  s.tokens.push_back(t.token);
  s.out.tokens.push_back(t.token);
  s.out.logprobs.push_back(t.logprob);
  if (g.top_logprobs > 0) s.out.top.push_back(top_logprobs(logits, g.top_logprobs));
  if (!emit(s, t.token, t.logprob, s.text ? s.text->push(t.token) : std::string())) return "cancelled";
  if ((s.text && s.text->stopped()) || (s.constrained && s.constrained->finished())) return "stop";
  return static_cast<int64_t>(s.tokens.size()) >= s.max_length ? "length" : nullptr;
}

void deliver_rest(Sequence& s) {
  if (s.text) emit(s, -1, 0, s.text->finish());
}

void complete_result(Sequence& s, const char* how, std::string error) {
  const auto seconds = [](Sequence::Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  const bool decoded = !s.out.tokens.empty();
  s.out.finish = how, s.out.error = std::move(error);
  s.out.prompt_seconds = seconds((decoded ? s.first_token : s.ended) - s.started);
  s.out.decode_seconds = decoded ? seconds(s.ended - s.first_token) : 0;
}

}  // namespace quern::infer
