// HTTP/1.1 server on a TCP port or a Unix socket. One thread accepts and reads; a complete request goes to a worker
// thread, which may respond at once or stream. The reading thread watches the connections of busy workers:
// Exchange::gone() becomes true as soon as the client disconnects. Slow or silent clients time out; too many
// connections get 503.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "quern/serve/http/caller.h"
#include "quern/serve/http/http_message.h"
#include "quern/serve/http/request_facts.h"
#include "quern/serve/http/tls.h"

namespace quern::serve {

class Exchange {  // one request and its answer; used by one worker
 public:
  virtual ~Exchange() = default;
  virtual const HttpRequest& request() const = 0;
  virtual void below(std::string_view prefix) = 0;  // the path begins with it; from now on without
  virtual bool gone() const = 0;  // the client has hung up, or the server stops, before the whole answer was sent
  // Once, on any thread, perhaps at once, and with nothing of this Exchange called from it. {}: no more.
  virtual void when_gone(std::function<void()> then) = 0;
  virtual void header(std::string name, std::string value) = 0;  // before the answer begins
  virtual void answer(int status, std::string_view content_type, std::string_view body) = 0;
  virtual void begin(int status, std::string_view content_type) = 0;  // then write, write …, end
  virtual bool write(std::string_view data) = 0;                      // false: the client is gone
  virtual void end() = 0;
  virtual int status() const = 0;  // of the answer; 0 before there is one
  RequestFacts facts;              // for metrics and traces
  Caller caller;                   // who asks, once the routes know
  std::string id;                  // what the log, the answer and the list of slots call it
};

struct HttpServerOptions {
  std::string host = "127.0.0.1";
  int port = 8080;                      // 0: any free one
  std::string unix_path = {};           // instead of host and port: a socket of this name, for its owner alone
  std::shared_ptr<TlsServer> tls = {};  // null: connections are not encrypted
  HttpLimits limits = {};
  int connections = 1024;
  int workers = 256 + 32;  // more than an App takes requests: lookups and refusals are answered beside them
  double header_seconds = 10, body_seconds = 60, idle_seconds = 60, write_seconds = 30;
  double parting_seconds = 2;  // for a client to read the last answer and end its side
};

class HttpServer {
 public:
  using Handler = std::function<void(Exchange&)>;          // an exception becomes a 500
  HttpServer(HttpServerOptions options, Handler handler);  // binds; throws Error naming host and port
  ~HttpServer();                                           // stop, and wait for workers
  int port() const;                                        // 0: it listens at a name
  void run();                                              // until stop()
  void stop();                                             // may be called from anywhere, a signal handler too
  double silent_seconds() const;                           // since the reading thread went round its loop

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern::serve
