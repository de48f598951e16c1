#include "quern/measure/collective_call.h"

namespace quern::measure {
namespace {

comm::RecordMerge adding(int64_t floats) {
  return {floats * 4, [floats](const std::byte* left, const std::byte* right, std::byte* into, int64_t records) {
            const auto *a = reinterpret_cast<const float*>(left), *b = reinterpret_cast<const float*>(right);
            auto* sum = reinterpret_cast<float*>(into);
            for (int64_t i = 0; i < floats * records; ++i) sum[i] = a[i] + b[i];
          }};
}

std::span<std::byte> bytes_of(Tensor& t) {
  return {static_cast<std::byte*>(t.raw()), static_cast<size_t>(t.size() * dtype_size(t.dtype()))};
}

}  // namespace

CollectiveCall::CollectiveCall(comm::Communicator& c, Collective what, int64_t bytes, comm::TwoLevels* levels)
    : c_(c), what_(what), levels_(levels) {
  const int64_t n = bytes / 4;
  QUERN_CHECK(n > 0, "{} bytes", bytes);
  counts_ = comm::even_counts(n, c.size());
  const int64_t own = counts_[static_cast<size_t>(c.rank())];
  const bool gathers = what == Collective::all_gather || what == Collective::all_gather_two_level;
  in_ = Tensor::zeros({gathers ? own : n}, DType::f32);
  int64_t out = n;
  if (what == Collective::reduce_scatter || what == Collective::reduce_scatter_two_level) out = own;
  if (what == Collective::all_to_all) out = own * c.size();
  out_ = Tensor::zeros({out}, DType::f32);
  if (what != Collective::all_reduce_butterfly) return;
  schedule_ = comm::butterfly_schedule(c.rank(), c.size());
  add_ = adding(n);
}

comm::Transfer CollectiveCall::start() {
  switch (what_) {
    case Collective::reduce_scatter:
      return c_.start_reduce_scatter(in_, counts_, out_);
    case Collective::all_gather:
      return c_.start_all_gather(in_, counts_, out_);
    case Collective::all_to_all:
      return c_.start_all_to_all(in_, counts_, out_,
                                 std::vector<int64_t>(counts_.size(), counts_[static_cast<size_t>(c_.rank())]));
    default:
      QUERN_CHECK(false, "{} is not started and waited for", collective_name(what_));
  }
}

void CollectiveCall::run() {
  switch (what_) {
    case Collective::all_reduce:
      return c_.all_reduce(in_);
    case Collective::all_reduce_butterfly:
      return comm::reduce_along(c_, schedule_, bytes_of(in_), bytes_of(out_), add_);
    case Collective::broadcast:
      c_.broadcast(in_, root_);
      root_ = (root_ + 1) % c_.size();
      return;
    case Collective::message:
      return there_and_back();
    case Collective::shift:
      return shift();
    case Collective::all_reduce_two_level:
      return levels_->all_reduce(in_);
    case Collective::reduce_scatter_two_level:
      return levels_->reduce_scatter(in_, counts_, out_);
    case Collective::all_gather_two_level:
      return levels_->all_gather(in_, counts_, out_);
    default:
      start().wait();
  }
}

void CollectiveCall::there_and_back() {
  const int last = c_.size() - 1;
  if (c_.rank() == last) c_.recv(out_, 0);
  if (c_.rank() == 0) c_.send(in_, last);
  if (c_.rank() == last) c_.send(in_, 0);
  if (c_.rank() == 0) c_.recv(out_, last);
}

void CollectiveCall::shift() {
  comm::Transfer arrives = c_.start_recv(out_, (c_.rank() + c_.size() - 1) % c_.size()),
                 leaves = c_.start_send(in_, (c_.rank() + 1) % c_.size());
  leaves.wait();
  arrives.wait();
}

}  // namespace quern::measure
