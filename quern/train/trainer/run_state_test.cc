// What a checkpoint keeps beside the tensors comes back as it was, and what is missing is named.
#include "quern/train/trainer/run_state.h"

#include <gtest/gtest.h>

#include "quern/base/test_message.h"

namespace quern::train {
namespace {

TEST(RunState, ComesBackAsItWasWritten) {
  LossSpikeDetector spikes({.window = 4});
  for (double loss : {3.0, 2.5, 2.75}) spikes.see(loss);
  RunState s;
  s.done = 40, s.tokens = 1234, s.phase = 1, s.consumed = 77, s.rollbacks = {{20, 2}, {35, 1}};
  const Json written = Json::parse(write_run_state(s, spikes, 4, Json::parse(R"({"layers": 2})")).dump());
  LossSpikeDetector again({.window = 4});
  const RunState back = read_run_state(written, 40, again, "step_40, state");
  EXPECT_EQ(back.done, 40);
  EXPECT_EQ(back.tokens, 1234);
  EXPECT_EQ(back.phase, 1u);
  EXPECT_EQ(back.consumed, 77);
  EXPECT_EQ(back.rollbacks, s.rollbacks);
  EXPECT_EQ(again.save(), spikes.save());
  EXPECT_EQ(again.line(), spikes.line());
  EXPECT_EQ(written.at("ranks").as_int(), 4);
  EXPECT_EQ(written.at("config").at("layers").as_int(), 2);
}

TEST(RunState, NamesWhatIsMissing) {
  LossSpikeDetector spikes({});
  for (const char* field : {"tokens", "phase", "consumed", "spikes", "rollbacks"}) {
    Json j = write_run_state({}, spikes, 1, Json::object());
    j.erase(field);
    const std::string said = message_of([&] { read_run_state(j, 0, spikes, "step_0, state"); });
    EXPECT_NE(said.find("step_0, state"), std::string::npos) << said;
    EXPECT_NE(said.find(field), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace quern::train
