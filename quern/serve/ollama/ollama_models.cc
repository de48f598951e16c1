// Models under names with the tag that Ollama gives to all: "zaya-nano:latest".
#include "quern/serve/ollama/ollama_models.h"

#include <algorithm>

#include "quern/base/rng.h"
#include "quern/base/stopwatch.h"
#include "quern/nn/module.h"
#include "quern/serve/api/embeddings_api.h"
#include "quern/serve/llama/infill.h"
#include "quern/serve/tools/tool_format.h"
#include "quern/serve/wire/generation_fields.h"
#include "quern/serve/wire/rfc3339.h"
#include "quern/serve/wire/wire.h"

namespace quern::serve {
namespace {

// 64 hex digits that tell models apart, as clients expect of a digest: made of name and size, not of the file.
std::string digest_of(const ModelEntry& e) {
  uint64_t h = 1469598103934665603u;
  for (unsigned char c : e.id) h = (h ^ c) * 1099511628211u;
  std::string out;
  for (uint64_t i = 0; i < 4; ++i)
    out += fmt::format("{:016x}", mix64(h + i + (static_cast<uint64_t>(e.bytes) << 2)));
  return out;
}

std::string short_count(int64_t n) {
  const auto x = static_cast<double>(n);
  return n >= 1'000'000'000 ? fmt::format("{:.1f}B", x / 1e9) : fmt::format("{:.1f}M", x / 1e6);
}

Json details_json(const ServedModel* m) {
  Json j = Json::object(), families = Json::array();
  const std::string family = m ? m->family() : "";
  if (m) families.push(family);
  j.set("parent_model", m && m->base ? m->base->id : ""), j.set("format", "quern"), j.set("family", family);
  j.set("families", std::move(families));
  j.set("parameter_size", m && m->model ? short_count(nn::parameter_count(*m->model)) : "");
  j.set("quantization_level", "");
  return j;
}

struct ListedEntry {
  std::string name;
  ModelEntry entry;
  std::shared_ptr<ServedModel> model;  // null: not loaded
};

std::vector<ListedEntry> entries_of(const ModelNames& names) {
  std::vector<ListedEntry> out;
  const std::vector<ModelEntry> entries = names.models.entries();
  for (const auto& [name, id] : names.listed())
    if (const auto e = std::ranges::find(entries, id, &ModelEntry::id); e != entries.end())
      out.push_back({name, *e, names.models.loaded(id)});
  return out;
}

Json model_json(const ListedEntry& l, const ModelNames& names) {
  const std::string tagged = l.name + ":latest";
  Json j = Json::object();
  j.set("name", tagged), j.set("model", tagged);
  j.set("modified_at", rfc3339_micro(static_cast<double>(l.model ? l.model->created : names.started)));
  j.set("size", l.entry.bytes), j.set("digest", digest_of(l.entry)), j.set("details", details_json(l.model.get()));
  return j;
}

Json numbers(const std::vector<float>& v) {
  Json list = Json::array();
  for (float x : v) list.push(static_cast<double>(x));
  return list;
}

EmbeddedInputs embed_field(ServedModel& m, Exchange& e, const Json& body, const char* field) {
  const Json* input = Fields(body).find(field);
  if (!input) bad_field(field, "expected a text");
  Json asked = Json::object();
  asked.set("input", *input);
  return embed_inputs(m, asked, e);
}

}  // namespace

Json ollama_tags_json(const ModelNames& names) {
  Json j = Json::object(), list = Json::array();
  for (const ListedEntry& l : entries_of(names)) list.push(model_json(l, names));
  j.set("models", std::move(list));
  return j;
}

Json ollama_running_json(const ModelNames& names) {
  Json j = Json::object(), list = Json::array();
  constexpr double kWithoutEnd = 100.0 * 365 * 86400;
  for (const ListedEntry& l : entries_of(names)) {
    if (!l.model) continue;
    Json one = model_json(l, names);
    const auto left = names.models.idle_seconds_left(l.entry.id);
    one.set("expires_at", rfc3339_micro(static_cast<double>(unix_time()) + left.value_or(kWithoutEnd)));
    one.set("size_vram", int64_t{0}), one.set("context_length", l.model->max_tokens());
    list.push(std::move(one));
  }
  j.set("models", std::move(list));
  return j;
}

Json ollama_show_json(const ServedModel& m) {
  Json j = Json::object(), info = Json::object(), can = Json::array();
  const std::string family = m.family(), source = m.chat_template.source();
  info.set("general.architecture", family);
  if (m.model) info.set("general.parameter_count", nn::parameter_count(*m.model));
  info.set(family + ".context_length", m.max_tokens()), info.set(family + ".vocab_size", m.vocab_size());
  if (m.model)
    for (const auto& [theirs, ours] : {std::pair{"embedding_length", "hidden_size"},
                                       {"block_count", "num_hidden_layers"},
                                       {"attention.head_count", "num_attention_heads"}})
      if (const Json config = m.model->config(); const Json* v = config.find(ours))
        info.set(family + "." + theirs, *v);
  if (!m.encoder) can.push("completion");
  if (m.encoder) can.push("embedding");
  if (!m.encoder) can.push("tools");  // also where the template knows of none: then they are described in words
  if (source.find("<think>") != source.npos) can.push("thinking");
  if (!m.encoder && fill_tokens(m.tokenizer)) can.push("insert");
  j.set("modelfile", fmt::format("FROM {}\n", m.id)), j.set("parameters", ""), j.set("template", source);
  j.set("details", details_json(&m)), j.set("model_info", std::move(info)), j.set("capabilities", std::move(can));
  j.set("modified_at", rfc3339_micro(static_cast<double>(m.created)));
  return j;
}

void ollama_embed(ServedModel& m, Exchange& e, const Json& body, const OllamaCall& call) {
  const Stopwatch watch;
  const EmbeddedInputs all = embed_field(m, e, body, "input");
  if (e.gone()) return;
  Json j = Json::object(), rows = Json::array();
  int64_t tokens = 0;
  const auto wanted = Fields(body).integer("dimensions", 1, int64_t{1} << 31);
  for (const std::vector<float>& v : all.rows) {
    if (wanted && *wanted != static_cast<int64_t>(v.size()))
      bad_field("dimensions", "{}: this model's embeddings have {}, and were not trained to be cut", *wanted,
                v.size());
    rows.push(numbers(v));
  }
  for (int64_t n : all.tokens) tokens += n;
  j.set("model", call.name), j.set("embeddings", std::move(rows));
  j.set("total_duration", nanoseconds(call.load_seconds + watch.seconds()));
  j.set("load_duration", nanoseconds(call.load_seconds)), j.set("prompt_eval_count", tokens);
  e.answer(200, "application/json; charset=utf-8", j.dump());
}

void ollama_embedding(ServedModel& m, Exchange& e, const Json& body) {
  const EmbeddedInputs all = embed_field(m, e, body, "prompt");
  if (e.gone()) return;
  Json j = Json::object();
  j.set("embedding", numbers(all.rows.at(0)));
  e.answer(200, "application/json; charset=utf-8", j.dump());
}

}  // namespace quern::serve
