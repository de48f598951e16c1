// The C++ interface in one small program: how likely the model finds a text, what it lies close to, and a chat whose
// answers are JSON of a given form.   usage: embed_cpp DIR QUESTION
#include <cmath>
#include <iostream>
#include <numeric>
#include <quern/quern.hpp>

namespace {

double perplexity(quern::Model& model, const std::string& text) {
  const std::vector<double> logprobs = model.score(model.tokenize(text));
  return std::exp(-std::accumulate(logprobs.begin(), logprobs.end(), 0.0) / static_cast<double>(logprobs.size()));
}

double similarity(quern::Model& model, const std::string& a, const std::string& b) {
  const std::vector<float> x = model.embed(a), y = model.embed(b);
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

void run(const std::string& folder, const std::string& question) {
  quern::Model model(folder, {.format = "q8"});  // quantized while loading
  std::cout << "perplexity " << perplexity(model, question) << '\n';
  std::cout << "similarity " << similarity(model, question, "How old is it?") << '\n';

  quern::Session chat(model);
  chat.add("system", "Answer in JSON.");
  chat.add("user", question);
  quern::Session other = chat.fork();  // the same conversation, to be answered once more

  quern::Sampling sampling(model);
  sampling.set("max_tokens", "64")
      .set("json_schema", R"({"type": "object", "properties": {"known": {"type": "boolean"}},
    "required": ["known"]})");
  const auto print = [](std::string_view piece) { return static_cast<bool>(std::cout << piece << std::flush); };
  chat.reply(sampling, print);
  std::cout << '\n';
  other.reply(sampling.set("temperature", "0.7").set("seed", "2"), print);
  std::cout << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: embed_cpp DIR QUESTION\n";
    return 2;
  }
  try {
    run(argv[1], argv[2]);
  } catch (const quern::Error& e) {
    std::cerr << "embed_cpp: " << e.what() << '\n';
    return 1;
  }
}
