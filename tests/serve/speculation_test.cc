// Guessing ahead over HTTP: the field and the flag, the same answers, what is counted of it, and refusals.
#include "tests/serve/serving.h"

namespace quern {
namespace {

// A tiny random model repeats itself when it is greedy.
constexpr const char* kText =
    R"({"prompt": "again and again and again and again", "max_tokens": 60, "temperature": 0)";

TEST_F(Serving, GuessesAheadWhereItIsAskedTo) {
  start();
  const auto text = [](const Json& j) { return j.at("choices").as_array()[0].at("text").as_string(); };
  const Json plain = ok(post("/v1/completions", std::string(kText) + R"(, "ignore_eos": true})"));
  EXPECT_FALSE(plain.at("timings").find("draft_n"));
  EXPECT_EQ(http(port(), "GET", "/metrics").body.find("quern_accepted_tokens_total{"), std::string::npos);
  for (const char* how :
       {R"({"kind": "ngram", "max": 4})", R"({"kind": "ngram"})", R"({})", R"("ngram:4")", "true"}) {
    const Json j =
        ok(post("/v1/completions", std::string(kText) + R"(, "ignore_eos": true, "speculative": )" + how + "}"));
    EXPECT_EQ(text(j), text(plain)) << how;
    EXPECT_GT(j.at("timings").at("draft_n_accepted").as_int(), 0) << how;
    EXPECT_GE(j.at("timings").at("draft_n").as_int(), j.at("timings").at("draft_n_accepted").as_int()) << how;
  }
  const Json streamed = ok(post("/v1/chat/completions",
                                R"({"messages": [{"role": "user", "content": "a a a a"}], "max_tokens": 30,
                                    "temperature": 0, "speculative": {"kind": "none"}})"));
  EXPECT_FALSE(streamed.at("timings").find("draft_n"));
  const std::string m = http(port(), "GET", "/metrics").body;
  EXPECT_NE(m.find(R"(quern_drafted_tokens_total{model="tiny",position="1"} )"), m.npos) << m;
  EXPECT_NE(m.find(R"(quern_accepted_tokens_total{model="tiny",position="2"} )"), m.npos);
  EXPECT_EQ(m.find(R"(position="9")"), m.npos) << "eight at most";
  EXPECT_NE(m.find("quern_draft_steps_total"), m.npos);
}

TEST_F(Serving, CountsTheGuessesOfPlans) {
  start();
  ok(post("/v1/chat/completions", R"({"messages": [{"role": "user", "content": "again and again and again"}],
      "max_tokens": 60, "temperature": 0, "ignore_eos": true, "speculative": true, "x_think": "vote:2"})"));
  const std::string m = http(port(), "GET", "/metrics").body;
  EXPECT_NE(m.find(R"(quern_drafted_tokens_total{model="tiny",position="1"} )"), m.npos) << m;
}

TEST_F(Serving, SpeculationThatIsNoneIsRefused) {
  start();
  const auto with = [&](const char* how) {
    return post("/v1/completions", std::string(kText) + R"(, "speculative": )" + how + "}");
  };
  refused(with(R"({"kind": "draft"})"), 400, "no draft model");
  refused(with(R"({"kind": "eagle"})"), 400, "expected ngram, draft, both or none");
  refused(with(R"({"kind": "ngram", "max": 99})"), 400, "speculative.max");
  refused(with(R"({"kind": "ngram", "max": 2.5})"), 400, "speculative.max");
  refused(with(R"({"kind": 3})"), 400, "speculative.kind");
  refused(with(R"({"model": "small"})"), 400, "speculative.model");
  refused(with(R"("ngram:0")"), 400, "1 to 16");
  refused(with("7"), 400, "expected an object");
}

}  // namespace
}  // namespace quern
