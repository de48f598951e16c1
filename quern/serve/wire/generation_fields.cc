// Reads and checks the generation fields.
#include "quern/serve/wire/generation_fields.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <concepts>

#include "quern/infer/speculation/speculation_options.h"
#include "quern/serve/wire/api_error.h"

namespace quern::serve {

const Json* Fields::find(std::string_view name) const {
  const Json* j = body_.find(name);
  return j && !j->is_null() ? j : nullptr;
}

std::optional<double> Fields::number(std::string_view name, double low, double high) const {
  const Json* j = find(name);
  if (!j) return std::nullopt;
  if (!j->is_number()) bad_field(std::string(name), "expected a number");
  const double v = j->as_double();
  if (const std::string fault = bounds_fault({low, high}, v); !fault.empty())
    bad_field(std::string(name), "{}", fault);
  return v;
}

double Fields::whole_number(std::string_view name) const {
  const Json* j = find(name);
  const double v = j && j->is_number() ? j->as_double() : NAN;
  if (!(std::floor(v) == v)) bad_field(std::string(name), "expected a whole number");
  return v;
}

std::optional<int64_t> Fields::integer(std::string_view name, int64_t low, int64_t high) const {
  if (!find(name)) return std::nullopt;
  const double v = whole_number(name);
  const std::string fault = bounds_fault({static_cast<double>(low), static_cast<double>(high)}, v);
  if (!fault.empty()) bad_field(std::string(name), "{}", fault);
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

void only_fields(const Json& body, std::string_view prefix, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : body.as_object())
    if (std::find(known.begin(), known.end(), key) == known.end())
      bad_field(fmt::format("{}{}", prefix, key), "not known; expected {}", fmt::join(known, ", "));
}

namespace {

// Reads the settings that a body has, each against its bounds for requests.
class RequestReader {
 public:
  RequestReader(const Fields& fields, int64_t vocab_size) : f_(fields), vocab_size_(vocab_size) {}
  template <class T>
  void operator()(const char* name, T& field, const char* /*help*/, const Setting& s = {}) {
    if (s.in_request && f_.find(name)) read(name, field, s);
  }

 private:
  static void expect_inside(const char* name, double v, const Setting& s) {
    const std::string fault = bounds_fault(s.request.bounded() ? s.request : s.range, v);
    if (!fault.empty()) bad_field(name, "{}", fault);
  }
  void read(const char* name, double& field, const Setting& s) const {
    const double v = *f_.number(name);
    expect_inside(name, v, s);
    field = v;
  }
  template <std::integral I>
  void read(const char* name, I& field, const Setting& s) const {
    const double v = f_.whole_number(name);
    expect_inside(name, v, s);
    field = static_cast<I>(static_cast<int64_t>(v));
  }
  void read(const char* name, std::vector<std::string>& field, const Setting& s) const {
    field = f_.texts(name);
    if (s.max_items > 0 && static_cast<int64_t>(field.size()) > s.max_items)
      bad_field(name, "{} strings, at most {}", field.size(), s.max_items);
    for (const std::string& t : field)
      if (t.empty() || (s.max_bytes > 0 && static_cast<int64_t>(t.size()) > s.max_bytes))
        bad_field(name, "strings of 1 to {} bytes", s.max_bytes);
  }
  void read(const char* name, std::vector<infer::SampleStep>& field, const Setting&) const {
    const std::vector<std::string> words = f_.texts(name);
    try {
      field = infer::sample_order(words);
    } catch (const Error& e) {
      bad_field(name, "{}", e.what());
    }
  }
  void read(const char* name, std::vector<infer::TokenBias>& field, const Setting&) const {
    const Json& bias = *f_.find(name);
    if (!bias.is_object()) bad_field(name, "expected an object of token ids and numbers");
    for (const auto& [key, value] : bias.as_object()) {
      int32_t id = -1;
      const auto [end, bad] = std::from_chars(key.data(), key.data() + key.size(), id);
      if (bad != std::errc() || end != key.data() + key.size() || id < 0 || id >= vocab_size_)
        bad_field(name, "'{}' is no token id of this model (0 to {})", key, vocab_size_ - 1);
      if (!value.is_number() || !(std::abs(value.as_double()) <= 100))
        bad_field(name, "expected numbers from -100 to 100");
      field.push_back({id, value.as_double()});
    }
  }

  const Fields& f_;
  int64_t vocab_size_;
};

// {"kind": "ngram", "max": 8} and likewise draft and both, {"kind": "none"}; or as the flag has it, "ngram:8"; or
// false.
infer::SpeculationOptions read_speculation(const Json& j) {
  const std::string name = "speculative";
  if (j.is_bool())
    return j.as_bool() ? infer::SpeculationOptions::by_ngram(infer::kDefaultDraftTokens)
                       : infer::SpeculationOptions{};
  const auto parsed = [](const std::string& text, const std::string& field) {
    try {
      return infer::parse_speculation(text);
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

infer::GenerateOptions read_generation(const Fields& f, const models::GenerationConfig& g,
                                       const text::Tokenizer& tokenizer, int64_t vocab_size) {
  infer::GenerateOptions o;
  infer::SamplingOptions& sampling = o.sampling;
  sampling = g.defaults();
  sampling.seed = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  RequestReader reader(f, vocab_size);
  o.visit(reader);
  sampling.top_k = std::max<int64_t>(0, sampling.top_k);  // -1 is off to some clients
  if (sampling.dry.on()) sampling.dry.text = [tokenizer](int32_t t) { return tokenizer.decode(std::span(&t, 1)); };
  if (const Json* ahead = f.find("speculative")) o.speculate = read_speculation(*ahead);
  o.priority = f.integer("priority", -kMaxPriority, kMaxPriority).value_or(0);
  o.stop_ids = g.eos_token_id;
  if (f.boolean("ignore_eos").value_or(false)) o.stop_ids.clear();
  infer::check(sampling);
  return o;
}

}  // namespace quern::serve
