#include "quern/infer/options/sampling_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "quern/base/error.h"
#include "quern/base/settings.h"

namespace quern::infer {
namespace {

constexpr std::pair<const char*, SampleStep> kSteps[] = {{"penalties", SampleStep::penalties},
                                                         {"dry", SampleStep::dry},
                                                         {"temperature", SampleStep::temperature},
                                                         {"top_n_sigma", SampleStep::top_n_sigma},
                                                         {"top_k", SampleStep::top_k},
                                                         {"typical_p", SampleStep::typical_p},
                                                         {"top_p", SampleStep::top_p},
                                                         {"min_p", SampleStep::min_p},
                                                         {"xtc", SampleStep::xtc}};

std::vector<std::string> between_commas(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

TokenBias parse_bias(const std::string& text) {  // "17=-5.5": an id and what is added to its logit
  const size_t equals = text.find('=');
  const char* end = text.data() + text.size();
  TokenBias b{.token = -1};
  if (equals != text.npos) {
    const auto [id_end, bad_id] = std::from_chars(text.data(), text.data() + equals, b.token);
    const auto [bias_end, bad_bias] = std::from_chars(text.data() + equals + 1, end, b.bias);
    if (bad_id == std::errc() && id_end == text.data() + equals && b.token >= 0 && bad_bias == std::errc() &&
        bias_end == end)
      return b;
  }
  fail("'{}': expected ID=NUMBER, for example 17=-5.5", text);
}

}  // namespace

std::vector<SampleStep> sample_order(const std::vector<std::string>& names) {
  std::vector<SampleStep> order;
  for (const std::string& name : names) {
    const std::string word = name == "typ_p" ? "typical_p" : name;
    auto it = std::find_if(std::begin(kSteps), std::end(kSteps), [&](const auto& s) { return word == s.first; });
    if (it == std::end(kSteps)) {
      std::string all;
      for (const auto& s : kSteps) all += (all.empty() ? "" : ", ") + std::string(s.first);
      fail("sampling order: unknown step '{}', expected {}", name, all);
    }
    if (std::find(order.begin(), order.end(), it->second) != order.end())
      fail("sampling order: '{}' is listed twice; list every step once", name);
    order.push_back(it->second);
  }
  return order;
}

std::vector<SampleStep> parse_sample_order(const std::string& text) { return sample_order(between_commas(text)); }

void parse_setting(const std::string& text, std::vector<SampleStep>& order) { order = parse_sample_order(text); }
void parse_setting(const std::string& text, std::vector<TokenBias>& biases) {
  if (text.empty()) parse_bias(text);
  for (const std::string& one : between_commas(text)) biases.push_back(parse_bias(one));
}
std::string setting_text(const std::vector<SampleStep>& order) {
  std::string text;
  for (const SampleStep step : order)
    for (const auto& [name, s] : kSteps)
      if (s == step) text += (text.empty() ? "" : ",") + std::string(name);
  return text;
}

void check(const SamplingOptions& o) {
  check_settings(o);
  for (const std::string& b : o.dry.breakers)
    if (b.empty()) fail("dry_sequence_breakers: found an empty text, expected at least one character");
  for (const auto& [token, bias] : o.logit_bias)
    if (token < 0 || std::isnan(bias))
      fail("logit bias {} for token {}: expected a number for an id ≥ 0", bias, token);
}

}  // namespace quern::infer
