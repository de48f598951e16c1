// Every fault is told, up to a number: a client mends its file once.
#include "quern/serve/batch/batch_file.h"

#include <set>

#include "quern/base/error.h"
#include "quern/serve/wire/wire.h"

namespace quern::serve {
namespace {

constexpr size_t kMaxLines = 50'000, kMaxFaults = 100, kMaxCustomId = 512;

std::string text_of(const Json& j, const char* key) {
  const Json* v = j.find(key);
  return v && v->is_string() ? v->as_string() : std::string();
}

// What is wrong with a line; empty: nothing.
std::string fault_of(const Json& j, const std::string& endpoint, std::set<std::string>& ids) {
  if (!j.is_object()) return "expected a JSON object";
  const std::string id = text_of(j, "custom_id"), url = text_of(j, "url"), method = text_of(j, "method");
  if (id.empty() || id.size() > kMaxCustomId)
    return fmt::format("custom_id: expected a text of 1 to {} bytes", kMaxCustomId);
  if (method != "POST") return fmt::format("method: '{}', expected POST", method);
  if (url != endpoint) return fmt::format("url: '{}', expected the batch's endpoint {}", url, endpoint);
  const Json* body = j.find("body");
  if (!body || !body->is_object()) return "body: expected a JSON object";
  if (const Json* stream = body->find("stream"); stream && *stream == Json(true))
    return "body.stream: a batch has no streams";
  if (!ids.insert(id).second) return fmt::format("custom_id: '{}' is there twice", id);
  return {};
}

}  // namespace

Json BatchFault::json() const {
  Json j = Json::object();
  j.set("code", code), j.set("message", message), j.set("param", Json()),
      j.set("line", line > 0 ? Json(line) : Json());
  return j;
}

BatchInput read_batch_input(std::string_view text, const std::string& endpoint) {
  BatchInput in;
  std::set<std::string> ids;
  int64_t number = 0;
  while (!text.empty() && in.faults.size() < kMaxFaults) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    if (in.lines.size() == kMaxLines) {
      in.faults.push_back(
          {"too_many_tasks", fmt::format("more than {} lines: make several batches", kMaxLines), number});
      break;
    }
    try {
      const Json j = Json::parse(line, fmt::format("line {}", number));
      const std::string fault = fault_of(j, endpoint, ids);
      if (fault.empty())
        in.lines.push_back({j.at("custom_id").as_string(), j.at("body")});
      else
        in.faults.push_back({"invalid_line", fault, number});
    } catch (const Error& e) {
      in.faults.push_back({"invalid_json_line", e.what(), number});
    }
  }
  if (in.lines.empty() && in.faults.empty()) in.faults.push_back({"empty_file", "the file has no lines", 0});
  return in;
}

std::string result_line(const BatchLine& line, int status, const std::string& request_id, const std::string& body) {
  Json j = Json::object(), response = Json::object();
  response.set("status_code", status), response.set("request_id", request_id);
  try {
    response.set("body", Json::parse(body, "an answer"));
  } catch (const Error&) {
    response.set("body", body);
  }
  j.set("id", new_id("batch_req_")), j.set("custom_id", line.custom_id);
  j.set("response", std::move(response)), j.set("error", Json());
  return j.dump() + "\n";
}

std::map<std::string, bool> finished_lines(std::string& text) {
  text.resize(text.rfind('\n') == text.npos ? 0 : text.rfind('\n') + 1);
  std::map<std::string, bool> done;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    done[Json::parse(std::string_view(text).substr(at, end - at)).at("custom_id").as_string()] = true;
    at = end + 1;
  }
  return done;
}

}  // namespace quern::serve
