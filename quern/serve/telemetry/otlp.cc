// One POST per batch of spans, on a connection of its own.
#include "quern/serve/telemetry/otlp.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <random>

#include "quern/base/error.h"
#include "quern/base/version.h"

namespace quern::serve {
namespace {

constexpr size_t kTogether = 256;
constexpr int kWaitMs = 2000;  // for the collector, at every step

Json string_value(const std::string& s) { return Json(Json::Object{{"stringValue", Json(s)}}); }

void add_text(Json& list, const char* key, const std::string& value) {
  if (value.empty()) return;
  list.push(Json(Json::Object{{"key", Json(key)}, {"value", string_value(value)}}));
}
void add_count(Json& list, const char* key, int64_t value) {  // 64-bit numbers are texts in JSON
  list.push(Json(
      Json::Object{{"key", Json(key)}, {"value", Json(Json::Object{{"intValue", Json(std::to_string(value))}})}}));
}
void add_texts(Json& list, const char* key, const std::vector<std::string>& values) {
  Json all = Json::array(), array = Json::object(), value = Json::object();
  for (const std::string& v : values) all.push(string_value(v));
  array.set("values", std::move(all)), value.set("arrayValue", std::move(array));
  list.push(Json(Json::Object{{"key", Json(key)}, {"value", std::move(value)}}));
}

Json message_json(const std::string& role, const std::string& content) {
  Json part = Json::object(), m = Json::object();
  part.set("type", "text"), part.set("content", content);
  m.set("role", role), m.set("parts", Json(Json::Array{std::move(part)}));
  return m;
}

std::string output_messages(const RequestFacts& f) {
  Json list = Json::array();
  for (size_t i = 0; i < f.outputs.size(); ++i) {
    Json m = message_json("assistant", f.outputs[i]);
    if (i < f.finish_reasons.size()) m.set("finish_reason", f.finish_reasons[i]);
    list.push(std::move(m));
  }
  return f.outputs.empty() ? "" : list.dump();
}

bool ready(int fd, int16_t events) {
  pollfd p{.fd = fd, .events = events, .revents = 0};
  return ::poll(&p, 1, kWaitMs) > 0;
}

class Socket {
 public:
  explicit Socket(const CollectorAddress& to) {
    addrinfo hints{}, *list = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    if (::getaddrinfo(to.host.c_str(), to.port.c_str(), &hints, &list) != 0) return;
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(list, &::freeaddrinfo);
    for (const addrinfo* a = list; a && fd_ < 0; a = a->ai_next) {
      fd_ = ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
      if (fd_ < 0) continue;
      const bool begun = ::connect(fd_, a->ai_addr, a->ai_addrlen) == 0 || errno == EINPROGRESS;
      int error = 0;
      socklen_t size = sizeof error;
      if (begun && ready(fd_, POLLOUT) && ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0)
        return;
      ::close(fd_), fd_ = -1;
    }
  }
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  bool send(std::string_view data) const {
    while (!data.empty()) {
      if (fd_ < 0 || !ready(fd_, POLLOUT)) return false;
      const ssize_t n = ::send(fd_, data.data(), data.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      data.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  std::string status_line() const {
    std::string line;
    char buffer[512];
    while (line.find("\r\n") == line.npos && line.size() < 4096 && ready(fd_, POLLIN)) {
      const ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
      if (n <= 0) break;
      line.append(buffer, static_cast<size_t>(n));
    }
    return line.substr(0, line.find("\r\n"));
  }

 private:
  int fd_ = -1;
};

Json export_json(const std::vector<RequestSpan>& spans) {
  Json list = Json::array(), attributes = Json::array(), resource = Json::object(), scope = Json::object(),
       in_scope = Json::object(), of_resource = Json::object(), j = Json::object();
  for (const RequestSpan& s : spans) list.push(span_json(s));
  add_text(attributes, "service.name", "quern");
  add_text(attributes, "service.version", std::string(quern::version()));
  resource.set("attributes", std::move(attributes));
  scope.set("name", "quern.serve"), scope.set("version", quern::version());
  in_scope.set("scope", std::move(scope)), in_scope.set("spans", std::move(list));
  of_resource.set("resource", std::move(resource));
  of_resource.set("scopeSpans", Json(Json::Array{std::move(in_scope)}));
  j.set("resourceSpans", Json(Json::Array{std::move(of_resource)}));
  return j;
}

}  // namespace

CollectorAddress parse_collector(const std::string& url) {
  constexpr std::string_view kHttp = "http://";
  if (!url.starts_with(kHttp)) fail("'{}': expected http://HOST:PORT, an OTLP/HTTP collector without TLS", url);
  const std::string_view rest = std::string_view(url).substr(kHttp.size());
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view where = rest.substr(0, slash);
  CollectorAddress to{.host = {}, .port = "4318", .path = std::string(rest.substr(slash))};
  while (to.path.ends_with('/')) to.path.pop_back();
  if (to.path.empty()) to.path = "/v1/traces";
  const size_t colon = where.rfind(':');
  if (colon != where.npos && where.find(']', colon) == where.npos)
    to.port = std::string(where.substr(colon + 1)), where = where.substr(0, colon);
  if (where.starts_with('[') && where.ends_with(']')) where = where.substr(1, where.size() - 2);
  to.host = std::string(where);
  int port = 0;
  const auto [end, bad] = std::from_chars(to.port.data(), to.port.data() + to.port.size(), port);
  if (to.host.empty() || bad != std::errc() || end != to.port.data() + to.port.size() || port < 1 || port > 65535)
    fail("'{}': expected http://HOST:PORT", url);
  if (std::ranges::any_of(url, [](unsigned char c) { return c <= ' ' || c == 127; })) fail("'{}': has blanks", url);
  return to;
}

std::string random_hex(size_t digits) {
  thread_local std::mt19937_64 random{(uint64_t{std::random_device{}()} << 32) ^ std::random_device{}()};
  std::string out;
  while (out.size() < digits) out += fmt::format("{:016x}", random() | 1);  // never zero
  return out.substr(0, digits);
}

std::string input_messages(const Json& body) {
  Json list = Json::array();
  const auto words = [](const Json& content) { return content.is_string() ? content.as_string() : content.dump(); };
  if (const Json* messages = body.find("messages"); messages && messages->is_array())
    for (const Json& m : messages->as_array()) {
      const Json *role = m.find("role"), *content = m.find("content");
      list.push(message_json(role && role->is_string() ? role->as_string() : "user", content ? words(*content) : ""));
    }
  for (const char* field : {"prompt", "input", "content"})
    if (const Json* v = body.find(field)) list.push(message_json("user", words(*v)));
  return list.dump();
}

Json span_json(const RequestSpan& s) {
  Json j = Json::object(), attributes = Json::array(), status = Json::object();
  const RequestFacts& f = s.facts;
  j.set("traceId", s.parent.trace_id), j.set("spanId", s.span_id);
  if (!s.parent.span_id.empty()) j.set("parentSpanId", s.parent.span_id);
  j.set("name", f.model.empty() ? s.operation : s.operation + " " + f.model), j.set("kind", 2);  // server
  j.set("startTimeUnixNano", std::to_string(s.start_ns)), j.set("endTimeUnixNano", std::to_string(s.end_ns));
  add_text(attributes, "gen_ai.operation.name", s.operation), add_text(attributes, "gen_ai.provider.name", "quern");
  add_text(attributes, "gen_ai.request.model", f.model), add_text(attributes, "gen_ai.response.model", f.model);
  add_text(attributes, "gen_ai.response.id", s.request_id);
  if (s.status == 200) {
    add_count(attributes, "gen_ai.usage.input_tokens", f.input_tokens);
    add_count(attributes, "gen_ai.usage.cache_read.input_tokens", f.cached_tokens);
    add_count(attributes, "gen_ai.usage.output_tokens", f.output_tokens);
    if (!f.finish_reasons.empty()) add_texts(attributes, "gen_ai.response.finish_reasons", f.finish_reasons);
  }
  add_text(attributes, "gen_ai.input.messages", s.input);
  add_text(attributes, "gen_ai.output.messages", output_messages(f));
  add_text(attributes, "http.request.method", s.method), add_text(attributes, "http.route", s.path);
  add_text(attributes, "url.path", s.path), add_count(attributes, "http.response.status_code", s.status);
  if (s.status != 200) add_text(attributes, "error.type", std::to_string(s.status));
  if (s.status >= 500) status.set("code", 2);  // a client's mistake is no error of the server
  j.set("attributes", std::move(attributes)), j.set("status", std::move(status));
  return j;
}

OtlpExporter::OtlpExporter(const std::string& url)
    : to_(parse_collector(url)), thread_([this](const std::stop_token& s) { work(s); }) {}

OtlpExporter::~OtlpExporter() {
  thread_.request_stop();
  came_.notify_all();
}

void OtlpExporter::add(RequestSpan s) {
  std::lock_guard lock(mutex_);
  if (waiting_.size() >= kMaxWaiting) {
    ++counts_.dropped;
    return;
  }
  waiting_.push_back(std::move(s));
  if (waiting_.size() >= kTogether) came_.notify_one();
}

OtlpExporter::Counts OtlpExporter::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

void OtlpExporter::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  for (bool last = false; !last;) {
    came_.wait_for(lock, stop, std::chrono::seconds(1), [&] { return waiting_.size() >= kTogether; });
    last = stop.stop_requested();
    while (!waiting_.empty()) {
      const size_t n = std::min(waiting_.size(), kTogether);
      std::vector<RequestSpan> spans(std::make_move_iterator(waiting_.begin()),
                                     std::make_move_iterator(waiting_.begin() + static_cast<int64_t>(n)));
      waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<int64_t>(n));
      lock.unlock();
      const bool taken = send(export_json(spans).dump());
      lock.lock();
      (taken ? counts_.exported : counts_.dropped) += static_cast<int64_t>(n);
      if (!taken) break;  // not again at once
    }
  }
}

bool OtlpExporter::send(const std::string& body) const {
  const Socket socket(to_);
  const std::string head = fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n"
      "Connection: close\r\n\r\n",
      to_.path, to_.host, to_.port, body.size());
  if (!socket.send(head) || !socket.send(body)) return false;
  const std::string line = socket.status_line();
  return line.starts_with("HTTP/1.") && line.find(" 2") == 8;
}

}  // namespace quern::serve
