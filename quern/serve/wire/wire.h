// What all responses share: ids, usage, finish reasons, log-probabilities, server-sent events.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "quern/base/json.h"
#include "quern/serve/host/engine_host.h"
#include "quern/serve/http/http_server.h"
#include "quern/serve/wire/api_error.h"

namespace quern::serve {

inline constexpr std::string_view kRequestId = "req-";  // the ids of HTTP requests begin with it
std::string new_id(const char* prefix);                 // prefix and 24 hex digits, never the same twice
int64_t unix_time();

struct Usage {
  int64_t prompt = 0, cached = 0, completion = 0, reasoning = 0;
  Json json() const;
};
// How much of a prompt is read: total, cache, processed (the cached ones too), time_ms.
Json progress_json(const RequestProgress& p);
Json timings_json(const infer::Generated& g);  // how long what took, and why no more of the prompt was cached

// "stop" or "length", which a timeout is too; failures must have been told before.
const char* finish_reason(const std::string& finish);
bool too_late(const infer::Generated& g);  // its time was over before it had a token
constexpr const char* kCutByTime =
    "the request timed out: this is the beginning of an answer";  // a line of x_warnings
// What a client is told of an answer that failed, or had no time to begin; nothing: there is an answer.
std::optional<ApiError> failure_of(const infer::Generated& g);

// One token of a chat's `logprobs.content`.
Json chat_logprob(const text::Tokenizer& tokenizer, int32_t token, double logprob,
                  std::span<const infer::TokenLogprob> top);

enum class StreamForm { events, lines };  // server-sent events, or a JSON value a line (NDJSON)

// A streamed answer. Of server-sent events, a comment keeps the connection open while nothing comes.
class EventStream {
 public:
  explicit EventStream(Exchange& e, StreamForm form = StreamForm::events);
  class Together {  // while there is one, events wait for flush() and go out in one write
   public:
    explicit Together(EventStream& s) : stream_(s) { stream_.together_ = true; }
    ~Together() { stream_.together_ = false; }  // what still waits goes out with the next event or the end
    Together(const Together&) = delete;
    Together& operator=(const Together&) = delete;

   private:
    EventStream& stream_;
  };
  bool send(const Json& data);                            // false: the client is gone
  bool send(const std::string& event, const Json& data);  // with an event name
  bool keep_alive();
  bool flush();
  void done();  // "[DONE]", of events
  void end();

 private:
  bool put(std::string_view text);
  Exchange& exchange_;
  StreamForm form_;
  std::string waiting_;
  bool together_ = false;
};

}  // namespace quern::serve
