// Embeddings, and models that are loaded on demand, put away and refused for want of room.
#include <atomic>
#include <cmath>
#include <cstring>
#include <future>
#include <thread>

#include "quern/serve/wire/api_error.h"
#include "quern/text/unicode/base64.h"
#include "tests/serve/with_keys.h"

namespace quern {
namespace {

// At the latest after twenty seconds.
infer::Generated result_of(serve::EngineHost& host, infer::Request r) {
  const auto notifier = std::make_shared<serve::Notifier>();
  const auto answer = host.submit(std::move(r), {.notifier = notifier});
  serve::TextDelta piece;
  for (int i = 0; i < 2000; ++i) {
    const serve::GenerationStream::Next next = answer->next(piece);
    if (next == serve::GenerationStream::Next::done) return answer->result();
    if (next == serve::GenerationStream::Next::nothing) notifier->wait(0.01);
  }
  throw Error("no answer came");
}

class Embeddings : public Serving {};
class Scores : public Serving {};

// Whole, in chunks, against a step a token.
TEST_F(Scores, OfAPromptAreThoseOfItsTokensGivenOneByOne) {
  start();
  std::vector<int32_t> ids;
  for (int i = 0; i < 700; ++i) ids.push_back((i * 37 + i / 5) % model_->tokenizer.vocab_size());
  auto run = [&](infer::Request r) { return result_of(*model_->host, std::move(r)); };
  infer::Request whole{.prompt = ids}, single{.prompt = {ids[0]}};
  whole.options.score_prompt = true, whole.options.max_tokens = 0, whole.options.top_logprobs = 2;
  single.options.forced.assign(ids.begin() + 1, ids.end());
  single.options.max_tokens = static_cast<int64_t>(ids.size()) - 1;
  const infer::Generated a = run(std::move(whole)), b = run(std::move(single));
  EXPECT_EQ(a.finish, "length");
  EXPECT_TRUE(a.tokens.empty());
  ASSERT_EQ(a.prompt_logprobs.size(), ids.size() - 1);
  ASSERT_EQ(b.logprobs.size(), ids.size() - 1);
  ASSERT_EQ(a.prompt_top.size(), ids.size() - 1);
  for (size_t i = 0; i < b.logprobs.size(); ++i) EXPECT_NEAR(a.prompt_logprobs[i], b.logprobs[i], 1e-4) << i;
}

std::vector<double> numbers(const Json& embedding) {
  std::vector<double> v;
  for (const Json& x : embedding.as_array()) v.push_back(x.as_double());
  return v;
}

TEST_F(Embeddings, AreMeansOfHiddenStates) {
  start();
  const char* path = "/v1/embeddings";
  std::string text;
  for (int i = 0; i < 90; ++i) text += "What is the answer? Answer: 4 ";
  const std::vector<int32_t> ids = model_->tokenizer.encode(text, {.parse_special = false});
  ASSERT_GT(ids.size(), 600u) << "more than a chunk";
  grad::Tape tape(grad::Tape::inference);
  const Tensor h =
      model_->model->hidden(tape, ids, mixers::Batch::single(static_cast<int64_t>(ids.size()))).value.to(DType::f32);
  std::vector<double> mean(static_cast<size_t>(h.dim(1)));
  for (int64_t t = 0; t < h.dim(0); ++t)
    for (size_t d = 0; d < mean.size(); ++d) mean[d] += h.view<const float, 2>().row(t)[d];
  double square = 0;
  for (double x : mean) square += x * x;

  Json ask = Json::object();
  ask.set("input", Json(Json::Array{Json("short"), Json(text)}));
  const Json j = ok(post(path, ask.dump()));
  const Json::Array& data = j.at("data").as_array();
  ASSERT_EQ(data.size(), 2u);
  EXPECT_EQ(data[1].at("index").as_int(), 1);
  const std::vector<double> found = numbers(data[1].at("embedding"));
  ASSERT_EQ(found.size(), mean.size());
  for (size_t d = 0; d < mean.size(); ++d) EXPECT_NEAR(found[d], mean[d] / std::sqrt(square), 1e-5);

  // The same text as ids, and as the bytes of its floats.
  const Json same =
      ok(post(path, fmt::format(R"({{"input": [{}], "encoding_format": "base64"}})", fmt::join(ids, ","))));
  const std::string coded = same.at("data").as_array()[0].at("embedding").as_string();
  std::vector<float> floats(found.begin(), found.end());
  EXPECT_EQ(coded, text::base64({reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(float)}));
  EXPECT_EQ(same.at("usage").at("prompt_tokens").as_int(), static_cast<int64_t>(ids.size()));
  ok(post(path, fmt::format(R"({{"input": "x", "dimensions": {}}})", mean.size())));

  refused(post(path, R"({"input": "x", "dimensions": 7})"), 400, "dimensions");
  refused(post(path, R"({"input": ""})"), 400, "empty");
  refused(post(path, R"({"input": [[1, 999999]]})"), 400, "token ids");
  refused(post(path, R"({"input": "x", "encoding_format": "int8"})"), 400, "encoding_format");
}

TEST(Base64, IsAsRfc4648Has) {
  const std::pair<const char*, const char*> cases[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, coded] : cases) EXPECT_EQ(text::base64(plain), coded);
}

serve::ModelEntry entry(const std::string& id, int64_t bytes, std::atomic<int>* loads = nullptr) {
  return {.id = id,
          .load =
              [id, loads] {
                if (loads) ++*loads;
                auto m = tiny_model(4);
                m->id = id;
                return m;
              },
          .bytes = bytes};
}

// An adapter without numbers, on a base.
serve::ModelEntry beside(const std::string& id, const std::string& base, int64_t bytes) {
  return {.id = id,
          .load = {},
          .bytes = bytes,
          .base = base,
          .adapter = "somewhere",
          .load_beside = [id](const std::shared_ptr<serve::ServedModel>& on) {
            auto m = serve::with_adapters(on, {{std::make_shared<nn::AdapterPaths>()}});
            m->id = id;
            return m;
          }};
}

void refused_with(serve::ModelManager& manager, const std::string& id, const char* word) {
  try {
    manager.get(id);
    ADD_FAILURE() << id << " was given";
  } catch (const serve::ApiError& e) {
    EXPECT_EQ(e.status, 503);
    EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
  }
}

TEST(ModelManager, AdaptersShareTheirBaseWhichCountsOnce) {
  std::atomic<int> loads = 0;
  std::vector<serve::ModelEntry> entries = {entry("base", 60 << 20, &loads), entry("other", 60 << 20)};
  for (const char* id : {"x", "y", "z"}) entries.push_back(beside(id, "base", 10 << 20));
  serve::ModelManager manager(std::move(entries), {.memory_bytes = 100 << 20});
  auto x = manager.get("x"), y = manager.get("y"), z = manager.get("z");
  EXPECT_EQ(loads, 1) << "one base for three adapters";
  EXPECT_EQ(x->host, y->host);
  EXPECT_EQ(x->base, manager.get("base"));
  EXPECT_NE(x->adapters[0].paths, y->adapters[0].paths);
  EXPECT_EQ(serve::with_adapters(x, {})->base, x->base) << "not an adapter of an adapter";
  refused_with(manager, "other", "base");  // adapters at work hold it
  x.reset(), y.reset(), z.reset();
  EXPECT_NE(manager.get("other"), nullptr);  // adapters go first, and then what they held
  EXPECT_EQ(manager.loaded("x"), nullptr);
  EXPECT_EQ(manager.loaded("base"), nullptr);
  EXPECT_NE(manager.get("y"), nullptr);
  EXPECT_EQ(loads, 2);
  EXPECT_EQ(manager.loaded("other"), nullptr);
}

TEST(ModelManager, MakesRoomButNeverTakesAModelAtWork) {
  std::vector<serve::ModelEntry> entries;
  for (const char* id : {"a", "b", "c"}) entries.push_back(entry(id, 40 << 20));
  entries.push_back(entry("huge", 200 << 20));
  entries.push_back(
      {.id = "broken", .load = []() -> std::unique_ptr<serve::ServedModel> { fail("no such file"); }, .bytes = 1});
  serve::ModelManager manager(std::move(entries), {.memory_bytes = 100 << 20});
  auto a = manager.get("a"), b = manager.get("b");
  EXPECT_EQ(manager.get("a"), a);
  refused_with(manager, "c", "a, b");
  refused_with(manager, "huge", "100 MiB");
  b.reset();
  EXPECT_NE(manager.get("c"), nullptr);
  EXPECT_EQ(manager.loaded("b"), nullptr);
  EXPECT_EQ(manager.loaded("a"), a);
  EXPECT_EQ(manager.counts().loads, 3);
  EXPECT_EQ(manager.counts().unloads, 1);
  a.reset();
  refused_with(manager, "broken", "no such file");
}

TEST(ModelManager, TakesAndGivesAwayWhileModelsAreAtWork) {
  std::vector<serve::ModelEntry> entries;
  entries.push_back(entry("a", 40 << 20));
  serve::ModelManager manager(std::move(entries), {.memory_bytes = 100 << 20});
  EXPECT_TRUE(manager.add(entry("b", 40 << 20)));
  EXPECT_FALSE(manager.add(entry("b", 40 << 20))) << "there is one";
  auto b = manager.get("b");
  EXPECT_TRUE(manager.remove("b"));
  EXPECT_FALSE(manager.remove("b"));
  EXPECT_EQ(manager.ids(), (std::vector<std::string>{"a"}));
  EXPECT_THROW(manager.get("b"), serve::ApiError);
  // Who holds it answers on, and its memory is still counted.
  infer::Request r{.prompt = {5, 6, 7}, .options = {.max_tokens = 3}};
  EXPECT_EQ(result_of(*b->host, std::move(r)).tokens.size(), 3u);
  auto a = manager.get("a");
  EXPECT_TRUE(manager.add(entry("c", 40 << 20)));
  refused_with(manager, "c", "in use");
  b.reset();
  EXPECT_NE(manager.get("c"), nullptr);
  // A model that is removed while it loads goes to whoever asked first, and to nobody else.
  std::promise<void> begun, go;
  EXPECT_TRUE(manager.add({.id = "slow",
                           .load =
                               [&] {
                                 begun.set_value(), go.get_future().wait();
                                 return tiny_model(1);
                               },
                           .bytes = 1}));
  std::shared_ptr<serve::ServedModel> first;
  {
    std::jthread asks([&] { first = manager.get("slow"); });
    begun.get_future().wait();
    EXPECT_TRUE(manager.remove("slow"));
    go.set_value();
  }
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(manager.loaded("slow"), nullptr);
}

TEST(ModelManager, LoadsOnceAndPutsIdleModelsAway) {
  std::atomic<int> loads = 0;
  std::vector<serve::ModelEntry> entries;
  entries.push_back(entry("a", 1, &loads));
  serve::ModelManager manager(std::move(entries), {.idle_seconds = 0.2});
  std::vector<std::shared_ptr<serve::ServedModel>> got(6);
  {
    std::vector<std::jthread> askers;
    for (auto& g : got) askers.emplace_back([&] { g = manager.get("a"); });
  }
  EXPECT_EQ(loads, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(manager.loaded("a"), got[0]) << "it is held";
  got.clear();
  for (int i = 0; i < 500 && manager.loaded("a"); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(manager.loaded("a"), nullptr);
  EXPECT_NE(manager.get("a"), nullptr);
  EXPECT_EQ(loads, 2);
}

TEST_F(WithKeys, OneUserUnloadsNoModelOfAll) {
  std::ofstream(file_) << "[[key]]\nname = \"one\"\nkey = \"sk-of-one\"\n"
                          "[[key]]\nname = \"root\"\nkey = \"sk-of-root\"\nadmin = true\n";
  std::vector<serve::ModelEntry> entries = {entry("a", 1)};
  auto manager = std::make_unique<serve::ModelManager>(std::move(entries), serve::ModelManagerOptions{});
  const serve::ModelManager& models = *manager;
  app_ = std::make_unique<serve::App>(std::move(manager), serve::AppOptions{.keys_file = file_, .log = false});
  server_ = std::make_unique<serve::HttpServer>(serve::HttpServerOptions{.port = 0},
                                                [this](serve::Exchange& e) { app_->handle(e); });
  thread_ = std::jthread([this] { server_->run(); });
  const std::string unload = R"({"model": "a", "keep_alive": 0})";
  EXPECT_EQ(ask("sk-of-one", "POST", "/api/generate", unload).status, 200);
  EXPECT_TRUE(models.loaded("a"));
  EXPECT_FALSE(models.idle_seconds_left("a")) << "nothing ends it";
  EXPECT_EQ(ask("sk-of-root", "POST", "/api/generate", unload).status, 200);
  eventually("the admin unloads it", [&] { return !models.loaded("a"); });
}

TEST_F(Serving, AModelStaysAsLongAsItIsAskedTo) {
  std::vector<serve::ModelEntry> entries;
  for (const char* id : {"a", "b", "c"}) entries.push_back(entry(id, 1));
  serve::ModelManager manager(std::move(entries), {});
  for (const char* id : {"a", "b", "c"}) manager.get(id);
  manager.keep_alive("a", 0), manager.keep_alive("b", -1), manager.keep_alive("nobody", 0);
  eventually("a is unloaded", [&] { return !manager.loaded("a"); });
  EXPECT_TRUE(manager.loaded("b"));
  EXPECT_TRUE(manager.loaded("c"));  // nobody said anything of it
  EXPECT_FALSE(manager.idle_seconds_left("b"));
  manager.keep_alive("c", 3600);
  EXPECT_NEAR(manager.idle_seconds_left("c").value_or(0), 3600, 60);
  auto held = manager.get("a");  // loaded again, and in use
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(manager.loaded("a"));
  held.reset();
  eventually("a is unloaded again", [&] { return !manager.loaded("a"); });
}

}  // namespace
}  // namespace quern
