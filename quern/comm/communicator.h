// Communicator: collectives between ranks, which are threads of one process (in_process.h) or MPI processes (mpi.h).
// An implementation moves bytes; every collective is built here from one exchange operation, so both kinds give the
// same bits. Sums run over ranks 0, 1, … n−1, element by element, wherever the pieces are cut: the result depends only
// on the number of ranks.
//
// All ranks call the collectives of a communicator in the same order. `start_…` returns at once; the spans must not
// change until Transfer::wait. Volume per rank, for n ranks and S bytes: all_reduce 2(n−1)/n·S, or (n−1)·S in one
// exchange up to 8 KiB; reduce_scatter and all_gather (n−1)/n·S, n−1 messages each.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "quern/tensor/tensor.h"
#include "quern/trace/trace.h"

namespace quern::comm {

enum class ReduceOp { sum, max };  // a NaN anywhere gives NaN

// What is sent: any contiguous range of a known element type (span, vector, array) or a contiguous Tensor.
struct ConstBuffer {
  const std::byte* data = nullptr;
  int64_t size = 0;  // elements
  DType dtype = DType::u8;

  ConstBuffer() = default;
  template <class R>
  ConstBuffer(const R& r) requires requires {
    std::data(r);
  } : data(reinterpret_cast<const std::byte*>(std::data(r))),
      size(static_cast<int64_t>(std::size(r))),
      dtype(dtype_of<std::remove_cvref_t<decltype(*std::data(r))>>::value) {
  }
  ConstBuffer(const Tensor& t) : data(static_cast<const std::byte*>(t.raw())), size(t.size()), dtype(t.dtype()) {
    QUERN_CHECK(t.contiguous());
  }
};

// What is written.
struct Buffer {
  std::byte* data = nullptr;
  int64_t size = 0;
  DType dtype = DType::u8;

  Buffer() = default;
  template <class R>
  Buffer(R&& r) requires requires {
    requires !std::is_const_v<std::remove_reference_t<decltype(*std::data(r))>>;
  } : data(reinterpret_cast<std::byte*>(std::data(r))),
      size(static_cast<int64_t>(std::size(r))),
      dtype(dtype_of<std::remove_cvref_t<decltype(*std::data(r))>>::value) {
  }
  Buffer(const Tensor& t) : data(static_cast<std::byte*>(t.raw())), size(t.size()), dtype(t.dtype()) {
    QUERN_CHECK(t.contiguous());
  }
};

// Something under way. It must be waited for before it is destroyed (an exception in flight excuses it).
class Transfer {
 public:
  struct Operation {
    virtual ~Operation() = default;
    virtual bool test() = 0;  // true: done. Throws Error when it cannot end
    virtual void wait() = 0;
  };
  Transfer() = default;  // done
  explicit Transfer(std::unique_ptr<Operation> w) : work_(std::move(w)) {}
  Transfer(Transfer&&) = default;
  Transfer& operator=(Transfer&& o);
  ~Transfer();
  bool test();  // done? MPI moves data inside its calls only: testing now and then keeps it moving
  void wait();
  bool pending() const { return work_ != nullptr; }
  void trace(const char* what, double bytes) {
    if (work_) under_way_.begin(trace::Kind::communication, what, bytes);
  }

 private:
  std::unique_ptr<Operation> work_;
  trace::Pending under_way_;
};

using Counts = std::span<const int64_t>;  // elements a rank

// An associative way to make one record of two: into[i] = left[i] ⊕ right[i]; `into` may be either of them.
struct RecordMerge {
  int64_t record_bytes = 0;
  std::function<void(const std::byte* left, const std::byte* right, std::byte* into, int64_t records)> join;
};

// The even cut of n elements: rank r owns [begin, end). Pieces differ by one element at most; some may be empty.
struct Range {
  int64_t begin, end;
};
inline Range even_range(int64_t n, int ranks, int r) {
  return {static_cast<int64_t>(static_cast<__int128>(n) * r / ranks),
          static_cast<int64_t>(static_cast<__int128>(n) * (r + 1) / ranks)};
}
std::vector<int64_t> even_counts(int64_t n, int ranks);

class Communicator {
 public:
  virtual ~Communicator() = default;
  int rank() const { return rank_; }
  int size() const { return size_; }

  void barrier();
  void all_reduce(Buffer x, ReduceOp op = ReduceOp::sum);  // f32, f64, i64; in place
  double all_reduce(double x, ReduceOp op = ReduceOp::sum);
  int64_t all_reduce(int64_t x, ReduceOp op = ReduceOp::sum);

  // Rank r gets the reduced r-th piece. `in` holds the pieces one after the other, cut by counts; without counts they
  // are as long as out. f32, f64, i64.
  void reduce_scatter(ConstBuffer in, Counts counts, Buffer out, ReduceOp op = ReduceOp::sum);
  void reduce_scatter(ConstBuffer in, Buffer out, ReduceOp op = ReduceOp::sum);
  Transfer start_reduce_scatter(ConstBuffer in, Counts counts, Buffer out, ReduceOp op = ReduceOp::sum);

  // out holds every rank's piece, one after the other. `in` may be its own place in out.
  void all_gather(ConstBuffer in, Counts counts, Buffer out);
  void all_gather(ConstBuffer in, Buffer out);  // pieces of one length
  Transfer start_all_gather(ConstBuffer in, Counts counts, Buffer out);
  std::vector<std::string> all_gather_text(const std::string& mine);

  void broadcast(Buffer x, int root = 0);
  std::string broadcast_text(const std::string& mine, int root = 0);

  // in: a piece for every rank, cut by in_counts; out: a piece from every rank, cut by out_counts.
  void all_to_all(ConstBuffer in, Counts in_counts, Buffer out, Counts out_counts);
  Transfer start_all_to_all(ConstBuffer in, Counts in_counts, Buffer out, Counts out_counts);

  // Messages between two ranks with the same tag arrive in the order of their sending.
  void send(ConstBuffer x, int to, int tag = 0);
  void recv(Buffer x, int from, int tag = 0);
  Transfer start_send(ConstBuffer x, int to, int tag = 0);
  Transfer start_recv(Buffer x, int from, int tag = 0);

  // x becomes the merge of every rank's records, the same bits everywhere, by a reduction that this kind of rank
  // brings along (MPI's own); `merge` must be commutative to the bit. False: there is none, and nothing was done.
  virtual bool native_all_reduce(std::span<std::byte> /*x*/, const RecordMerge& /*merge*/) { return false; }

  // What this rank has given to others so far, counted where it is handed over; an empty piece is no message. A
  // native reduction is not seen here.
  struct Sent {
    int64_t messages = 0, bytes = 0;
  };
  const Sent& sent() const { return sent_; }

  // Ranks that give the same color form a new communicator, ordered by (key, rank); a negative color gets none.
  // Collective.
  virtual std::unique_ptr<Communicator> split(int color, int key = 0) = 0;

 protected:
  Communicator(int rank, int size) : rank_(rank), size_(size) {}

  // send[r] goes to rank r, recv[r] comes from it; a rank's own piece is copied. `finish` runs when all are there,
  // and keeps alive what it owns.
  struct Exchange {
    const char* what = "";
    std::vector<std::span<const std::byte>> send;
    std::vector<std::span<std::byte>> recv;
    std::function<void()> finish;
  };
  virtual Transfer start(Exchange e) = 0;
  virtual Transfer start_message(std::span<const std::byte> x, int to, int tag) = 0;
  virtual Transfer start_receipt(std::span<std::byte> x, int from, int tag) = 0;
  Exchange exchange(const char* what) const;  // with size() empty pieces each way

 private:
  void check_peer(int r) const;
  Transfer begin(Exchange e);  // counted
  int rank_, size_;
  Sent sent_;
};

}  // namespace quern::comm
