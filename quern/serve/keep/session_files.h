// Saved sessions: the cached state of a chat written to a file in the folder the operator configured. Restoring it
// puts the state back into the prefix cache, also of a later server, which then continues the chat without prefilling
// it again.
//   POST   /v1/sessions/NAME           {"messages": […]} or {"prompt": …}: what is not cached is prefilled first
//   POST   /v1/sessions/NAME/restore   into the cache of the model that made it
//   GET    /v1/sessions, /v1/sessions/NAME;   DELETE /v1/sessions/NAME
// Every owner (Caller::owner) has names of its own. Who reaches others calls theirs OWNER@NAME.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "quern/base/json.h"
#include "quern/serve/http/http_server.h"
#include "quern/serve/models/served_model.h"

namespace quern::serve {

class SessionFiles {
 public:
  // An empty folder: no sessions here, and asking for one is an ApiError.
  explicit SessionFiles(std::filesystem::path folder);

  Json save(const std::string& name, ServedModel& m, const Json& body, Exchange& e) const;
  std::string model_of(const std::string& name, const Caller& who) const;  // the id of the model that made it
  Json restore(const std::string& name, ServedModel& m, const Caller& who) const;
  Json list(const Caller& who) const;
  Json facts(const std::string& name, const Caller& who) const;
  Json erase(const std::string& name, const Caller& who) const;

 private:
  std::filesystem::path folder_;
  std::filesystem::path file(const std::string& name, const Caller& who) const;      // checks the name
  std::filesystem::path existing(const std::string& name, const Caller& who) const;  // or a 404
};

}  // namespace quern::serve
