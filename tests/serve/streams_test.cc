// Who is woken for what: workers that wait for answers, events that go out together, lines that end.
#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <vector>

#include "quern/serve/chat/request_streams.h"
#include "quern/serve/wire/wire.h"
#include "tests/serve/serving.h"

namespace quern {
namespace {

// Keeps what is written, and hangs up when it is told to.
class KeptExchange final : public serve::Exchange {
 public:
  const serve::HttpRequest& request() const override { return request_; }
  void below(std::string_view) override {}
  bool gone() const override { return gone_; }
  void when_gone(std::function<void()> then) override { then_ = std::move(then); }
  void header(std::string, std::string) override {}
  void answer(int, std::string_view, std::string_view) override {}
  void begin(int, std::string_view) override {}
  bool write(std::string_view data) override {
    if (!data.empty()) writes.emplace_back(data);
    return true;
  }
  void end() override { ended = true; }
  int status() const override { return 200; }
  void hang_up() {
    gone_ = true;
    if (then_) then_();
  }

  std::vector<std::string> writes;
  bool ended = false;

 private:
  serve::HttpRequest request_;
  std::function<void()> then_;
  std::atomic<bool> gone_ = false;
};

class Answers : public Serving {
 protected:
  // How often a worker that waits for 400 tokens is woken before it has them all, and how long it takes.
  struct Heard {
    int wakes = 0;
    size_t tokens = 0, pieces = 0;
    std::string text = {};
    double seconds = 0;
  };
  Heard hear(bool streams, bool each_token) {
    const auto notifier = std::make_shared<serve::Notifier>();
    const auto begun = std::chrono::steady_clock::now();
    infer::Request r{.prompt = {5, 6, 7}};
    r.options.max_tokens = 400;
    const auto answer =
        model_->host->submit(std::move(r), {.streams = streams, .each_token = each_token, .notifier = notifier});
    Heard h;
    for (serve::TextDelta piece; h.wakes < 1000;) {
      const serve::GenerationStream::Next next = answer->next(piece);
      if (next == serve::GenerationStream::Next::done) break;
      if (next == serve::GenerationStream::Next::piece)
        h.tokens += piece.token >= 0, ++h.pieces, h.text += piece.text;
      if (next == serve::GenerationStream::Next::nothing) notifier->wait(20), ++h.wakes;
    }
    h.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    EXPECT_EQ(answer->result().finish, "length");
    EXPECT_EQ(answer->result().tokens.size(), 400u);
    EXPECT_EQ(h.text, answer->result().text);
    return h;
  }
};

TEST_F(Answers, WakeAWorkerOnceWhenWhole) {
  start();
  for (const bool each_token : {false, true}) {
    const Heard h = hear(false, each_token);
    EXPECT_LE(h.wakes, 1);
    if (each_token) {
      EXPECT_EQ(h.tokens, 400u);
    } else {
      // One more where generation began before the first look.
      EXPECT_LE(h.pieces, static_cast<size_t>(h.wakes) + 1) << "what waits together comes together";
    }
  }
}

TEST_F(Answers, WakeAStreamNoOftenerThanItIsRead) {
  start();
  const Heard h = hear(true, true);
  EXPECT_EQ(h.tokens, 400u);
  EXPECT_GE(h.wakes, 2) << "the first token does not wait for the last";
  // 20 ms less a step, and no step is longer than what it leaves: 10 ms at least.
  EXPECT_LE(h.wakes, 3 + static_cast<int>(h.seconds / 0.010));
}

TEST_F(Answers, AreFollowedTogether) {
  start();
  KeptExchange e;
  serve::RequestStreams answers(*model_->host, e);
  for (int64_t i = 0; i < 5; ++i) {
    infer::Request r{.prompt = {5, 6, static_cast<int32_t>(7 + i)}};
    r.options.max_tokens = 20 + i;
    answers.add(std::move(r), {.each_token = true});
  }
  std::vector<int64_t> tokens(5), done(5);
  EXPECT_TRUE(
      answers.follow(nullptr, {.piece = [&](size_t i, const serve::TextDelta& p) { tokens[i] += p.token >= 0; },
                               .done = [&](size_t i) { ++done[i]; }}));
  EXPECT_EQ(tokens, (std::vector<int64_t>{20, 21, 22, 23, 24}));
  EXPECT_EQ(done, (std::vector<int64_t>(5, 1)));
}

// The worker waits for the end of a long answer and for nothing else: it must be the line that wakes it.
TEST_F(Answers, EndWhenTheLineDoes) {
  start();
  KeptExchange e;
  serve::RequestStreams answers(*model_->host, e);
  infer::Request r{.prompt = {5, 6, 7}};
  r.options.max_tokens = 150'000;
  const auto answer = answers.add(std::move(r), {.streams = false});
  std::future<bool> whole = std::async(std::launch::async, [&] { return answers.follow(nullptr, {}); });
  eventually("it runs", [&] { return model_->host->counts().new_tokens + model_->host->counts().running > 0; });
  const auto begun = std::chrono::steady_clock::now();
  e.hang_up();
  EXPECT_FALSE(whole.get());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5)) << "the wait itself is ten";
  eventually("its steps end", [&] { return model_->host->counts().running == 0; });
}

// Nothing comes for many times as long as a line may be silent: a stream says that it lives, and nobody spins.
TEST_F(Answers, WaitWithoutWorkWhileNothingComes) {
  start();
  for (const bool streams : {false, true}) {
    KeptExchange e;
    std::optional<serve::EventStream> stream;
    if (streams) stream.emplace(e);
    serve::RequestStreams answers(*model_->host, e, std::chrono::milliseconds(20));
    std::promise<void> busy, go;
    std::jthread holds([&] {
      model_->host->between_steps(
          [&](models::Model&, infer::PrefixCache&) { busy.set_value(), go.get_future().wait(); });
    });
    busy.get_future().wait();
    infer::Request r{.prompt = {5, 6, 7}};
    r.options.max_tokens = 1;
    answers.add(std::move(r), {.streams = streams});
    std::jthread later([&] { std::this_thread::sleep_for(std::chrono::milliseconds(300)), go.set_value(); });
    EXPECT_TRUE(answers.follow(stream ? &*stream : nullptr, {}));
    EXPECT_LE(answers.waits(), 40) << "twenty milliseconds each";
    EXPECT_EQ(std::ranges::count(e.writes, ": still working\n\n") >= 2, streams);
  }
}

TEST(EventStreams, GoOutTogetherWhereThatIsAskedFor) {
  KeptExchange e;
  serve::EventStream s(e);
  Json one = Json::object();
  one.set("n", 1);
  s.send(one);
  ASSERT_EQ(e.writes.size(), 1u) << "at once";
  {
    const serve::EventStream::Together together(s);
    s.send(one), s.send("named", one);
    EXPECT_EQ(e.writes.size(), 1u);
    s.flush();
    ASSERT_EQ(e.writes.size(), 2u);
    EXPECT_EQ(e.writes[1], "data: {\"n\":1}\n\nevent: named\ndata: {\"n\":1}\n\n");
    s.send(one);
  }
  EXPECT_EQ(e.writes.size(), 2u);
  s.done();
  EXPECT_TRUE(e.ended);
  EXPECT_EQ(e.writes.back(), "data: {\"n\":1}\n\ndata: [DONE]\n\n") << "nothing is left behind";
}

// Over a socket: what was asked to be done runs while the worker is busy, and at once where the line is gone already.
TEST(Lines, SayThatTheyEnd) {
  std::promise<void> first, second;
  serve::HttpServer server({.port = 0}, [&](serve::Exchange& e) {
    std::promise<void> gone;
    e.when_gone([&] { gone.set_value(); });
    gone.get_future().wait_for(std::chrono::seconds(20));
    e.when_gone({});
    if (e.gone()) first.set_value();
    e.when_gone([&] { second.set_value(); });
  });
  std::jthread runs([&] { server.run(); });
  RawClient c(server.port());
  c.send("GET / HTTP/1.1\r\n\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  c.hang_up();
  EXPECT_EQ(first.get_future().wait_for(std::chrono::seconds(15)), std::future_status::ready);
  EXPECT_EQ(second.get_future().wait_for(std::chrono::seconds(5)), std::future_status::ready);
  server.stop();
}

}  // namespace
}  // namespace quern
