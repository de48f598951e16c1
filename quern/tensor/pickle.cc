// The stack machine of pickles, protocols 2 to 5, without anything that executes.
#include "quern/tensor/pickle.h"

#include <algorithm>
#include <cstring>

#include "quern/base/error.h"

namespace quern {
namespace {

// A state dict takes some 60 instructions per tensor. Together with the 16 to 50 bytes that an instruction can make
// this bounds the memory.
constexpr size_t kMaxInstructions = size_t{1} << 24;
constexpr uint64_t kMaxText = uint64_t{1} << 30;

using Kind = Pickle::Kind;
using Value = Pickle::Value;

}  // namespace

class PickleMachine {
 public:
  PickleMachine(Pickle& out, std::string where) : out_(out), bytes_(out.bytes_), where_(std::move(where)) {}

  void run() {
    for (size_t n = 0; n < kMaxInstructions; ++n) {
      op_at_ = at_;
      const auto op = number<uint8_t>();
      if (op == '.') {
        out_.root_ = pop();
        out_.size_ = at_;
        return;
      }
      if (!(constant(op) || string(op) || container(op) || memo(op) || object(op)))
        bad(fmt::format("instruction 0x{:02x} is none that a state dict needs", op));
    }
    bad(fmt::format("more than {} instructions", kMaxInstructions));
  }

 private:
  [[noreturn]] void bad(const std::string& what) const {
    fail("{}, byte {}: {} (damaged, or not weights of PyTorch)", where_, op_at_, what);
  }
  [[noreturn]] void refuse(const std::string& what) const {
    fail(
        "{} {}: only weights are read, and nothing in the file is executed. Where you trust it, load it with PyTorch "
        "and save the weights alone: torch.save(model.state_dict(), FILE), or model.save_pretrained(DIR) for "
        "safetensors",
        where_, what);
  }

  template <class T>
  T number() {
    T v;
    std::memcpy(&v, take(sizeof v), sizeof v);
    return v;
  }
  const std::byte* take(uint64_t n) {
    if (n > bytes_.size() - at_) bad(fmt::format("{} bytes needed, {} left (truncated?)", n, bytes_.size() - at_));
    const std::byte* p = bytes_.data() + at_;
    at_ += static_cast<size_t>(n);
    return p;
  }
  Value span(Kind kind, uint64_t n) {
    if (n > kMaxText) bad(fmt::format("a text of {} bytes", n));
    const Value v{kind, static_cast<uint32_t>(n), at_};
    take(n);
    return v;
  }
  std::string_view line() {
    const auto* begin = reinterpret_cast<const char*>(bytes_.data()) + at_;
    const void* end = std::memchr(begin, '\n', bytes_.size() - at_);
    if (!end) bad("a name has no end (truncated?)");
    const std::string_view text(begin, static_cast<size_t>(static_cast<const char*>(end) - begin));
    at_ += text.size() + 1;
    return text;
  }

  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  void push(Value v) { stack_.push_back(v); }
  Value& top() {
    if (stack_.size() <= floor()) bad("a value is taken from an empty stack");
    return stack_.back();
  }
  Value pop() {
    const Value v = top();
    stack_.pop_back();
    return v;
  }
  std::vector<Value> pop_n(size_t n) {
    if (stack_.size() - floor() < n) bad("values are taken from an empty stack");
    std::vector<Value> v(stack_.end() - static_cast<ptrdiff_t>(n), stack_.end());
    stack_.resize(stack_.size() - n);
    return v;
  }
  std::vector<Value> pop_mark() {
    if (marks_.empty()) bad("a mark is missing");
    std::vector<Value> v = pop_n(stack_.size() - marks_.back());
    marks_.pop_back();
    return v;
  }
  Value make(Kind kind, std::vector<Value> items) {
    out_.containers_.push_back(std::move(items));
    return {kind, 0, out_.containers_.size() - 1};
  }
  void append(Kind kind, const std::vector<Value>& items) {
    const Value to = top();
    if (to.kind != kind) bad(kind == Kind::list ? "items for what is not a list" : "items for what is not a dict");
    if (kind == Kind::dict && items.size() % 2 != 0) bad("a key without a value");
    auto& all = out_.containers_[to.at];
    all.insert(all.end(), items.begin(), items.end());
  }

  bool constant(uint8_t op) {
    switch (op) {
      case 0x80:  // PROTO
        if (const auto n = number<uint8_t>(); n > 5) bad(fmt::format("protocol {}, at most 5 is known", n));
        return true;
      case 0x95:  // FRAME: as long as what follows, and without a meaning for readers in memory
        if (const auto n = number<uint64_t>(); n > bytes_.size() - at_)
          bad("a frame ends past the file (truncated?)");
        return true;
      case 'N':
        push({Kind::none});
        return true;
      case 0x88:
      case 0x89:
        push({Kind::boolean, 0, op == 0x88 ? 1u : 0u});
        return true;
      case 'J':
        push({Kind::integer, 0, static_cast<uint64_t>(int64_t{number<int32_t>()})});
        return true;
      case 'K':
        push({Kind::integer, 0, number<uint8_t>()});
        return true;
      case 'M':
        push({Kind::integer, 0, number<uint16_t>()});
        return true;
      case 0x8a:
        push(long_integer(number<uint8_t>()));
        return true;
      case 'G':
        take(8);
        push({Kind::real});
        return true;
      default:
        return false;
    }
  }

  Value long_integer(size_t n) {
    const Value v = span(Kind::bytes, n);
    if (n > 8) return v;
    uint64_t bits = 0;
    std::memcpy(&bits, bytes_.data() + v.at, n);
    const bool negative = n > 0 && (bits >> (8 * n - 1) & 1) != 0;
    if (negative && n < 8) bits |= ~uint64_t{0} << (8 * n);
    return {Kind::integer, 0, bits};
  }

  bool string(uint8_t op) {
    switch (op) {
      case 'U':  // of Python 2
      case 0x8c:
        push(span(Kind::text, number<uint8_t>()));
        return true;
      case 'T':  // of Python 2
      case 'X':
        push(span(Kind::text, number<uint32_t>()));
        return true;
      case 0x8d:
        push(span(Kind::text, number<uint64_t>()));
        return true;
      case 'C':
        push(span(Kind::bytes, number<uint8_t>()));
        return true;
      case 'B':
        push(span(Kind::bytes, number<uint32_t>()));
        return true;
      default:
        return false;
    }
  }

  bool container(uint8_t op) {
    switch (op) {
      case '(':
        marks_.push_back(stack_.size());
        return true;
      case ')':
        push(make(Kind::tuple, {}));
        return true;
      case 't':
        push(make(Kind::tuple, pop_mark()));
        return true;
      case 0x85:
      case 0x86:
      case 0x87:
        push(make(Kind::tuple, pop_n(op - 0x84u)));
        return true;
      case ']':
        push(make(Kind::list, {}));
        return true;
      case 'a':
        append(Kind::list, pop_n(1));
        return true;
      case 'e':
        append(Kind::list, pop_mark());
        return true;
      case '}':
        push(make(Kind::dict, {}));
        return true;
      case 's':
        append(Kind::dict, pop_n(2));
        return true;
      case 'u':
        append(Kind::dict, pop_mark());
        return true;
      default:
        return false;
    }
  }

  bool memo(uint8_t op) {
    switch (op) {
      case 'h':
        recall(number<uint8_t>());
        return true;
      case 'j':
        recall(number<uint32_t>());
        return true;
      case 'q':
        remember(number<uint8_t>());
        return true;
      case 'r':
        remember(number<uint32_t>());
        return true;
      case 0x94:
        remember(memo_.size());
        return true;
      default:
        return false;
    }
  }
  void recall(size_t i) {
    if (i >= memo_.size() || memo_[i].kind == Kind::absent) bad(fmt::format("memo {} was never written", i));
    push(memo_[i]);
  }
  // Writers count up from 0, those of Python 2 from 1.
  void remember(size_t i) {
    if (i > memo_.size() + 1) bad(fmt::format("memo {} after {} others", i, memo_.size()));
    const Value v = top();
    if (i >= memo_.size()) memo_.resize(i + 1);
    memo_[i] = v;
  }

  bool object(uint8_t op) {
    switch (op) {
      case 'c': {
        const std::string_view module = line();
        global(module, line());
        return true;
      }
      case 0x93: {
        const Value name = pop(), module = pop();
        if (name.kind != Kind::text || module.kind != Kind::text) bad("a global whose name is no text");
        global(out_.text(module), out_.text(name));
        return true;
      }
      case 'Q': {
        const Value v = make(Kind::persistent, pop_n(1));
        out_.persistents_.push_back(v);
        push(v);
        return true;
      }
      case 'R':
        call();
        return true;
      case 'b': {  // state_dict() hangs a dict of versions on its OrderedDict
        const Value state = pop();
        if (top().kind != Kind::dict || state.kind != Kind::dict) refuse("sets the state of an object");
        return true;
      }
      default:
        return false;
    }
  }
  void global(std::string_view module, std::string_view name) {
    std::string whole(module);
    whole.append(".").append(name);
    if (whole == Pickle::kOrderedDict) {
      push({Kind::global, 0, kOrdered});
      return;
    }
    for (size_t i = 0; i < out_.known_.size(); ++i)
      if (out_.known_[i].name == whole) {
        push({Kind::global, 0, i});
        return;
      }
    refuse(fmt::format("asks for {}", printable(whole)));
  }
  void call() {
    const Value arguments = pop(), what = pop();
    if (what.kind != Kind::global) refuse("calls what is not a name");
    if (arguments.kind != Kind::tuple) bad("the arguments of a call are no tuple");
    if (what.at == kOrdered) {
      if (!out_.items(arguments).empty()) refuse("makes an OrderedDict with arguments");
      push(make(Kind::dict, {}));
      return;
    }
    if (!out_.known_[what.at].call) refuse(fmt::format("calls {}", out_.known_[what.at].name));
    push(make(Kind::call, {what, arguments}));
  }

  static constexpr uint64_t kOrdered = ~uint64_t{0};
  Pickle& out_;
  std::span<const std::byte> bytes_;
  std::string where_;
  size_t at_ = 0, op_at_ = 0;
  std::vector<Value> stack_, memo_;
  std::vector<size_t> marks_;
};

Pickle::Pickle(std::span<const std::byte> bytes, std::string where, std::span<const Global> known)
    : bytes_(bytes), known_(known) {
  PickleMachine(*this, std::move(where)).run();
}

std::string_view Pickle::text(Value v) const {
  if (v.kind != Kind::text && v.kind != Kind::bytes) return {};
  return {reinterpret_cast<const char*>(bytes_.data()) + v.at, v.length};
}

std::span<const Pickle::Value> Pickle::items(Value v) const {
  switch (v.kind) {
    case Kind::tuple:
    case Kind::list:
    case Kind::dict:
    case Kind::call:
    case Kind::persistent:
      return containers_[v.at];
    default:
      return {};
  }
}

std::string printable(std::string_view text, size_t max) {
  std::string s(text.substr(0, max));
  std::replace_if(
      s.begin(), s.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > max ? s + "…" : s;
}

}  // namespace quern
