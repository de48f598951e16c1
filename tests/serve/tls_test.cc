// HTTPS: what is agreed on, streams, clients that are slow, wrong or gone, and certificates that are exchanged.
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/serve/serving.h"
#include "tests/serve/tls_client.h"

namespace quern {
namespace {

class Encrypted : public Serving {
 protected:
  Encrypted() {
    std::filesystem::create_directories(folder_);
    write_certificate(certificate(), key(), "first");
  }
  ~Encrypted() override {
    std::error_code none;
    std::filesystem::remove_all(folder_, none);
  }
  std::string certificate() const { return (folder_ / "cert.pem").string(); }
  std::string key() const { return (folder_ / "key.pem").string(); }
  void start_encrypted(serve::HttpServerOptions o = {}) {
    o.tls = tls_ = std::make_shared<serve::TlsServer>(serve::TlsFiles{certificate(), key()});
    start({}, o);
  }
  TlsClient client(int version = 0) {
    return {port(), {.trusted = certificate(), .version = version, .protocols = "http/1.1"}};
  }
  static std::string get(const TlsClient& c, const char* path) {
    c.send(fmt::format("GET {} HTTP/1.1\r\nConnection: close\r\n\r\n", path));
    return c.read_until("never");
  }
  // What a server with these files says; empty: it starts.
  std::string complaint(const std::string& cert, const std::string& private_key) {
    try {
      serve::TlsServer({cert, private_key});
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  }
  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / fmt::format("tls-{}", ::getpid());
  std::shared_ptr<serve::TlsServer> tls_;
};

TEST_F(Encrypted, SpeaksTls12And13AndNothingOlder) {
  start_encrypted();
  for (const auto& [version, name] : {std::pair(TLS1_2_VERSION, "TLSv1.2"), std::pair(TLS1_3_VERSION, "TLSv1.3")}) {
    const TlsClient c = client(version);
    ASSERT_TRUE(c.connected()) << c.problem();
    EXPECT_EQ(c.version(), name);
    EXPECT_EQ(c.protocol(), "http/1.1");
    EXPECT_TRUE(get(c, "/health").ends_with(R"({"status":"ok"})"));
  }
  EXPECT_FALSE(client(TLS1_1_VERSION).connected());
}

TEST_F(Encrypted, AnswersStreamsAndLargeBodiesOnOneConnection) {
  start_encrypted();
  const TlsClient c = client();
  ASSERT_TRUE(c.connected()) << c.problem();
  const std::string stream = R"({"prompt": "a", "max_tokens": 40, "ignore_eos": true, "stream": true})";
  for (int i = 0; i < 3; ++i) {
    c.send(fmt::format("POST /v1/completions HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}", stream.size(), stream));
    const std::string got = c.read_until("0\r\n\r\n");
    EXPECT_NE(got.find("data: [DONE]"), got.npos) << got;
  }
  // More than a record, a socket's buffer and a parser's piece in one go, and an answer as long.
  const std::string text = R"({"content": ")" + std::string(3'000'000, 'x') + R"("})";
  ASSERT_TRUE(c.send(fmt::format("POST /tokenize HTTP/1.1\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
                                 text.size(), text)));
  const std::string got = c.read_until("never");
  EXPECT_TRUE(got.starts_with("HTTP/1.1 200")) << got.substr(0, 300);
  EXPECT_GT(got.size(), 1'000'000u);
}

TEST_F(Encrypted, AClientThatHangsUpIsNoticed) {
  start_encrypted();
  {
    const TlsClient c = client();
    const std::string body = R"({"prompt": "a", "max_tokens": 150000, "ignore_eos": true, "stream": true})";
    c.send(fmt::format("POST /v1/completions HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}", body.size(), body));
    eventually("the request runs", [&] { return model_->host->counts().running == 1; });
  }
  eventually("it is cancelled", [&] { return model_->host->counts().running == 0; });
}

TEST_F(Encrypted, WhatIsNoTlsHarmsNoOther) {
  serve::HttpServerOptions o;
  o.header_seconds = 0.5;
  start_encrypted(o);
  const RawAnswer plain = http(port(), "GET", "/health");
  EXPECT_EQ(plain.status, 400);
  EXPECT_NE(plain.body.find("https://"), plain.body.npos) << plain.body;
  RawClient silent(port()), half(port()), noise(port());
  half.send(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 9));  // a hello that never ends
  noise.send(std::string(5000, '\xff'));
  EXPECT_TRUE(get(client(), "/health").ends_with(R"({"status":"ok"})"));
  EXPECT_EQ(silent.read_all(10), "") << "closed after its time";
  half.read_all(10), noise.read_all(10);
  EXPECT_TRUE(get(client(), "/health").ends_with(R"({"status":"ok"})"));
}

TEST_F(Encrypted, ANewCertificateIsForNewConnections) {
  start_encrypted();
  const TlsClient before = client();
  ASSERT_TRUE(before.connected());
  EXPECT_EQ(before.subject(), "first");
  write_certificate(certificate(), (folder_ / "other.pem").string(), "second");
  EXPECT_THROW(tls_->reload(), Error) << "its key is another";
  write_certificate(certificate(), key(), "third");
  tls_->reload();
  const TlsClient after = client();
  ASSERT_TRUE(after.connected()) << after.problem();
  EXPECT_EQ(after.subject(), "third");
  EXPECT_TRUE(get(before, "/health").ends_with(R"({"status":"ok"})")) << "the old connection goes on";
}

TEST_F(Encrypted, FilesThatAreWrongAreRefused) {
  EXPECT_NE(complaint((folder_ / "none").string(), key()).find("TLS certificate"), std::string::npos);
  EXPECT_NE(complaint(certificate(), (folder_ / "none").string()).find("TLS key"), std::string::npos);
  std::ofstream(folder_ / "text.pem") << "hello";
  EXPECT_NE(complaint((folder_ / "text.pem").string(), key()).find("expected a PEM file"), std::string::npos);
  write_certificate((folder_ / "c2.pem").string(), (folder_ / "k2.pem").string(), "other");
  EXPECT_NE(complaint(certificate(), (folder_ / "k2.pem").string()).find("belongs to"), std::string::npos);
  EXPECT_EQ(complaint(certificate(), key()), "");
}

}  // namespace
}  // namespace quern
