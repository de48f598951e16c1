// Every document of the inputs once, on all threads, what became of a block put away in order: the loop that the
// stages share. look(state, document, out) runs on any thread with a State of its own; put(out, bytes so far) in
// order.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "quern/base/threads.h"
#include "quern/corpus/ingest.h"
#include "quern/corpus/pipeline.h"

namespace quern::corpus {

struct ScanOptions {
  std::vector<FieldMap> fields = {FieldMap()};
  ReadPolicy read;
};
struct ScanReport {
  ReadCounts read;
  std::vector<std::string> damaged;
};
using ScanProgress = std::function<void(uint64_t bytes, uint64_t total)>;

template <class State, class Out, class Make, class Look, class Put>
ScanReport scan_documents(const Inputs& inputs, const ScanOptions& o, Make&& make, Look&& look, Put&& put,
                          const ScanProgress& progress = {}) {
  struct Worker {
    DocumentReader reader;
    State state;
  };
  struct Scanned {
    Out out;
    ReadCounts counts;
    uint64_t packed = 0;
  };
  ScanReport report;
  BlockReader blocks(inputs, o.read);
  std::mutex lock;
  std::vector<std::unique_ptr<Worker>> idle;
  ordered_pipeline<Block, Scanned>(
      thread_count(), [&](Block& b) { return blocks.next(b); },
      [&](Block&& block) {
        std::unique_ptr<Worker> w;
        {
          std::lock_guard hold(lock);
          if (!idle.empty()) w = std::move(idle.back()), idle.pop_back();
        }
        if (!w) w.reset(new Worker{DocumentReader(inputs, o.fields, o.read), make()});
        Scanned s;
        s.packed = block.after.packed;
        w->reader.read(
            block, s.counts, [&](const DocumentView& d) { look(w->state, d, s.out); }, [](uint64_t, RowProblem) {});
        std::lock_guard hold(lock);
        idle.push_back(std::move(w));
        return s;
      },
      [&](Scanned&& s) {
        report.read.add(s.counts);
        put(std::move(s.out));
        if (progress) progress(s.packed, inputs.bytes());
      });
  report.damaged = blocks.damaged();
  return report;
}

}  // namespace quern::corpus
