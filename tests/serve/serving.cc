// Making the tiny model.
#include "tests/serve/serving.h"

#include "quern/nn/builtin_registry.h"
#include "quern/text/tokenizer/bpe_train.h"

namespace quern {
namespace {

constexpr const char* kPlain =
    "{% for m in messages %}<s>{{ m.role }}: {{ m.content }}\n{% endfor %}<s>assistant: {% if think %}<think>{% "
    "endif %}";

std::string trained_tokenizer() {
  text::BpeTrainOptions o;
  o.vocab_size = 320, o.special_tokens = {"<s>", "</s>"};
  text::BpeTrainer t(o);
  for (int i = 0; i < 5; ++i) t.add("assistant: user: What is the answer? Answer: 4\n");
  return t.train();
}

}  // namespace

std::vector<Event> events_of(const std::string& body) {
  std::vector<Event> out;
  for (size_t at = 0; (at = body.find("event: ", at)) != body.npos;) {
    const size_t line = body.find('\n', at), end = body.find("\n\n", at);
    out.push_back({body.substr(at + 7, line - at - 7), Json::parse(body.substr(line + 7, end - line - 7))});
    EXPECT_EQ(out.back().data.at("type").as_string(), out.back().name);
    at = end;
  }
  return out;
}

std::unique_ptr<serve::ServedModel> tiny_model(int64_t max_waiting, const std::string& chat_template) {
  text::Tokenizer tokenizer = text::Tokenizer::from_json(trained_tokenizer());
  Json c = Json::parse(R"({"model_type": "llama", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 200000,
    "tie_word_embeddings": true})");
  c.set("vocab_size", int64_t{tokenizer.vocab_size()});
  auto model = models::build_model(nn::builtin_registry(), c);
  nn::initialize(*model, 5);
  model->pack(nn::WeightPrepacking(DType::f32));
  auto m = std::unique_ptr<serve::ServedModel>(new serve::ServedModel{
      .id = "tiny",
      .model = std::move(model),
      .tokenizer = std::move(tokenizer),
      .chat_template = text::ChatTemplate::parse(chat_template.empty() ? kPlain : chat_template),
      .defaults = {},
      .host = nullptr,
      .created = 7});
  m->host = std::make_unique<serve::EngineHost>(
      *m->model, infer::EngineOptions{.max_sequences = 4, .tokenizer = &m->tokenizer}, max_waiting);
  return m;
}

}  // namespace quern
