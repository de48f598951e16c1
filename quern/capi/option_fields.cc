// The fields of GenerateOptions by the names that requests and flags have.
#include "quern/capi/option_fields.h"

#include <charconv>
#include <type_traits>

#include "quern/base/config.h"

namespace quern::capi {
namespace {

// The options' own visit(), where they have one.
template <class Options, class V>
void visit_options(Options& o, V& v) {
  if constexpr (requires { o.visit(v); }) {
    o.visit(v);
  } else {
    v("max_tokens", o.max_tokens);
    v("stop", o.stop);
    v("top_logprobs", o.top_logprobs);
    auto& s = o.sampling;
    v("temperature", s.temperature);
    v("top_k", s.top_k);
    v("top_p", s.top_p);
    v("min_p", s.min_p);
    v("typical_p", s.typical_p);
    v("xtc_probability", s.xtc_probability);
    v("xtc_threshold", s.xtc_threshold);
    v("top_n_sigma", s.top_n_sigma);
    v("dry_multiplier", s.dry.multiplier);
    v("dry_base", s.dry.base);
    v("dry_allowed_length", s.dry.allowed_length);
    v("dry_penalty_last_n", s.dry.last_n);
    v("dry_sequence_breakers", s.dry.breakers);
    v("repetition_penalty", s.repetition_penalty);
    v("presence_penalty", s.presence_penalty);
    v("frequency_penalty", s.frequency_penalty);
    v("logit_bias", s.logit_bias);
    v("samplers", s.order);
    v("seed", s.seed);
  }
}

class OptionSetter {
 public:
  OptionSetter(std::string_view name, const std::string& value, ListItem item, std::vector<std::string>& names)
      : name_(name), value_(value), item_(item), names_(names) {}
  bool found() const { return found_; }

  template <class T>
  void operator()(const char* name, T& field, const char* /*help*/ = "", Alias = {}) {
    names_.emplace_back(name);
    if (name_ != name) return;
    found_ = true;
    parse(field);
  }

 private:
  template <class T>
  requires std::is_arithmetic_v<T>
  void parse(T& field) const { field = number<T>(value_); }
  void parse(std::vector<std::string>& field) const {
    if (value_.empty()) fail("{}: found an empty text, expected at least one character", name_);
    if (item_ == ListItem::first) field.clear();
    field.push_back(value_);
  }
  void parse(std::vector<SampleStep>& field) const { field = parse_sample_order(value_); }
  template <class Bias>  // ID=X,…
  void parse(std::vector<Bias>& field) const {
    if (item_ == ListItem::first) field.clear();
    for (size_t at = 0; at < value_.size();) {
      const size_t end = std::min(value_.find(',', at), value_.size());
      const std::string_view one = std::string_view(value_).substr(at, end - at);
      const size_t equals = one.find('=');
      if (equals == one.npos) fail("{}: '{}', expected ID=NUMBER, for example 17=-5.5", name_, one);
      field.push_back(Bias{number<int32_t>(one.substr(0, equals)), number<double>(one.substr(equals + 1))});
      at = end + 1;
    }
  }
  template <class T>
  T number(std::string_view text) const {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      fail("{}: '{}' is not a {}number", name_, text, std::is_floating_point_v<T> ? "" : "whole ");
    return value;
  }

  std::string_view name_;
  const std::string& value_;
  ListItem item_;
  std::vector<std::string>& names_;
  bool found_ = false;
};

}  // namespace

bool set_option(GenerateOptions& options, std::string_view name, const std::string& value, ListItem item,
                std::vector<std::string>& names) {
  OptionSetter setter(name, value, item, names);
  visit_options(options, setter);
  if (!setter.found()) return false;
  if (options.max_tokens < 1) fail("max_tokens {}: expected 1 or more", options.max_tokens);
  if (options.top_logprobs < 0) fail("top_logprobs {}: expected 0 or more", options.top_logprobs);
  check(options.sampling);
  return true;
}

}  // namespace quern::capi
