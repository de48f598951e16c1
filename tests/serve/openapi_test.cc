// The OpenAPI document describes every route and nothing else, and names only schemas that it has.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "quern/serve/describe/openapi.h"
#include "tests/serve/serving.h"

namespace quern {
namespace {

std::string upper(const std::string& s) {
  std::string out;
  for (char c : s) out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

// Every "METHOD /path" of the document.
std::set<std::string> described(const Json& document) {
  std::set<std::string> out;
  for (const auto& [path, item] : document.at("paths").as_object())
    for (const auto& [method, operation] : item.as_object()) out.insert(upper(method) + " " + path);
  return out;
}

void each_object(const Json& j, const std::function<void(const Json&)>& f) {
  if (j.is_object()) {
    f(j);
    for (const auto& [key, value] : j.as_object()) each_object(value, f);
  } else if (j.is_array()) {
    for (const Json& one : j.as_array()) each_object(one, f);
  }
}

// The route that serves a path, as App::dispatch finds it; null: none.
const serve::App::Route* route_of(const std::string& method, const std::string& path) {
  const serve::App::Route* found = nullptr;
  for (const serve::App::Route& r : serve::App::kRoutes) {
    const std::string_view p = r.path;
    const bool below = p.size() > 1 && p.ends_with('/') && path.size() > p.size() && path.starts_with(p);
    if (method == r.method && (path == p || below)) found = &r;
  }
  return found;
}

TEST(OpenApi, DescribesEveryRouteAndNothingElse) {
  const Json document = serve::App::openapi_json({});
  const std::set<std::string> all = described(document);
  std::set<const serve::App::Route*> met;
  for (const std::string& one : all) {
    const size_t space = one.find(' ');
    const serve::App::Route* r = route_of(one.substr(0, space), one.substr(space + 1));
    ASSERT_NE(r, nullptr) << one << " is described, and no route serves it";
    met.insert(r);
  }
  for (const serve::App::Route& r : serve::App::kRoutes)
    EXPECT_TRUE(met.contains(&r)) << r.method << " " << r.path
                                  << " is not described: add what it takes and answers to quern/serve/describe";
}

TEST(OpenApi, NamesItsOwnSchemas) {
  const Json document = serve::App::openapi_json({});
  const Json& schemas = document.at("components").at("schemas");
  std::set<std::string> named;
  each_object(document, [&](const Json& j) {
    if (const Json* ref = j.find("$ref")) {
      const std::string name = ref->as_string().substr(std::string_view("#/components/schemas/").size());
      EXPECT_TRUE(schemas.find(name)) << ref->as_string();
      named.insert(name);
    }
  });
  for (const auto& [name, schema] : schemas.as_object()) EXPECT_TRUE(named.contains(name)) << name << " is not used";
  std::set<std::string> ids;
  for (const auto& [path, item] : document.at("paths").as_object())
    for (const auto& [method, operation] : item.as_object())
      EXPECT_TRUE(ids.insert(operation.at("operationId").as_string()).second) << path;
}

TEST(OpenApi, SamplingFieldsFollowTheirDeclaration) {
  const Json all = serve::generation_schemas();
  EXPECT_EQ(all.at("top_p").at("maximum").as_double(), 1);
  EXPECT_EQ(all.at("top_p").at("exclusiveMinimum").as_double(), 0);
  EXPECT_EQ(all.at("temperature").at("maximum").as_double(), 100);  // the bound of requests
  EXPECT_EQ(all.at("top_k").at("type"), Json(Json::Array{"integer", "null"}));
  EXPECT_EQ(all.at("stop").at("maxItems").as_int(), 16);
  EXPECT_EQ(all.find("max_tokens"), nullptr);  // requests have their own
  const Json document = serve::App::openapi_json({});
  const Json& chat = document.at("paths").at("/v1/chat/completions").at("post");
  const Json& body = chat.at("requestBody").at("content").at("application/json").at("schema");
  EXPECT_TRUE(body.at("properties").find("dry_multiplier"));
  EXPECT_TRUE(body.at("properties").find("messages"));
}

TEST_F(Serving, PublishesItsDescription) {
  serve::AppOptions options;
  options.api_keys = {"secret"}, options.prefix = "/llm";
  start(options);
  const RawAnswer a = http(port(), "GET", "/llm/openapi.json");
  ASSERT_EQ(a.status, 200) << a.body;
  const Json document = Json::parse(a.body);
  EXPECT_EQ(document.at("openapi").as_string(), "3.1.0");
  EXPECT_EQ(document.at("servers").as_array()[0].at("url").as_string(), "/llm");
  EXPECT_EQ(document.at("security").as_array().size(), 2u);  // a key, in one of two places
  EXPECT_EQ(serve::App::openapi_json({}).at("security").as_array().size(), 3u);
  // A key is not asked for where the document says so, and is where it does not.
  for (const auto& [path, item] : document.at("paths").as_object()) {
    const Json* get = item.find("get");
    if (!get || path.find('{') != path.npos) continue;
    const int status = http(port(), "GET", "/llm" + path).status;
    EXPECT_EQ(status == 401, get->find("security") == nullptr) << path << " " << status;
    EXPECT_EQ(status == 401, get->at("responses").find("401") != nullptr) << path;
  }
}

// What only one method may do, below a path that more may.
TEST_F(Serving, MethodsOfPathsBelow) {
  start();
  const auto allows = [&](const char* method, const std::string& path) {
    const RawAnswer a = http(port(), method, path);
    if (a.status != 405) return fmt::format("{}", a.status);
    const size_t at = a.head.find("allow: ");
    return a.head.substr(at + 7, a.head.find("\r\n", at) - at - 7);
  };
  EXPECT_EQ(allows("GET", "/v1/batches/x/cancel"), "POST");
  EXPECT_EQ(allows("POST", "/v1/batches/x/cancel"), "404");
  EXPECT_EQ(allows("POST", "/v1/batches/x"), "GET");
  EXPECT_EQ(allows("DELETE", "/v1/sessions/x/restore"), "POST");
  EXPECT_EQ(allows("DELETE", "/v1/files/x/content"), "GET");
  EXPECT_EQ(allows("DELETE", "/v1/responses/x/input_items"), "GET");
  EXPECT_EQ(allows("GET", "/v1/responses/x/input_items"), "404");
}

}  // namespace
}  // namespace quern
