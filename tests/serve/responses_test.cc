// The newer OpenAI form: items in and out, stored conversations, events in their order.
#include <map>

#include "tests/serve/serving.h"

namespace quern {
namespace {

constexpr const char* kPath = "/v1/responses";

class Responses : public Serving {};

std::string text_of(const Json& response) {
  std::string all;
  for (const Json& item : response.at("output").as_array())
    if (item.at("type").as_string() == "message")
      for (const Json& part : item.at("content").as_array()) all += part.at("text").as_string();
  return all;
}

TEST_F(Responses, AnswerAndGoOn) {
  start();
  const Json first = ok(post(kPath, R"({"input": "What is the answer?", "max_output_tokens": 8, "seed": 3,
    "instructions": "user:", "metadata": {"a": "b"}})"));
  EXPECT_EQ(first.at("object").as_string(), "response");
  EXPECT_EQ(first.at("status").as_string(), "incomplete");
  EXPECT_EQ(first.at("incomplete_details").at("reason").as_string(), "max_output_tokens");
  EXPECT_EQ(first.at("usage").at("output_tokens").as_int(), 8);
  EXPECT_EQ(first.at("metadata").at("a").as_string(), "b");
  const std::string text = text_of(first), id = first.at("id").as_string();
  EXPECT_FALSE(text.empty());

  // Going on from the stored one is the chat with everything said so far, without the old instructions.
  Json ask = Json::object();
  ask.set("previous_response_id", id), ask.set("input", "And now?"), ask.set("seed", 4);
  ask.set("max_output_tokens", 6);
  const Json second = ok(post(kPath, ask.dump()));
  Json chat = Json::parse(R"({"messages": [{"role": "user", "content": "What is the answer?"}], "seed": 4,
    "max_tokens": 6})");
  Json turn = Json::object(), question = Json::object(), messages = chat.at("messages");
  turn.set("role", "assistant"), turn.set("content", text);
  question.set("role", "user"), question.set("content", "And now?");
  messages.push(turn), messages.push(question), chat.set("messages", messages);
  const Json same = ok(post("/v1/chat/completions", chat.dump()));
  EXPECT_EQ(text_of(second), same.at("choices").as_array()[0].at("message").at("content").as_string());
  EXPECT_EQ(second.at("usage").at("input_tokens").as_int(), same.at("usage").at("prompt_tokens").as_int());

  EXPECT_EQ(ok(http(port(), "GET", "/v1/responses/" + id)), first);
  EXPECT_EQ(ok(http(port(), "GET", "/v1/responses/" + id + "/input_items")).at("data").as_array().size(), 1u);
  EXPECT_EQ(ok(http(port(), "DELETE", "/v1/responses/" + id)).at("deleted"), Json(true));
  refused(http(port(), "GET", "/v1/responses/" + id), 404, id);
  refused(post(kPath, ask.dump()), 404, "previous_response_not_found");
  const Json unkept = ok(post(kPath, R"({"input": "x", "store": false, "max_output_tokens": 1})"));
  refused(http(port(), "GET", "/v1/responses/" + unkept.at("id").as_string()), 404, "does not exist");
}

TEST_F(Responses, ReadItemsByTheirIds) {
  start();
  const Json first = ok(post(kPath, R"({"input": "What is the answer?", "max_output_tokens": 8, "seed": 3})"));
  const Json& item = first.at("output").as_array()[0];
  const auto tokens = [&](const Json& answer) {
    Json body = Json::object(), input = Json::array();
    input.push(Json::parse(R"({"role": "user", "content": "What is the answer?"})"));
    input.push(answer);
    input.push(Json::parse(R"({"role": "user", "content": "And now?"})"));
    body.set("input", std::move(input));
    return ok(post("/v1/responses/input_tokens", body.dump())).at("input_tokens").as_int();
  };
  Json named = Json::parse(R"({"type": "item_reference"})");
  named.set("id", item.at("id"));
  EXPECT_EQ(tokens(named), tokens(item));
}

TEST_F(Responses, StreamTheirItemsInOrder) {
  start();
  model_->defaults.eos_token_id = {model_->tokenizer.token_to_id("</s>")};
  const std::string ask = R"({"input": [{"role": "user", "content": [{"type": "input_text", "text": "roll"}]}],
    "max_output_tokens": 300, "seed": 2, "thinking_budget": 4, "chat_template_kwargs": {"think": true},
    "tools": [{"type": "function", "name": "roll", "strict": true, "parameters": {"type": "object", "properties":
      {"sides": {"enum": [6, 20]}}, "required": ["sides"], "additionalProperties": false}}], "tool_choice": "required",
    "parallel_tool_calls": false)";
  const Json whole = ok(post(kPath, ask + "}"));
  EXPECT_EQ(whole.at("status").as_string(), "completed");
  const RawAnswer a = post(kPath, ask + R"(, "stream": true})");
  std::map<std::string, int> count;
  std::string arguments, thoughts;
  int64_t sequence = 0;
  Json last;
  for (size_t at = 0; (at = a.body.find("data: {", at)) != a.body.npos; ++at) {
    const Json j = Json::parse(a.body.substr(at + 6, a.body.find("\n\n", at) - at - 6));
    const std::string type = j.at("type").as_string();
    EXPECT_EQ(j.at("sequence_number").as_int(), sequence++);
    ++count[type];
    if (type == "response.function_call_arguments.delta") arguments += j.at("delta").as_string();
    if (type == "response.reasoning_text.delta") thoughts += j.at("delta").as_string();
    if (type == "response.completed") last = j.at("response");
  }
  for (const char* once : {"response.created", "response.in_progress", "response.completed",
                           "response.function_call_arguments.done", "response.reasoning_text.done"})
    EXPECT_EQ(count[once], 1) << once << "\n" << a.body;
  EXPECT_EQ(count["response.output_item.added"], 2);
  EXPECT_EQ(count["response.output_item.done"], 2);
  const Json::Array& items = last.at("output").as_array();
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].at("type").as_string(), "reasoning");
  EXPECT_EQ(items[0].at("content").as_array()[0].at("text").as_string(), thoughts);
  EXPECT_EQ(items[1].at("arguments").as_string(), arguments);
  EXPECT_EQ(arguments, whole.at("output").as_array()[1].at("arguments").as_string());
  // The call's result is an item of the next request.
  Json next = Json::parse(R"({"max_output_tokens": 4})"), result = Json::object();
  result.set("type", "function_call_output"), result.set("call_id", items[1].at("call_id")),
      result.set("output", "4");
  next.set("previous_response_id", last.at("id")), next.set("input", Json(Json::Array{result}));
  ok(post(kPath, next.dump()));
}

TEST_F(Responses, RefuseWhatTheyCannotDo) {
  start();
  refused(post(kPath, "{}"), 400, "input");
  refused(post(kPath, R"({"input": "x", "background": true})"), 400, "background");
  refused(post(kPath, R"({"input": "x", "truncation": "auto"})"), 400, "truncation");
  refused(post(kPath, R"({"input": "x", "conversation": "c"})"), 400, "conversation");
  refused(post(kPath, R"({"input": "x", "tools": [{"type": "web_search"}]})"), 400, "tools[0]");
  refused(post(kPath, R"({"input": [{"type": "item_reference", "id": "x"}]})"), 400, "'x'");
  refused(post(kPath, R"({"input": [{"role": "user", "content": [{"type": "input_image"}]}]})"), 400, "input_image");
  refused(http(port(), "PUT", "/v1/responses/x"), 405, "GET, DELETE");
}

TEST(ResponseStore, IsBounded) {
  serve::ResponseStore store(3, 1 << 20);
  auto put = [&](const std::string& id, size_t bytes) {
    store.put(
        {.id = id, .model = "m", .response = Json(std::string(bytes, 'x')), .input = Json(), .messages = Json()});
  };
  for (const char* id : {"a", "b", "c"}) put(id, 10);
  EXPECT_NE(store.get("a", {}), nullptr);
  put("d", 10);
  EXPECT_EQ(store.get("b", {}), nullptr) << "the one not used for longest";
  EXPECT_NE(store.get("a", {}), nullptr);
  put("e", 1 << 20);
  EXPECT_NE(store.get("e", {}), nullptr);
  EXPECT_EQ(store.get("a", {}), nullptr);
  EXPECT_TRUE(store.erase("e", {}));
  EXPECT_FALSE(store.erase("e", {}));
}

TEST(ResponseStore, WhoKeepsMostLosesFirst) {
  serve::ResponseStore store(4, 1 << 20);
  const auto put = [&](const std::string& id, const std::string& owner, size_t bytes = 10) {
    store.put({.id = id,
               .model = "m",
               .response = Json(std::string(bytes, 'x')),
               .input = Json(),
               .messages = Json(),
               .owner = owner});
  };
  const auto there = [&](const std::string& id) { return store.get(id, {}) != nullptr; };
  put("b1", "bob");
  for (int i = 1; i <= 5; ++i) put("a" + std::to_string(i), "ann");
  EXPECT_TRUE(there("b1")) << "the oldest, of one who keeps one";
  EXPECT_FALSE(there("a1"));
  EXPECT_FALSE(there("a2"));
  EXPECT_TRUE(there("a3"));
  put("a6", "ann", 1 << 19), put("a7", "ann", 1 << 19);
  EXPECT_TRUE(there("b1")) << "likewise of bytes";
  EXPECT_FALSE(there("a6"));
  EXPECT_TRUE(there("a7"));
}

}  // namespace
}  // namespace quern
