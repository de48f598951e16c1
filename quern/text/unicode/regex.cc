#include "quern/text/unicode/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <cstdint>
#include <memory>
#include <new>

#include "quern/base/error.h"

namespace quern::text {
namespace {

constexpr uint32_t kMatchLimit = 10'000'000;
constexpr size_t kMaxPattern = 64 << 10;

const char* class_of(char c) {
  switch (c) {
    case 's':
      return "\\t-\\r\\x{85}\\p{Z}";
    case 'w':
      return "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
    case 'd':
      return "\\p{Nd}";
    case 'h':
      return "0-9a-fA-F";
    default:
      return nullptr;
  }
}

// Rewrites shorthand classes. Upper-case ones inside brackets are left to PCRE2: they cannot be spelled there as a set.
std::string translate(std::string_view p) {
  std::string out;
  int depth = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    char c = p[i];
    if (c == '\\' && i + 1 < p.size()) {
      char e = p[++i];
      bool upper = e >= 'A' && e <= 'Z';
      const char* set = class_of(upper ? static_cast<char>(e - 'A' + 'a') : e);
      if (set && depth == 0) {
        out += upper ? "[^" : "[";
        out += set;
        out += ']';
      } else if (set && !upper) {
        out += set;
      } else {
        out += '\\';
        out += e;
      }
      continue;
    }
    if (c == '[' && depth == 0) {
      depth = 1;
      out += c;
      // A ']' right after the opening is a literal.
      if (i + 1 < p.size() && p[i + 1] == '^') out += p[++i];
      if (i + 1 < p.size() && p[i + 1] == ']') {
        out += "\\]";
        ++i;
      }
      continue;
    }
    if (c == '[' && i + 1 < p.size() && p[i + 1] == ':') {  // [:alpha:]
      size_t close = p.find(":]", i + 2);
      if (close != std::string_view::npos) {
        out.append(p, i, close + 2 - i);
        i = close + 1;
        continue;
      }
    }
    if (c == ']' && depth == 1) depth = 0;
    out += c;
  }
  return out;
}

}  // namespace

struct RegexScratch::Impl {
  template <auto Free>
  struct Freed {
    template <class T>
    void operator()(T* p) const {
      Free(p);
    }
  };
  std::unique_ptr<pcre2_match_data, Freed<pcre2_match_data_free>> data{pcre2_match_data_create(1, nullptr)};
  std::unique_ptr<pcre2_match_context, Freed<pcre2_match_context_free>> context{pcre2_match_context_create(nullptr)};
  std::unique_ptr<pcre2_jit_stack, Freed<pcre2_jit_stack_free>> stack{
      pcre2_jit_stack_create(32 << 10, 8 << 20, nullptr)};
  Impl() {
    if (!data || !context || !stack) throw std::bad_alloc();
    pcre2_set_match_limit(context.get(), kMatchLimit);
    pcre2_set_heap_limit(context.get(), 64 << 10);
    pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
  }
};

RegexScratch::RegexScratch() : impl_(std::make_unique<Impl>()) {}
RegexScratch::~RegexScratch() = default;
RegexScratch::RegexScratch(RegexScratch&&) noexcept = default;
RegexScratch& RegexScratch::operator=(RegexScratch&&) noexcept = default;

struct Regex::Impl {
  std::string pattern;
  pcre2_code* code = nullptr;
  bool jit = false;
  ~Impl() { pcre2_code_free(code); }
};

Regex::Regex(std::string_view pattern) {
  if (pattern.size() > kMaxPattern)
    fail("regular expression of {} bytes: at most {} are allowed", pattern.size(), kMaxPattern);
  auto impl = std::make_shared<Impl>();
  impl->pattern = translate(pattern);
  int code = 0;
  PCRE2_SIZE at = 0;
  // \C could step into the middle of a character; Oniguruma's ^ and $ always mean lines.
  uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
  pcre2_compile_context* limits = pcre2_compile_context_create(nullptr);
  if (!limits) throw std::bad_alloc();
  pcre2_set_newline(limits, PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(limits, 64);
  impl->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(impl->pattern.data()), impl->pattern.size(), options, &code,
                             &at, limits);
  pcre2_compile_context_free(limits);
  if (!impl->code && code == PCRE2_ERROR_HEAP_FAILED) throw std::bad_alloc();
  if (!impl->code) {
    PCRE2_UCHAR message[256];
    pcre2_get_error_message(code, message, sizeof message);
    fail("regular expression '{}': {} at offset {}", impl->pattern, reinterpret_cast<char*>(message), at);
  }
  impl->jit = pcre2_jit_compile(impl->code, PCRE2_JIT_COMPLETE) == 0;
  impl_ = std::move(impl);
}

Regex::Match Regex::find(std::string_view s, size_t from, RegexScratch& scratch) const {
  auto* sc = scratch.impl_.get();
  auto subject = reinterpret_cast<PCRE2_SPTR>(s.data());
  int rc = PCRE2_ERROR_JIT_STACKLIMIT;
  if (impl_->jit)
    rc = pcre2_jit_match(impl_->code, subject, s.size(), from, PCRE2_NO_UTF_CHECK, sc->data.get(), sc->context.get());
  if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
    rc = pcre2_match(impl_->code, subject, s.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, sc->data.get(),
                     sc->context.get());
  if (rc == PCRE2_ERROR_NOMATCH) return {};
  if (rc < 0) {
    PCRE2_UCHAR message[256];
    pcre2_get_error_message(rc, message, sizeof message);
    fail("regular expression '{}' gave up: {}", impl_->pattern, reinterpret_cast<char*>(message));
  }
  const PCRE2_SIZE* ov = pcre2_get_ovector_pointer(sc->data.get());
  // \K can put the start before `from` or after the end; such a match is clamped so that callers always advance.
  size_t begin = ov[0] < from ? from : ov[0];
  return {begin, ov[1] < begin ? begin : ov[1]};
}

}  // namespace quern::text
