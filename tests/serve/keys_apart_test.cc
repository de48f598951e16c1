// What a key keeps on the server is its own: to other keys it is not there, and they are answered as where nothing is.
#include "tests/cli/shell.h"
#include "tests/serve/with_keys.h"

namespace quern {
namespace {

constexpr const char *kAnn = "sk-of-ann", *kBob = "sk-of-bob", *kRoot = "sk-of-root";
constexpr const char* kForm = "Content-Type: multipart/form-data; boundary=X\r\n";

std::string form(const std::string& content) {
  return "--X\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n"
         "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"in.jsonl\"\r\n\r\n" +
         content + "\r\n--X--\r\n";
}

class KeysApart : public WithKeys {
 protected:
  void begin() {
    start_with(
        "[[key]]\nname = \"ann\"\nkey = \"sk-of-ann\"\n[[key]]\nname = \"bob\"\nkey = \"sk-of-bob\"\n"
        "[[key]]\nname = \"root\"\nkey = \"sk-of-root\"\nadmin = true\n",
        {.sessions = folder_ / "kept"});
    model_->fingerprint = "one";
  }
  void stop() {
    server_->stop();
    thread_.join();
    server_.reset(), app_.reset();
  }
  std::string id_of(const RawAnswer& a) { return ok(a).at("id").as_string(); }
  // The same status and the same words about `id` as about an id that was never given.
  void not_there(const char* key, const char* method, const std::string& path, const std::string& id,
                 const std::string& body = {}) {
    const std::string never = id.substr(0, id.size() - 8) + "01234567";
    const auto about = [&](const std::string& one) {
      const auto named = [&](std::string text) {
        for (size_t at; (at = text.find("ID")) != text.npos;) text.replace(at, 2, one);
        return text;
      };
      RawAnswer a = ask(key, method, named(path), named(body));
      for (size_t at; (at = a.body.find(one)) != a.body.npos;) a.body.replace(at, one.size(), "ID");
      return fmt::format("{} {}", a.status, a.body);
    };
    const std::string said = about(id);
    EXPECT_EQ(said, about(never)) << method << " " << path;
    EXPECT_TRUE(said.starts_with("404 ") || said.starts_with("400 ")) << said;
  }
  std::vector<std::string> listed(const char* key, const std::string& path, const char* field = "id") {
    const Json list = ok(get(path, key));
    std::vector<std::string> out;
    for (const Json& one : list.at("data").as_array()) out.push_back(one.at(field).as_string());
    return out;
  }
  ScratchFolder folder_;
};
using Names = std::vector<std::string>;

TEST_F(KeysApart, StoredResponses) {
  begin();
  const Json first = ok(ask(kAnn, "POST", "/v1/responses", R"({"input": "a secret", "max_output_tokens": 3})"));
  const std::string id = first.at("id").as_string(), item = first.at("output").as_array()[0].at("id").as_string();
  const std::string path = "/v1/responses/" + id, next = R"({"previous_response_id": "ID", "input": "What was it?"})",
                    item_named = R"({"input": [{"type": "item_reference", "id": "ID"}]})";
  const auto are_hers = [&] {
    not_there(kBob, "GET", "/v1/responses/ID", id);
    not_there(kBob, "GET", "/v1/responses/ID/input_items", id);
    not_there(kBob, "DELETE", "/v1/responses/ID", id);
    not_there(kBob, "POST", "/v1/responses", id, next);
    not_there(kBob, "POST", "/v1/responses/input_tokens", id, next);
    EXPECT_EQ(ok(get(path, kAnn)), first);
    EXPECT_EQ(get(path, kRoot).status, 200) << "an administrator";
  };
  not_there(kBob, "POST", "/v1/responses", item, item_named);
  are_hers();
  stop();
  begin();  // from the file
  are_hers();
  const std::string more = R"({"max_output_tokens": 2, "input": "And?", "previous_response_id": ")" + id + "\"}";
  ok(ask(kAnn, "POST", "/v1/responses", more));
  EXPECT_EQ(ok(ask(kAnn, "DELETE", path)).at("deleted"), Json(true));
  EXPECT_EQ(get(path, kAnn).status, 404);
}

TEST_F(KeysApart, FilesAndBatches) {
  begin();
  const std::string line =
      R"({"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": {"prompt": "x", "max_tokens": 2}})";
  const std::string file = id_of(ask(kAnn, "POST", "/v1/files", form(line), kForm));
  const std::string make = R"({"input_file_id": "ID", "endpoint": "/v1/completions", "completion_window": "24h"})";
  not_there(kBob, "POST", "/v1/batches", file, make);
  std::string hers = make;
  hers.replace(hers.find("ID"), 2, file);
  const std::string batch = id_of(ask(kAnn, "POST", "/v1/batches", hers));
  eventually("it ends", [&] { return ok(get("/v1/batches/" + batch, kAnn)).at("status") == Json("completed"); });
  const std::string out = ok(get("/v1/batches/" + batch, kAnn)).at("output_file_id").as_string();
  const auto are_hers = [&] {
    for (const std::string& one : {file, out}) {
      not_there(kBob, "GET", "/v1/files/ID", one);
      not_there(kBob, "GET", "/v1/files/ID/content", one);
      not_there(kBob, "DELETE", "/v1/files/ID", one);
    }
    not_there(kBob, "GET", "/v1/files?after=ID", file);
    not_there(kBob, "GET", "/v1/batches/ID", batch);
    not_there(kBob, "GET", "/v1/batches?after=ID", batch);
    not_there(kBob, "POST", "/v1/batches/ID/cancel", batch);
    EXPECT_EQ(listed(kBob, "/v1/files"), Names());
    EXPECT_EQ(listed(kBob, "/v1/batches"), Names());
    EXPECT_EQ(listed(kAnn, "/v1/files").size(), 2u);
    EXPECT_EQ(listed(kAnn, "/v1/batches"), Names{batch});
    EXPECT_EQ(listed(kRoot, "/v1/files").size(), 2u);
    EXPECT_EQ(listed(kRoot, "/v1/batches"), Names{batch});
  };
  are_hers();
  stop();
  begin();
  are_hers();
  EXPECT_EQ(ok(get("/v1/batches/" + batch, kAnn)).find("x_key"), nullptr) << "how it is kept is not shown";
  EXPECT_EQ(ok(get("/v1/files/" + file, kAnn)).find("owner"), nullptr);
  EXPECT_EQ(ask(kAnn, "DELETE", "/v1/files/" + out).status, 200);
}

TEST_F(KeysApart, SessionsHaveNamesOfTheirOwn) {
  begin();
  const auto save = [&](const char* key, const char* text, const char* name = "one") {
    return ok(ask(key, "POST", fmt::format("/v1/sessions/{}", name), fmt::format(R"({{"prompt": "{}"}})", text)));
  };
  const auto prompt = [&](const char* key, const std::string& name) {
    return ok(ask(key, "POST", "/v1/sessions/" + name + "/restore")).at("prompt").as_string();
  };
  save(kAnn, "What is the answer? It is what Ann says.", "only-hers");
  not_there(kBob, "GET", "/v1/sessions/ID", "only-hers");
  not_there(kBob, "POST", "/v1/sessions/ID/restore", "only-hers");
  not_there(kBob, "DELETE", "/v1/sessions/ID", "only-hers");
  save(kAnn, "What is the answer? Ann's.");
  save(kBob, "What is the answer? Bob's.");
  EXPECT_EQ(prompt(kAnn, "one"), "What is the answer? Ann's.") << "not written over";
  EXPECT_EQ(prompt(kBob, "one"), "What is the answer? Bob's.");
  EXPECT_EQ(listed(kBob, "/v1/sessions", "name"), Names{"one"});
  EXPECT_EQ(listed(kAnn, "/v1/sessions", "name"), (Names{"one", "only-hers"}));
  EXPECT_EQ(get("/v1/sessions/ann@one", kBob).status, 400);
  EXPECT_EQ(listed(kRoot, "/v1/sessions", "name"), (Names{"ann@one", "ann@only-hers", "bob@one"}));
  EXPECT_EQ(prompt(kRoot, "ann@one"), "What is the answer? Ann's.");
  save(kRoot, "What is the answer? Root's.");
  EXPECT_EQ(ask(kRoot, "DELETE", "/v1/sessions/bob@one").status, 200);
  EXPECT_EQ(listed(kBob, "/v1/sessions", "name"), Names());
  EXPECT_EQ(listed(kRoot, "/v1/sessions", "name"), (Names{"ann@one", "ann@only-hers", "one"}));
  stop();
  start({.sessions = folder_ / "kept"});  // without keys everybody reaches all
  EXPECT_EQ(ok(http(port(), "GET", "/v1/sessions/root@one")).at("name"), Json("root@one"));
  EXPECT_EQ(http(port(), "GET", "/v1/sessions/ann@..%2fx").status, 400);
  EXPECT_EQ(http(port(), "GET", "/v1/sessions/..%2f@one").status, 400);
}

TEST_F(KeysApart, AdaptersAreForAllAndChangedByAdmins) {
  begin();
  for (const char* path : {"/v1/load_lora_adapter", "/v1/unload_lora_adapter"}) {
    refused(ask(kAnn, "POST", path, R"({"lora_name": "x", "lora_path": "x"})"), 403, "not_an_admin");
    refused(ask(kRoot, "POST", path, R"({"lora_name": "x", "lora_path": "x"})"), 403, "without an adapter folder");
  }
  EXPECT_EQ(get("/lora-adapters", kAnn).status, 200);
}

// Keys of the command line have no names that last: they are administrators' keys, and share what is kept.
TEST_F(Serving, KeysOfTheCommandLineShareWhatIsKept) {
  start({.api_keys = {"sk-first-one", "sk-second-one"}});
  const std::string id =
      ok(post("/v1/responses", R"({"input": "x", "max_output_tokens": 2})", "Authorization: Bearer sk-first-one\r\n"))
          .at("id")
          .as_string();
  EXPECT_EQ(http(port(), "GET", "/v1/responses/" + id, {}, "Authorization: Bearer sk-second-one\r\n").status, 200);
}

}  // namespace
}  // namespace quern
