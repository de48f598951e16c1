#include "quern/comm/in_process.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "quern/trace/thread_names.h"

namespace quern::comm {
namespace {

// Thrown in a rank because another one failed: not a failure of its own.
class Stopped : public Error {
 public:
  using Error::Error;
};

struct World {
  World(int n, RankOptions o) : options(o), ended(static_cast<size_t>(n)), news(static_cast<size_t>(n)) {}
  const RankOptions options;
  std::mutex mutex;     // guards everything below and all boards
  std::string failure;  // of the first rank that failed
  std::vector<bool> ended;
  // Of each rank, for it alone: what it waits for may be there. A message wakes one rank; with one bell for all,
  // every message woke everybody, and eight ranks on two cores took turns at finding nothing.
  std::vector<std::condition_variable> news;
  void tell_all() {
    for (std::condition_variable& n : news) n.notify_all();
  }
};

// What the ranks of one communicator have posted. An operation is known by its number: all ranks count alike.
struct Board {
  Board(std::shared_ptr<World> w, std::vector<int> m) : world(std::move(w)), members(std::move(m)) {}

  struct Post {
    const char* what = nullptr;  // null: nothing yet
    std::vector<Tensor> to;
  };
  struct Operation {
    std::vector<Post> posts;
    size_t posted = 0, taken = 0;
  };
  struct Channel {  // messages of one sender, receiver and tag are numbered
    int64_t sent = 0, asked = 0;
    std::map<int64_t, Tensor> waiting;
  };

  const std::shared_ptr<World> world;
  const std::vector<int> members;  // ranks of the world
  std::map<int64_t, Operation> operations;
  std::map<std::array<int, 3>, Channel> channels;
  std::map<std::pair<int64_t, int>, std::shared_ptr<Board>> children;

  std::condition_variable& news_of(int rank) const {
    return world->news[static_cast<size_t>(members[static_cast<size_t>(rank)])];
  }
};

// Undefined when empty. Tensor memory is kept and handed out again: fresh pages cost more than the copy.
Tensor copy_of(std::span<const std::byte> x) {
  if (x.empty()) return {};
  Tensor t = Tensor::empty({static_cast<int64_t>(x.size())}, DType::u8);
  std::memcpy(t.raw(), x.data(), x.size());
  return t;
}

// Waits, bounded, until there(); `missing` gives the board's ranks that are waited for.
template <class There, class Missing>
void wait_for(Board& b, std::unique_lock<std::mutex>& lock, int rank, const char* what, There&& there,
              Missing&& missing) {
  World& w = *b.world;
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(w.options.timeout_s);
  while (!there()) {
    if (!w.failure.empty()) throw Stopped(w.failure);
    for (int r : missing())
      if (w.ended[static_cast<size_t>(b.members[static_cast<size_t>(r)])])
        fail("{}: rank {} waits for rank {}, which has already ended", what, rank, r);
    if (b.news_of(rank).wait_until(lock, until) == std::cv_status::timeout && !there())
      fail("{}: rank {} waited {} s for rank(s) {}", what, rank, w.options.timeout_s, fmt::join(missing(), ", "));
  }
}

class ThreadRank : public Communicator {
 public:
  ThreadRank(std::shared_ptr<Board> b, int rank)
      : Communicator(rank, static_cast<int>(b->members.size())), board_(std::move(b)) {}
  std::unique_ptr<Communicator> split(int color, int key) override;

 protected:
  Transfer start(Exchange e) override;
  Transfer start_message(std::span<const std::byte> x, int to, int tag) override;
  Transfer start_receipt(std::span<std::byte> x, int from, int tag) override;

 private:
  class Collective;
  class Receipt;
  std::shared_ptr<Board> board_;
  int64_t next_ = 0;  // the number of this rank's next operation
};

class ThreadRank::Collective : public Transfer::Operation {
 public:
  Collective(std::shared_ptr<Board> b, int rank, int64_t number, Exchange e)
      : board_(std::move(b)), rank_(rank), number_(number), exchange_(std::move(e)) {}

  bool test() override { return take(false); }
  void wait() override { take(true); }

 private:
  std::vector<int> missing(const Board::Operation& o) const {
    std::vector<int> m;
    for (size_t r = 0; r < o.posts.size(); ++r)
      if (!o.posts[r].what) m.push_back(static_cast<int>(r));
    return m;
  }

  bool take(bool block) {
    std::vector<Tensor> arrived(exchange_.recv.size());
    {
      std::unique_lock lock(board_->world->mutex);
      Board::Operation& o = board_->operations.at(number_);
      const auto there = [&] { return o.posted == o.posts.size(); };
      if (!block && board_->world->failure.empty() && !there()) return false;
      wait_for(*board_, lock, rank_, exchange_.what, there, [&] { return missing(o); });
      for (size_t r = 0; r < arrived.size(); ++r) {
        const Board::Post& p = o.posts[r];
        if (std::strcmp(p.what, exchange_.what) != 0)
          fail("rank {} called {} where rank {} called {}: all ranks call the same collectives in the same order", r,
               p.what, rank_, exchange_.what);
        arrived[r] = p.to[static_cast<size_t>(rank_)];
      }
      if (++o.taken == arrived.size()) board_->operations.erase(number_);
    }
    for (size_t r = 0; r < arrived.size(); ++r) {
      if (static_cast<int>(r) == rank_) continue;
      const size_t found = static_cast<size_t>(arrived[r].size()), expected = exchange_.recv[r].size();
      if (found != expected)
        fail("{}: rank {} expected {} bytes from rank {}, which sent {}", exchange_.what, rank_, expected, r, found);
      if (found > 0) std::memcpy(exchange_.recv[r].data(), arrived[r].raw(), found);
    }
    if (exchange_.finish) exchange_.finish();
    return true;
  }

  std::shared_ptr<Board> board_;
  int rank_;
  int64_t number_;
  Exchange exchange_;
};

class ThreadRank::Receipt : public Transfer::Operation {
 public:
  Receipt(std::shared_ptr<Board> b, std::array<int, 3> channel, int64_t number, std::span<std::byte> x)
      : board_(std::move(b)), channel_(channel), number_(number), x_(x) {}
  bool test() override { return take(false); }
  void wait() override { take(true); }

 private:
  bool take(bool block) {
    const auto [from, to, tag] = channel_;
    std::unique_lock lock(board_->world->mutex);
    Board::Channel& c = board_->channels.at(channel_);
    const auto there = [&] { return c.waiting.contains(number_); };
    if (!block && board_->world->failure.empty() && !there()) return false;
    wait_for(*board_, lock, to, "recv", there, [from = from] { return std::vector<int>{from}; });
    const auto node = c.waiting.extract(number_);
    lock.unlock();
    const size_t found = static_cast<size_t>(node.mapped().size());
    if (found != x_.size())
      fail("recv: rank {} expected {} bytes from rank {} (tag {}), which sent {}", to, x_.size(), from, tag, found);
    if (found > 0) std::memcpy(x_.data(), node.mapped().raw(), found);
    return true;
  }

  std::shared_ptr<Board> board_;
  std::array<int, 3> channel_;
  int64_t number_;
  std::span<std::byte> x_;
};

Transfer ThreadRank::start(Exchange e) {
  Board::Post post;
  post.what = e.what;
  const auto own = static_cast<size_t>(rank());
  size_t last = own;  // pieces that are one span are copied once
  for (size_t r = 0; r < e.send.size(); ++r) {
    post.to.emplace_back();
    if (r == own) continue;
    const bool same =
        last != own && e.send[r].data() == e.send[last].data() && e.send[r].size() == e.send[last].size();
    post.to[r] = same ? post.to[last] : copy_of(e.send[r]);
    last = r;
  }
  const std::span<std::byte> mine = e.recv[own];
  QUERN_CHECK(mine.size() == e.send[own].size(), "{}: a rank's own piece is {} bytes and {}", e.what,
              e.send[own].size(), mine.size());
  if (!mine.empty() && mine.data() != e.send[own].data()) std::memmove(mine.data(), e.send[own].data(), mine.size());
  const int64_t number = next_++;
  bool last_to_come = false;
  {
    const std::lock_guard lock(board_->world->mutex);
    Board::Operation& o = board_->operations[number];
    o.posts.resize(e.send.size());
    o.posts[own] = std::move(post);
    last_to_come = ++o.posted == o.posts.size();
  }
  for (int r = 0; last_to_come && r < size(); ++r)
    if (r != rank()) board_->news_of(r).notify_all();
  return Transfer(std::make_unique<Collective>(board_, rank(), number, std::move(e)));
}

Transfer ThreadRank::start_message(std::span<const std::byte> x, int to, int tag) {
  auto copy = copy_of(x);
  {
    const std::lock_guard lock(board_->world->mutex);
    Board::Channel& c = board_->channels[{rank(), to, tag}];
    c.waiting[c.sent++] = std::move(copy);
  }
  board_->news_of(to).notify_all();
  return {};
}

Transfer ThreadRank::start_receipt(std::span<std::byte> x, int from, int tag) {
  const std::array<int, 3> channel{from, rank(), tag};
  const std::lock_guard lock(board_->world->mutex);
  const int64_t number = board_->channels[channel].asked++;
  return Transfer(std::make_unique<Receipt>(board_, channel, number, x));
}

std::unique_ptr<Communicator> ThreadRank::split(int color, int key) {
  const std::array<int64_t, 2> mine{color, key};
  std::vector<int64_t> all(2 * static_cast<size_t>(size()));
  all_gather(mine, all);
  if (color < 0) return nullptr;
  std::vector<int> group;  // this board's ranks
  for (int r = 0; r < size(); ++r)
    if (all[2 * static_cast<size_t>(r)] == color) group.push_back(r);
  std::stable_sort(group.begin(), group.end(), [&](int a, int b) {
    return all[2 * static_cast<size_t>(a) + 1] < all[2 * static_cast<size_t>(b) + 1];
  });
  const auto place = std::find(group.begin(), group.end(), rank()) - group.begin();
  std::vector<int> members;
  for (int r : group) members.push_back(board_->members[static_cast<size_t>(r)]);
  const std::lock_guard lock(board_->world->mutex);
  std::shared_ptr<Board>& child = board_->children[{next_, color}];  // all ranks stand at the same number
  if (!child) child = std::make_shared<Board>(board_->world, std::move(members));
  return std::make_unique<ThreadRank>(child, static_cast<int>(place));
}

}  // namespace

std::unique_ptr<Communicator> single_rank() {
  const auto world = std::make_shared<World>(1, RankOptions());
  return std::make_unique<ThreadRank>(std::make_shared<Board>(world, std::vector<int>{0}), 0);
}

void run_ranks(int n, const std::function<void(Communicator&)>& fn, const RankOptions& options) {
  if (n < 1) fail("{} ranks: expected at least one", n);
  const auto world = std::make_shared<World>(n, options);
  std::vector<int> members;
  for (int r = 0; r < n; ++r) members.push_back(r);
  const auto board = std::make_shared<Board>(world, members);
  const auto live = [&](int r) {
    std::string failure;
    if (n > 1) trace::name_thread(fmt::format("rank {}", r));
    try {
      ThreadRank rank(board, r);
      fn(rank);
    } catch (const Stopped&) {
    } catch (const std::exception& e) {
      failure = n == 1 ? e.what() : fmt::format("rank {}: {}", r, e.what());
    }
    const std::lock_guard lock(world->mutex);
    if (world->failure.empty()) world->failure = failure;
    world->ended[static_cast<size_t>(r)] = true;
    world->tell_all();
  };
  {
    std::vector<std::jthread> threads;
    for (int r = 1; r < n; ++r) threads.emplace_back(live, r);
    live(0);
  }
  if (!world->failure.empty()) throw Error(world->failure);
}

}  // namespace quern::comm
