// Search and memory functions of quern.h.
#include "quern/capi/handles.h"
#include "quern/memory/ask/memory.h"
#include "quern/memory/time/calendar.h"
#include "quern/recall/store/store.h"

struct quern_index {
  quern::recall::RecallStore store;
};

struct quern_memory {
  quern::memory::Memory memory;
};

namespace quern::capi {
namespace {

Json search(const recall::RecallStore& store, std::string_view question, int64_t k) {
  if (k < 1) fail("k {}: expected 1 or more", k);
  return store.fused(question, static_cast<size_t>(k)).json();
}

Json ask(memory::Memory& m, std::string_view question, int64_t now) {
  memory::AskOptions o;
  o.now = m.zone().to_local(now);
  const memory::MemoryResult r = m.ask(question, o);
  Json j = r.json(m.info().id), turns = Json::array();
  const memory::TurnTable& t = m.table();
  for (const int32_t response : r.responses) {
    const auto row = static_cast<size_t>(std::ranges::lower_bound(t.response, response) - t.response.begin());
    Json one = Json::object();
    one.set("response", int64_t{response}), one.set("session", int64_t{t.session[row]});
    one.set("time", memory::time_text(t.local(row)));
    one.set("speaker", m.speakers()[static_cast<size_t>(t.speaker[row])]), one.set("text", m.text(response));
    turns.push(std::move(one));
  }
  j.set("turns", std::move(turns));
  return j;
}

}  // namespace
}  // namespace quern::capi

using namespace quern::capi;

extern "C" {

quern_index* quern_index_open(const char* folder) {
  return guarded(static_cast<quern_index*>(nullptr), [&] {
    return new quern_index{quern::recall::RecallStore::open_or_create(required(folder, "folder"), {})};
  });
}

void quern_index_free(quern_index* index) { delete index; }

int quern_index_put(quern_index* index, const char* name, const char* text) {
  return guarded(-1, [&] {
    required(index, "index").store.put(std::string(required(name, "name")), required(text, "text"), {});
    return 0;
  });
}

int64_t quern_index_add(quern_index* index, const char* path) {
  return guarded(int64_t{-1}, [&] {
    return required(index, "index").store.index({std::string(required(path, "path"))}, {}).documents;
  });
}

int64_t quern_index_search(const quern_index* index, const char* question, int64_t k, char* buffer,
                           int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    const quern::Json found = search(required(index, "index").store, required(question, "question"), k);
    return copy_out(found.dump(), buffer, capacity, "buffer");
  });
}

quern_memory* quern_memory_open(const char* file, const char* conversation, const char* zone) {
  return guarded(static_cast<quern_memory*>(nullptr), [&] {
    quern::memory::MemoryOptions o;
    o.create = true;
    if (conversation) o.conversation = conversation;
    if (zone) o.zone = zone;
    return new quern_memory{quern::memory::Memory(required(file, "file"), o)};
  });
}

void quern_memory_free(quern_memory* memory) { delete memory; }

int64_t quern_memory_add(quern_memory* memory, const char* speaker, const char* text, int64_t unix_time) {
  return guarded(int64_t{-1}, [&] {
    quern::memory::Memory& m = required(memory, "memory").memory;
    quern::memory::SpokenTurn turn{std::string(required(speaker, "speaker")), std::string(required(text, "text")),
                                   unix_time, m.zone().offset_at(unix_time)};
    return int64_t{m.add(turn).response};
  });
}

int64_t quern_memory_ask(quern_memory* memory, const char* question, int64_t unix_time, char* buffer,
                         int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    const quern::Json found = ask(required(memory, "memory").memory, required(question, "question"), unix_time);
    return copy_out(found.dump(), buffer, capacity, "buffer");
  });
}

}  // extern "C"
