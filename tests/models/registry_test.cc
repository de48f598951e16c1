// What registers itself is there, is made from JSON, and refuses keys and names it does not know.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/ffn/ffn.h"
#include "quern/nn/check_module.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

// The plug-ins of a kind: its folders but for those that quern/rooms.txt lists as rooms of their own.
std::vector<std::string> folders(const std::string& kind) {
  const std::filesystem::path quern = std::filesystem::path(QUERN_SOURCE_DIR) / "quern";
  const std::string rooms = "\n" + read_file(quern / "rooms.txt");
  std::vector<std::string> names;
  for (const auto& e : std::filesystem::directory_iterator(quern / kind)) {
    const std::string name = e.path().filename();
    if (std::filesystem::exists(e.path() / "CMakeLists.txt") &&
        rooms.find("\n" + kind + "/" + name + " ") == rooms.npos)
      names.push_back(name);
  }
  return names;
}

TEST(Registry, EveryFolderIsThere) {
  const nn::Registry& r = nn::builtin_registry();
  std::vector<std::string> mixers = folders("mixers"), ffns = folders("ffn");
  mixers.push_back("lag");  // tests/sample/mixers/lag, dropped in from outside
  std::sort(mixers.begin(), mixers.end());
  std::sort(ffns.begin(), ffns.end());
  EXPECT_EQ(r.mixers.names(), mixers);
  EXPECT_EQ(r.ffns.names(), ffns);
  std::vector<std::string> optimizers = folders("optim");
  std::sort(optimizers.begin(), optimizers.end());
  EXPECT_EQ(r.optimizers.names(), optimizers);
  std::vector<std::string> models = r.models.names();
  for (const std::string& family : folders("models"))
    EXPECT_NE(std::find(models.begin(), models.end(), family), models.end()) << family;
}

TEST(Registry, LayersAreMadeFromJson) {
  const nn::Registry& r = nn::builtin_registry();
  auto mixer = r.mixers.make(
      "cca", Json::parse(
                 R"({"width":8,"n_head":2,"n_head_kv":1,"head_dim":4,"rotary_dims":2,"temperature":"exponential"})"));
  nn::initialize(*mixer, 1);
  grad::Tape t(grad::Tape::inference);
  EXPECT_EQ(mixer->forward(t, grad::Var(grad::random_normal({3, 8}, 1, DType::f32)), mixers::Batch::single(3), 0)
                .value.shape(),
            (Shape{3, 8}));
  auto ffn = r.ffns.make(
      "moe",
      Json::parse(R"({"width":8,"hidden":4,"n_experts":3,"router":"zaya","router_width":5,"depth_average":false})"));
  nn::initialize(*ffn, 1);
  ffn::DepthCarry carry;
  EXPECT_EQ(ffn->forward(t, grad::Var(grad::random_normal({3, 8}, 1, DType::f32)), carry).value.shape(),
            (Shape{3, 8}));
}

TEST(Registry, MistakesAreNamed) {
  const nn::Registry& r = nn::builtin_registry();
  EXPECT_NE(message_of([&] { r.mixers.make("atention", Json::object()); }).find("did you mean 'attention'"),
            std::string::npos);
  EXPECT_NE(
      message_of([&] { r.mixers.make("attention", Json::parse(R"({"widht":8})")); }).find("did you mean 'width'"),
      std::string::npos);
  EXPECT_NE(
      message_of([&] { r.ffns.make("moe", Json::parse(R"({"router":"magic"})")); }).find("expected linear or zaya"),
      std::string::npos);
}

}  // namespace
}  // namespace quern
