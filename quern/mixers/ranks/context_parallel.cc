#include "quern/mixers/ranks/context_parallel.h"

#include <algorithm>
#include <cstring>

namespace quern::mixers {
namespace {

Shape with_rows(const Tensor& x, int64_t n) {
  Shape s = x.shape();
  s[0] = n;
  return s;
}

int64_t row_bytes(const Tensor& x) { return element_count(with_rows(x, 1)) * dtype_size(x.dtype()); }

std::byte* row(const Tensor& x, int64_t i, int64_t bytes) { return static_cast<std::byte*>(x.raw()) + i * bytes; }

// Rows `which` of x, one after the other.
Tensor take(const Tensor& x, const std::vector<int64_t>& which, int64_t bytes) {
  Tensor out = Tensor::empty(with_rows(x, static_cast<int64_t>(which.size())), x.dtype());
  for (size_t i = 0; i < which.size(); ++i)
    std::memcpy(row(out, static_cast<int64_t>(i), bytes), row(x, which[i], bytes), static_cast<size_t>(bytes));
  return out;
}

std::vector<int64_t> in_elements(const std::vector<int64_t>& counts, int64_t width) {
  std::vector<int64_t> v(counts);
  for (int64_t& n : v) n *= width;
  return v;
}

template <class T>
void add_rows(const Tensor& to, const Tensor& from, const std::vector<int64_t>& which, int64_t width) {
  for (size_t i = 0; i < which.size(); ++i) {
    T* d = to.data<T>() + which[i] * width;
    const T* s = from.data<T>() + static_cast<int64_t>(i) * width;
    for (int64_t j = 0; j < width; ++j) d[j] += s[j];
  }
}

}  // namespace

ContextParallel::ContextParallel(comm::Communicator& comm, const std::vector<int64_t>& documents,
                                 ContextParallelKind form)
    : comm_(comm), form_(form) {
  for (int64_t n : documents) {
    document_of_.insert(document_of_.end(), static_cast<size_t>(n), tokens_);
    tokens_ += n;
  }
  const int P = comm.size();
  rows_.resize(static_cast<size_t>(P)), segments_.resize(static_cast<size_t>(P));
  owner_.resize(static_cast<size_t>(tokens_)), local_.resize(static_cast<size_t>(tokens_));
  for (int r = 0; r < P; ++r) {
    auto& rows = rows_[static_cast<size_t>(r)];
    for (int chunk : {r, 2 * P - 1 - r}) {
      const comm::Range c = comm::even_range(tokens_, 2 * P, chunk);
      for (int64_t i = c.begin; i < c.end; ++i) {
        const auto at = static_cast<size_t>(i);
        if (i == c.begin || document_of_[at] == i)
          segments_[static_cast<size_t>(r)].push_back({i, i, document_of_[at]});
        segments_[static_cast<size_t>(r)].back().end = i + 1;
        owner_[at] = r, local_[at] = static_cast<int64_t>(rows.size());
        rows.push_back(i);
      }
    }
    counts_.push_back(static_cast<int64_t>(rows.size()));
  }
}

int64_t ContextParallel::document_length(const Segment& segment) const {
  return std::upper_bound(document_of_.begin(), document_of_.end(), segment.document) - document_of_.begin() -
         segment.document;
}

Batch ContextParallel::batch() const { return with_halo_batch(0); }

Batch ContextParallel::with_halo_batch(int64_t halo) const {
  Batch b;
  b.offsets = {0};
  for (const Segment& s : segments()) {
    for (int64_t i = s.begin - halo; i < s.end; ++i)
      b.positions.push_back(static_cast<int32_t>(std::max<int64_t>(0, i - s.document)));
    b.offsets.push_back(static_cast<int32_t>(b.positions.size()));
  }
  if (halo == 0) b.placement = *this;
  return b;
}

// Every rank knows what every other one lacks, so nothing has to be asked for.
ContextParallel::Halo ContextParallel::halo_rows(int64_t halo) const {
  const int P = comm_.size(), mine = comm_.rank();
  std::vector<std::vector<int64_t>> out(static_cast<size_t>(P)), in(static_cast<size_t>(P));
  for (int r = 0; r < P; ++r) {
    int64_t wide = 0;  // row of r's widened tensor
    for (const Segment& s : segments_[static_cast<size_t>(r)]) {
      for (int64_t i = s.begin - halo; i < s.begin; ++i, ++wide) {
        if (i < s.document) continue;
        const int owner = owner_[static_cast<size_t>(i)];
        if (owner == mine) out[static_cast<size_t>(r)].push_back(local_[static_cast<size_t>(i)]);
        if (r == mine) in[static_cast<size_t>(owner)].push_back(wide);
      }
      wide += s.end - s.begin;
    }
  }
  Halo h;
  for (int r = 0; r < P; ++r) {
    const auto &o = out[static_cast<size_t>(r)], &i = in[static_cast<size_t>(r)];
    h.out_rows.insert(h.out_rows.end(), o.begin(), o.end()), h.in_rows.insert(h.in_rows.end(), i.begin(), i.end());
    h.out_counts.push_back(static_cast<int64_t>(o.size())), h.in_counts.push_back(static_cast<int64_t>(i.size()));
  }
  return h;
}

grad::Var ContextParallel::with_halo(grad::Tape& tape, const grad::Var& x, int64_t halo) const {
  return widened(tape, x, halo, halo_rows(halo));
}

grad::Var ContextParallel::with_zero_halo(grad::Tape& tape, const grad::Var& x, int64_t halo) const {
  return widened(tape, x, halo, std::nullopt);
}

grad::Var ContextParallel::widened(grad::Tape& tape, const grad::Var& x, int64_t halo, std::optional<Halo> h) const {
  const Tensor from = x.value.contiguous_copy_if_needed();
  const int64_t n = from.dim(0), bytes = row_bytes(from), S = static_cast<int64_t>(segments().size());
  QUERN_CHECK(n == static_cast<int64_t>(rows().size()), "{} rows of {}", n, rows().size());
  Tensor wide = Tensor::zeros(with_rows(from, n + S * halo), from.dtype());
  int64_t at = 0, to = 0;
  for (const Segment& s : segments()) {
    to += halo;
    if (s.end > s.begin)
      std::memcpy(row(wide, to, bytes), row(from, at, bytes), static_cast<size_t>((s.end - s.begin) * bytes));
    at += s.end - s.begin, to += s.end - s.begin;
  }
  const int64_t width = element_count(with_rows(from, 1));
  if (h) {
    const Tensor sent = take(from, h->out_rows, bytes);
    const Tensor got = Tensor::empty(with_rows(from, static_cast<int64_t>(h->in_rows.size())), from.dtype());
    comm_.all_to_all(sent, in_elements(h->out_counts, width), got, in_elements(h->in_counts, width));
    for (size_t i = 0; i < h->in_rows.size(); ++i)
      std::memcpy(row(wide, h->in_rows[i], bytes), row(got, static_cast<int64_t>(i), bytes),
                  static_cast<size_t>(bytes));
  }
  return tape.record(wide, {x}, [this, h = std::move(h), halo, width, shape = from.shape()](grad::Grads& g) {
    const Tensor wide = g.out().contiguous_copy_if_needed();
    const Tensor own = Tensor::empty(shape, wide.dtype());
    const int64_t bytes = width * dtype_size(wide.dtype());
    int64_t at = 0, from = 0;
    for (const Segment& s : segments()) {
      from += halo;
      if (s.end > s.begin)
        std::memcpy(row(own, at, bytes), row(wide, from, bytes), static_cast<size_t>((s.end - s.begin) * bytes));
      at += s.end - s.begin, from += s.end - s.begin;
    }
    if (h) {  // every send is a receipt now
      const Tensor sent = take(wide, h->in_rows, bytes);
      Shape s = shape;
      s[0] = static_cast<int64_t>(h->out_rows.size());
      const Tensor got = Tensor::empty(s, wide.dtype());
      comm_.all_to_all(sent, in_elements(h->in_counts, width), got, in_elements(h->out_counts, width));
      if (wide.dtype() == DType::f64)
        add_rows<double>(own, got, h->out_rows, width);
      else
        add_rows<float>(own, got, h->out_rows, width);
    }
    g.add(0, own);
  });
}

grad::Var ContextParallel::narrow(grad::Tape& tape, const grad::Var& x, int64_t halo) const {
  const Tensor from = x.value.contiguous_copy_if_needed();
  const int64_t bytes = row_bytes(from);
  std::vector<int64_t> which;
  int64_t at = 0;
  for (const Segment& s : segments()) {
    at += halo;
    for (int64_t i = s.begin; i < s.end; ++i) which.push_back(at++);
  }
  return tape.record(take(from, which, bytes), {x}, [which, shape = from.shape()](grad::Grads& g) {
    const Tensor own = g.out().contiguous_copy_if_needed(), wide = Tensor::zeros(shape, own.dtype());
    const int64_t bytes = row_bytes(own);
    for (size_t i = 0; i < which.size(); ++i)
      std::memcpy(row(wide, which[i], bytes), row(own, static_cast<int64_t>(i), bytes), static_cast<size_t>(bytes));
    g.add(0, wide);
  });
}

Tensor ContextParallel::gather(const Tensor& x) const {
  const Tensor mine = x.contiguous_copy_if_needed();
  const Tensor all = Tensor::empty(with_rows(mine, tokens_), mine.dtype());
  comm_.all_gather(mine, in_elements(counts_, element_count(with_rows(mine, 1))), all);
  return all;
}

Tensor ContextParallel::gather_in_order(const Tensor& x) const {
  const Tensor all = gather(x);
  std::vector<int64_t> first(1, 0), at;  // where a rank's rows begin in `all`
  for (const int64_t n : counts_) first.push_back(first.back() + n);
  for (size_t row = 0; row < owner_.size(); ++row)
    at.push_back(first[static_cast<size_t>(owner_[row])] + local_[row]);
  return take(all, at, row_bytes(all));
}

Tensor ContextParallel::reduce_to_owner(const Tensor& g) const {
  const Tensor mine = Tensor::empty(with_rows(g, static_cast<int64_t>(rows().size())), g.dtype());
  comm_.reduce_scatter(g, in_elements(counts_, element_count(with_rows(g, 1))), mine);
  return mine;
}

}  // namespace quern::mixers
