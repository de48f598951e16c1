// Metrics by the conventions, W3C trace context, and spans that a small collector takes.
#include <gtest/gtest.h>

#include <mutex>

#include "quern/serve/telemetry/gen_ai.h"
#include "quern/serve/telemetry/otlp.h"
#include "tests/serve/serving.h"

namespace quern {
namespace {

// Takes POSTs on a port of this machine and keeps the spans.
class Collector {
 public:
  Collector() : server_({.port = 0}, [this](serve::Exchange& e) { take(e); }), thread_([this] { server_.run(); }) {}
  ~Collector() { server_.stop(); }
  std::string url() const { return fmt::format("http://127.0.0.1:{}", server_.port()); }
  std::vector<Json> spans() {
    std::lock_guard lock(mutex_);
    return spans_;
  }
  Json resource() {
    std::lock_guard lock(mutex_);
    return resource_;
  }

 private:
  void take(serve::Exchange& e) {
    const Json j = Json::parse(e.request().body);
    std::lock_guard lock(mutex_);
    EXPECT_EQ(e.request().path, "/v1/traces");
    EXPECT_EQ(*e.request().header("content-type"), "application/json");
    for (const Json& r : j.at("resourceSpans").as_array()) {
      resource_ = r.at("resource");
      for (const Json& s : r.at("scopeSpans").as_array())
        for (const Json& span : s.at("spans").as_array()) spans_.push_back(span);
    }
    e.answer(200, "application/json", "{}");
  }
  std::mutex mutex_;
  std::vector<Json> spans_;
  Json resource_;
  serve::HttpServer server_;
  std::jthread thread_;
};

// The value of an attribute, as text; empty: there is none.
std::string attribute(const Json& span, const std::string& key) {
  for (const Json& a : span.at("attributes").as_array())
    if (a.at("key").as_string() == key) {
      const Json& v = a.at("value");
      if (const Json* s = v.find("stringValue")) return s->as_string();
      if (const Json* n = v.find("intValue")) return n->as_string();
      return v.dump();
    }
  return {};
}

constexpr const char* kAsk = R"({"messages": [{"role": "user", "content": "secret words"}], "max_tokens": 5)";

TEST_F(Serving, ExportsSpans) {
  Collector collector;
  serve::AppOptions options;
  options.otlp = collector.url();
  start(options);
  const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736", parent = "00f067aa0ba902b7";
  const std::string header = "traceparent: 00-" + trace + "-" + parent + "-01\r\n";
  ok(post("/v1/chat/completions", std::string(kAsk) + "}", header.c_str()));
  post("/v1/completions", R"({"prompt": "a", "max_tokens": 2, "stream": true})");
  EXPECT_EQ(post("/v1/messages", "{}").status, 400);
  ok(post("/v1/chat/completions", std::string(kAsk) + "}",
          ("traceparent: 00-" + trace + "-" + parent + "-00\r\n").c_str()));  // not sampled
  http(port(), "GET", "/health");
  eventually("three spans", [&] { return collector.spans().size() >= 3; });
  const std::vector<Json> spans = collector.spans();
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0].at("traceId").as_string(), trace);
  EXPECT_EQ(spans[0].at("parentSpanId").as_string(), parent);
  EXPECT_EQ(spans[0].at("name").as_string(), "chat tiny");
  EXPECT_EQ(spans[0].at("kind").as_int(), 2);
  EXPECT_EQ(attribute(spans[0], "gen_ai.operation.name"), "chat");
  EXPECT_EQ(attribute(spans[0], "gen_ai.response.model"), "tiny");
  EXPECT_EQ(attribute(spans[0], "gen_ai.usage.output_tokens"), "5");
  EXPECT_NE(attribute(spans[0], "gen_ai.response.finish_reasons").find("length"), std::string::npos);
  EXPECT_LT(std::stoll(spans[0].at("startTimeUnixNano").as_string()),
            std::stoll(spans[0].at("endTimeUnixNano").as_string()));
  EXPECT_EQ(spans[1].at("name").as_string(), "text_completion tiny");
  EXPECT_EQ(spans[1].at("traceId").as_string().size(), 32u);
  EXPECT_FALSE(spans[1].find("parentSpanId"));
  EXPECT_EQ(attribute(spans[1], "gen_ai.usage.output_tokens"), "2");
  EXPECT_EQ(attribute(spans[2], "error.type"), "400");
  for (const Json& s : spans) EXPECT_EQ(s.dump().find("secret words"), std::string::npos);
  EXPECT_NE(collector.resource().dump().find("quern"), std::string::npos);
  eventually("it is counted", [&] {
    return http(port(), "GET", "/metrics").body.find("quern_otlp_spans_exported_total 3\n") != std::string::npos;
  });
}

TEST_F(Serving, ExportsContentOnlyWhenAsked) {
  Collector collector;
  serve::AppOptions options;
  options.otlp = collector.url(), options.otlp_content = true;
  start(options);
  const Json j = ok(post("/v1/chat/completions", std::string(kAsk) + "}"));
  eventually("a span", [&] { return !collector.spans().empty(); });
  const Json span = collector.spans()[0];
  const Json in = Json::parse(attribute(span, "gen_ai.input.messages"));
  EXPECT_EQ(in.as_array()[0].at("parts").as_array()[0].at("content").as_string(), "secret words");
  const Json out = Json::parse(attribute(span, "gen_ai.output.messages"));
  EXPECT_EQ(out.as_array()[0].at("parts").as_array()[0].at("content"),
            j.at("choices").as_array()[0].at("message").at("content"));
}

TEST_F(Serving, ACollectorThatIsAwayCostsNothing) {
  serve::AppOptions options;
  options.otlp = "http://127.0.0.1:1";
  start(options);
  ok(post("/v1/chat/completions", std::string(kAsk) + "}"));
  eventually("it is counted", [&] {
    return http(port(), "GET", "/metrics").body.find("quern_otlp_spans_dropped_total 1\n") != std::string::npos;
  });
}

TEST_F(Serving, MeasuresByTheConventions) {
  start();
  ok(post("/v1/chat/completions", std::string(kAsk) + "}"));
  ok(post("/v1/chat/completions", std::string(kAsk) + ", \"n\": 2}"));
  EXPECT_EQ(post("/v1/chat/completions", "{}").status, 400);
  const std::string m = http(port(), "GET", "/metrics").body;
  const std::string labels =
      R"(gen_ai_operation_name="chat",gen_ai_provider_name="quern",gen_ai_request_model="tiny",gen_ai_response_model="tiny")";
  for (const char* name : {"request_duration", "time_to_first_token", "time_per_output_token"}) {
    const std::string full = fmt::format("gen_ai_server_{}_seconds", name);
    EXPECT_NE(m.find(fmt::format("{}_count{{{}}} 2\n", full, labels)), m.npos) << m;
    EXPECT_NE(m.find(fmt::format("{}_bucket{{{},le=\"+Inf\"}} 2\n", full, labels)), m.npos) << m;
    EXPECT_NE(m.find("# TYPE " + full + " histogram\n"), m.npos);
  }
  EXPECT_NE(m.find("error_type=\"400\"} 1\n"), m.npos) << m;
}

TEST(GenAiMetrics, FillsBuckets) {
  serve::GenAiMetrics m;
  serve::RequestFacts f{.model = "a\"b"};
  f.first_token_seconds = 0.05, f.decode_seconds = 0.6, f.decoded_tokens = 2;
  m.record("chat", f, 200, 0.02);  // on a boundary: le
  m.record("chat", f, 200, 100);
  const std::string s = m.text([](const std::string&) { return true; });
  EXPECT_NE(s.find("gen_ai_request_model=\"a\\\"b\""), s.npos);
  EXPECT_NE(s.find("le=\"0.01\"} 0\n"), s.npos);
  EXPECT_NE(s.find("le=\"0.02\"} 1\n"), s.npos);
  EXPECT_NE(s.find("le=\"81.92\"} 1\n"), s.npos);
  EXPECT_NE(s.find("le=\"0.3\"} 2\n"), s.npos);
  EXPECT_EQ(serve::gen_ai_operation("/health"), "");
}

TEST(TraceContext, IsReadAsW3cHas) {
  const std::string good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const auto c = serve::parse_traceparent(good);
  ASSERT_TRUE(c);
  EXPECT_TRUE(c->sampled);
  EXPECT_EQ(c->span_id, "00f067aa0ba902b7");
  EXPECT_TRUE(serve::parse_traceparent("cc-" + good.substr(3) + "-more"));
  for (const std::string& bad :
       {std::string(), good.substr(1), good + "-x", "ff-" + good.substr(3), std::string(55, '0'),
        std::string("00-00000000000000000000000000000000-00f067aa0ba902b7-01"),
        std::string("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01")})
    EXPECT_FALSE(serve::parse_traceparent(bad)) << bad;
}

TEST(CollectorAddress, IsRead) {
  const auto text = [](const char* url) {
    const serve::CollectorAddress a = serve::parse_collector(url);
    return a.host + " " + a.port + " " + a.path;
  };
  EXPECT_EQ(text("http://127.0.0.1:4318"), "127.0.0.1 4318 /v1/traces");
  EXPECT_EQ(text("http://localhost"), "localhost 4318 /v1/traces");
  EXPECT_EQ(text("http://[::1]:9/x/"), "::1 9 /x");
  for (const char* bad : {"https://x", "127.0.0.1:4318", "http://", "http://x:0", "http://x:y", "http://x/a b"})
    EXPECT_THROW(serve::parse_collector(bad), Error) << bad;
}

}  // namespace
}  // namespace quern
