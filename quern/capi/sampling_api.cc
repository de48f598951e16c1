// quern_sampling: generation options by name.
#include <array>
#include <cmath>

#include "quern/base/nearest.h"
#include "quern/capi/handles.h"
#include "quern/capi/option_fields.h"

namespace quern::capi {

infer::GenerateOptions default_options(const quern_model& m) {
  infer::GenerateOptions o;
  o.sampling = m.generation.defaults();
  if (!m.generation.do_sample) o.sampling.temperature = 0;
  o.stop_ids = m.generation.eos_token_id;
  return o;
}

infer::GenerateOptions options_of(const quern_sampling* sampling, const quern_model& m, infer::ThinkStart start) {
  if (!sampling) return default_options(m);
  if (sampling->model != &m) fail("sampling: it was made for another model");
  infer::GenerateOptions o = sampling->options;
  if (sampling->grammar) {
    const int32_t think = start == infer::ThinkStart::none ? -1 : m.tokenizer.token_to_id("<think>");
    o.constraint = sampling->grammar->with(start, think);
  }
  if (o.sampling.dry.on())
    o.sampling.dry.text = [tokenizer = m.tokenizer](int32_t t) { return tokenizer.decode(std::span(&t, 1)); };
  return o;
}

namespace {

void set_grammar(quern_sampling& s, infer::GrammarNotation notation, const std::string& text) {
  if (text.empty()) return s.grammar.reset();
  auto grammar = infer::parse_grammar(notation, text);
  if (!s.model->tokens) s.model->tokens = std::make_shared<text::TokenTrie>(s.model->tokenizer);
  s.grammar.emplace(std::move(grammar), s.model->tokens);
}

void set_ignore_eos(quern_sampling& s, const std::string& value) {
  if (value != "true" && value != "false") fail("ignore_eos: '{}', expected true or false", value);
  s.options.stop_ids = value == "true" ? std::vector<int64_t>() : s.model->generation.eos_token_id;
}

// Options that are no fields of GenerateOptions, or whose text needs the model.
struct Special {
  const char* name;
  void (*set)(quern_sampling& s, const std::string& value);
};
constexpr std::array kSpecial = {
    Special{"json_schema", [](auto& s, auto& v) { set_grammar(s, infer::GrammarNotation::json_schema, v); }},
    Special{"regex", [](auto& s, auto& v) { set_grammar(s, infer::GrammarNotation::regex, v); }},
    Special{"grammar", [](auto& s, auto& v) { set_grammar(s, infer::GrammarNotation::gbnf, v); }},
    Special{"ignore_eos", set_ignore_eos},
    Special{"response_prefix",
            [](auto& s, auto& v) { s.options.forced = s.model->tokenizer.encode(v, {.add_special_tokens = false}); }},
    Special{"speculative", [](auto& s, auto& v) {
              const infer::SpeculationOptions o = infer::parse_speculation(v);
              if (o.draft) fail("speculative: '{}' needs a draft model; expected none or ngram", v);
              s.options.speculate = o;
            }}};

void set(quern_sampling& s, const std::string& name, const std::string& value) {
  for (const Special& special : kSpecial)
    if (name == special.name) return special.set(s, value);
  std::vector<std::string> names;
  for (const Special& special : kSpecial) names.emplace_back(special.name);
  infer::GenerateOptions changed = s.options;
  const ListItem item = s.given.contains(name) ? ListItem::further : ListItem::first;
  if (!set_option(changed, name, value, item, names))
    fail("sampling: unknown option '{}'{}", name, did_you_mean(name, names));
  s.options = std::move(changed);
  s.given.insert(name);
}

}  // namespace
}  // namespace quern::capi

using namespace quern::capi;

extern "C" {

quern_sampling* quern_sampling_new(quern_model* model) {
  return guarded(static_cast<quern_sampling*>(nullptr), [&] {
    return new quern_sampling{.model = &required(model, "model"), .options = default_options(*model)};
  });
}

void quern_sampling_free(quern_sampling* sampling) { delete sampling; }

quern_adapter* quern_adapter_load(quern_model* model, const char* folder) {
  return guarded(static_cast<quern_adapter*>(nullptr), [&] {
    const quern_model& m = required(model, "model");
    const std::string where(required(folder, "folder"));
    if (!m.sites)
      quern::fail(
          "{}: the model was loaded with an adapter of its own: load it without one, and choose adapters by row",
          where);
    return new quern_adapter{.model = &m, .paths = m.sites->read(where, *m.model)};
  });
}

void quern_adapter_free(quern_adapter* adapter) { delete adapter; }

int quern_sampling_adapter(quern_sampling* sampling, const quern_adapter* adapter, double scale) {
  return guarded(-1, [&] {
    quern_sampling& s = required(sampling, "sampling");
    const quern_adapter& a = required(adapter, "adapter");
    if (a.model != s.model) quern::fail("adapter: it was loaded for another model");
    if (!std::isfinite(scale)) quern::fail("scale {}: expected a finite number", scale);
    s.options.adapters.push_back({.paths = a.paths, .scale = static_cast<float>(scale)});
    return 0;
  });
}

int quern_sampling_set(quern_sampling* sampling, const char* name, const char* value) {
  return guarded(-1, [&] {
    set(required(sampling, "sampling"), std::string(required(name, "name")), std::string(required(value, "value")));
    return 0;
  });
}

}  // extern "C"
