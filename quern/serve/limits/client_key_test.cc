// Files of keys: what they say, and what is refused without a key in the message.
#include "quern/serve/limits/client_key.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "quern/base/error.h"
#include "quern/serve/http/api_key.h"

namespace quern::serve {
namespace {

class KeyFiles : public testing::Test {
 protected:
  ~KeyFiles() override {
    std::error_code none;
    std::filesystem::remove_all(folder_, none);
  }
  std::filesystem::path write(const std::string& text, const char* name = "keys.toml") {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  std::string complaint(const std::string& text) {
    try {
      read_key_file(write(text));
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  }
  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / fmt::format("keys-{}", ::getpid());
};

constexpr const char* kTwo = R"(
[[key]]
name = "ci"
key = "sk-secret-1"
requests_per_minute = 60
models = ["small"]
priority = 5
[[key]]
name = "anna@example"
# of "sk-secret-2"
sha256 = "d3f0ac66a4ce6c7e2e9f15c09ba57b0a5b8ac4f3d41cb2a1d5f0ee3bde6e2b1a"
tokens_per_day = 1000
admin = true
)";

TEST_F(KeyFiles, HaveKeysOrTheirDigests) {
  std::string text = kTwo;
  const size_t digest = text.find("d3f0");
  std::string right;
  for (uint8_t b : sha256("sk-secret-2")) right += fmt::format("{:02x}", b);
  text.replace(digest, 64, right);
  const std::vector<ClientKey> keys = read_key_file(write(text));
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(find_key(keys, "sk-secret-1")->name, "ci");
  EXPECT_EQ(find_key(keys, "sk-secret-2")->name, "anna@example");
  EXPECT_EQ(find_key(keys, "sk-secret-3"), nullptr);
  EXPECT_EQ(find_key(keys, right), nullptr) << "a digest is not a key";
  EXPECT_EQ(keys[0].limits.requests_per_minute, 60);
  EXPECT_EQ(keys[0].limits.priority, 5);
  EXPECT_EQ(keys[0].limits.models, std::vector<std::string>{"small"});
  EXPECT_TRUE(keys[1].limits.admin);
  EXPECT_TRUE(keys[0].key.empty()) << "it is not kept";
  const auto json = read_key_file(write(R"({"key": [{"name": "j", "key": "sk-secret-4"}]})", "keys.json"));
  EXPECT_EQ(find_key(json, "sk-secret-4")->name, "j");
}

TEST_F(KeyFiles, ThatAreWrongAreRefused) {
  const auto one = [](const std::string& rest) { return "[[key]]\nname = \"ci\"\n" + rest; };
  const auto has = [](const std::string& text, const char* word) {
    EXPECT_NE(text.find(word), text.npos) << text;
    EXPECT_EQ(text.find("sk-secret"), text.npos) << text;
  };
  has(complaint(""), "no key: expected [[key]]");
  has(complaint(one("")), "key 'ci': expected either key or sha256");
  has(complaint(one("key = \"sk-secret-1\"\nsha256 = \"00\"")), "expected either key or sha256");
  has(complaint(one("sha256 = \"00\"")), "expected 64 hex digits");
  has(complaint(one("key = \"short\"")), "fewer than 8 characters");
  has(complaint(one("key = \"sk-secret-1\"\nrequest_per_minute = 3")), "requests_per_minute");
  has(complaint(one("key = \"sk-secret-1\"\nconcurrent = -1")), "-1 is below 0");
  has(complaint(one("key = \"sk-secret-1\"\n") + one("key = \"sk-secret-2\"")), "two keys have the name 'ci'");
  has(complaint(one("key = \"sk-secret-1\"\n") + "[[key]]\nname = \"b\"\nkey = \"sk-secret-1\"\n"),
      "'ci' and 'b' are the same key");
  has(complaint("[[key]]\nname = \"a b\"\nkey = \"sk-secret-1\""), "expected 1 to 64 letters");
  has(complaint(one("key = \"sk-secret-1\"\npriority = 9000000")), "priority");
}

TEST(PlainKeys, HaveNumbersForNames) {
  const auto keys = plain_keys({"first", "second"});
  EXPECT_EQ(find_key(keys, "second")->name, "key-2");
  EXPECT_EQ(find_key(keys, ""), nullptr);
}

}  // namespace
}  // namespace quern::serve
