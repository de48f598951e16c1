// Ordered parallel pipeline: produce(In&) runs under a lock, work(In&) on any thread, commit(Out&&) under a lock in
// the order of production, whatever finished first. Each thread has one In that it reuses, buffers included. At most
// four items per thread are in flight, so memory is bounded. An exception of any part is rethrown here once all
// threads have stopped.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace quern::corpus {

template <class In, class Out, class Produce, class Process, class Commit>
void ordered_pipeline(int threads, Produce produce, Process process, Commit commit) {
  std::mutex source, sink;
  std::condition_variable room;
  std::map<uint64_t, Out> done;
  uint64_t produced = 0, committed = 0;
  bool committing = false, stop = false;
  std::exception_ptr problem;
  auto give_up = [&] {
    std::lock_guard lock(sink);
    if (!problem) problem = std::current_exception();
    stop = true;
    room.notify_all();
  };
  auto commit_in_order = [&](uint64_t number, Out&& out) {
    std::unique_lock lock(sink);
    done.emplace(number, std::move(out));
    if (committing) return;
    committing = true;
    while (!stop && !done.empty() && done.begin()->first == committed) {
      Out first = std::move(done.begin()->second);
      done.erase(done.begin());
      lock.unlock();
      try {
        commit(std::move(first));
      } catch (...) {
        give_up();
      }
      lock.lock();
      ++committed;
      room.notify_all();
    }
    committing = false;
  };
  auto loop = [&] {
    try {
      In in;
      while (true) {
        uint64_t number = 0;
        {
          std::lock_guard lock(source);
          {
            std::unique_lock wait(sink);
            room.wait(wait, [&] { return stop || produced - committed < 4 * static_cast<uint64_t>(threads); });
            if (stop) return;
          }
          if (!produce(in)) return;
          number = produced++;
        }
        commit_in_order(number, process(in));
      }
    } catch (...) {
      give_up();
    }
  };
  if (threads <= 1) {
    loop();
  } else {
    std::vector<std::jthread> crew;
    for (int i = 0; i < threads; ++i) crew.emplace_back(loop);
  }
  if (problem) std::rethrow_exception(problem);
}

}  // namespace quern::corpus
