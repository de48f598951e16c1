// A prompt is decoded, the line is found, and the token that goes on with it gets all the probability.
#include "tests/serve/scripted_model.h"

#include <algorithm>

#include "quern/text/tokenizer/bpe_train.h"

namespace quern {
namespace {

constexpr const char* kTurn = "<|im_start|>";
constexpr const char* kTurnEnd = "<|im_end|>";
constexpr std::string_view kAssistant = "assistant\n", kCloseThink = "</think>";

constexpr const char* kTemplate = R"(
{%- if tools %}<|im_start|>system
{% if messages[0].role == 'system' %}{{ messages[0].content }}

{% endif %}You may call functions, each call inside <tool_call></tool_call>:
{% for t in tools %}{{ t | tojson }}
{% endfor %}<|im_end|>
{% elif messages[0].role == 'system' %}<|im_start|>system
{{ messages[0].content }}<|im_end|>
{% endif %}
{%- for m in messages %}{% if m.role == 'tool' %}<|im_start|>user
<tool_response>
{{ m.content }}
</tool_response><|im_end|>
{% elif m.role == 'system' and loop.first %}{% else %}<|im_start|>{{ m.role }}
{{ m.content }}{% for c in m.tool_calls or [] %}
<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endif %}{% endfor %}<|im_start|>assistant
{% if think %}<think>
{% endif %})";

std::string trained_tokenizer() {
  text::BpeTrainOptions o;
  o.vocab_size = 400, o.special_tokens = {kTurn, kTurnEnd};
  text::BpeTrainer t(o);
  for (int i = 0; i < 5; ++i)
    t.add(
        "assistant\nuser\nsystem\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": "
        "\"Oslo\"}}\n</tool_call>"
        "<think>\nthe thinking\n</think>\n\nThe answer is in the description of the parameters, type string\n");
  return t.train();
}

std::string_view skip_blanks(std::string_view s) {
  return s.substr(std::min(s.find_first_not_of(" \t\r\n"), s.size()));
}

}  // namespace

ScriptedModel::ScriptedModel(const text::Tokenizer& tokenizer, std::vector<ScriptLine> script, int64_t context)
    : tokenizer_(tokenizer),
      script_(std::move(script)),
      context_(context),
      turn_(tokenizer.token_to_id(kTurn)),
      end_(tokenizer.token_to_id(kTurnEnd)) {}

std::vector<mixers::StateSite> ScriptedModel::sites(DType) const {
  return {{.spec = {{{.name = "tokens", .per_token = true, .shape = {1}}}}}};
}

grad::Var ScriptedModel::hidden(grad::Tape&, std::span<const int32_t> ids, const mixers::Batch& batch) {
  constexpr int64_t kMaxRows =
      16;  // at the end of a segment: a longer one is a prompt, whose last row alone is asked
  Tensor out = Tensor::full({batch.tokens(), 1}, DType::f32, end_);
  for (size_t s = 0; s < batch.states.size(); ++s) {
    const int64_t from = batch.offsets[s], n = batch.offsets[s + 1] - from;
    Tensor rows = batch.states[s]->append(0, "tokens", n);
    for (int64_t i = 0; i < n; ++i)
      rows.view<float, 2>()(i, 0) = static_cast<float>(ids[static_cast<size_t>(from + i)]);
    const Tensor all = batch.states[s]->rows(0, "tokens");
    std::vector<int32_t> tokens;
    for (int64_t i = 0; i < all.dim(0); ++i) tokens.push_back(static_cast<int32_t>(all.view<float, 2>()(i, 0)));
    for (int64_t i = n > kMaxRows ? n - 1 : 0; i < n; ++i)
      out.data<float>()[from + i] =
          static_cast<float>(next(std::span(tokens).first(tokens.size() - static_cast<size_t>(n - 1 - i))));
  }
  batch.advance_states();
  return grad::Var(std::move(out));
}

grad::Var ScriptedModel::logits(grad::Tape&, const grad::Var& hidden_TD) {
  constexpr float kCertain = 30;
  const Tensor& chosen = hidden_TD.value;
  Tensor out = Tensor::zeros({chosen.dim(0), vocab_size()}, DType::f32);
  for (int64_t t = 0; t < chosen.dim(0); ++t)
    out.view<float, 2>()(t, static_cast<int64_t>(chosen.view<const float, 2>()(t, 0))) = kCertain;
  return grad::Var(std::move(out));
}

grad::Var ScriptedModel::loss(grad::Tape&, const grad::Var&, std::span<const int32_t>) {
  fail("a scripted model does not train");
}
grad::Var ScriptedModel::objective(grad::Tape&, const grad::Var&, const nn::HeadTerms&) {
  fail("a scripted model does not train");
}

int32_t ScriptedModel::next(std::span<const int32_t> tokens) const {
  const auto last = std::find(tokens.rbegin(), tokens.rend(), turn_);
  if (last == tokens.rend()) return end_;
  const auto begun = static_cast<size_t>(tokens.rend() - last);
  const std::string prompt = tokenizer_.decode(tokens.first(begun - 1));
  const std::string turn = tokenizer_.decode(tokens.subspan(begun));
  if (!turn.starts_with(kAssistant)) return end_;
  const ScriptLine* line = nullptr;
  size_t best = 0;
  for (const ScriptLine& l : script_) {
    const size_t at = l.cue.empty() ? 0 : prompt.rfind(l.cue);
    if (at == prompt.npos) continue;
    if (!line || at > best || (at == best && l.cue.size() > line->cue.size())) line = &l, best = at;
  }
  const std::string rest = line ? rest_of(line->say, turn.substr(kAssistant.size())) : std::string();
  return rest.empty() ? end_ : tokenizer_.encode(rest, {.add_special_tokens = false})[0];
}

std::string ScriptedModel::rest_of(const std::string& line, const std::string& said) const {
  if (line.starts_with(said)) return line.substr(said.size());
  if (const std::string opened = "<think>\n" + line; opened.starts_with(said)) return opened.substr(said.size());
  const size_t closed = said.rfind(kCloseThink), closes = line.rfind(kCloseThink);
  if (closed == said.npos) return {};
  const std::string_view answered = skip_blanks(std::string_view(said).substr(closed + kCloseThink.size()));
  const std::string_view answer =
      skip_blanks(std::string_view(line).substr(closes == line.npos ? 0 : closes + kCloseThink.size()));
  return answer.starts_with(answered) ? std::string(answer.substr(answered.size())) : std::string();
}

std::unique_ptr<serve::ServedModel> scripted_model(const std::string& id, std::vector<ScriptLine> script,
                                                   int64_t context) {
  auto m = std::unique_ptr<serve::ServedModel>(
      new serve::ServedModel{.id = id,
                             .model = nullptr,
                             .tokenizer = text::Tokenizer::from_json(trained_tokenizer()),
                             .chat_template = text::ChatTemplate::parse(kTemplate),
                             .defaults = {},
                             .host = nullptr,
                             .created = 7});
  m->defaults.eos_token_id = {m->tokenizer.token_to_id(kTurnEnd)};
  m->model = std::make_shared<ScriptedModel>(m->tokenizer, std::move(script), context);
  m->host = std::make_unique<serve::EngineHost>(
      *m->model, infer::EngineOptions{.max_sequences = 8, .tokenizer = &m->tokenizer}, 64);
  return m;
}

}  // namespace quern
