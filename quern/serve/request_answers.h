// The answers of one request, asked for together and followed together by its worker.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "quern/serve/engine_host.h"
#include "quern/serve/http_server.h"

namespace quern {

class EventStream;

class RequestAnswers {
 public:
  RequestAnswers(EngineHost& host, Exchange& e);
  ~RequestAnswers();  // cancels what is left
  RequestAnswers(const RequestAnswers&) = delete;
  RequestAnswers& operator=(const RequestAnswers&) = delete;

  std::shared_ptr<Answer> add(Request r, Submission how);
  struct Told {
    std::function<void(size_t answer, const AnswerPiece& piece)> piece = {};
    std::function<void(size_t answer)> done = {};
    std::function<void(size_t answer)> read = {};  // more of its prompt
  };
  // Until all are done; false: the client is gone, and what was left is cancelled. What is sent to `stream`, when
  // there is one, goes out together for all that came at once, and the line is kept open while nothing comes.
  bool follow(EventStream* stream, const Told& told);

 private:
  EngineHost& host_;
  Exchange& exchange_;
  std::shared_ptr<AnswerBell> bell_;
  std::vector<std::shared_ptr<Answer>> answers_;
};

}  // namespace quern
