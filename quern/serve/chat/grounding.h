// Retrieval-augmented generation (RAG) for chats: retrieves from long-term conversation memory (quern/memory) and from
// indexed documents (quern/recall). A request asks for it with `x_memory` and `x_documents`. The retrieved text is
// inserted before the last question, with its time or a number to cite it by, and is returned to the client with the
// reason it was found.
//
//   Grounded g = grounding.ground(body, tokenizer);    // g.body is the request to run
//   … generate the answer …                            grounding.keep(g, answer);
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "quern/base/json.h"
#include "quern/memory/service/conversation_pool.h"
#include "quern/recall/store/current_store.h"
#include "quern/serve/http/caller.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::serve {

struct GroundingOptions {
  std::string memory;     // the database of conversations; made when it is not there. Empty: no memory
  std::string zone;       // of conversations made now; empty: UTC
  std::string documents;  // the folder of a recall index; empty: none
};

struct Grounded {
  Json body;               // without x_memory and x_documents, its last question with what was found before it
  Json memory, documents;  // what was found, for the client; null: not asked for
  std::string conversation, question;  // to keep the turn by; empty: nothing is kept
  std::string user = {};               // whose conversation

  bool asked() const { return !memory.is_null() || !documents.is_null(); }
  void tell(Json& answer) const;  // what was found, as its members x_memory and x_documents
};

class Grounding {
 public:
  explicit Grounding(const GroundingOptions& options);
  ~Grounding();
  Grounding(const Grounding&) = delete;
  Grounding& operator=(const Grounding&) = delete;

  memory::ConversationPool* memory() const;  // null: there is none
  recall::CurrentStore* documents() const;   // likewise
  bool has_memory() const { return memory() != nullptr; }
  bool has_documents() const { return documents() != nullptr; }
  // Fields that ask for what this server has not are an ApiError, as are wrong ones. utc: now, in seconds.
  Grounded ground(const Json& body, const text::Tokenizer& tokenizer, int64_t utc, const Caller& caller);
  // The question and its answer become turns of the conversation.
  void keep(const Grounded& g, const std::string& answer, int64_t utc);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern::serve
