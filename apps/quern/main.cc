// quern: one binary, git-style verbs. Exit codes: 0 done, 1 failed, 2 wrong usage. Results on stdout, the rest on
// stderr.
#include <csignal>
#include <cstdio>
#include <string>
#include <system_error>
#include <vector>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/standard_output.h"
#include "apps/quern/cli/verbs.h"
#include "quern/base/cpu.h"
#include "quern/base/nearest.h"
#include "quern/base/threads.h"
#include "quern/base/version.h"

namespace {

struct Verb {
  const char* name;
  const char* help;
  int (*run)(quern::cli::Words);
  const char* alias = "";  // an old name: taken, never shown
};
struct VerbGroup {
  const char* heading;
  std::span<const Verb> verbs;
};

int print_completion(quern::cli::Words args);

constexpr Verb kRun[] = {
    {"run", "generate text from a prompt, or chat", quern::cli::cmd_run},
    {"serve", "OpenAI-compatible HTTP server with continuous batching and a web UI", quern::cli::cmd_serve},
    {"mcp", "Model Context Protocol server: search, memory and models for MCP clients", quern::cli::cmd_mcp},
    {"demo", "show what the shipped model can do, or train a tiny one", quern::cli::cmd_demo},
};
constexpr Verb kModels[] = {
    {"info", "describe a model: family, parameters, KV cache per token", quern::cli::cmd_info},
    {"pull", "find a model on this machine, or say where to put it", quern::cli::cmd_pull},
    {"quantize", "quantize the weights of a model to 8 or 4 bits", quern::cli::cmd_quantize},
    {"merge", "merge a LoRA adapter into a copy of its model", quern::cli::cmd_merge},
    {"new", "create a model folder with random weights", quern::cli::cmd_new},
    {"embed", "vectors or scores of texts by an encoder (BERT, MiniLM, DeBERTa, ModernBERT)", quern::cli::cmd_embed},
    {"tokenizer", "train a byte-level BPE tokenizer", quern::cli::cmd_tokenizer},
    {"tokenize", "convert text to token ids", quern::cli::cmd_tokenize},
    {"detokenize", "convert token ids to text", quern::cli::cmd_detokenize},
};
constexpr Verb kTrain[] = {
    {"data", "build and inspect token shards, generate synthetic problems", quern::cli::cmd_data},
    {"gym", "environments that pose problems and verify answers", quern::cli::cmd_gym},
    {"plan", "what size of model this machine can train by when", quern::cli::cmd_plan},
    {"train", "pretrain or fine-tune a model from a recipe", quern::cli::cmd_train},
    {"finetune", "train a LoRA adapter on chats or texts, in one command", quern::cli::cmd_finetune},
    {"rl", "reinforcement learning with verifiable rewards", quern::cli::cmd_rl},
    {"report", "write the HTML report of a training run", quern::cli::cmd_report},
    {"reshape", "convert or reshard a training checkpoint", quern::cli::cmd_reshape},
    {"export", "convert a training checkpoint to a model folder", quern::cli::cmd_export},
};
constexpr Verb kCorpus[] = {
    {"corpus", "clean a corpus: filter, deduplicate (MinHash), decontaminate, mix, tokenize", quern::cli::cmd_corpus},
};
constexpr Verb kSearch[] = {
    {"recall", "search documents by BM25 and personalized PageRank, build RAG prompts", quern::cli::cmd_recall},
    {"memory", "long-term conversation memory with temporal queries", quern::cli::cmd_memory},
};
constexpr Verb kMeasure[] = {
    {"eval", "accuracy on held-out synthetic problems, with or without test-time compute", quern::cli::cmd_eval},
    {"ppl", "perplexity of a text, alone or against a reference model", quern::cli::cmd_ppl},
    {"logits", "write the logits of a token sequence to a .npy file", quern::cli::cmd_logits},
    {"bench", "benchmark this machine, its kernels and models", quern::cli::cmd_bench},
    {"study", "ablation: train variants of a recipe on the same tokens and compare them", quern::cli::cmd_study},
    {"research", "small research studies: e-prop, OVQ memories, action-centric codes", quern::cli::cmd_learn,
     "learn"},
    {"paper", "list the claims of the papers, or measure them again", quern::cli::cmd_paper},
};
constexpr Verb kMachine[] = {
    {"doctor", "check this machine, whether a model fits and how fast it will be", quern::cli::cmd_doctor},
    {"sandbox", "run an untrusted command in Linux namespaces, with limits", quern::cli::cmd_sandbox},
    {"completion", "print a completion script for bash, zsh or fish", print_completion},
};
constexpr VerbGroup kGroups[] = {
    {"Run and serve models", kRun},       {"Model files and tokenizers", kModels}, {"Train models", kTrain},
    {"Build a corpus", kCorpus},          {"Search and memory", kSearch},          {"Measure and research", kMeasure},
    {"This machine and shell", kMachine},
};

std::vector<Verb> all_verbs() {
  std::vector<Verb> all;
  for (const VerbGroup& g : kGroups) all.insert(all.end(), g.verbs.begin(), g.verbs.end());
  return all;
}

void print_help() {
  fmt::print("quern — train, run and serve small language models on CPUs\n\nusage: quern [--threads N] VERB …\n");
  for (const VerbGroup& g : kGroups) {
    fmt::print("\n{}\n", g.heading);
    for (const Verb& v : g.verbs) fmt::print("  {:<12} {}\n", v.name, v.help);
  }
  fmt::print(
      "\n'quern VERB --help' lists the flags of a verb, 'quern --version' prints the version. --threads N sets the\n"
      "number of threads [all CPUs available]. QUERN_ISA=ref|avx2|avx512 selects a lower instruction set, and\n"
      "QUERN_BF16=fma|vdpbf16|amx the instructions that multiply bf16 values ['quern doctor' shows which].\n");
}

// quern completion: what every verb declares, as a script for a shell.
int print_completion(quern::cli::Words args) {
  quern::cli::Args a("completion", "print a completion script for bash, zsh or fish");
  std::string shell;
  a.positional("SHELL", shell)
      .note("SHELL is bash, zsh or fish. The first lines of the script say where to install it.");
  if (!a.parse(args)) return 0;
  const auto places = quern::cli::draw_cli_map([] {
    quern::cli::CliPlace top{
        .path = "",
        .flags = {{{"--threads"}, "number of threads", true}, {{"--version"}, "print the version", false}}};
    const std::vector<Verb> verbs = all_verbs();
    for (const Verb& v : verbs) top.verbs.push_back({v.name, v.help});
    quern::cli::mapped(top);
    const std::string help = "--help";
    for (const Verb& v : verbs) v.run({&help, 1});
  });
  fmt::print("{}", quern::cli::completion_script(shell, places));
  return 0;
}

void tell_of_plain_kernels() {
  if (quern::detected_isa() == quern::Isa::ref)
    fmt::print(stderr, "quern: this processor has no AVX2: plain kernels do the work, many times slower\n");
}

int dispatch(std::vector<std::string> words) {
  while (!words.empty() && words[0].starts_with("--threads")) {
    std::string n = words[0].starts_with("--threads=") ? words[0].substr(10) : words.size() > 1 ? words[1] : "";
    words.erase(words.begin(), words.begin() + (words[0] == "--threads" && words.size() > 1 ? 2 : 1));
    if (n.empty() || n.find_first_not_of("0123456789") != n.npos || n.size() > 4)
      throw quern::cli::UsageError(fmt::format("--threads '{}': expected a whole number from 1 to 9999", n));
    quern::set_thread_count(std::stoi(n));
  }
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_help();
    return words.empty() ? 2 : 0;
  }
  if (words[0] == "--version" || words[0] == "version") {
    const std::string commit = quern::version_commit();
    fmt::print("quern {}{}\n", quern::version(), commit.empty() ? "" : " (" + commit + ")");
    return 0;
  }
  tell_of_plain_kernels();
  std::vector<std::string> names;
  for (const Verb& v : all_verbs()) {
    if (words[0] == v.name || (*v.alias && words[0] == v.alias)) return v.run(quern::cli::Words(words).subspan(1));
    names.push_back(v.name);
  }
  throw quern::cli::UsageError(
      fmt::format("quern: unknown verb '{}'{} (see quern --help)", words[0], quern::did_you_mean(words[0], names)));
}

// A status of success is one only when all of the output arrived.
int run_verb(const std::vector<std::string>& words) {
  try {
    const int status = dispatch(words);
    quern::cli::finish_output();
    return status;
  } catch (const std::system_error& e) {  // of a print that found the disk full
    if (std::ferror(stdout) != 0) throw quern::cli::OutputError(e.code().value());
    throw;
  }
}

}  // namespace

#ifdef QUERN_WHEEL  // a function of the library, which a stub calls (python/native)
extern "C" int quern_main(int argc, char** argv);
int quern_main(int argc, char** argv) {
#else
int main(int argc, char** argv) {
#endif
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is a failed write, told by whoever writes
  try {
    return run_verb(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const quern::cli::OutputError& e) {
    if (!e.closed_pipe()) fmt::print(stderr, "quern: {}\n", e.what());
    return 1;
  } catch (const quern::cli::UsageError& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 2;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "quern: out of memory\n");
    return 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "quern: {}\n", e.what());
    return 1;
  }
}
