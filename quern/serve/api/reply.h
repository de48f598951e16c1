// Reply: what the replies of all generation endpoints share. Each endpoint's own class writes one protocol: the whole
// output as one JSON object, or events as they come.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "quern/serve/http/http_server.h"
#include "quern/serve/models/served_model.h"
#include "quern/serve/wire/wire.h"

namespace quern::serve {

class Reply {
 public:
  virtual ~Reply() = default;
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;

  // The text of the first choice; nothing where it is not whole, or the client is gone.
  std::optional<std::string> run() {
    go();
    return e_.gone() ? std::nullopt : said_;
  }

 protected:
  Reply(ServedModel& m, Exchange& e, const char* id_prefix)
      : m_(m), e_(e), id_(id_of(e, id_prefix)), created_(unix_time()) {
    e.facts.model = m.id;
  }

  // The digits of the request's own id, by which it can be named while it runs.
  static std::string id_of(const Exchange& e, const char* prefix) {
    return e.id.starts_with(kRequestId) ? prefix + e.id.substr(kRequestId.size()) : new_id(prefix);
  }

  // The fields that every object of the OpenAI completion endpoints begins with.
  Json envelope(const char* object) const {
    Json j = Json::object();
    j.set("id", id_), j.set("object", object), j.set("created", created_), j.set("model", m_.id);
    if (!m_.fingerprint.empty()) j.set("system_fingerprint", m_.fingerprint);
    return j;
  }

  ServedModel& m_;
  Exchange& e_;
  const std::string id_;
  const int64_t created_;
  std::optional<EventStream> stream_;  // of a streamed reply, once it has begun
  std::optional<std::string> said_;    // once it is whole

 private:
  virtual void go() = 0;
};

}  // namespace quern::serve
