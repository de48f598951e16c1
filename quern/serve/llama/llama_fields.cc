// One table of names, and the few fields whose values differ.
#include "quern/serve/llama/llama_fields.h"

#include "quern/base/settings.h"
#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/generation_fields.h"

namespace quern::serve {
namespace {

struct Renamed {
  const char *theirs, *ours;
};
constexpr Renamed kRenamed[] = {
    {"n_predict", "max_tokens"}, {"num_predict", "max_tokens"}, {"repeat_penalty", "repetition_penalty"}};

// Off at this value; any other is something that this server does not have.
struct Absent {
  const char* field;
  double off;
};
constexpr Absent kAbsent[] = {{"mirostat", 0}, {"dynatemp_range", 0}, {"n_indent", 0}};

void refuse_absent(const Fields& f) {
  for (const Absent& a : kAbsent)
    if (f.number(a.field).value_or(a.off) != a.off)
      bad_field(a.field, "is not supported: leave it out, or give {}", a.off);
  for (const char* field : {"post_sampling_probs", "multimodal_data", "image_data", "response_fields"}) {
    const Json* v = f.find(field);
    if (v && *v != Json(false) && *v != Json::array()) bad_field(field, "is not supported");
  }
}

void add_bias(const Json& what, double bias, const text::Tokenizer& tokenizer, Json& out) {
  if (what.is_int()) return out.set(std::to_string(what.as_int()), bias);
  if (!what.is_string()) bad_field("logit_bias", "expected pairs of a token id or a text, and a number or false");
  for (int32_t id : tokenizer.encode(what.as_string(), {.add_special_tokens = false}))
    out.set(std::to_string(id), bias);
}

// [[15043, 1.0], ["Hello", false], …]; false bans.
Json bias_object(const Json& given, const text::Tokenizer& tokenizer) {
  if (given == Json(false)) return {};
  if (given.is_object()) return given;
  if (!given.is_array()) bad_field("logit_bias", "expected an object, or a list of pairs");
  Json out = Json::object();
  for (const Json& pair : given.as_array()) {
    const bool two = pair.is_array() && pair.as_array().size() == 2;
    const Json* value = two ? &pair.as_array()[1] : nullptr;
    if (!value || (!value->is_number() && *value != Json(false)))
      bad_field("logit_bias", "expected pairs of a token id or a text, and a number or false");
    add_bias(pair.as_array()[0], value->is_number() ? value->as_double() : -100, tokenizer, out);
  }
  return out;
}

// Every setting by its name, as JSON has it.
struct SettingsWriter {
  Json out = Json::object();
  template <class T>
  void operator()(const char* name, T& field, const char* /*help*/, const Setting& = {}) {
    if constexpr (requires { setting_text(field); } && !std::is_arithmetic_v<T>)
      out.set(name, setting_text(field));
    else if constexpr (std::is_integral_v<T>)
      out.set(name, static_cast<int64_t>(field));
    else if constexpr (std::is_floating_point_v<T>)
      out.set(name, static_cast<double>(field));
  }
  void operator()(const char* name, std::vector<std::string>& field, const char* /*help*/, const Setting& = {}) {
    Json list = Json::array();
    for (const std::string& s : field) list.push(s);
    out.set(name, std::move(list));
  }
  void operator()(const char* name, std::vector<infer::TokenBias>& field, const char* /*help*/, const Setting& = {}) {
    Json list = Json::array();
    for (const infer::TokenBias& b : field) list.push(Json(Json::Array{Json(int64_t{b.token}), Json(b.bias)}));
    out.set(name, std::move(list));
  }
};

}  // namespace

Json own_fields(const Json& body, const text::Tokenizer& tokenizer) {
  refuse_absent(Fields(body));
  Json out = body;
  for (const Renamed& r : kRenamed)
    if (const Json* v = body.find(r.theirs)) {
      out.set(r.ours, *v);  // theirs has the last word
      out.erase(r.theirs);
    }
  if (const Json* n = out.find("max_tokens"); n && n->is_int() && n->as_int() < 0) out.erase("max_tokens");
  if (const Json* seed = body.find("seed"); seed && *seed == Json(-1)) out.erase("seed");  // at random
  if (const Json* bias = body.find("logit_bias")) {
    Json own = bias_object(*bias, tokenizer);
    own.is_null() ? out.erase("logit_bias") : out.set("logit_bias", std::move(own));
  }
  if (const Json* schema = body.find("json_schema"); schema && !schema->is_null()) {
    Json outputs = Json::object();
    outputs.set("json", *schema);
    out.set("structured_outputs", std::move(outputs)), out.erase("json_schema");
  }
  if (const Json* grammar = body.find("grammar"); grammar && *grammar == Json("")) out.erase("grammar");
  if (const auto ms = Fields(body).number("t_max_predict_ms", -1, 1e9); ms && *ms > 0) out.set("timeout", *ms / 1000);
  return out;
}

Json llama_settings_json(const infer::GenerateOptions& options) {
  infer::GenerateOptions o = options;
  SettingsWriter w;
  o.visit(w);
  Json j = std::move(w.out);
  j.set("n_predict", o.max_tokens), j.set("repeat_penalty", o.sampling.repetition_penalty);
  j.set("n_probs", o.top_logprobs), j.set("mirostat", 0), j.set("dynatemp_range", 0.0);
  return j;
}

std::vector<int32_t> read_llama_prompt(const Json& prompt, const ServedModel& m) {
  constexpr const char* kExpected = "expected a text, token ids, or a list that mixes both";
  if (prompt.is_string()) return m.tokenizer.encode(prompt.as_string(), {});
  const bool one = prompt.is_array() && prompt.as_array().size() == 1;
  if (one && prompt.as_array()[0].is_array()) return read_llama_prompt(prompt.as_array()[0], m);
  if (!prompt.is_array()) bad_field("prompt", "{}", kExpected);
  const bool texts = std::ranges::all_of(prompt.as_array(), [](const Json& part) { return part.is_string(); });
  if (texts && prompt.as_array().size() > 1)
    bad_field("prompt", "expected one; several prompts at once: use /v1/completions");
  std::vector<int32_t> ids;
  bool first = true;
  for (const Json& part : prompt.as_array()) {
    if (part.is_string()) {
      const auto more = m.tokenizer.encode(part.as_string(), {.add_special_tokens = first});
      ids.insert(ids.end(), more.begin(), more.end());
    } else if (part.is_int() && part.as_int() >= 0 && part.as_int() < m.model->vocab_size()) {
      ids.push_back(static_cast<int32_t>(part.as_int()));
    } else if (part.is_int()) {
      bad_field("prompt", "token ids run from 0 to {}", m.model->vocab_size() - 1);
    } else {
      bad_field("prompt", "{}; several prompts at once: use /v1/completions", kExpected);
    }
    first = false;
  }
  return ids;
}

}  // namespace quern::serve
