// Settings are declared once, in visit(): every field says what it is, no name is taken twice in a command, the pages of
// `--help` print what visit() says, and the tables in docs/ are written from it.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstdlib>
#include <set>
#include <sstream>

#include "apps/quern/models/context.h"
#include "apps/quern/models/draft_flags.h"
#include "apps/quern/recall/memory_flags.h"
#include "apps/quern/run/serve_options.h"
#include "apps/quern/train/problem_flags.h"
#include "apps/quern/train/shard_flags.h"
#include "quern/base/mmap.h"
#include "quern/base/settings.h"
#include "quern/capi/load_settings.h"
#include "quern/corpus/stages/recipe.h"
#include "quern/ffn/dense/dense_ffn.h"
#include "quern/ffn/moe/moe_ffn.h"
#include "quern/infer/engine/request.h"
#include "quern/mixers/attention/attention_mixer.h"
#include "quern/mixers/cca/cca_mixer.h"
#include "quern/mixers/gated_delta/gated_delta_mixer.h"
#include "quern/mixers/linear_attention/linear_attention_mixer.h"
#include "quern/mixers/mamba1/mamba1_mixer.h"
#include "quern/mixers/mamba2/mamba2_mixer.h"
#include "quern/mixers/ovq/ovq_mixer.h"
#include "quern/mixers/vq_attention/vq_mixer.h"
#include "quern/models/bamba/granite_config.h"
#include "quern/models/falcon_h1/falcon_h1_config.h"
#include "quern/models/hybrid/hybrid_config.h"
#include "quern/models/llama/llama_config.h"
#include "quern/models/nemotron_h/nemotron_h_config.h"
#include "quern/models/zamba/zamba_config.h"
#include "quern/models/zamba2/zamba2_config.h"
#include "quern/models/zaya/zaya_config.h"
#include "quern/optim/adamw/adamw.h"
#include "quern/optim/balance/balance.h"
#include "quern/optim/muon/muon.h"
#include "quern/plan/machine.h"
#include "quern/serve/limits/client_key.h"
#include "quern/train/finetune/finetune_settings.h"
#include "quern/train/recipe/recipe.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

std::string on_one_line(const std::string& names) {  // "-n,--max-tokens" as help shows it
  std::string out;
  for (const char c : names) out += c == ',' ? ", " : std::string(1, c);
  return out;
}

void expect_help(const std::vector<SettingInfo>& list, const std::string& where) {
  std::set<std::string> names, flags;
  const auto once = [&](std::set<std::string>& all, const std::string& name) {
    EXPECT_TRUE(all.insert(name).second) << where << name << " is declared twice";
  };
  for (const SettingInfo& s : list) {
    EXPECT_GE(s.help.size(), 8u) << where << s.name << " has no help";
    once(names, s.name);
    if (s.setting.alias) once(names, s.setting.alias);
    std::istringstream flag_names(s.flag_names() +
                                  (s.setting.old_flags ? "," + std::string(s.setting.old_flags) : ""));
    for (std::string flag; std::getline(flag_names, flag, ',');) once(flags, flag);
    expect_help(s.fields, where + s.name + ".");
  }
}

// The structs whose tables are in docs/settings.md.
std::vector<std::pair<const char*, std::vector<SettingInfo>>> file_settings() {
  return {{"LlamaConfig", list_settings(models::LlamaConfig())},
          {"ZayaConfig", list_settings(models::ZayaConfig())},
          {"ZambaConfig", list_settings(models::ZambaConfig())},
          {"Zamba2Config", list_settings(models::Zamba2Config())},
          {"GraniteConfig", list_settings(models::GraniteConfig())},
          {"FalconH1Config", list_settings(models::FalconH1Config())},
          {"NemotronHConfig", list_settings(models::NemotronHConfig())},
          {"HybridConfig", list_settings(models::HybridConfig())},
          {"AttentionConfig", list_settings(mixers::AttentionConfig())},
          {"CcaConfig", list_settings(mixers::CcaConfig())},
          {"GatedDeltaConfig", list_settings(mixers::GatedDeltaConfig())},
          {"LinearAttentionConfig", list_settings(mixers::LinearAttentionConfig())},
          {"Mamba1Config", list_settings(mixers::Mamba1Config())},
          {"Mamba2Config", list_settings(mixers::Mamba2Config())},
          {"OvqConfig", list_settings(mixers::OvqConfig())},
          {"VqAttentionConfig", list_settings(mixers::VqAttentionConfig())},
          {"DenseConfig", list_settings(ffn::DenseConfig())},
          {"MoeConfig", list_settings(ffn::MoeConfig())},
          {"AdamWOptions", list_settings(optim::AdamWOptions())},
          {"MuonOptions", list_settings(optim::MuonOptions())},
          {"BalanceOptions", list_settings(optim::BalanceOptions())},
          {"OptimizerRule", list_settings(optim::OptimizerRule())}};
}

TEST(Settings, EveryFieldSaysWhatItIs) {
  for (const auto& [name, list] : file_settings()) expect_help(list, std::string(name) + ".");
  expect_help(list_settings(infer::GenerateOptions()), "GenerateOptions.");
  expect_help(list_settings(cli::ServeOptions()), "ServeOptions.");
  expect_help(list_settings(cli::WeightFlags()), "WeightFlags.");
  expect_help(list_settings(cli::DraftFlags()), "DraftFlags.");
  expect_help(list_settings(capi::LoadSettings()), "LoadSettings.");
  expect_help(list_settings(train::Recipe()), "Recipe.");
  expect_help(list_settings(plan::Machine()), "Machine.");
  expect_help(list_settings(corpus::CorpusRecipe()), "CorpusRecipe.");
}

TEST(Settings, InitialValuesAreInsideTheirRanges) {
  EXPECT_NO_THROW(check_settings(infer::GenerateOptions()));
  EXPECT_NO_THROW(check_settings(cli::ServeOptions()));
  EXPECT_NO_THROW(check_settings(train::Recipe()));
  EXPECT_NO_THROW(check_settings(corpus::DedupSettings()));
  EXPECT_NO_THROW(check_settings(corpus::ReadSettings()));
  EXPECT_NO_THROW(check_settings(corpus::WriteSettings()));
  EXPECT_NO_THROW(check_settings(corpus::MixSettings()));
}

// The line of a flag in --help, its runs of blanks as one.
std::string help_line(const std::string& page, const std::string& names) {
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  " + names + " ")) {
      const size_t gap = line.find("  ", 2), help = line.find_first_not_of(' ', gap);
      return line.substr(2, gap - 2) + " " + line.substr(help);
    }
  return "";
}

void expect_flags(const std::string& verb, const std::vector<SettingInfo>& list) {
  const std::string page = shell("quern " + verb + " --help").out;
  for (const SettingInfo& s : list) {
    if (s.flag_names().empty()) continue;
    const std::string value = s.value_name(), shown = s.type == SettingType::toggle ? "" : s.shown_default();
    EXPECT_EQ(help_line(page, on_one_line(s.flag_names())), on_one_line(s.flag_names()) +
                                                                (value.empty() ? "" : " " + value) + " " + s.help +
                                                                (shown.empty() ? "" : " [" + shown + "]"))
        << verb << ": " << s.name;
  }
}

TEST(Settings, HelpIsWhatTheDeclarationSays) {
  expect_flags("run", list_settings(infer::GenerateOptions()));
  expect_flags("serve", list_settings(cli::ServeOptions()));
  for (const char* verb : {"run", "serve"}) {
    expect_flags(verb, list_settings(cli::WeightFlags()));
    expect_flags(verb, list_settings(cli::DraftFlags()));
  }
  expect_flags("eval", list_settings(cli::ProblemFlags()));
  expect_flags("data build", list_settings(cli::ShardFlags()));
  expect_flags("corpus tokenize", list_settings(cli::ShardFlags()));
  for (const char* verb : {"memory ask", "memory plan", "memory export", "memory forget"})
    expect_flags(verb, list_settings(cli::MemoryFlags()));
  expect_flags("memory ask", list_settings(cli::QuestionFlags()));
  expect_flags("memory add", list_settings(cli::NewConversation()));
  for (const char* verb : {"corpus dedup", "corpus mix", "corpus repeats"})
    expect_flags(verb, list_settings(corpus::ReadSettings()));
  expect_flags("corpus dedup", list_settings(corpus::DedupSettings()));
  expect_flags("corpus dedup", list_settings(corpus::SourceSettings()));
  expect_flags("corpus parquet", list_settings(corpus::WriteSettings()));
  expect_flags("corpus mix", list_settings(corpus::MixSettings()));
  expect_flags("corpus tokenize", list_settings(corpus::TokenizeSettings()));
}

TEST(Settings, NoPageHasAFlagTwice) {
  for (const char* verb : {"run", "serve", "eval", "data attempts", "train", "ppl", "bench", "corpus dedup"}) {
    std::istringstream lines(shell(fmt::format("quern {} --help", verb)).out);
    std::set<std::string> seen;
    for (std::string line; std::getline(lines, line);) {
      const size_t flag = line.find("--");
      if (!line.starts_with("  -") || flag > 6) continue;
      const std::string name = line.substr(flag, line.find(' ', flag) - flag);
      EXPECT_TRUE(seen.insert(name).second) << verb << " has " << name << " twice";
    }
    EXPECT_GT(seen.size(), 5u) << verb;
  }
}

// <!-- settings: NAME --> … <!-- end of settings --> in a page of docs/; QUERN_REWRITE=1 writes the table again.
void expect_table(const std::string& page, const std::string& name, const std::string& table) {
  const std::string file = std::string(QUERN_SOURCE_DIR) + "/docs/" + page, end = "<!-- end of settings -->\n",
                    begin = fmt::format("<!-- settings: {} -->\n", name);
  std::string text = read_file(file);
  const size_t from = text.find(begin), to = text.find(end, from);
  ASSERT_TRUE(from != text.npos && to != text.npos) << page << ": " << begin;
  const std::string now = text.substr(from + begin.size(), to - from - begin.size());
  if (now != table && std::getenv("QUERN_REWRITE"))
    write_file(file, text.replace(from + begin.size(), now.size(), table));
  else
    EXPECT_EQ(now, table) << page << ": QUERN_REWRITE=1 writes the table again";
}

TEST(Settings, StandInTheDocuments) {
  expect_table("run.md", "GenerateOptions",
               flag_table(list_settings(infer::GenerateOptions()), FlagTable::flags_and_keys));
  expect_table("serve/operations.md", "ServeOptions", flag_table(list_settings(cli::ServeOptions())));
  expect_table("serve/limits.md", "ClientKey", key_table(list_settings(serve::ClientKey())));
  std::vector<SettingInfo> recipe = list_settings(train::Recipe());
  std::erase_if(recipe, [](const SettingInfo& s) { return s.name == "parallel"; });  // has a page of its own
  expect_table("training.md", "Recipe", key_table(recipe));
  expect_table("parallel.md", "ParallelConfig", key_table(list_settings(train::ParallelConfig()), "parallel."));
  expect_table("finetuning.md", "LoraSettings", flag_table(list_settings(models::LoraSettings())));
  expect_table("finetuning.md", "FinetuneSettings", flag_table(list_settings(train::FinetuneSettings())));
  expect_table("finetuning.md", "PreferenceConfig", flag_table(list_settings(train::PreferenceConfig())));
  expect_table("corpus/deduplication.md", "DedupSettings",
               flag_table(list_settings(corpus::DedupSettings()), FlagTable::flags_and_keys));
  std::vector<SettingInfo> common;
  for (const auto& list : {list_settings(corpus::SourceSettings()), list_settings(corpus::ReadSettings()),
                           list_settings(corpus::WriteSettings())})
    for (const SettingInfo& s : list)
      if (!s.flag_names().empty()) common.push_back(s);
  expect_table("corpus/README.md", "SourceSettings, ReadSettings, WriteSettings",
               flag_table(common, FlagTable::flags_and_keys));
  expect_table("corpus/README.md", "CorpusRecipe", key_table(list_settings(corpus::CorpusRecipe())));
  expect_table("planning.md", "Machine", key_table(list_settings(plan::Machine())));
  expect_table("settings.md", "WeightFlags", flag_table(list_settings(cli::WeightFlags())));
  expect_table("embed.md", "LoadSettings", key_table(list_settings(capi::LoadSettings())));
  expect_table("settings.md", "DraftFlags", flag_table(list_settings(cli::DraftFlags())));
  for (const auto& [name, list] : file_settings()) expect_table("settings.md", name, key_table(list));
}

}  // namespace
}  // namespace quern
