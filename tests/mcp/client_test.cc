// The client against servers that behave badly: silence, garbage, giants, exits, refusals to start; and restarts.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "quern/mcp/client/servers.h"
#include "tests/cli/shell.h"
#include "tests/mcp/script_server.h"

namespace quern::mcp {
namespace {

using Kind = ClientError::Kind;

Json text_arguments(const char* text) {
  Json j = Json::object();
  j.set("text", text);
  return j;
}

class McpClient : public testing::Test {
 protected:
  RemoteServer server(const std::string& start = {}) {
    ServerConfig c = script_server(folder_ / "");
    if (!start.empty()) c.env.emplace_back("START", start);
    c.start_seconds = 2;
    return {std::move(c), "0"};
  }
  RemoteResult call(RemoteServer& s, const char* tool, double seconds = 30) {
    return s.call(tool, text_arguments("one"), {.seconds = seconds});
  }
  std::string failure(RemoteServer& s, const char* tool, Kind kind, double seconds = 30) {
    try {
      call(s, tool, seconds);
    } catch (const ClientError& e) {
      EXPECT_EQ(static_cast<int>(e.kind), static_cast<int>(kind)) << e.what();
      return e.what();
    }
    ADD_FAILURE() << tool << " should have failed";
    return {};
  }
  ScratchFolder folder_;
};

TEST_F(McpClient, ListsAndCalls) {
  RemoteServer s = server();
  EXPECT_EQ(s.status().state, "idle");
  const std::vector<RemoteTool> tools = s.tools();
  ASSERT_EQ(tools.size(), 11u) << "two pages";
  EXPECT_EQ(tools.back().name, "fail");
  EXPECT_EQ(tools.back().description, "does fail");
  EXPECT_EQ(call(s, "echo").text, "said: one");
  const RemoteResult failed = call(s, "fail");
  EXPECT_TRUE(failed.is_error);
  EXPECT_EQ(failed.text, "it failed");
  const RemoteResult unknown = call(s, "unknown");
  EXPECT_TRUE(unknown.is_error) << "a refusal of the server is a result that the model reads";
  EXPECT_EQ(unknown.text, "no tool unknown");
  const ServerStatus status = s.status();
  EXPECT_EQ(status.state, "running");
  EXPECT_EQ(status.greeting.version, "7");
  EXPECT_EQ(status.greeting.protocol, "2025-06-18");
  EXPECT_EQ(status.tools, 11);
  EXPECT_EQ(status.starts, 1);
}

TEST_F(McpClient, NoAnswerIsATimeoutAndTheServerGoesOn) {
  RemoteServer s = server();
  EXPECT_NE(failure(s, "silent", Kind::timeout, 0.3).find("within 0.3 s"), std::string::npos);
  EXPECT_EQ(call(s, "echo").text, "said: one");
  EXPECT_EQ(s.status().starts, 1);
}

TEST_F(McpClient, AServerThatEndsInACallIsStartedAgain) {
  RemoteServer s = server();
  const std::string first = call(s, "pid").text;
  EXPECT_NE(failure(s, "leave", Kind::unreachable).find("has ended"), std::string::npos);
  const std::string second = call(s, "pid").text;
  EXPECT_NE(first, second);
  EXPECT_EQ(s.status().starts, 2);
}

TEST_F(McpClient, LinesThatAreNoMessagesAreSkipped) {
  RemoteServer s = server();
  EXPECT_EQ(call(s, "noise").text, "quiet");
}

TEST_F(McpClient, AGiantLineEndsTheServerAndNotThisProcess) {
  RemoteServer s = server();
  EXPECT_NE(failure(s, "giant", Kind::unreachable).find("more than 16777216 bytes"), std::string::npos);
  EXPECT_EQ(call(s, "echo").text, "said: one");
  EXPECT_EQ(s.status().starts, 2);
}

TEST_F(McpClient, ALongTextIsCutAndSaysSo) {
  RemoteServer s = server();
  const RemoteResult r = call(s, "large");
  EXPECT_TRUE(r.truncated);
  EXPECT_LT(r.text.size(), kMaxToolText + 100);
  EXPECT_NE(r.text.find("[cut: the first 262144 of 600000 bytes]"), std::string::npos);
}

TEST_F(McpClient, AResultThatIsNoneIsAnError) {
  RemoteServer s = server();
  try {
    call(s, "broken");
    ADD_FAILURE() << "should have failed";
  } catch (const ClientError& e) {
    EXPECT_NE(std::string(e.what()).find("not a list"), std::string::npos) << e.what();
  }
}

TEST_F(McpClient, ProgressIsHeardAndWhatTheServerAsksIsRefused) {
  RemoteServer s = server();
  std::string heard;
  const RemoteResult r =
      s.call("slow", text_arguments("one"),
             {.seconds = 30, .progress = [&](double done, double total, const std::string& message) {
                heard = fmt::format("{} of {}: {}", done, total, message);
              }});
  EXPECT_EQ(r.text, "slowly");
  EXPECT_EQ(heard, "1 of 4: a quarter");
}

TEST_F(McpClient, ACallerThatLeavesWaitsNoLonger) {
  RemoteServer s = server();
  s.tools();
  std::atomic<bool> left = false;
  std::jthread leave([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    left = true;
  });
  try {
    s.call("silent", text_arguments("one"), {.seconds = 60, .cancelled = [&] { return left.load(); }});
    ADD_FAILURE() << "should have been cancelled";
  } catch (const ClientError& e) {
    EXPECT_EQ(static_cast<int>(e.kind), static_cast<int>(Kind::cancelled));
  }
}

TEST_F(McpClient, SecretsAreNotRepeated) {
  RemoteServer s = server();
  const std::string why = failure(s, "secret", Kind::unreachable);
  EXPECT_EQ(why.find("s3cret"), std::string::npos) << why;
  EXPECT_NE(why.find("cannot log in with ***"), std::string::npos) << why;
  RemoteServer never = server("never");
  EXPECT_THROW(never.tools(), ClientError);
  EXPECT_EQ(never.status().state, "failed");
  EXPECT_EQ(never.status().error.find("s3cret"), std::string::npos) << never.status().error;
  EXPECT_NE(never.status().error.find("no start with ***"), std::string::npos) << never.status().error;
}

TEST_F(McpClient, ARefusedHandshakeIsNoResultOfATool) {
  RemoteServer s = server("refuse");
  EXPECT_NE(failure(s, "echo", Kind::unreachable).find("MCP server 'script': no entry with ***"), std::string::npos);
  EXPECT_EQ(s.status().state, "failed");
}

TEST_F(McpClient, AfterAFailedStartThereIsAPause) {
  RemoteServer s = server("never");
  EXPECT_THROW(s.tools(), ClientError);
  try {
    s.tools();
    ADD_FAILURE() << "should have failed";
  } catch (const ClientError& e) {
    EXPECT_NE(std::string(e.what()).find("next attempt"), std::string::npos) << e.what();
  }
  EXPECT_EQ(s.status().starts, 0);
}

TEST_F(McpClient, AServerThatNeverGreetsIsGivenUp) {
  ServerConfig c = script_server(folder_ / "");
  c.env.emplace_back("START", "mute"), c.start_seconds = 0.3;
  RemoteServer s(c, "0");
  try {
    s.tools();
    ADD_FAILURE() << "should have failed";
  } catch (const ClientError& e) {
    EXPECT_EQ(static_cast<int>(e.kind), static_cast<int>(Kind::timeout));
    EXPECT_NE(std::string(e.what()).find("MCP server 'script'"), std::string::npos) << e.what();
  }
}

TEST_F(McpClient, AProgramThatIsNotThere) {
  RemoteServer s({.name = "gone", .command = "/no/such/program"}, "0");
  try {
    s.tools();
    ADD_FAILURE() << "should have failed";
  } catch (const ClientError& e) {
    EXPECT_NE(std::string(e.what()).find("cannot start /no/such/program: No such file"), std::string::npos)
        << e.what();
  }
}

TEST_F(McpClient, TheEnvironmentIsTheFilesAndAFewVariables) {
  ::setenv("QUERN_API_KEY", "not-for-servers", 1);
  std::ofstream(folder_ / "env.sh") << "env > " << (folder_ / "env.txt") << "; exit 1\n";
  RemoteServer s({.name = "env", .command = "/bin/sh", .args = {folder_ / "env.sh"}, .env = {{"OWN", "mine"}}}, "0");
  EXPECT_THROW(s.tools(), ClientError);
  ::unsetenv("QUERN_API_KEY");
  std::ifstream f(folder_ / "env.txt");
  const std::string all((std::istreambuf_iterator<char>(f)), {});
  EXPECT_NE(all.find("OWN=mine"), std::string::npos) << all;
  EXPECT_NE(all.find("PATH="), std::string::npos) << all;
  EXPECT_EQ(all.find("QUERN_API_KEY"), std::string::npos) << all;
}

TEST_F(McpClient, SeveralServersAreAskedTogether) {
  ServerConfig b = script_server(folder_ / "", "b.c"), off = script_server(folder_ / "", "off");
  off.disabled = true;
  const Servers all({script_server(folder_ / "", "a"), b, {.name = "gone", .command = "/no/such/program"}, off}, "0");
  const ToolListing listing = Servers::list_tools(all.chosen({}));
  EXPECT_EQ(listing.tools.size(), 22u);
  ASSERT_EQ(listing.errors.size(), 1u);
  EXPECT_EQ(listing.errors[0].server, "gone");
  const NamedTool* t = listing.find("b_c__echo");
  ASSERT_TRUE(t);
  EXPECT_EQ(t->full_name(), "b.c.echo");
  EXPECT_TRUE(permits({"b.c.echo"}, *t) && permits({"b.c.*"}, *t) && permits({"*"}, *t));
  EXPECT_FALSE(permits({"b.*"}, *t) || permits({"b.c.ech"}, *t) || permits({"a.echo"}, *t) || permits({}, *t));
  EXPECT_EQ(all.find("off")->status().state, "disabled");
}

}  // namespace
}  // namespace quern::mcp
