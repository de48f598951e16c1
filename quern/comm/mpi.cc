#include "quern/comm/mpi.h"

#include <cstdlib>

#ifdef QUERN_MPI
#include <mpi.h>
#include <sched.h>

#include <chrono>
#include <cstring>
#include <limits>
#include <thread>
#endif

namespace quern::comm {

bool under_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    if (std::getenv(name)) return true;
  return false;
}

#ifndef QUERN_MPI

bool mpi_built() { return false; }
void run_mpi(const std::function<void(Communicator&)>&, const MpiOptions&) {
  fail("this quern was built without MPI: install libopenmpi-dev, configure again and rebuild");
}

#else

bool mpi_built() { return true; }

namespace {

constexpr size_t kSlice = size_t{1} << 30;  // MPI counts are ints
constexpr int kTags = 32768;                // every MPI has at least these

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int n = 0;
  MPI_Error_string(code, text, &n);
  fail("{}: {}", what, std::string_view(text, static_cast<size_t>(n)));
}

// Messages under way, and what to do when they are there.
class Pending : public Transfer::Operation {
 public:
  Pending(const char* what, int rank, double timeout_s) : what_(what), rank_(rank), timeout_s_(timeout_s) {}

  void send(MPI_Comm c, std::span<const std::byte> x, int to, int tag) {
    slices(x.size(),
           [&](size_t at, int n) { check(MPI_Isend(x.data() + at, n, MPI_BYTE, to, tag, c, &add(to, -1)), what_); });
  }
  void recv(MPI_Comm c, std::span<std::byte> x, int from, int tag) {
    slices(x.size(), [&](size_t at, int n) {
      check(MPI_Irecv(x.data() + at, n, MPI_BYTE, from, tag, c, &add(from, n)), what_);
    });
  }
  void then(std::function<void()> f) { finish_ = std::move(f); }

  bool test() override {
    std::vector<MPI_Status> status(requests_.size());
    int done = 0;
    const int code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, status.data());
    if (code != MPI_SUCCESS) failed(code, status);
    if (!done) return false;
    for (size_t i = 0; i < peers_.size(); ++i) {
      int n = 0;
      if (peers_[i].bytes < 0) continue;
      MPI_Get_count(&status[i], MPI_BYTE, &n);
      if (n != peers_[i].bytes) wrong_size(peers_[i], fmt::format("which sent {}", n));
    }
    if (finish_) finish_();
    return true;
  }

  // Spins briefly, then leaves the core to whoever wants it, then sleeps.
  void wait() override {
    const auto begin = std::chrono::steady_clock::now();
    for (int64_t turn = 0; !test(); ++turn) {
      if (turn < 1000) continue;
      if (turn < 20000)
        sched_yield();
      else
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > timeout_s_)
        fail("{}: rank {} waited {} s for the other ranks", what_, rank_, timeout_s_);
    }
  }

 private:
  struct Peer {
    int rank, bytes;  // −1: a send
  };
  template <class F>
  static void slices(size_t bytes, F&& f) {
    size_t at = 0;
    do {  // an empty message is sent too: a barrier is made of them
      const size_t n = std::min(kSlice, bytes - at);
      f(at, static_cast<int>(n));
      at += n;
    } while (at < bytes);
  }
  MPI_Request& add(int rank, int bytes) {
    peers_.push_back({rank, bytes});
    return requests_.emplace_back(MPI_REQUEST_NULL);
  }
  [[noreturn]] void wrong_size(const Peer& p, const std::string& found) const {
    fail("{}: rank {} expected {} bytes from rank {}, {}", what_, rank_, p.bytes, p.rank, found);
  }
  [[noreturn]] void failed(int code, const std::vector<MPI_Status>& status) const {
    int kind = code;
    for (size_t i = 0; code == MPI_ERR_IN_STATUS && i < status.size(); ++i) {
      const int e = status[i].MPI_ERROR;
      if (e == MPI_SUCCESS || e == MPI_ERR_PENDING) continue;
      MPI_Error_class(e, &kind);
      if (kind == MPI_ERR_TRUNCATE) wrong_size(peers_[i], "which sent more");
      check(e, what_);
    }
    MPI_Error_class(code, &kind);
    if (kind == MPI_ERR_TRUNCATE) fail("{}: rank {} got more bytes than it expected", what_, rank_);
    check(code, what_);
    std::abort();
  }

  const char* what_;
  int rank_;
  double timeout_s_;
  std::vector<MPI_Request> requests_;
  std::vector<Peer> peers_;
  std::function<void()> finish_;
};

// What the operation below merges by; MPI hands it no context. Set for the length of one reduction.
thread_local const RecordMerge* merging = nullptr;

void merge_records(void* in, void* inout, int* records, MPI_Datatype*) {
  merging->join(static_cast<const std::byte*>(in), static_cast<const std::byte*>(inout),
                static_cast<std::byte*>(inout), *records);
}

class MpiRank : public Communicator {
 public:
  // Takes ownership of both: collectives and messages never meet.
  MpiRank(MPI_Comm collectives, MPI_Comm messages, const MpiOptions& o)
      : Communicator(rank_of(collectives), size_of(collectives)),
        collectives_(collectives),
        messages_(messages),
        options_(o) {
    MPI_Comm_set_errhandler(collectives_, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(messages_, MPI_ERRORS_RETURN);
  }
  ~MpiRank() override {
    MPI_Comm_free(&collectives_);
    MPI_Comm_free(&messages_);
  }

  // MPI_Allreduce with an operation of ours on a record as one datum, so that no record is cut. Blocking, and MPI
  // waits in its own way: the time limit of other waits does not hold here.
  bool native_all_reduce(std::span<std::byte> x, const RecordMerge& merge) override {
    const int64_t n = static_cast<int64_t>(x.size()) / merge.record_bytes;
    QUERN_CHECK(n * merge.record_bytes == static_cast<int64_t>(x.size()) && n < std::numeric_limits<int>::max());
    MPI_Datatype record = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
    check(MPI_Type_contiguous(static_cast<int>(merge.record_bytes), MPI_BYTE, &record), "MPI_Type_contiguous");
    check(MPI_Type_commit(&record), "MPI_Type_commit");
    check(MPI_Op_create(merge_records, 1, &op), "MPI_Op_create");
    merging = &merge;
    const int code = MPI_Allreduce(MPI_IN_PLACE, x.data(), static_cast<int>(n), record, op, collectives_);
    merging = nullptr;
    MPI_Op_free(&op);
    MPI_Type_free(&record);
    check(code, "MPI_Allreduce");
    return true;
  }

  std::unique_ptr<Communicator> split(int color, int key) override {
    MPI_Comm a = MPI_COMM_NULL, b = MPI_COMM_NULL;
    const int c = color < 0 ? MPI_UNDEFINED : color;
    check(MPI_Comm_split(collectives_, c, key, &a), "split");
    check(MPI_Comm_split(collectives_, c, key, &b), "split");
    return color < 0 ? nullptr : std::make_unique<MpiRank>(a, b, options_);
  }

 protected:
  Transfer start(Exchange e) override {
    const int tag = static_cast<int>(next_++ % kTags);
    auto p = std::make_unique<Pending>(e.what, rank(), options_.timeout_s);
    for (int r = 0; r < size(); ++r)
      if (r != rank()) p->recv(collectives_, e.recv[static_cast<size_t>(r)], r, tag);
    for (int k = 1; k < size(); ++k) {  // everybody begins with its next neighbor
      const int to = (rank() + k) % size();
      p->send(collectives_, e.send[static_cast<size_t>(to)], to, tag);
    }
    const auto from = e.send[static_cast<size_t>(rank())], to = std::span<const std::byte>(e.recv[rank_index()]);
    QUERN_CHECK(from.size() == to.size(), "{}: a rank's own piece is {} bytes and {}", e.what, from.size(),
                to.size());
    if (!to.empty() && to.data() != from.data()) std::memmove(e.recv[rank_index()].data(), from.data(), from.size());
    p->then(std::move(e.finish));
    return Transfer(std::move(p));
  }
  Transfer start_message(std::span<const std::byte> x, int to, int tag) override {
    auto p = std::make_unique<Pending>("send", rank(), options_.timeout_s);
    p->send(messages_, x, to, tag);
    return Transfer(std::move(p));
  }
  Transfer start_receipt(std::span<std::byte> x, int from, int tag) override {
    auto p = std::make_unique<Pending>("recv", rank(), options_.timeout_s);
    p->recv(messages_, x, from, tag);
    return Transfer(std::move(p));
  }

 private:
  static int rank_of(MPI_Comm c) {
    int r = 0;
    MPI_Comm_rank(c, &r);
    return r;
  }
  static int size_of(MPI_Comm c) {
    int n = 0;
    MPI_Comm_size(c, &n);
    return n;
  }
  size_t rank_index() const { return static_cast<size_t>(rank()); }

  MPI_Comm collectives_, messages_;
  MpiOptions options_;
  int64_t next_ = 0;
};

}  // namespace

void run_mpi(const std::function<void(Communicator&)>& fn, const MpiOptions& options) {
  int given = MPI_THREAD_SINGLE;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given), "MPI_Init_thread");
  if (given < MPI_THREAD_FUNNELED) fail("this MPI library does not support threads (MPI_THREAD_FUNNELED)");
  {
    MPI_Comm a = MPI_COMM_NULL, b = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &a), "MPI_Comm_dup");
    check(MPI_Comm_dup(MPI_COMM_WORLD, &b), "MPI_Comm_dup");
    MpiRank world(a, b, options);
    try {
      fn(world);
    } catch (const std::exception& e) {
      fmt::print(stderr, "quern: rank {}: {}\n", world.rank(), e.what());
      std::fflush(nullptr);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  MPI_Finalize();
}

#endif

}  // namespace quern::comm
