// Requests with a thinking plan (test-time compute) while they run. The engine sees only the candidates of such a
// request, so what the client asked for is listed here. For all threads.
#pragma once
#include <chrono>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "quern/reason/think.h"
#include "quern/serve/host/in_flight_requests.h"

namespace quern::serve {

class InFlightPlans {
  struct Plan {
    InFlightStatus status;
    std::chrono::steady_clock::time_point began;
  };

 public:
  class Entry {  // lists a request while it exists
   public:
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry();
    void record(const reason::ThinkEvent& e);

   private:
    friend class InFlightPlans;
    Entry(InFlightPlans& all, std::list<Plan>::iterator plan) : all_(all), plan_(plan) {}
    InFlightPlans& all_;
    std::list<Plan>::iterator plan_;
  };
  Entry add(std::string id, std::string plan);  // id: of the HTTP request
  std::vector<InFlightStatus> status() const;   // oldest first

 private:
  mutable std::mutex mutex_;
  std::list<Plan> plans_;
};

}  // namespace quern::serve
