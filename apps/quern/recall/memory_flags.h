// Flags of several sub-verbs of quern memory.
#pragma once
#include <cstdint>
#include <string>

#include "quern/base/setting.h"
#include "quern/memory/store/store.h"

namespace quern::cli {

struct MemoryFlags {
  std::string db, conversation, user;
  template <class V>
  void visit(V& v) {
    v("db", db, "memory file (SQLite); add and import create it if missing", {.value = "FILE"});
    v("conversation", conversation, "name of the conversation", {.value = "NAME", .shown_default = "the only one"});
    v("user", user, "whose conversation it is, as the keys of a server are users",
      {.value = "NAME", .shown_default = "none"});
  }
};

// A conversation that is new.
struct NewConversation {
  std::string zone = "UTC";
  double gap = memory::kUsualGap / 60.0;
  template <class V>
  void visit(V& v) {
    visit_zone(v, zone);
    v("gap", gap, "for a new conversation: minutes of silence after which a new session starts", {.value = "MIN"});
  }
  template <class V>
  static void visit_zone(V& v, std::string& zone) {
    v("zone", zone,
      "time zone of a new conversation and of its times without an offset, for example Europe/Berlin or +02:00",
      {.value = "ZONE", .shown_default = "UTC"});
  }
};

// How questions are read.
struct QuestionFlags {
  std::string semantics = "strict", rank = "auto";
  bool all_speakers = false;
  template <class V>
  void visit(V& v) {
    v("semantics", semantics,
      "meaning of time expressions: strict (calendar), or tmd (labels of the TemporalMemoryDataset)",
      {.value = "NAME"});
    v("all_speakers", all_speakers, "do not restrict the result to a speaker named in the question");
    v("rank", rank,
      "topic ranking: bm25, mixpr (personalized PageRank), both, or auto (bm25; where a time or speaker leaves few "
      "turns, its best turn and then mixpr's)",
      {.value = "METHOD"});
  }
};

}  // namespace quern::cli
