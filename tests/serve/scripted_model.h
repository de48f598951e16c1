// For tests: a language model that says what a script tells it, so that clients meet known answers. Its state is the
// tokens it has read, so prefix caching, batching, constraints and cancelling are the engine's own.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "quern/models/model.h"
#include "quern/serve/models/served_model.h"

namespace quern {

struct ScriptLine {
  std::string cue, say;
};

// The line whose cue comes last in the prompt is said, the longest of those; the empty cue is everywhere. A prompt ends
// with the header of the assistant's turn. An answer that was begun otherwise (a given beginning, a thinking that was
// closed) goes on where it meets the line again, and else ends.
class ScriptedModel final : public models::Model {
 public:
  // `tokenizer` outlives it.
  ScriptedModel(const text::Tokenizer& tokenizer, std::vector<ScriptLine> script, int64_t context);

  std::string family() const override { return "scripted"; }
  int64_t vocab_size() const override { return tokenizer_.vocab_size(); }
  int64_t max_positions() const override { return context_; }
  Json config() const override { return Json::object(); }
  std::vector<mixers::StateSite> sites(DType kv) const override;
  grad::Var hidden(grad::Tape& tape, std::span<const int32_t> ids, const mixers::Batch& batch) override;
  grad::Var logits(grad::Tape& tape, const grad::Var& hidden_TD) override;
  grad::Var loss(grad::Tape& tape, const grad::Var& hidden_TD, std::span<const int32_t> targets) override;
  grad::Var objective(grad::Tape& tape, const grad::Var& hidden_TD, const nn::HeadTerms& terms) override;
  void visit(const std::string&, const nn::ParameterVisitor&) override {}

 private:
  int32_t next(std::span<const int32_t> tokens) const;
  std::string rest_of(const std::string& line, const std::string& said) const;
  const text::Tokenizer& tokenizer_;
  std::vector<ScriptLine> script_;
  int64_t context_;
  int32_t turn_, end_;  // the tokens that begin and end a turn
};

// Its template is ChatML with tools in the Hermes format; `think` and `enable_thinking` as names of the template: the
// prompt opens the thinking.
std::unique_ptr<serve::ServedModel> scripted_model(const std::string& id, std::vector<ScriptLine> script,
                                                   int64_t context = 200'000);

}  // namespace quern
