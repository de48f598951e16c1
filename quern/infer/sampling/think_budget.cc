// Counts tokens between <think> and </think>.
#include "quern/infer/sampling/think_budget.h"

#include <algorithm>
#include <string>
#include <vector>

namespace quern::infer {
namespace {

constexpr std::string_view kOpen = "<think>", kClose = "</think>";
constexpr const char* kForced = "\n</think>\n\n";

class BudgetConstraint : public TokenConstraint {
 public:
  BudgetConstraint(const text::Tokenizer& tokenizer, ThinkBudgetOptions o, std::unique_ptr<TokenConstraint> inner)
      : tokenizer_(tokenizer), left_(o.tokens), inner_(std::move(inner)) {
    stage_ = o.opened ? Stage::thinking : Stage::start;
    words_ = (static_cast<size_t>(tokenizer.vocab_size()) + 63) / 64;
    closing_ = thinking_close(tokenizer);
  }

  std::span<const uint64_t> allowed() override {
    if (forcing()) {
      mask_.assign(words_, 0);
      const auto t = static_cast<size_t>(closing_[next_]);
      mask_[t / 64] = uint64_t{1} << (t % 64);
      return mask_;
    }
    if (inner_) return inner_->allowed();
    mask_.assign(words_, ~uint64_t{0});
    return mask_;
  }
  bool allows(int32_t token) override {
    if (forcing()) return token == closing_[next_];
    return inner_ ? inner_->allows(token) : static_cast<size_t>(token) / 64 < words_;
  }
  bool may_end() const override { return !forcing() && (!inner_ || inner_->may_end()); }
  bool finished() const override { return !forcing() && inner_ && inner_->finished(); }

  void accept(int32_t token) override {
    if (inner_) inner_->accept(token);
    if (stage_ == Stage::answer && next_ == 0) return;
    if (forcing()) {
      if (++next_ == closing_.size()) next_ = 0, stage_ = Stage::answer;
      return;
    }
    text_ += tokenizer_.decode(std::span(&token, 1));
    if (stage_ == Stage::start) {
      const size_t first = std::min(text_.find_first_not_of(" \t\r\n"), text_.size());
      const std::string_view rest = std::string_view(text_).substr(first);
      if (rest.starts_with(kOpen))
        stage_ = Stage::thinking, text_.erase(0, first + kOpen.size());
      else if (!kOpen.starts_with(rest))
        stage_ = Stage::answer;
      return;
    }
    --left_;
    if (text_.find(kClose) != text_.npos)
      stage_ = Stage::answer;
    else if (text_.size() > kClose.size())
      text_.erase(0, text_.size() - kClose.size());
  }

 private:
  enum class Stage { start, thinking, answer };
  bool forcing() const { return stage_ == Stage::thinking && (left_ <= 0 || next_ > 0); }
  const text::Tokenizer& tokenizer_;
  int64_t left_;
  std::unique_ptr<TokenConstraint> inner_;
  Stage stage_ = Stage::start;
  std::vector<int32_t> closing_;
  size_t next_ = 0, words_ = 0;
  std::string text_;  // that may yet become a tag
  std::vector<uint64_t> mask_;
};

struct BudgetSource : ConstraintSource {
  text::Tokenizer tokenizer;
  ThinkBudgetOptions options;
  std::shared_ptr<const ConstraintSource> inner;
  BudgetSource(const text::Tokenizer& t, ThinkBudgetOptions o, std::shared_ptr<const ConstraintSource> i)
      : tokenizer(t), options(o), inner(std::move(i)) {}
  std::unique_ptr<TokenConstraint> start() const override {
    return std::make_unique<BudgetConstraint>(tokenizer, options, inner ? inner->start() : nullptr);
  }
};

}  // namespace

std::vector<int32_t> thinking_close(const text::Tokenizer& tokenizer) {
  return tokenizer.encode(kForced, {.add_special_tokens = false});
}

std::shared_ptr<const ConstraintSource> think_budget(const text::Tokenizer& tokenizer, ThinkBudgetOptions options,
                                                     std::shared_ptr<const ConstraintSource> inner) {
  return std::make_shared<BudgetSource>(tokenizer, options, std::move(inner));
}

}  // namespace quern::infer
