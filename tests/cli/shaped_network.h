// Hosts in network namespaces of this machine, joined by a network with a latency and a bandwidth that are set: a packet
// of n bytes leaves its host when those before it have, n / bandwidth later, and arrives after the latency, behind what
// else arrives there. A relay in this process moves the packets between tunnel devices, so that no queueing discipline
// of the kernel is needed (netem is often missing). Needs root; where namespaces or tunnels are refused, `refusal` says
// so and nothing else may be used.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace quern {

class ShapedNetwork {
 public:
  struct Shape {
    int hosts = 2;
    double latency_s = 0, bytes_per_s = 0;
  };
  explicit ShapedNetwork(Shape shape);
  ~ShapedNetwork();
  ShapedNetwork(const ShapedNetwork&) = delete;
  ShapedNetwork& operator=(const ShapedNetwork&) = delete;

  const std::string& refusal() const { return refusal_; }  // "": it works
  std::string address(int host) const;
  std::string on(int host) const;                    // words before a command that run it on that host
  std::string agent(const std::string& file) const;  // writes a script for mpirun that starts daemons on hosts

 private:
  struct Host {
    pid_t pid = -1;  // keeps the namespaces
    int tunnel = -1, life = -1;
  };
  bool start(int host);
  void relay();
  Shape shape_;
  std::string refusal_;
  std::vector<Host> hosts_;
  std::atomic<bool> stop_{false};
  std::thread relay_;
};

}  // namespace quern
