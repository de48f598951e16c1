// quern research from outside: figures as JSON, and mistakes named.
#include <gtest/gtest.h>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

TEST(CliLearn, EpropStudies) {
  Ran r = shell("quern research eprop cosine --diagonal --units 6 --delay 4 --delay 9 --batch 8 --seeds 2 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  for (const char* delay : {"4", "9"})
    EXPECT_NEAR(Json::parse(r.out).at("delays").at(delay).at("full").as_array().at(0).as_double(), 1, 1e-12);
  r = shell("quern research eprop train --units 6 --delay 2 --steps 3 --seeds 2 --rule full --json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("delays").at("2").at("full").at("accuracy").as_array().size(), 2u);
  r = shell("quern research eprop cosine --spiking --task evidence --units 8 --delay 4 --batch 16 --seeds 2 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const Json spiking = Json::parse(r.out).at("delays").at("4");
  EXPECT_GT(spiking.at("full").as_array().at(1).as_double(), 0.3);
  EXPECT_LT(spiking.at("full").as_array().at(1).as_double(), 0.999999);
  EXPECT_EQ(shell("quern research eprop cosine --spiking --adaptive 2").code, 1);
  r = shell("quern research eprop cost --units 8 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("rows").as_array().at(0).at("trace_bytes").as_int(), 9152);
}

TEST(CliLearn, OvqStudies) {
  Ran r = shell(
      "quern research ovq mqar --steps 2 --train 4 --test 4 --test 8 --dictionary 8 --test-dictionary 16 --sequences "
      "2 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const Json j = Json::parse(r.out);
  for (const char* rows : {"8", "16"}) EXPECT_EQ(j.at("accuracy").at(rows).as_object().size(), 2u);
  r = shell("quern research ovq copy --steps 1 --train 4 --test 4 --memory delta --sequences 2 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  r = shell("quern research ovq mqar --steps 1 --memory vq --dictionary 8 --test-dictionary 16 --sequences 1");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE((r.out + r.err).find("only an OVQ memory"), std::string::npos);
  r = shell("quern research ovq mqar --memory rnn");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE((r.out + r.err).find("memory 'rnn', expected softmax"), std::string::npos);
  r = shell("quern research ovq store --items 64 --seeds 1 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("softmax").as_double(), 1);
  r = shell("quern research ovq store --items 100");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE((r.out + r.err).find("multiple of the chunk"), std::string::npos);
  r = shell(
      "quern research ovq order-said --steps 1 --blocks 2 --train 4 --test 8 --memory linear --set unit=false "
      "--sequences 2 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("accuracy").at("64").as_object().size(), 1u);
  r = shell("quern research ovq order --steps 1 --test 6");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE((r.out + r.err).find("multiple of 4"), std::string::npos);
  r = shell("quern research ovq mqar --set colour=3 --steps 1");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE((r.out + r.err).find("colour"), std::string::npos);
  r = shell("quern research ovq mqar --set taps");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE((r.out + r.err).find("expected FIELD=JSON"), std::string::npos);
  r = shell(
      "quern research ovq regress --steps 1 --train 1 --test 1 --test 2 --dictionary 8 --test-dictionary 16 "
      "--sequences 2 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const Json errors = Json::parse(r.out).at("error");
  for (const char* of : {"8", "16", "ridge"}) EXPECT_GT(errors.at(of).at("second_half").at("2").as_double(), 0) << of;
  EXPECT_LT(errors.at("ridge").at("second_half").at("1").as_double(), 0.1);
  r = shell("quern research ovq needles --keys 256 --seeds 1 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_GT(Json::parse(r.out).at("ovq").as_double(), Json::parse(r.out).at("ovq-random-rows").as_double());
  r = shell("quern research ovq needles --keys 100");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE((r.out + r.err).find("multiple of the chunk"), std::string::npos);
  r = shell("quern research ovq mqar --test-dictionary 0");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE((r.out + r.err).find("--test-dictionary '0'"), std::string::npos);
}

TEST(CliLearn, ActionCentric) {
  Ran r = shell("quern research action-centric rate --json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NEAR(Json::parse(r.out).at("distortion").at("0.25").at("states_bits").as_double(), 0.7925, 1e-4);
  EXPECT_NEAR(Json::parse(r.out).at("ten_answers").at("0.85").as_double(), 2.2366, 1e-4);
  EXPECT_EQ(shell("quern research action-centric arc").code, 2);
  EXPECT_EQ(shell("quern research action-centric curve --beta x").code, 2);
  // Bright and dark pictures, by turns.
  ScratchFolder d;
  const std::string file = d / "digits.csv";
  ASSERT_EQ(
      shell("for i in $(seq 900); do for v in 1 15; do for p in $(seq 64); do printf \"$v,\"; done; echo $((v / 8)); "
            "done; done > " +
            file)
          .code,
      0);
  r = shell("quern research action-centric curve --file " + file + " --loss action --beta 0.01 --epochs 2 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const Json j = Json::parse(r.out);
  EXPECT_EQ(j.at("query_accuracy").as_double(), 1);
  EXPECT_GT(j.at("action").at("0.01").at("accuracy").as_double(), 0.9);
  // The page of it, and the other studies.
  r = shell("quern research action-centric curve --file " + file +
            " --loss action --loss bottleneck --beta 0.01 --epochs 1" + " --json --report " + (d / "codes.html"));
  ASSERT_EQ(r.code, 0) << r.err;
  const std::string page = read_file(d / "codes.html");
  for (const char* part : {"<!doctype html>", "Codes of digits", "action, β 0.01", "bottleneck, β 0.01", "</html>"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  r = shell("quern research action-centric invariance --file " + file +
            " --loss action --beta 0.01 --epochs 4 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const Json told = Json::parse(r.out).at("action").at("0.01");
  EXPECT_LT(told.at("brightness_r2").as_double(), 0.5);
  EXPECT_GT(told.at("label_probe").as_double(), 0.9);
  r = shell("quern research action-centric transfer --file " + file + " --beta 0.01 --epochs 1 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const Json both = Json::parse(r.out).at("both").at("0.01");
  EXPECT_GT(both.at("half").as_double(), 0.9);
  EXPECT_GT(both.at("label").as_double(), 0.9);
  r = shell("quern research action-centric curve --file /nowhere/digits.csv");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("python3-sklearn"), std::string::npos);
}

TEST(CliLearn, Mistakes) {
  Ran r = shell("quern research eprop sine");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE((r.out + r.err).find("'sine'"), std::string::npos);
  r = shell("quern research eprop train --rule half");
  EXPECT_NE(r.code, 0);
  EXPECT_NE((r.out + r.err).find("rule 'half'"), std::string::npos);
}

}  // namespace
}  // namespace quern
