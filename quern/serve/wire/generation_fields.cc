// Reads and checks the generation fields.
#include "quern/serve/wire/generation_fields.h"

#include <charconv>
#include <chrono>
#include <cmath>

#include "quern/infer/speculation/speculation_options.h"
#include "quern/serve/wire/api_error.h"

namespace quern {

const Json* Fields::find(std::string_view name) const {
  const Json* j = body_.find(name);
  return j && !j->is_null() ? j : nullptr;
}

std::optional<double> Fields::number(std::string_view name, double low, double high) const {
  const Json* j = find(name);
  if (!j) return std::nullopt;
  if (!j->is_number()) bad_field(std::string(name), "expected a number");
  const double v = j->as_double();
  if (!(v >= low && v <= high)) bad_field(std::string(name), "{} is outside {} to {}", v, low, high);
  return v;
}

std::optional<int64_t> Fields::integer(std::string_view name, int64_t low, int64_t high) const {
  const Json* j = find(name);
  if (!j) return std::nullopt;
  const double v = j->is_number() ? j->as_double() : NAN;
  if (!(std::floor(v) == v)) bad_field(std::string(name), "expected a whole number");
  if (!(v >= static_cast<double>(low) && v <= static_cast<double>(high)))
    bad_field(std::string(name), "{} is outside {} to {}", v, low, high);
  return static_cast<int64_t>(v);
}

std::optional<bool> Fields::boolean(std::string_view name) const {
  const Json* j = find(name);
  if (!j) return std::nullopt;
  if (!j->is_bool()) bad_field(std::string(name), "expected true or false");
  return j->as_bool();
}

std::optional<std::string> Fields::text(std::string_view name) const {
  const Json* j = find(name);
  if (!j) return std::nullopt;
  if (!j->is_string()) bad_field(std::string(name), "expected a string");
  return j->as_string();
}

std::vector<std::string> Fields::texts(std::string_view name) const {
  const Json* j = find(name);
  if (!j) return {};
  if (j->is_string()) return {j->as_string()};
  if (!j->is_array()) bad_field(std::string(name), "expected a string or a list of strings");
  std::vector<std::string> out;
  for (const Json& item : j->as_array()) {
    if (!item.is_string()) bad_field(std::string(name), "expected a string or a list of strings");
    out.push_back(item.as_string());
  }
  return out;
}

namespace {

DryOptions read_dry(const Fields& f, const Tokenizer& tokenizer) {
  DryOptions o;
  o.multiplier = f.number("dry_multiplier", 0, 1e4).value_or(0);
  o.base = f.number("dry_base", 1, 1e4).value_or(o.base);
  o.allowed_length = f.integer("dry_allowed_length", 1, int64_t{1} << 31).value_or(o.allowed_length);
  o.last_n = f.integer("dry_penalty_last_n", -1, int64_t{1} << 31).value_or(o.last_n);
  if (f.find("dry_sequence_breakers")) o.breakers = f.texts("dry_sequence_breakers");
  if (o.breakers.size() > 64) bad_field("dry_sequence_breakers", "{} of them, at most 64", o.breakers.size());
  for (const std::string& b : o.breakers)
    if (b.empty() || b.size() > 64) bad_field("dry_sequence_breakers", "texts of 1 to 64 bytes");
  if (o.on()) o.text = [tokenizer](int32_t t) { return tokenizer.decode(std::span(&t, 1)); };
  return o;
}

std::vector<SampleStep> read_order(const Fields& f) {
  if (!f.find("samplers")) return SamplingOptions().order;
  try {
    return sample_order(f.texts("samplers"));
  } catch (const ApiError&) {
    throw;
  } catch (const Error& e) {
    bad_field("samplers", "{}", e.what());
  }
}

// {"kind": "ngram", "max": 8} and likewise draft and both, {"kind": "none"}; or as the flag has it, "ngram:8"; or
// false.
SpeculationOptions read_speculation(const Json& j) {
  const std::string name = "speculative";
  if (j.is_bool()) return j.as_bool() ? SpeculationOptions::by_ngram(kDefaultDraftTokens) : SpeculationOptions{};
  const auto parsed = [](const std::string& text, const std::string& field) {
    try {
      return parse_speculation(text);
    } catch (const Error& e) {
      bad_field(field, "{}", e.what());
    }
  };
  if (j.is_string()) return parsed(j.as_string(), name);
  if (!j.is_object()) bad_field(name, "expected an object with kind and max, a text as ngram:8, or false");
  for (const auto& [key, value] : j.as_object())
    if (key != "kind" && key != "max") bad_field(name + "." + key, "is unknown; there are kind and max");
  const Fields f(j);
  const Json *kind = f.find("kind"), *maximum = f.find("max");
  const std::string which = !kind ? "ngram" : kind->is_string() ? kind->as_string() : kind->dump();
  if (which != "ngram" && which != "draft" && which != "both" && which != "none")
    bad_field(name + ".kind", "'{}', expected ngram, draft, both or none", which);
  return parsed(maximum && which != "none" ? which + ":" + maximum->dump() : which, name + ".max");
}

}  // namespace

double read_timeout(const Fields& f) { return f.number("timeout", 0.001, 1e6).value_or(0); }

GenerateOptions read_generation(const Fields& f, const GenerationConfig& g, const Tokenizer& tokenizer,
                                int64_t vocab_size) {
  GenerateOptions o;
  SamplingOptions& s = o.sampling;
  s.temperature = f.number("temperature", 0, 100).value_or(g.do_sample ? g.temperature : 1);
  s.top_p = f.number("top_p", 0, 1).value_or(g.do_sample ? g.top_p : 1);
  s.top_k = f.integer("top_k", -1, int64_t{1} << 31).value_or(g.do_sample ? g.top_k : 0);
  if (s.top_k < 0) s.top_k = 0;
  s.min_p = f.number("min_p", 0, 1).value_or(g.do_sample ? g.min_p : 0);
  s.typical_p = f.number("typical_p", 1e-6, 1).value_or(1);
  s.xtc_probability = f.number("xtc_probability", 0, 1).value_or(0);
  s.xtc_threshold = f.number("xtc_threshold", 1e-6, 1).value_or(s.xtc_threshold);
  s.top_n_sigma = f.number("top_n_sigma", -1, 100).value_or(0);
  s.dry = read_dry(f, tokenizer);
  s.order = read_order(f);
  s.repetition_penalty = f.number("repetition_penalty", 0.01, 100).value_or(g.repetition_penalty);
  s.presence_penalty = f.number("presence_penalty", -2, 2).value_or(0);
  s.frequency_penalty = f.number("frequency_penalty", -2, 2).value_or(0);
  const auto seed = f.integer("seed", -(int64_t{1} << 53), int64_t{1} << 53);
  s.seed = seed ? static_cast<uint64_t>(*seed)
                : static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  if (const Json* bias = f.find("logit_bias")) {
    if (!bias->is_object()) bad_field("logit_bias", "expected an object of token ids and numbers");
    for (const auto& [key, value] : bias->as_object()) {
      int32_t id = -1;
      const auto [end, bad] = std::from_chars(key.data(), key.data() + key.size(), id);
      if (bad != std::errc() || end != key.data() + key.size() || id < 0 || id >= vocab_size)
        bad_field("logit_bias", "'{}' is no token id of this model (0 to {})", key, vocab_size - 1);
      if (!value.is_number() || !(std::abs(value.as_double()) <= 100))
        bad_field("logit_bias", "expected numbers from -100 to 100");
      s.logit_bias.emplace_back(id, value.as_double());
    }
  }
  if (const Json* ahead = f.find("speculative")) o.speculate = read_speculation(*ahead);
  o.stop = f.texts("stop");
  if (o.stop.size() > 16) bad_field("stop", "{} strings, at most 16", o.stop.size());
  for (const std::string& t : o.stop)
    if (t.empty() || t.size() > 1024) bad_field("stop", "strings of 1 to 1024 bytes");
  o.stop_ids = g.eos_token_id;
  if (f.boolean("ignore_eos").value_or(false)) o.stop_ids.clear();
  check(s);
  return o;
}

}  // namespace quern
