// quern demo --train: trains a ZAYA model from scratch in about a minute. Text is generated, a tokenizer is trained on
// it, then the model; at the end it is evaluated on held-out texts and generates a sample.
#include <unistd.h>

#include <chrono>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/progress.h"
#include "apps/quern/models/context.h"
#include "apps/quern/models/new_tokenizer.h"
#include "apps/quern/models/shapes.h"
#include "apps/quern/run/demo_train.h"
#include "apps/quern/run/demo_training.h"
#include "quern/base/mmap.h"
#include "quern/base/threads.h"
#include "quern/data/curriculum.h"
#include "quern/infer/engine/engine.h"

namespace quern::cli {
namespace {

std::string bar(double share) {
  constexpr int kWidth = 24;
  int full = static_cast<int>(std::min(1.0, share) * kWidth);
  std::string s;
  for (int i = 0; i < kWidth; ++i) s += i < full ? "█" : "░";
  return s;
}

// The line of the demo's training.
class DemoLine {
 public:
  void show(const DemoProgress& p, double budget) {
    smooth_ = smooth_ == 0 ? p.loss : 0.95 * smooth_ + 0.05 * p.loss;
    bool due = p.seconds - last_ >= (line_.terminal() ? 0.1 : 10);
    if (!due && p.share_done < 1) return;
    last_ = p.seconds;
    line_.show(fmt::format("{} step {:5}  loss {:.3f}  {:6.0f} tokens/s  {:3.0f} s left", bar(p.share_done), p.step,
                           smooth_, static_cast<double>(p.tokens) / p.seconds, std::max(0.0, budget - p.seconds)));
  }
  void end() { line_.end(); }
  double smooth() const { return smooth_; }

 private:
  LiveLine line_;
  double last_ = -1e9, smooth_ = 0;
};

std::string continue_text(models::Model& model, const text::Tokenizer& tokenizer, const infer::GenerateOptions& o,
                          const std::string& prompt) {
  infer::Engine engine(model, {.cache_bytes = 0, .tokenizer = &tokenizer});
  return prompt + engine.run({.prompt = tokenizer.encode(prompt, {}), .options = o}).text;
}

// Held-out sums, answered greedily.
double sums_right(models::Model& model, const text::Tokenizer& tokenizer, const infer::GenerateOptions& o, int n) {
  int right = 0;
  for (int i = 0; i < n; ++i) {
    std::string sum = data::curriculum_sum(data::Split::held_out, static_cast<uint64_t>(i)),
                question = sum.substr(0, sum.find('=') + 1);
    right += continue_text(model, tokenizer, o, question) == sum;
  }
  return static_cast<double>(right) / n;
}

}  // namespace

int demo_by_training(const TrainedDemo& d) {
  const auto& [seconds, seed, out, size] = d;
  if (!(seconds > 0)) throw UsageError(fmt::format("--seconds {}: expected more than 0", seconds));
  namespace fs = std::filesystem;
  bool keep = !out.empty();
  fs::path folder = keep ? fs::path(out) : fs::temp_directory_path() / fmt::format("quern-demo-{}", ::getpid());
  if (keep && fs::exists(folder / "config.json"))
    fail("--out {}: the folder already holds a model; name another one", folder.string());

  fmt::print(stderr, "training a tokenizer with 512 entries on generated text …\n");
  text::Tokenizer tokenizer = make_tokenizer(folder, 512);
  int32_t end = tokenizer.token_to_id(kEnd);
  auto document = [&](data::Split split, uint64_t i) {
    std::vector<int32_t> ids = tokenizer.encode(data::curriculum_text(split, i), {});
    ids.push_back(end);
    return ids;
  };

  models::ZayaModel model(models::ZayaConfig::from_hf(shape_config("zaya", size, tokenizer.vocab_size()), nullptr));
  nn::initialize(model, static_cast<uint64_t>(seed));
  fmt::print(stderr, "training a ZAYA model with {} parameters, {} threads\n", nn::parameter_count(model),
             thread_count());

  DemoLine line;
  DemoOptions options;
  options.seconds = seconds;
  DemoProgress p = train_demo(
      model, [&](uint64_t i) { return document(data::Split::train, i); }, options,
      [&](const DemoProgress& now) {
        line.show(now, seconds);
        return true;
      });
  line.end();

  std::vector<std::vector<int32_t>> held_out;
  for (uint64_t i = 0; i < 150; ++i) held_out.push_back(document(data::Split::held_out, i));
  fmt::print("trained on {} tokens in {:.0f} s; held-out loss {:.3f} nats per token\n", p.tokens, p.seconds,
             held_out_loss(model, held_out));

  infer::GenerateOptions o;
  o.stop_ids = {end};
  o.max_tokens = 60;
  o.sampling.temperature = 0;
  fmt::print("held-out sums right: {:.0f} %\n\n", 100 * sums_right(model, tokenizer, o, 50));
  for (const char* prompt : {"12 + 7 =", "Ana had a"})
    fmt::print("{}\n\n", continue_text(model, tokenizer, o, prompt));
  o.sampling.temperature = 0.7;
  for (uint64_t s = 1; const char* prompt : {"At the mill lived", "Finn and Gia went to"}) {
    o.sampling.seed = s++;
    fmt::print("{}\n\n", continue_text(model, tokenizer, o, prompt));
  }

  if (!keep) {
    fs::remove_all(folder);
    return 0;
  }
  models::save_model(model, folder, DType::bf16);
  models::GenerationConfig g;
  g.eos_token_id = {end};
  g.bos_token_id = tokenizer.token_to_id(kBegin);
  g.pad_token_id = tokenizer.token_to_id(kPad);
  models::save_generation_config(g, folder);
  std::string text;
  for (uint64_t i = 0; i < 1000; ++i) text += kBegin + data::curriculum_text(data::Split::held_out, i) + kEnd;
  write_file(folder / "held-out.txt", text);
  fmt::print("saved in {0}: quern run {0} -p \"Once\", quern ppl --special {0} {0}/held-out.txt\n", folder.string());
  return 0;
}

}  // namespace quern::cli
