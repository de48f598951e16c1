#include "quern/comm/communicator.h"

#include <algorithm>
#include <cstring>
#include <exception>

namespace quern::comm {
namespace {

constexpr int64_t kScatterBytes = int64_t{1} << 16;  // broadcasts from this size on go round in pieces
constexpr int64_t kGatherBytes = int64_t{1} << 13;   // an all-reduce that brings a rank no more takes one exchange

std::span<const std::byte> piece(const ConstBuffer& p, int64_t begin, int64_t n) {
  const auto e = static_cast<size_t>(dtype_size(p.dtype));
  return {p.data + static_cast<size_t>(begin) * e, static_cast<size_t>(n) * e};
}
std::span<std::byte> piece(const Buffer& p, int64_t begin, int64_t n) {
  const auto e = static_cast<size_t>(dtype_size(p.dtype));
  return {p.data + static_cast<size_t>(begin) * e, static_cast<size_t>(n) * e};
}

template <class T>
T larger(T a, T b) {  // a NaN wins
  return b > a || b != b ? b : a;
}

template <class T>
void fold(T* acc, const T* x, int64_t n, ReduceOp op) {
  if (op == ReduceOp::sum)
    for (int64_t i = 0; i < n; ++i) acc[i] += x[i];
  else
    for (int64_t i = 0; i < n; ++i) acc[i] = larger(acc[i], x[i]);
}

// out = pieces[0] op pieces[1] op …, in this order.
template <class T>
void reduce_in_order(T* out, std::span<const std::byte* const> pieces, int64_t n, ReduceOp op) {
  constexpr int64_t kBlock = 4096;  // stays in the first cache
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t m = std::min(kBlock, n - at);
    T acc[kBlock];
    std::memcpy(acc, reinterpret_cast<const T*>(pieces[0]) + at, static_cast<size_t>(m) * sizeof(T));
    for (size_t r = 1; r < pieces.size(); ++r) fold(acc, reinterpret_cast<const T*>(pieces[r]) + at, m, op);
    std::memcpy(out + at, acc, static_cast<size_t>(m) * sizeof(T));
  }
}

void reduce_in_order(const Buffer& out, std::span<const std::byte* const> pieces, ReduceOp op) {
  switch (out.dtype) {
    case DType::f32:
      return reduce_in_order(reinterpret_cast<float*>(out.data), pieces, out.size, op);
    case DType::f64:
      return reduce_in_order(reinterpret_cast<double*>(out.data), pieces, out.size, op);
    case DType::i64:
      return reduce_in_order(reinterpret_cast<int64_t*>(out.data), pieces, out.size, op);
    default:
      QUERN_CHECK(false, "reduction of {}", dtype_name(out.dtype));
  }
}

void check_counts(Counts counts, int ranks, int64_t size) {
  QUERN_CHECK(static_cast<int>(counts.size()) == ranks, "{} counts for {} ranks", counts.size(), ranks);
  int64_t sum = 0;
  for (int64_t c : counts) {
    QUERN_CHECK(c >= 0, "a count of {}", c);
    sum += c;
  }
  QUERN_CHECK(sum == size, "counts give {} elements, the span has {}", sum, size);
}

}  // namespace

Transfer& Transfer::operator=(Transfer&& o) {
  QUERN_CHECK(!work_ || std::uncaught_exceptions() > 0, "a request was not waited for");
  work_ = std::move(o.work_), under_way_ = std::move(o.under_way_);
  return *this;
}

Transfer::~Transfer() { QUERN_CHECK(!work_ || std::uncaught_exceptions() > 0, "a request was not waited for"); }

bool Transfer::test() {
  if (!work_) return true;
  std::unique_ptr<Operation> w = std::move(work_);  // gone if it throws
  if (!w->test()) {
    work_ = std::move(w);
    return false;
  }
  under_way_.end();
  return true;
}

void Transfer::wait() {
  if (!work_) return;
  const std::unique_ptr<Operation> w = std::move(work_);
  {
    const trace::Span span(trace::Kind::communication, "waiting");
    w->wait();
  }
  under_way_.end();
}

std::vector<int64_t> even_counts(int64_t n, int ranks) {
  std::vector<int64_t> c;
  for (int r = 0; r < ranks; ++r) c.push_back(even_range(n, ranks, r).end - even_range(n, ranks, r).begin);
  return c;
}

void Communicator::check_peer(int r) const { QUERN_CHECK(r >= 0 && r < size_, "rank {} of {}", r, size_); }

Communicator::Exchange Communicator::exchange(const char* what) const {
  Exchange e;
  e.what = what;
  e.send.resize(static_cast<size_t>(size_));
  e.recv.resize(static_cast<size_t>(size_));
  return e;
}

Transfer Communicator::begin(Exchange e) {
  double bytes = 0;
  for (int r = 0; r < size_; ++r)
    if (const auto n = static_cast<int64_t>(e.send[static_cast<size_t>(r)].size()); r != rank_ && n > 0)
      ++sent_.messages, sent_.bytes += n, bytes += static_cast<double>(n);
  const char* what = e.what;
  Transfer t = start(std::move(e));
  t.trace(what, bytes);
  return t;
}

void Communicator::barrier() { begin(exchange("barrier")).wait(); }

Transfer Communicator::start_reduce_scatter(ConstBuffer in, Counts counts, Buffer out, ReduceOp op) {
  check_counts(counts, size_, in.size);
  QUERN_CHECK(out.size == counts[static_cast<size_t>(rank_)] && out.dtype == in.dtype);
  Exchange e = exchange("reduce_scatter");
  // Everybody's piece for this rank: its own stays where it is, the others' arrive side by side.
  const int64_t bytes = out.size * dtype_size(out.dtype);
  const Tensor arrived = Tensor::empty({size_ - 1, bytes}, DType::u8);
  std::vector<const std::byte*> pieces;
  int64_t at = 0;
  auto* next = static_cast<std::byte*>(arrived.raw());
  for (int r = 0; r < size_; ++r) {
    const auto i = static_cast<size_t>(r);
    const auto mine = piece(in, at, counts[i]);
    at += counts[i];
    if (r == rank_) {
      pieces.push_back(mine.data());
      continue;
    }
    e.send[i] = mine;
    e.recv[i] = {next, static_cast<size_t>(bytes)};
    pieces.push_back(next);
    next += bytes;
  }
  e.finish = [out, op, arrived, pieces] { reduce_in_order(out, pieces, op); };
  return begin(std::move(e));
}

void Communicator::reduce_scatter(ConstBuffer in, Counts counts, Buffer out, ReduceOp op) {
  start_reduce_scatter(in, counts, out, op).wait();
}
void Communicator::reduce_scatter(ConstBuffer in, Buffer out, ReduceOp op) {
  reduce_scatter(in, std::vector<int64_t>(static_cast<size_t>(size_), out.size), out, op);
}

Transfer Communicator::start_all_gather(ConstBuffer in, Counts counts, Buffer out) {
  check_counts(counts, size_, out.size);
  QUERN_CHECK(in.size == counts[static_cast<size_t>(rank_)] && out.dtype == in.dtype);
  Exchange e = exchange("all_gather");
  int64_t at = 0;
  for (size_t r = 0; r < counts.size(); ++r) {
    e.send[r] = piece(in, 0, in.size);
    e.recv[r] = piece(out, at, counts[r]);
    at += counts[r];
  }
  return begin(std::move(e));
}

void Communicator::all_gather(ConstBuffer in, Counts counts, Buffer out) { start_all_gather(in, counts, out).wait(); }
void Communicator::all_gather(ConstBuffer in, Buffer out) {
  all_gather(in, std::vector<int64_t>(static_cast<size_t>(size_), in.size), out);
}

std::vector<std::string> Communicator::all_gather_text(const std::string& mine) {
  std::vector<int64_t> counts(static_cast<size_t>(size_));
  const int64_t n = static_cast<int64_t>(mine.size());
  all_gather(std::span(&n, 1), counts);
  int64_t total = 0;
  for (int64_t c : counts) total += c;
  std::vector<uint8_t> in(mine.begin(), mine.end()), out(static_cast<size_t>(total));
  all_gather(in, counts, out);
  std::vector<std::string> texts;
  auto at = out.begin();
  for (int64_t c : counts) {
    texts.emplace_back(at, at + c);
    at += c;
  }
  return texts;
}

void Communicator::all_reduce(Buffer x, ReduceOp op) {
  const int64_t bytes = x.size * dtype_size(x.dtype);
  if (bytes * (size_ - 1) <= kGatherBytes) {  // everybody's whole buffer, then each the same sum
    Exchange e = exchange("all_reduce");
    const Tensor arrived = Tensor::empty({size_ - 1, bytes}, DType::u8);
    std::vector<const std::byte*> pieces(static_cast<size_t>(size_), x.data);
    auto* next = static_cast<std::byte*>(arrived.raw());
    for (int r = 0; r < size_; ++r) {
      if (r == rank_) continue;
      const auto i = static_cast<size_t>(r);
      e.send[i] = {x.data, static_cast<size_t>(bytes)};
      e.recv[i] = {next, static_cast<size_t>(bytes)};
      pieces[i] = next;
      next += bytes;
    }
    e.finish = [&x, op, &pieces] { reduce_in_order(x, pieces, op); };
    begin(std::move(e)).wait();
    return;
  }
  const std::vector<int64_t> counts = even_counts(x.size, size_);
  Buffer own = x;
  const int64_t begin = even_range(x.size, size_, rank_).begin;
  own.data += begin * dtype_size(x.dtype);
  own.size = counts[static_cast<size_t>(rank_)];
  ConstBuffer all, mine;
  all.data = x.data, all.size = x.size, all.dtype = x.dtype;
  mine.data = own.data, mine.size = own.size, mine.dtype = x.dtype;
  reduce_scatter(all, counts, own, op);
  all_gather(mine, counts, x);
}

double Communicator::all_reduce(double x, ReduceOp op) {
  all_reduce(std::span(&x, 1), op);
  return x;
}
int64_t Communicator::all_reduce(int64_t x, ReduceOp op) {
  all_reduce(std::span(&x, 1), op);
  return x;
}

void Communicator::broadcast(Buffer x, int root) {
  check_peer(root);
  const int64_t bytes = x.size * dtype_size(x.dtype);
  Exchange e = exchange("broadcast");
  Buffer flat;
  flat.data = x.data, flat.size = bytes;
  ConstBuffer source;
  source.data = x.data, source.size = bytes;
  const auto from = static_cast<size_t>(root);
  if (bytes < kScatterBytes) {
    if (rank_ == root) std::fill(e.send.begin(), e.send.end(), piece(source, 0, bytes));
    e.recv[from] = piece(flat, 0, bytes);
    begin(std::move(e)).wait();
    return;
  }
  // The root sends a piece to everybody, then everybody hands on its own.
  for (int r = 0; r < size_ && rank_ == root; ++r) {
    const Range c = even_range(bytes, size_, r);
    e.send[static_cast<size_t>(r)] = piece(source, c.begin, c.end - c.begin);
  }
  const Range c = even_range(bytes, size_, rank_);
  e.recv[from] = piece(flat, c.begin, c.end - c.begin);
  begin(std::move(e)).wait();
  source.data += c.begin, source.size = c.end - c.begin;
  all_gather(source, even_counts(bytes, size_), flat);
}

std::string Communicator::broadcast_text(const std::string& mine, int root) {
  int64_t n = static_cast<int64_t>(mine.size());
  broadcast(std::span(&n, 1), root);
  std::vector<uint8_t> text(mine.begin(), mine.end());
  text.resize(static_cast<size_t>(n));
  broadcast(text, root);
  return {text.begin(), text.end()};
}

Transfer Communicator::start_all_to_all(ConstBuffer in, Counts in_counts, Buffer out, Counts out_counts) {
  check_counts(in_counts, size_, in.size);
  check_counts(out_counts, size_, out.size);
  QUERN_CHECK(in.dtype == out.dtype);
  Exchange e = exchange("all_to_all");
  int64_t from = 0, to = 0;
  for (size_t r = 0; r < in_counts.size(); ++r) {
    e.send[r] = piece(in, from, in_counts[r]);
    e.recv[r] = piece(out, to, out_counts[r]);
    from += in_counts[r], to += out_counts[r];
  }
  return begin(std::move(e));
}

void Communicator::all_to_all(ConstBuffer in, Counts in_counts, Buffer out, Counts out_counts) {
  start_all_to_all(in, in_counts, out, out_counts).wait();
}

Transfer Communicator::start_send(ConstBuffer x, int to, int tag) {
  check_peer(to);
  if (to != rank_) ++sent_.messages, sent_.bytes += x.size * dtype_size(x.dtype);
  return start_message(piece(x, 0, x.size), to, tag);
}
Transfer Communicator::start_recv(Buffer x, int from, int tag) {
  check_peer(from);
  return start_receipt(piece(x, 0, x.size), from, tag);
}
void Communicator::send(ConstBuffer x, int to, int tag) { start_send(x, to, tag).wait(); }
void Communicator::recv(Buffer x, int from, int tag) { start_recv(x, from, tag).wait(); }

}  // namespace quern::comm
