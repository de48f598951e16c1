#include "quern/train/zero/zero.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/optim/clip.h"

namespace quern::train {
namespace {

constexpr int64_t kGrain = 1 << 16;

void copy_floats(float* to, const float* from, int64_t n) {
  parallel_shares(n, kGrain, [&](int64_t begin, int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin) * sizeof(float));
  });
}

Tensor flat_piece(const Tensor& t, int64_t begin, int64_t n) { return t.reshape({t.size()}).narrow(0, begin, n); }

}  // namespace

ZeroShards::ZeroShards(nn::Module& model, comm::Communicator& comm, int64_t bucket_elements) : comm_(comm) {
  QUERN_CHECK(bucket_elements > 0);
  std::vector<grad::Parameter*> all;
  model.visit("", [&](const std::string&, grad::Parameter& p) {
    // One element cannot be told from a part of state that is kept whole; it stays whole itself.
    if (p.trainable && p.value.size() > 1 && !places_.contains(&p)) places_[&p].whole = &p, all.push_back(&p);
  });
  std::reverse(all.begin(), all.end());
  for (grad::Parameter* p : all) {
    if (buckets_.empty() || buckets_.back().size + p->value.size() > bucket_elements)
      if (buckets_.empty() || buckets_.back().size > 0) buckets_.emplace_back();
    Position& at = places_.at(p);
    at.bucket = buckets_.size() - 1, at.offset = buckets_.back().size;
    buckets_.back().size += p->value.size();
    buckets_.back().places.push_back(&at);
  }
  for (Bucket& b : buckets_) b.missing = b.places.size();
  for (auto& [p, at] : places_) {
    const comm::Range c = piece(*p, comm_.rank());
    at.piece = std::make_unique<grad::Parameter>(Shape{c.end - c.begin}, p->init);
    at.piece->value = flat_piece(p->value, c.begin, c.end - c.begin);
    at.piece->kind = p->kind, at.piece->fused = p->fused, at.piece->matrix = p->matrix;
  }
}

ZeroShards::~ZeroShards() {
  if (std::uncaught_exceptions() > 0) return;
  try {
    settle();
  } catch (const Error&) {  // ranks that are gone have told of it already
  }
}

comm::Range ZeroShards::piece(const grad::Parameter& p, int rank) const {
  const Position& at = places_.at(&p);
  const int64_t size = at.whole->value.size();
  const comm::Range mine = comm::even_range(buckets_[at.bucket].size, comm_.size(), rank);
  auto inside = [&](int64_t x) { return std::clamp<int64_t>(x - at.offset, 0, size); };
  return {inside(mine.begin), inside(mine.end)};
}

optim::OwnPiece ZeroShards::own(const std::string& name, grad::Parameter& p, const optim::Optimizer& rule) {
  const auto at = places_.find(&p);
  if (at == places_.end()) return {};
  if (rule.cut() == optim::OptimizerRange::whole)
    fail("parallel.zero = 1: the optimizer of {} works on whole parameters only; give it another or set zero = 0",
         name);
  return {at->second.piece.get(), piece(p, comm_.rank()).begin};
}

void ZeroShards::ready(const grad::Parameter& p) {
  const auto at = places_.find(&p);
  if (at == places_.end() || at->second.ready) return;
  at->second.ready = true;
  --buckets_[at->second.bucket].missing;
  send_filled();
}

void ZeroShards::send_filled() {
  for (size_t i = 0; i < sent_; ++i) buckets_[i].transfer.test();  // keeps MPI moving
  for (; sent_ < buckets_.size() && buckets_[sent_].missing == 0; ++sent_) send(buckets_[sent_]);
}

void ZeroShards::send(Bucket& b) {
  b.flat = Tensor::empty({b.size}, DType::f32);
  float* to = b.flat.data<float>();
  for (const Position* at : b.places) {
    const Tensor& g = at->whole->grad;
    if (!g.defined())
      std::fill_n(to + at->offset, at->whole->value.size(), 0.0f);
    else
      copy_floats(to + at->offset, g.data<float>(), g.size());
  }
  const comm::Range mine = comm::even_range(b.size, comm_.size(), comm_.rank());
  b.shard = Tensor::empty({mine.end - mine.begin}, DType::f32);
  b.transfer = comm_.start_reduce_scatter(b.flat, comm::even_counts(b.size, comm_.size()), b.shard);
}

void ZeroShards::finish() {
  settle();  // what no forward asked for must not come down on top of the update
  early_ = static_cast<int>(sent_);
  for (; sent_ < buckets_.size(); ++sent_) send(buckets_[sent_]);
  // Parameters nobody had a gradient for are not moved: every rank must know of them.
  std::vector<int64_t> has;
  for (const Bucket& b : buckets_)
    for (const Position* at : b.places) has.push_back(at->whole->grad.defined());
  comm_.all_reduce(has, comm::ReduceOp::max);
  size_t i = 0;
  for (Bucket& b : buckets_) {
    b.transfer.wait();
    b.flat = Tensor();
    const int64_t first = comm::even_range(b.size, comm_.size(), comm_.rank()).begin;
    for (Position* at : b.places) {
      const comm::Range c = piece(*at->whole, comm_.rank());
      const int64_t in_shard = c.end > c.begin ? at->offset + c.begin - first : 0;
      at->piece->grad = has[i++] ? b.shard.narrow(0, in_shard, c.end - c.begin) : Tensor();
      at->whole->grad = Tensor();
      at->ready = false;
    }
    b.missing = b.places.size();
  }
  sent_ = 0;
}

double ZeroShards::sum_of_grad_squares() const {
  double sum = 0;
  for (const Bucket& b : buckets_)
    for (const Position* at : b.places)
      if (at->piece->grad.defined()) sum += optim::sum_of_squares(at->piece->grad.span<float>());
  return comm_.all_reduce(sum);
}

void ZeroShards::gather() {
  QUERN_CHECK(moving_ == 0);
  for (size_t i = buckets_.size(); i-- > 0;) {
    Bucket& b = buckets_[i];
    const comm::Range mine = comm::even_range(b.size, comm_.size(), comm_.rank());
    b.mine = Tensor::empty({mine.end - mine.begin}, DType::f32), b.all = Tensor::empty({b.size}, DType::f32);
    for (const Position* at : b.places) {
      const comm::Range c = piece(*at->whole, comm_.rank());
      if (c.end > c.begin)
        copy_floats(b.mine.data<float>() + at->offset + c.begin - mine.begin, at->piece->value.data<float>(),
                    c.end - c.begin);
    }
    b.values = comm_.start_all_gather(b.mine, comm::even_counts(b.size, comm_.size()), b.all);
    ++moving_;
  }
}

void ZeroShards::arrive(Bucket& b) {
  if (!b.all.defined()) return;
  b.values.wait();
  for (const Position* at : b.places)
    copy_floats(at->whole->value.data<float>(), b.all.data<float>() + at->offset, at->whole->value.size());
  b.mine = b.all = Tensor();
  --moving_;
}

void ZeroShards::need(const grad::Parameter& p) {
  if (moving_ == 0) return;
  if (const auto at = places_.find(&p); at != places_.end()) arrive(buckets_[at->second.bucket]);
  for (Bucket& b : buckets_)
    if (b.all.defined()) b.values.test();  // keeps MPI moving
}

void ZeroShards::settle() {
  for (size_t i = buckets_.size(); i-- > 0;) arrive(buckets_[i]);
}

}  // namespace quern::train
