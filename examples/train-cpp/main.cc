// From text to a model in one small program: builds a corpus, trains on its tokens, and lets the model continue a text.
// usage: train_cpp CORPUS.toml TRAIN.toml OUT
// CORPUS.toml has a table [tokenize] (docs/corpus/README.md); TRAIN.toml reads OUT/corpus/tokens (docs/training.md).
#include <filesystem>
#include <iostream>
#include <quern/quern.hpp>

namespace {

namespace fs = std::filesystem;

void run(const fs::path& corpus, const fs::path& training, const fs::path& out) {
  const std::int64_t kept = quern::CorpusRecipe(corpus).build(out / "corpus");
  std::cout << "kept " << kept << " documents\n";

  quern::TrainRecipe recipe(training);
  recipe.set("checkpoint.every", "10");
  quern::Trainer trainer(recipe, {.out = out / "run"});
  while (trainer.step())
    std::cout << "step " << trainer.finished() << " of " << trainer.steps() << ": loss " << trainer.metric("loss")
              << '\n';
  trainer.export_model(out / "model");

  quern::Model model(out / "model");
  quern::Session text(model);
  text.append("Once");
  quern::Sampling sampling(model);
  sampling.set("max_tokens", "8");
  const quern::Generation generation = text.generate(sampling);
  const quern::Tokenizer tokenizer(out / "model");
  std::cout << generation.tokens << " tokens of " << tokenizer.vocab_size() << ": " << generation.text << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: train_cpp CORPUS.toml TRAIN.toml OUT\n";
    return 2;
  }
  try {
    run(argv[1], argv[2], argv[3]);
  } catch (const quern::Error& e) {
    std::cerr << "train_cpp: " << e.what() << '\n';
    return 1;
  }
}
