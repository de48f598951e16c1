// Completion as a shell would ask for it, and models by the names they have in the Hugging Face cache.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "quern/base/json.h"
#include "tests/cli/running_server.h"
#include "tests/cli/shell.h"
#include "tests/serve/raw_client.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

const std::string kModel = std::string(QUERN_SOURCE_DIR) + "/models/zaya-nano";

// What bash offers behind these words, the last of them unfinished.
std::set<std::string> offered(const std::string& script, const std::string& words, int last,
                              const std::string& in = ".") {
  const Ran r = shell("cd " + in + " && bash -c 'source " + script + "; COMP_WORDS=(" + words +
                      "); COMP_CWORD=" + std::to_string(last) + "; _quern; printf \"%s\\n\" \"${COMPREPLY[@]}\"'");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.err, "");
  std::istringstream lines(r.out);
  std::set<std::string> out;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) out.insert(line);
  return out;
}

TEST(Completion, OffersWhatTheVerbsTake) {
  ScratchFolder folder;
  const std::string script = folder / "quern.bash";
  ASSERT_EQ(shell("quern completion bash > " + script).code, 0);
  using Set = std::set<std::string>;
  EXPECT_EQ(offered(script, "quern ser", 1), (Set{"serve"}));
  EXPECT_EQ(offered(script, "quern run x --top-", 3), (Set{"--top-k", "--top-p", "--top-n-sigma"}));
  EXPECT_TRUE(offered(script, "quern recall index --", 3).contains("--db"));
  EXPECT_FALSE(offered(script, "quern run --", 2).contains("--db")) << "flags are those of the verb";
  EXPECT_TRUE(offered(script, "quern research eprop --", 3).contains("--help")) << "verbs below verbs";
  EXPECT_EQ(offered(script, "quern --thr", 1), (Set{"--threads"}));
  std::ofstream(folder / "file.txt") << "x";
  EXPECT_EQ(offered(script, "quern run fil", 2, folder / "."), (Set{"file.txt"}));
  // Every verb of the help is offered, and has a place with its flags.
  const std::set<std::string> verbs = offered(script, "quern \"\"", 1);
  std::istringstream help(shell("quern --help").out);
  int seen = 0;
  for (std::string line; std::getline(help, line);) {
    if (!line.starts_with("  ") || line.size() < 4 || line[2] == ' ') continue;
    const std::string verb = line.substr(2, line.find(' ', 2) - 2);
    ++seen;
    EXPECT_TRUE(verbs.contains(verb)) << verb;
    EXPECT_TRUE(offered(script, "quern " + verb + " --he", 2).contains("--help")) << verb;
  }
  EXPECT_GT(seen, 20);
  EXPECT_EQ(verbs.size(), static_cast<size_t>(seen));
}

TEST(Completion, OfOtherShellsHoldsTheSame) {
  const std::string zsh = shell("quern completion zsh").out, fish = shell("quern completion fish").out;
  EXPECT_TRUE(zsh.starts_with("#compdef quern\n"));
  EXPECT_NE(zsh.find("'--top-n-sigma:keep tokens"), zsh.npos);
  EXPECT_NE(zsh.find("    'recall index')\n"), zsh.npos);
  EXPECT_NE(fish.find("complete -c quern -f -n '__quern_at \\'\\'' -a 'serve' -d 'OpenAI-compatible"), fish.npos)
      << fish.substr(0, 3000);
  EXPECT_NE(fish.find("complete -c quern -n '__quern_at \\'run\\'' -s p -l prompt -r -d "), fish.npos);
  EXPECT_NE(fish.find("-n '__quern_at \\'run\\'' -l json -d "), fish.npos) << "a switch takes no value";
  for (const auto& [name, text] : {std::pair{"zsh", zsh}, std::pair{"fish", fish}})
    if (shell(std::string("command -v ") + name).code == 0) {
      ScratchFolder folder;
      std::ofstream(folder / "script") << text;
      EXPECT_EQ(shell(std::string(name) + " -n " + (folder / "script")).err, "");
    }
  const Ran r = shell("quern completion tcsh");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("bash, zsh or fish"), r.err.npos);
  EXPECT_EQ(shell("quern completion").code, 2);
}

// A cache as the hub's own tools leave it: snapshots of links to blobs.
class HubCache : public testing::Test {
 protected:
  HubCache() {
    fs::create_directories(repository_ + "/blobs"), fs::create_directories(repository_ + "/refs");
    fs::create_directories(repository_ + "/snapshots/0123abc");
    std::ofstream(repository_ + "/refs/main") << "0123abc";
    for (const auto& f : fs::directory_iterator(kModel))
      fs::create_symlink(f.path(), repository_ + "/snapshots/0123abc/" + f.path().filename().string());
  }
  ScratchFolder folder_;
  std::string repository_ = folder_ / "home/hub/models--small--zaya.nano-1";
  std::string with_ = "unset HF_HUB_CACHE; HF_HOME=" + (folder_ / "home") + " ";
  const std::string prompt_ = " -p 'What is 3 + 4?' -n 8 --temp 0";
};

TEST_F(HubCache, ModelsAreFoundByTheirNames) {
  const Ran plain = shell("quern run " + kModel + prompt_);
  ASSERT_EQ(plain.code, 0) << plain.err;
  for (const char* name : {"small/zaya.nano-1", "small/zaya.nano-1@main", "small/zaya.nano-1@0123abc"}) {
    const Ran r = shell(with_ + "quern run " + name + prompt_);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.out, plain.out);
  }
  EXPECT_EQ(
      shell("HF_HOME=/nowhere HF_HUB_CACHE=" + (folder_ / "home/hub") + " quern run small/zaya.nano-1" + prompt_).out,
      plain.out);
  RunningServer server(folder_, "small/zaya.nano-1", "export HF_HUB_CACHE=" + (folder_ / "home/hub") + ";");
  ASSERT_GT(server.port(), 0) << server.log();
  const Json list = Json::parse(http(server.port(), "GET", "/v1/models").body);
  EXPECT_EQ(list.at("data").as_array()[0].at("id").as_string(), "small/zaya.nano-1");
  EXPECT_EQ(http(server.port(), "GET", "/v1/models/small/zaya.nano-1").status, 200);
}

TEST_F(HubCache, PullFindsWhatIsThereAndSaysWhereToPutTheRest) {
  Ran r = shell(with_ + "quern pull small/zaya.nano-1");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, repository_ + "/snapshots/0123abc\n");
  r = shell(with_ + "quern pull --json");
  const Json listed = Json::parse(r.out);
  const auto& list = listed.at("models").as_array();
  ASSERT_EQ(list.size(), 2u) << r.out;
  EXPECT_EQ(list[0].at("name"), Json("zaya-nano"));
  EXPECT_EQ(list[1].at("name"), Json("small/zaya.nano-1"));
  EXPECT_EQ(list[1].at("bytes"), list[0].at("bytes"));
  r = shell(with_ + "quern pull other/model");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("hf download other/model --local-dir model"), r.err.npos) << r.err;
  EXPECT_NE(r.err.find(folder_ / "home/hub"), r.err.npos) << r.err;
  EXPECT_EQ(shell(with_ + "quern pull 'no such'").code, 2);
  EXPECT_EQ(shell(with_ + "quern pull small/zaya.nano-1@v9").code, 1);
}

TEST(FirstMinutes, RunWithoutAFolderAsksTheShippedModel) {
  const std::string prompt = " -p 'What is 3 + 4?' -n 8 --temp 0";
  const Ran named = shell("quern run " + kModel + prompt);
  ASSERT_EQ(named.code, 0) << named.err;
  EXPECT_EQ(shell("quern run" + prompt).out, named.out);
  const Ran chat = shell("printf 'What is 3 + 4?\n' | quern run --temp 0");
  EXPECT_EQ(chat.code, 0) << chat.err;
  EXPECT_NE(chat.out.find('7'), chat.out.npos) << chat.out;
  EXPECT_EQ(chat.err.find("reading the prompt"), chat.err.npos) << "progress is for terminals";
}

TEST(FirstMinutes, APromptIsAQuestionToAModelWithAChatTemplate) {
  const std::string ask = "quern run " + kModel + " --temp 0 -p 'What is 12 + 15?'";
  const Ran answer = shell(ask);
  ASSERT_EQ(answer.code, 0) << answer.err;
  const Ran chat = shell("echo 'What is 12 + 15?' | quern run " + kModel + " --temp 0");
  EXPECT_EQ(answer.out, chat.out);
  EXPECT_NE(answer.out.find("27"), answer.out.npos) << answer.out;
  const Json asked = Json::parse(shell(ask + " --json").out), plain = Json::parse(shell(ask + " --json --plain").out);
  EXPECT_GT(asked.at("prompt_tokens").as_int(), plain.at("prompt_tokens").as_int());
  const Json system = Json::parse(shell(ask + " --json --system 'Be brief.'").out);
  EXPECT_GT(system.at("prompt_tokens").as_int(), asked.at("prompt_tokens").as_int());
  EXPECT_EQ(shell(ask + " --plain --system x").code, 2);
  EXPECT_EQ(shell(ask + " --plain --think vote:2").code, 2);
  EXPECT_EQ(shell("quern run " + kModel + " --plain").code, 2);

  const ScratchFolder folder;
  const std::string bare = folder / "bare";
  ASSERT_EQ(shell("quern new --family llama --size tiny " + bare).code, 0);
  std::filesystem::remove(bare + "/chat_template.jinja");
  const std::string text = "quern run " + bare + " -p Once -n 8 --temp 0 ";
  EXPECT_EQ(shell(text).out, shell(text + "--plain").out) << "a model without a chat template continues the text";
  const Ran none = shell(text + "--system x");
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("has no chat template"), none.err.npos) << none.err;
}

TEST_F(HubCache, WhatIsNotThereIsSaidWithThePlace) {
  auto complaint = [&](const std::string& name) {
    const Ran r = shell(with_ + "quern run " + name + prompt_);
    EXPECT_EQ(r.code, 1) << r.out;
    return r.err;
  };
  std::string e = complaint("small/none");
  EXPECT_NE(e.find(folder_ / "home/hub/models--small--none"), e.npos) << e;
  EXPECT_NE(e.find("nothing is downloaded"), e.npos) << e;
  e = complaint("small/zaya.nano-1@v2");
  EXPECT_NE(e.find("snapshots/v2"), e.npos) << e;
  EXPECT_NE(e.find("main, 0123abc"), e.npos) << e;
  fs::remove(repository_ + "/snapshots/0123abc/config.json");
  e = complaint("small/zaya.nano-1");
  EXPECT_NE(e.find("the download is incomplete"), e.npos) << e;
  // Not every path with a slash is such a name.
  e = complaint("./small/none");
  EXPECT_EQ(e.find("Hugging Face"), e.npos) << e;
}

TEST(Doctor, SaysWhetherAModelFitsAndWhatToDo) {
  const Ran r = shell("quern doctor --quick --json " + kModel);
  ASSERT_EQ(r.code, 0) << r.err;
  const Json j = Json::parse(r.out);
  int64_t bytes = 0;
  for (const auto& f : fs::directory_iterator(kModel))
    if (f.path().extension() == ".safetensors") bytes += static_cast<int64_t>(f.file_size());
  EXPECT_EQ(j.at("model").at("weights_mib").as_int(), (bytes + (1 << 20) - 1) >> 20);
  const auto& formats = j.at("model").at("formats").as_array();
  ASSERT_EQ(formats.size(), 3u);
  EXPECT_EQ(formats[0].at("format"), Json("bf16"));  // as the file has them
  EXPECT_NEAR(formats[0].at("weight_bytes").as_double(), static_cast<double>(bytes),
              0.05 * static_cast<double>(bytes));
  EXPECT_EQ(formats[0].at("decode_tokens_per_s").as_double(), 0);
  const double free = j.at("memory_free_mib").as_double();
  EXPECT_EQ(j.at("model").at("fits"), Json(free > 300)) << free;
  EXPECT_EQ(j.find("read_gbs"), nullptr) << "--quick measures nothing";
  ScratchFolder folder;  // experts larger than any memory
  fs::copy(kModel + "/model.safetensors", folder / "model.safetensors");
  ASSERT_EQ(
      shell(fmt::format(
                "sed -E 's/(\"moe_intermediate_size\"|\"num_experts\"): *[0-9]+/\\1: 20000/' {}/config.json > {}",
                kModel, folder / "config.json"))
          .code,
      0);
  const Ran large = shell("quern doctor --quick " + (folder / "."));
  EXPECT_NE(large.out.find("no format of this one fits"), large.out.npos) << large.out;
  ASSERT_EQ(shell("truncate -s 100 " + (folder / "model.safetensors")).code, 0);
  const Ran damaged = shell("quern doctor --quick " + (folder / "."));
  EXPECT_NE(damaged.out.find("do: repair the model's files"), damaged.out.npos) << damaged.out;
  EXPECT_EQ(damaged.code, 1) << "a script is to know";
  EXPECT_EQ(shell("quern doctor --quick /no/such/model").code, 1);
  EXPECT_NE(shell("QUERN_ISA=ref quern doctor --quick").out.find("do: unset QUERN_ISA"), std::string::npos);
}

}  // namespace
}  // namespace quern
