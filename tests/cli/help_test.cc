// The help of every verb in the field's terms: what each line of it must look like, which words it must not use, and
// where a newcomer must find the words they search for. Old names of verbs and flags go on working and are shown nowhere.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "tests/cli/shell.h"

namespace quern {
namespace {

struct FlagLine {
  std::string names, value, help;  // "-n, --max-tokens", "N", "maximum number of tokens to generate [256]"
};
struct Page {
  std::string path, text;  // "corpus dedup"
  std::vector<FlagLine> flags;
};

// "  -n, --max-tokens N   maximum …"; nothing for a line that declares no flag.
std::optional<FlagLine> read_flag(const std::string& line) {
  if (!line.starts_with("  -")) return std::nullopt;
  const size_t gap = line.find("  ", 2), help = line.find_first_not_of(' ', gap);
  std::string left = line.substr(2, gap - 2), value;
  if (const size_t last = left.rfind(' '); last != left.npos && left[last + 1] != '-')
    value = left.substr(last + 1), left.resize(last);
  return FlagLine{left, value, help == line.npos ? "" : line.substr(help)};
}

// The verbs that a page leads to: those of `quern --help`, or of a menu.
std::vector<std::string> verbs_of(const std::string& text) {
  std::vector<std::string> verbs;
  if (text.find(" VERB …\n") == text.npos) return verbs;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  ") && line.size() > 2 && line[2] != ' ')
      verbs.push_back(line.substr(2, line.find(' ', 2) - 2));
  return verbs;
}

void read_pages(const std::string& path, std::vector<Page>& pages) {
  const Ran r = shell("quern " + path + " --help");
  EXPECT_EQ(r.code, 0) << path << r.err;
  Page p{path, r.out, {}};
  std::istringstream lines(r.out);
  for (std::string line; std::getline(lines, line);)
    if (auto f = read_flag(line)) p.flags.push_back(*f);
  pages.push_back(p);
  for (const std::string& verb : verbs_of(r.out)) read_pages(path.empty() ? verb : path + " " + verb, pages);
}

const std::vector<Page>& pages() {
  static const std::vector<Page> all = [] {
    std::vector<Page> p;
    read_pages("", p);
    return p;
  }();
  return all;
}

// Words of our own for what has a name in the field, and British spelling.
std::vector<std::string> foreign_words(const std::string& text) {
  static const std::vector<const char*> kWords = {
      "guess(es|ed|ing)?", "most tokens", "put away", "whoever", "nobody", "somebody", "by itself", "again and again",
      "given again", "no UTF-8", "roomy", "(near|exact) cop(y|ies)", "foretell", "surprise", "attention cache",
      "fixed part", "(in|at) work", "passed over", "(goes|go|gone) on", "carr(y|ies) out", "stood before",
      "(came|come) true", "likeness", "alike", "packed", "unpack(ed|s)?", "tells?", "told", "beside", "behind",
      "held to a form", "walks over", "mends?", "shortest", "(of|from) nothing", "things? said",
      "(tokens|bytes|bits|nats|rows|sequences|figures) an? [a-z]+",
      // British spelling
      "learnt", "spelt", "modell(ed|ing)", "labell(ed|ing)", "licences?", "centre", "catalogue",
      "[a-z]*(colour|favour|behaviour|neighbour)[a-z]*",
      "[a-z]*(quant|normal|initial|serial|optim|token|organ|recogn|summar|minim|maxim|sanit|vector)is"
      "(e|es|ed|er|ing|ation)[a-z]*"};
  static const std::regex words(fmt::format("\\b({})\\b", fmt::join(kWords, "|")), std::regex::icase);
  std::vector<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), words), end; i != end; ++i) found.push_back(i->str());
  return found;
}

// What is wrong with a flag's line; empty when it stands alone, shows its value and ends with its default.
std::vector<std::string> faults(const FlagLine& f) {
  static const std::set<std::string> texts = {"-p, --prompt", "--dry-sequence-breaker", "--stop", "--response-prefix",
                                              "--system"};
  std::vector<std::string> found = foreign_words(f.help);
  const auto expect = [&](bool good, const char* fault) {
    if (!good) found.emplace_back(fault);
  };
  expect(f.help.size() > 10, "too short");
  expect(!f.help.starts_with("of "), "begins with 'of'");
  expect(f.help.find("(default") == f.help.npos, "a default in parentheses");
  const size_t bracket = f.help.find(" [");
  expect(bracket == f.help.npos || (f.help.rfind(" [") == bracket && f.help.ends_with("]")),
         "the default is not one bracket at the end");
  expect(f.value != "TEXT" || texts.contains(f.names), "a value without a name");
  expect(std::ranges::none_of(f.value, [](unsigned char c) { return std::islower(c) != 0; }),
         "a value in lower case");
  expect(f.names.find("-mb") == f.names.npos, "MiB are called MB");
  return found;
}

TEST(Help, FaultsAreFound) {
  const auto flag = [](const std::string& line) {
    const auto f = read_flag(line);
    return f ? fmt::format("{}", fmt::join(faults(*f), "; ")) : "no flag";
  };
  EXPECT_EQ(flag("  -n, --max-tokens N  maximum number of tokens to generate [256]"), "");
  EXPECT_EQ(flag("  --speculate MODE    draft up to K tokens, ngram[:K] or none [none; K = 8]"), "");
  EXPECT_EQ(flag("  --json              print one JSON object"), "");
  EXPECT_EQ(flag("  --cache-mib N       of the prefix cache, a model [1024]"), "begins with 'of'");
  EXPECT_EQ(flag("  --kv TYPE           the attention cache as bf16 (default: bf16)"),
            "attention cache; a default in parentheses");
  EXPECT_EQ(flag("  --grammar TEXT      the output matches a grammar"), "a value without a name");
  EXPECT_EQ(flag("  --depth N           context [512], may be given again"),
            "given again; the default is not one bracket at the end");
  EXPECT_EQ(flag("  --shard-mb N        quantised colours, learnt"), "quantised; colours; learnt; MiB are called MB");
  EXPECT_EQ(flag("usage: quern run DIR"), "no flag");
}

TEST(Help, EveryLineIsInTheFieldsTerms) {
  size_t flags = 0;
  for (const Page& p : pages()) {
    EXPECT_EQ(fmt::format("{}", fmt::join(foreign_words(p.text), ", ")), "") << "quern " << p.path << " --help";
    for (const FlagLine& f : p.flags)
      EXPECT_EQ(fmt::format("{}", fmt::join(faults(f), "; ")), "")
          << "quern " << p.path << " " << f.names << ": " << f.help;
    flags += p.flags.size();
  }
  EXPECT_GT(pages().size(), 40u);
  EXPECT_GT(flags, 300u);
}

TEST(Help, UsageNamesThePage) {
  for (const Page& p : pages())
    if (!p.path.empty()) {
      EXPECT_TRUE(p.text.starts_with("quern " + p.path + " — ")) << p.text;
      EXPECT_NE(p.text.find("usage: quern " + p.path), std::string::npos) << p.text;
    }
}

TEST(Help, VerbsAreGrouped) {
  std::istringstream lines(pages().front().text);
  std::map<std::string, size_t> groups;
  std::string heading;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) heading.clear();
    if (line.starts_with("  ") && !heading.empty()) ++groups[heading];
    if (!line.empty() && line[0] != ' ') heading = line;
    EXPECT_LE(line.size(), 120u) << line;
  }
  EXPECT_GE(groups.size(), 6u);
  for (const char* group : {"Run and serve models", "Train models", "Build a corpus", "Search and memory"})
    EXPECT_TRUE(groups.contains(group)) << group;
}

TEST(Help, HasTheWordsPeopleSearchFor) {
  const auto page = [](const std::string& path) {
    const auto p = std::ranges::find(pages(), path, &Page::path);
    return p == pages().end() ? std::string() : p->text;
  };
  const std::pair<const char*, std::vector<const char*>> wanted[] = {
      {"run", {"KV cache", "speculative decoding", "constrained decoding", "nucleus sampling", "test-time compute"}},
      {"serve",
       {"KV cache", "continuous batching", "speculative decoding", "constrained decoding", "prefix cache", "LoRA",
        "OpenAI-compatible", "RAG"}},
      {"bench", {"KV cache", "speculative decoding", "tree-attention"}},
      {"quantize", {"GPTQ", "calibration"}},
      {"corpus", {"MinHash", "near-duplicate", "quality"}},
      {"corpus dedup", {"near-duplicate", "MinHash", "LSH", "Jaccard"}},
      {"corpus sketch", {"MinHash signature"}},
      {"data build", {"loss mask", "fine-tuning"}},
      {"train", {"fine-tun", "gradient accumulation", "fault-tolerant", "batch size"}},
      {"finetune", {"LoRA", "QLoRA", "PEFT", "early stopping", "Alpaca", "ShareGPT"}},
      {"merge", {"LoRA"}},
      {"recall", {"personalized PageRank", "BM25", "RAG"}},
      {"memory", {"conversation memory", "temporal"}},
      {"reshape", {"reshard"}},
      {"study", {"ablation"}}};
  for (const auto& [path, terms] : wanted) {
    if (page(path).find("this build leaves it out") != std::string::npos) continue;
    for (const char* term : terms)
      EXPECT_NE(page(path).find(term), std::string::npos) << "quern " << path << " --help says nothing of " << term;
  }
}

struct OldName {
  const char *verb, *old, *name, *value;
};
constexpr OldName kOldNames[] = {
    {"run", "--tokens", "--max-tokens", "5"},
    {"run", "--answer", "--response-prefix", "x"},
    {"run", "--session", "--chat-file", "x"},
    {"run", "--scheme", "--quant", "q8"},
    {"serve", "--sessions", "--max-seqs", "5"},
    {"serve", "--scheme", "--quant", "q8"},
    {"eval", "--sessions", "--max-seqs", "5"},
    {"eval", "--tokens", "--max-tokens", "5"},
    {"ppl", "--tokens", "--max-tokens", "5"},
    {"logits", "--tokens", "--ids", "1,2"},
    {"new", "--rows", "--padded-vocab", "640"},
    {"new", "--scheme", "--quant", "q8"},
    {"quantize", "--scheme", "--quant", "q8"},
    {"bench", "--scheme", "--quant", "q8"},
    {"bench", "--rows", "--micro-batch", "5"},
    {"bench", "--deepest", "--max-context", "2048"},
    {"data build", "--documents", "--split-by", "file"},
    {"data curriculum", "--sound", "--accuracy", "0.5"},
    {"data attempts", "--sessions", "--max-seqs", "5"},
    {"data attempts", "--tokens", "--max-tokens", "5"},
    {"data attempts", "--unanimous", "--keep-all-right", "0.5"},
    {"data attempts", "--hopeless", "--keep-all-wrong", "0.5"},
    {"data attempts", "--contested", "--minority-right", "x"},
    {"data attempts", "--contests", "--max-minority-right", "5"},
    {"corpus filter", "--shard-mb", "--shard-mib", "5"},
    {"corpus filter", "--checkpoint-mb", "--checkpoint-mib", "5"},
    {"corpus filter", "--max-row-mb", "--max-record-mib", "5"},
    {"corpus dedup", "--memory-mb", "--memory-mib", "5"},
    {"corpus repeats", "--memory-mb", "--memory-mib", "5"},
    {"corpus repeats", "--shortest", "--min-words", "5"},
    {"corpus decontaminate", "--shortest", "--min-words", "5"},
    {"corpus decontaminate", "--least", "--min-matches", "5"},
    {"corpus decontaminate", "--words", "--ngram", "5"},
    {"corpus mix", "--most-epochs", "--max-epochs", "5"},
    {"recall query", "--seed", "--restart", "bm25"},
    {"recall pack", "--seed", "--restart", "bm25"},
    {"memory ask", "--context", "--history", "x"},
};

// What follows a flag is read before --help is answered, so a page shows that everything before was understood.
TEST(Help, OldFlagNamesWorkAndAreShownNowhere) {
  const std::string completion = shell("quern completion bash").out;
  for (const auto& [verb, old, name, value] : kOldNames) {
    const std::string given = fmt::format("quern {} {} {}", verb, old, value);
    const Ran alone = shell(given + " --help");
    EXPECT_EQ(alone.code, 0) << given << alone.err;
    const std::regex shown(fmt::format("(^|[ ,]){}\\b(?!-)", old));
    EXPECT_FALSE(std::regex_search(alone.out, shown)) << given << "\n" << alone.out;
    EXPECT_NE(alone.out.find(std::string(name) + " "), std::string::npos) << given;
    for (const std::string& both : {fmt::format("{} {} {} --help", given, name, value),
                                    fmt::format("quern {0} {2} {3} {1} {3} --help", verb, old, name, value)}) {
      const Ran twice = shell(both);
      EXPECT_EQ(twice.code, 2) << both;
      EXPECT_NE(twice.err.find("given twice: give only " + std::string(name)), std::string::npos)
          << both << twice.err;
    }
    const size_t place = completion.find(fmt::format("    '{}') ", verb));
    ASSERT_NE(place, std::string::npos) << verb;
    const std::string offered = completion.substr(place, completion.find('\n', place) - place);
    EXPECT_FALSE(std::regex_search(offered, shown)) << offered;
    EXPECT_NE(offered.find(name), std::string::npos) << offered;
  }
  EXPECT_EQ(shell("quern run x --max-tokens 5 --max-tokens 6 --help").code, 0) << "of one name the last counts";
}

TEST(Help, OldVerbsWorkAndAreShownNowhere) {
  const Ran named = shell("quern research --help"), old = shell("quern learn --help");
  EXPECT_EQ(old.code, 0) << old.err;
  EXPECT_EQ(old.out, named.out);
  EXPECT_EQ(pages().front().text.find("  learn "), std::string::npos);
  EXPECT_NE(shell("quern lern").err.find("unknown verb 'lern'"), std::string::npos);
  const std::pair<const char*, const char*> benchmarks[] = {
      {"rows", "speculative"}, {"think", "test-time"}, {"tree --ranks 0", "tree-attention --ranks 0"}};
  for (const auto& [before, now] : benchmarks) {
    const Ran a = shell(fmt::format("quern bench {}", before)), b = shell(fmt::format("quern bench {}", now));
    EXPECT_NE(a.code, 0) << before;
    EXPECT_EQ(a.err, b.err) << before;
    EXPECT_EQ(a.err.find("unknown benchmark"), std::string::npos) << a.err;
  }
  EXPECT_EQ(shell("quern bench sideways").code, 2);
}

TEST(Help, MistakesSayWhatWasExpected) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"run x --max-tokens many", "--max-tokens: 'many' is not a whole number"},
      {"run x --temp hot", "--temp: 'hot' is not a number"},
      {"logits x --out y --ids 1,x", "--ids: 'x' is not a whole number"},
      {"run x -p y --dtype f32 --quant q8", "--dtype and --quant both set the weight format: give only one of them"},
      {"run x -p y --speculate ngram --shard-context", "a sharded KV cache cannot be rolled back"},
      {"bench draft --shape zaya-tiny", "--draft is missing: expected a model folder, q8 or q4"},
      {"info a b", "unexpected argument 'b'"},
      {"run x --threads 2", "--threads goes before the verb: quern --threads N run"},
      {"run x --temperature hot", "--temp: 'hot' is not a number"},
      {"corpus mix a=x --out y --share a=1 --shard-mib 0", "--shard-mib 0: expected 1 or more"}};
  for (const auto& [words, message] : mistakes) {
    const Ran r = shell(std::string("quern ") + words);
    EXPECT_EQ(r.code, 2) << words;
    EXPECT_NE(r.err.find(message), std::string::npos) << words << "\n" << r.err;
  }
}

}  // namespace
}  // namespace quern
