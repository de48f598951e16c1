// Texts are processed in chunks between the engine's steps, so that generations continue meanwhile.
#include "quern/serve/api/embeddings_api.h"

#include <bit>
#include <numeric>

#include "quern/infer/scoring/mean_pooling.h"
#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/generation_fields.h"
#include "quern/text/unicode/base64.h"

namespace quern::serve {
namespace {

constexpr size_t kMaxInputs = 2048;
constexpr int64_t kChunk = 256;

std::vector<std::vector<int32_t>> read_inputs(const Json& body, const ServedModel& m) {
  const Json* input = Fields(body).find("input");
  std::vector<std::vector<int32_t>> out;
  auto ids_of = [&](const Json& list) {
    std::vector<int32_t> ids;
    for (const Json& id : list.as_array()) {
      if (!id.is_int() || id.as_int() < 0 || id.as_int() >= m.vocab_size())
        bad_field("input", "token ids run from 0 to {}", m.vocab_size() - 1);
      ids.push_back(static_cast<int32_t>(id.as_int()));
    }
    return ids;
  };
  auto text_of = [&](const Json& text) {
    return m.encoder ? m.encoder->text.tokens(text.as_string())
                     : m.tokenizer.encode(text.as_string(), {.parse_special = false});
  };
  constexpr const char* kExpected = "expected a text, token ids, or a list of either";
  if (!input) bad_field("input", "{}", kExpected);
  if (input->is_string()) {
    out.push_back(text_of(*input));
  } else if (input->is_array() && !input->as_array().empty() && input->as_array()[0].is_int()) {
    out.push_back(ids_of(*input));
  } else if (input->is_array()) {
    for (const Json& one : input->as_array()) {
      if (!one.is_string() && !one.is_array()) bad_field("input", "{}", kExpected);
      out.push_back(one.is_string() ? text_of(one) : ids_of(one));
    }
  } else {
    bad_field("input", "{}", kExpected);
  }
  if (out.empty() || out.size() > kMaxInputs)
    bad_field("input", "{} of them, expected 1 to {}", out.size(), kMaxInputs);
  const int64_t limit = m.encoder ? m.max_tokens() : m.model->max_positions();
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].empty()) bad_field("input", "text {} is empty", i);
    if (static_cast<int64_t>(out[i].size()) <= limit) continue;
    ApiError e(400, "invalid_request_error", "context_length_exceeded",
               fmt::format("this model's context is {} tokens; text {} has {}", limit, i, out[i].size()));
    e.param = "input";
    throw e;
  }
  return out;
}

// By an encoder all at once, else one by one; fewer when the client is gone.
std::vector<std::vector<float>> embed_all(ServedModel& m, const std::vector<std::vector<int32_t>>& inputs,
                                          const Exchange& e) {
  std::vector<std::vector<float>> out;
  if (m.encoder) {
    const std::lock_guard lock(m.encoder->busy);
    const Tensor rows = m.encoder->text.embed_tokens(inputs).rows;
    for (int64_t i = 0; i < rows.dim(0); ++i) {
      const float* row = rows.data<float>() + i * rows.dim(1);
      out.emplace_back(row, row + rows.dim(1));
    }
    return out;
  }
  for (const std::vector<int32_t>& ids : inputs) {
    out.push_back(embed_tokens(m, ids, e));
    if (e.gone()) break;
  }
  return out;
}

}  // namespace

std::vector<float> embed_tokens(ServedModel& m, std::span<const int32_t> ids, const Exchange& e) {
  infer::MeanPooling pooling(*m.model, m.adapters);
  const auto n = static_cast<int64_t>(ids.size());
  for (int64_t from = 0; from < n && !e.gone(); from += kChunk) {
    const auto part = ids.subspan(static_cast<size_t>(from), static_cast<size_t>(std::min(kChunk, n - from)));
    m.host->between_steps([&](models::Model& model, infer::PrefixCache&) { pooling.feed(model, part); });
  }
  return pooling.embedding();
}

EmbeddedInputs embed_inputs(ServedModel& m, const Json& body, Exchange& e) {
  e.facts.model = m.id;
  const std::vector<std::vector<int32_t>> inputs = read_inputs(body, m);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const int64_t limit = e.caller.max_context; limit > 0 && std::ssize(inputs[i]) > limit)
      throw ApiError(
          400, "invalid_request_error", "context_length_exceeded",
          fmt::format("the context of this API key is {} tokens; text {} has {}", limit, i, inputs[i].size()));
  EmbeddedInputs out{.rows = embed_all(m, inputs, e), .tokens = {}};
  for (const std::vector<int32_t>& ids : inputs) out.tokens.push_back(static_cast<int64_t>(ids.size()));
  const int64_t all = std::accumulate(out.tokens.begin(), out.tokens.end(), int64_t{0});
  e.facts.input_tokens += all;
  e.caller.spend(all, 0);
  return out;
}

void embeddings(ServedModel& m, Exchange& e, const Json& body) {
  const Fields f(body);
  const std::string format = f.text("encoding_format").value_or("float");
  if (format != "float" && format != "base64") bad_field("encoding_format", "'{}': expected float or base64", format);
  const auto wanted = f.integer("dimensions", 1, int64_t{1} << 31);
  Json list = Json::array();
  int64_t tokens = 0;
  const EmbeddedInputs all = embed_inputs(m, body, e);
  if (e.gone()) return;
  for (const std::vector<float>& v : all.rows) {
    if (wanted && *wanted != static_cast<int64_t>(v.size()))
      bad_field("dimensions", "{}: this model's embeddings have {}, and were not trained to be cut", *wanted,
                v.size());
    Json one = Json::object();
    one.set("object", "embedding"), one.set("index", static_cast<int64_t>(list.as_array().size()));
    if (format == "base64") {
      static_assert(std::endian::native == std::endian::little);
      one.set("embedding", text::base64({reinterpret_cast<const char*>(v.data()), v.size() * sizeof(float)}));
    } else {
      Json numbers = Json::array();
      for (float x : v) numbers.push(static_cast<double>(x));
      one.set("embedding", std::move(numbers));
    }
    list.push(std::move(one));
    tokens += all.tokens[list.as_array().size() - 1];
  }
  Json j = Json::object(), usage = Json::object();
  usage.set("prompt_tokens", tokens), usage.set("total_tokens", tokens);
  j.set("object", "list"), j.set("data", std::move(list)), j.set("model", m.id), j.set("usage", std::move(usage));
  e.answer(200, "application/json", j.dump());
}

}  // namespace quern::serve
