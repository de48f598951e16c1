// Processes every document of the inputs once, on all threads, and commits the results of blocks in order: the loop
// that the stages share. look(state, document, out) runs on any thread with a State of its own, and so does
// out.pack(state), if it exists, after the block's last document; put(out) runs in order.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "quern/base/threads.h"
#include "quern/corpus/io/ingest.h"
#include "quern/corpus/run/pipeline.h"
#include "quern/corpus/run/run_folder.h"

namespace quern::corpus {

struct ScanOptions {
  std::vector<FieldMap> fields = {FieldMap()};
  ReadPolicy read;
  uint64_t block_bytes = uint64_t{4} << 20;  // of input in one piece of work
  std::string text() const;                  // all of it, for a run's identity
};
struct ScanReport {
  ReadCounts read;
  std::vector<std::string> damaged;
};
using ScanProgress = std::function<void(uint64_t bytes, uint64_t total)>;

// A scan that another process can go on with: every so many bytes of input, and at the end, note() is given what it
// takes, behind the put() of all that lies before.
struct ScanCheckpoints {
  const Json* from = nullptr;  // what an earlier scan noted; null: from the beginning
  uint64_t every = uint64_t{32} << 20;
  std::function<void(Json&&)> note;
};
struct ScanCallbacks {
  ScanProgress progress = {};
  ScanCheckpoints checkpoints = {};
  bool part = false;  // others read the other inputs: whether all is lost is not told here
};

template <class State, class Out, class Make, class Look, class Put>
ScanReport scan_documents(const Inputs& inputs, const ScanOptions& o, Make&& make, Look&& look, Put&& put,
                          const ScanCallbacks& callbacks = {}) {
  const ScanCheckpoints& notes = callbacks.checkpoints;
  struct Worker {
    DocumentReader reader;
    State state;
  };
  struct Scanned {
    Out out;
    ReadCounts counts;
    uint64_t bytes = 0;
    BlockPosition after;
  };
  ScanReport report;
  BlockReader blocks(inputs, o.read, o.block_bytes);
  BlockPosition end;
  if (notes.from) {
    read_state(notes.from->at("position"), end), read_state(notes.from->at("read"), report.read);
    blocks.seek(end);
  }
  const auto note = [&](const BlockPosition& at) {
    if (!notes.note) return;
    Json j = Json::object();
    j.set("position", write_value(at)), j.set("read", write_value(report.read));
    notes.note(std::move(j));
  };
  uint64_t since = 0;
  std::mutex lock;
  std::vector<std::unique_ptr<Worker>> idle;
  ordered_pipeline<Block, Scanned>(
      thread_count(),
      [&](Block& b) {
        const bool more = blocks.next(b);
        if (!more) end = b.after;
        return more;
      },
      [&](Block& block) {
        std::unique_ptr<Worker> w;
        {
          std::lock_guard hold(lock);
          if (!idle.empty()) w = std::move(idle.back()), idle.pop_back();
        }
        if (!w) w.reset(new Worker{DocumentReader(inputs, o.fields, o.read), make()});
        Scanned s;
        s.bytes = block.bytes.size(), s.after = block.after;
        w->reader.read(
            block, s.counts, [&](const DocumentView& d) { look(w->state, d, s.out); },
            [](uint64_t, RecordProblem) {});
        if constexpr (requires { s.out.pack(w->state); }) s.out.pack(w->state);
        std::lock_guard hold(lock);
        idle.push_back(std::move(w));
        return s;
      },
      [&](Scanned&& s) {
        report.read.add(s.counts);
        put(std::move(s.out));
        if ((since += s.bytes) >= notes.every) note(s.after), since = 0;
        if (callbacks.progress) callbacks.progress(s.after.packed, inputs.bytes());
      });
  note(end);
  report.damaged = blocks.damaged();
  if (!callbacks.part) refuse_when_all_is_lost(inputs, report.read, report.damaged);
  return report;
}

}  // namespace quern::corpus
