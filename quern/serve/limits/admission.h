// Who may use the server, and how much: API keys with their limits, whose file can be read again at any time; without keys
// everybody, told apart by the names that requests carry. For all threads.
#pragma once
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "quern/base/json.h"
#include "quern/serve/http/http_server.h"
#include "quern/serve/limits/key_account.h"

namespace quern::serve {

struct AdmissionOptions {
  std::vector<std::string> plain = {};  // keys without limits
  std::filesystem::path file = {};      // keys with limits (client_key.h); empty: none
  int64_t max_requests = 256;           // of the server; one of several users gets seven eighths of them at most
};

class Admission {
 public:
  explicit Admission(AdmissionOptions options);  // throws Error when the file cannot be read
  size_t reload();    // the file; throws Error, and all stays as it was. The number of keys.
  bool open() const;  // there are no keys

  void identify(Exchange& e);  // sets its caller; throws ApiError 401 when there are keys and it has none of them
  class Pass {                 // a request in flight
   public:
    Pass(Pass&& o) noexcept : all_(std::exchange(o.all_, nullptr)), user_(std::move(o.user_)) {}
    Pass& operator=(Pass&&) = delete;
    ~Pass();

   private:
    friend class Admission;
    Pass(Admission* all, std::string user) : all_(all), user_(std::move(user)) {}
    Admission* all_;
    std::string user_;
  };
  Pass admit_as(Exchange& e, const std::string& key);  // both, for a key by its name; 401: it is no key any more
  // Counts a request of an identified caller and adds the x-ratelimit headers; throws ApiError 429, with retry-after.
  Pass admit(Exchange& e);
  // The user that a request names itself, where there are no keys: the field `user` of its body, else the header x-user-id.
  void name_user(Exchange& e, const Json& body) const;

  Json usage(const Exchange& e);                          // of the caller's key; of all keys for an admin
  void add_metrics(const Caller& who, std::string& out);  // in the text format of Prometheus; of the same keys

 private:
  using Keys = std::vector<ClientKey>;
  std::shared_ptr<const Keys> keys() const;
  Keys all_keys() const;
  static RateMoment now();
  Json account_json(const std::string& name);
  void set_caller(Exchange& e, const ClientKey& key);

  const AdmissionOptions o_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Keys> keys_;
  std::map<std::string, KeyAccount> accounts_;  // by name; what was used is kept when the file is read again
  std::map<std::string, int64_t> running_;      // by user, keys or not
};

}  // namespace quern::serve
