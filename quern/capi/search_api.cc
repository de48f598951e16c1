// Search and memory functions of quern.h.
#include "quern/capi/handles.h"
#include "quern/capi/text_list.h"
#include "quern/kernels/quant/quant_format.h"
#include "quern/memory/ask/memory.h"
#include "quern/memory/ask/turn_lines.h"
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

int64_t checked_time(int64_t unix_time) {
  if (unix_time < memory::kFirstSecond || unix_time > memory::kLastSecond)
    fail("time {}: not in the years 1 to 9999; expected seconds since 1970", unix_time);
  return unix_time;
}

Json search(const recall::RecallStore& store, std::string_view question, int64_t k) {
  if (k < 1) fail("k {}: expected 1 or more", k);
  return store.fused(question, static_cast<size_t>(k)).json();
}

Json ask(memory::Memory& m, std::string_view question, const char* asker, int64_t now) {
  memory::AskOptions o;
  o.now = m.zone().to_local(checked_time(now)), o.offset = m.zone().offset_at(now);
  if (asker) o.asker = asker;
  const memory::MemoryResult r = m.ask(question, o);
  Json j = r.json(m.info().id), turns = Json::array();
  const memory::TurnTable& t = m.table();
  for (const int32_t response : r.responses) {
    const size_t row = t.row_of(response).value();
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

int quern_index_put_all(quern_index* index, const char* names, const int64_t* name_ends, const char* texts,
                        const int64_t* ends, int64_t n) {
  return guarded(-1, [&] {
    const auto titles = text_list<std::string>(names, name_ends, n);
    const auto all = text_list<std::string_view>(texts, ends, n);
    std::vector<quern::recall::NamedText> named;
    for (size_t i = 0; i < all.size(); ++i) {
      if (titles[i].empty()) quern::fail("text {} has an empty name: an index keeps texts by their names", i);
      named.push_back({.name = titles[i], .text = all[i]});
    }
    required(index, "index").store.put(named, {});
    return 0;
  });
}

int64_t quern_index_remove(quern_index* index, const char* names_json) {
  return guarded(int64_t{-1}, [&] {
    std::vector<std::string> names;
    const quern::Json listed = quern::Json::parse(required(names_json, "names_json"), "names");
    for (const quern::Json& name : listed.as_array("names")) names.push_back(name.as_string("names"));
    return required(index, "index").store.remove(names);
  });
}

int quern_index_encoder(quern_index* index, const char* folder, const char* format) {
  return guarded(-1, [&] {
    quern::recall::RecallStore& store = required(index, "index").store;
    const std::string name(required(folder, "folder"));
    if (name == quern::recall::kNoEncoder)
      store.use_words_alone();
    else
      store.use_encoder(
          quern::recall::load_chunk_encoder(name, quern::kernels::parse_format(format ? format : "f32", "format")));
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
                                   unix_time, m.zone().offset_at(checked_time(unix_time))};
    return int64_t{m.add(turn).response};
  });
}

int64_t quern_memory_turns(quern_memory* memory, int64_t first, int64_t limit, char* buffer, int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    if (first < 0 || first > INT32_MAX) quern::fail("first {}: expected the number of a turn", first);
    quern::Json found = quern::Json::object(), turns = quern::Json::array();
    quern::memory::each_turn_line(required(memory, "memory").memory, static_cast<int32_t>(first), limit,
                                  [&](const quern::Json& turn) { turns.push(turn); });
    found.set("turns", std::move(turns));
    return copy_out(found.dump(), buffer, capacity, "buffer");
  });
}

int64_t quern_memory_forget(quern_memory* memory, const int64_t* turns, int64_t n) {
  return guarded(int64_t{-1}, [&] {
    std::vector<int32_t> which;
    for (const int64_t turn : required(turns, n, "turns")) {
      if (turn < 0 || turn > INT32_MAX) quern::fail("turn {}: expected the number of a turn", turn);
      which.push_back(static_cast<int32_t>(turn));
    }
    return required(memory, "memory").memory.forget(which);
  });
}

int64_t quern_memory_ask(quern_memory* memory, const char* question, const char* asker, int64_t unix_time,
                         char* buffer, int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    const quern::Json found =
        ask(required(memory, "memory").memory, required(question, "question"), asker, unix_time);
    return copy_out(found.dump(), buffer, capacity, "buffer");
  });
}

int64_t quern_memory_time(const quern_memory* memory, const char* text) {
  return guarded(INT64_MIN, [&] {
    const quern::memory::WrittenTime t = quern::memory::parse_time_text(required(text, "text"), "time");
    return t.offset ? t.local - *t.offset : required(memory, "memory").memory.zone().to_utc(t.local);
  });
}

}  // extern "C"
