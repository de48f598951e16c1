// quern: one binary, git-style verbs. Exit codes: 0 done, 1 failed, 2 wrong usage. Results on stdout, the rest on
// stderr.
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "quern/base/cpu.h"
#include "quern/base/nearest.h"
#include "quern/base/threads.h"
#include "quern/base/version.h"

namespace {

struct Verb {
  const char* name;
  const char* help;
  int (*run)(quern::Words);
};

int print_completion(quern::Words args);

constexpr Verb kVerbs[] = {
    {"run", "answer a prompt, or chat", quern::cmd_run},
    {"serve", "models behind an HTTP API that OpenAI's clients speak", quern::cmd_serve},
    {"info", "what a model folder holds", quern::cmd_info},
    {"new", "make a random model folder with every file it needs", quern::cmd_new},
    {"quantize", "pack a model's weights in 8 or 4 bits", quern::cmd_quantize},
    {"ppl", "perplexity of a text, alone or against a reference model", quern::cmd_ppl},
    {"eval", "a model on held-out problems, alone or with more thinking", quern::cmd_eval},
    {"logits", "write the logits of a token sequence to a .npy file", quern::cmd_logits},
    {"tokenize", "text to token ids", quern::cmd_tokenize},
    {"detokenize", "token ids to text", quern::cmd_detokenize},
    {"tokenizer", "train a tokenizer", quern::cmd_tokenizer},
    {"data", "build token shards, look into them, write the curriculum", quern::cmd_data},
    {"corpus", "filter and deduplicate documents", quern::cmd_corpus},
    {"train", "carry out a training recipe", quern::cmd_train},
    {"study", "train variants of a recipe on the same tokens and compare them", quern::cmd_study},
    {"memory", "conversations that know when things were said", quern::cmd_memory},
    {"report", "draw a training run as one HTML page", quern::cmd_report},
    {"learn", "other rules of learning, other memories, codes for a question: small studies", quern::cmd_learn},
    {"recall", "search long texts by words and by walks over what is alike", quern::cmd_recall},
    {"reshape", "rewrite a checkpoint for other ranks or another architecture", quern::cmd_reshape},
    {"export", "a training checkpoint as a model folder", quern::cmd_export},
    {"demo", "the small model that comes with Quern at work", quern::cmd_demo},
    {"bench", "measure this machine and the kernels on it", quern::cmd_bench},
    {"paper", "the papers' claims, and what we measured", quern::cmd_paper},
    {"doctor", "what this machine offers Quern, and what to do about it", quern::cmd_doctor},
    {"completion", "a script for bash, zsh or fish that completes verbs and flags", print_completion},
};

void print_help() {
  fmt::print("quern — small, sharp language models on the hardware you own\n\nusage: quern [--threads N] VERB …\n\n");
  for (const Verb& v : kVerbs) fmt::print("  {:<12} {}\n", v.name, v.help);
  fmt::print("\nquern VERB --help tells more. QUERN_ISA=ref|avx2|avx512 lowers the instruction set.\n");
}

// quern completion: what every verb answers to --help, as a script for a shell.
int print_completion(quern::Words args) {
  quern::Args a("completion", "a script that completes quern's verbs and flags");
  std::string shell;
  a.positional("SHELL", shell)
      .note("SHELL is bash, zsh or fish. The script goes to stdout; its first lines say where to keep it.");
  if (!a.parse(args)) return 0;
  const auto places = quern::draw_cli_map([] {
    quern::CliPlace top{
        .path = "",
        .flags = {{{"--threads"}, "how many threads work", true}, {{"--version"}, "which Quern this is", false}}};
    for (const Verb& v : kVerbs) top.verbs.push_back({v.name, v.help});
    quern::mapped(top);
    const std::string help = "--help";
    for (const Verb& v : kVerbs) v.run({&help, 1});
  });
  fmt::print("{}", quern::completion_script(shell, places));
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
      throw quern::UsageError(fmt::format("--threads '{}': expected a number of threads", n));
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
  for (const Verb& v : kVerbs) {
    if (words[0] == v.name) return v.run(quern::Words(words).subspan(1));
    names.push_back(v.name);
  }
  throw quern::UsageError(fmt::format("unknown verb '{}'{}", words[0], quern::did_you_mean(words[0], names)));
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is a failed write, told by whoever writes
  try {
    return dispatch(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const quern::UsageError& e) {
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
