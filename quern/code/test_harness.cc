#include "quern/code/test_harness.h"

#include "quern/base/error.h"

namespace quern::code {
namespace {

constexpr std::string_view kPython = R"(
import os, resource, select, signal, time

def encoded(v):
    if type(v) is int:
        return "n %d" % v
    if type(v) is list and all(type(n) is int for n in v):
        return "l " + " ".join(str(n) for n in v)
    if type(v) is str:
        return "t " + v.encode("utf-8", "surrogatepass").hex()
    return "e returns " + type(v).__name__

def run_test(code, arguments, writer):
    try:
        space = {"__name__": "answer"}
        exec(code, space)
        text = encoded(space["f"](*arguments)) if "f" in space else "e no function f"
    except BaseException as e:
        text = "e " + type(e).__name__
    os.write(writer, text.encode()[:60000] + b"\n")

def result(reader):
    data, until = b"", time.monotonic() + SECONDS
    while len(data) < 65536 and b"\n" not in data:
        left = until - time.monotonic()
        if left <= 0 or not select.select([reader], [], [], left)[0]:
            return b"e time"
        piece = os.read(reader, 65536)
        if not piece:
            break
        data += piece
    return data.split(b"\n")[0] or b"e ended"

def start_process():
    for _ in range(50):
        try:
            return os.fork()
        except OSError:
            time.sleep(0.01)
    return os.fork()

def one_test(code, arguments, out):
    reader, writer = os.pipe()
    pid = start_process()
    if pid == 0:
        os.close(reader)
        os.close(out)
        nothing = os.open("/dev/null", os.O_RDWR)
        for fd in 0, 1, 2:
            os.dup2(nothing, fd)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        try:
            run_test(code, arguments, writer)
        finally:
            os._exit(0)
    os.close(writer)
    text = result(reader)
    os.close(reader)
    os.kill(pid, signal.SIGKILL)
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass
    os.waitpid(pid, 0)
    return text

def main():
    out = os.dup(1)
    try:
        with open("/work/answer.py", encoding="utf-8") as f:
            code = compile(f.read(), "answer.py", "exec")
    except BaseException as e:
        os.write(out, b"- " + type(e).__name__.encode() + b"\n")
        return
    for i, arguments in enumerate(TESTS):
        os.write(out, b"%d " % i + one_test(code, arguments, out) + b"\n")

main()
)";

constexpr std::string_view kC = R"(
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if LIST_IN
#define FIRST x, (int)len
#else
#define FIRST x[0]
#endif
#if HAS_K
#define CALL f(FIRST, k)
#else
#define CALL f(FIRST)
#endif

static void run_test(int writer, const long long *test) {
  const long long len = test[0], k = test[1];
  long long *x = malloc(sizeof(long long) * (size_t)(len + 1));
  memcpy(x, test + 2, sizeof(long long) * (size_t)len);
  (void)k;
  const long long result = CALL;
  FILE *out = fdopen(writer, "w");
#if LIST_OUT
  if (result < 0 || result > len) {
    fprintf(out, "e returns a length of %lld\n", result);
  } else {
    fprintf(out, "l");
    for (long long i = 0; i < result; i++) fprintf(out, " %lld", x[i]);
    fprintf(out, "\n");
  }
#else
  fprintf(out, "n %lld\n", result);
#endif
  fflush(out);
}

static long long milliseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static char text[65537];

static const char *result(int reader) {
  const long long until = milliseconds() + MILLISECONDS;
  size_t n = 0;
  while (n < sizeof(text) - 1 && !memchr(text, '\n', n)) {
    const long long left = until - milliseconds();
    struct pollfd p = {reader, POLLIN, 0};
    if (left <= 0 || poll(&p, 1, (int)left) <= 0) return "e time";
    const ssize_t got = read(reader, text + n, sizeof(text) - 1 - n);
    if (got <= 0) break;
    n += (size_t)got;
  }
  text[n] = 0;
  char *end = strchr(text, '\n');
  if (end) *end = 0;
  return text[0] ? text : "e ended";
}

static pid_t start_process(void) {
  pid_t pid = fork();
  for (int i = 0; pid < 0 && i < 50; i++) {
    usleep(10000);
    pid = fork();
  }
  return pid;
}

int main(void) {
  const int out = dup(1);
  const long long *test = tests;
  for (int i = 0; i < N_TESTS; i++) {
    int ends[2];
    if (pipe(ends) != 0) return 1;
    const pid_t pid = start_process();
    if (pid < 0) return 1;
    if (pid == 0) {
      close(ends[0]);
      close(out);
      const int nothing = open("/dev/null", O_RDWR);
      for (int fd = 0; fd < 3; fd++) dup2(nothing, fd);
      const struct rlimit memory = {MEMORY, MEMORY};
      setrlimit(RLIMIT_DATA, &memory);
      run_test(ends[1], test);
      _exit(0);
    }
    close(ends[1]);
    dprintf(out, "%d %s\n", i, result(ends[0]));
    close(ends[0]);
    kill(pid, SIGKILL);
    kill(-1, SIGKILL);
    waitpid(pid, 0, 0);
    test += test[0] + 2;
  }
  return 0;
}
)";

std::string python_tuple(const Arguments& a) { return fmt::format("({},)", text_of(a)); }

}  // namespace

std::string python_harness(std::span<const Arguments> arguments) {
  std::string out = fmt::format("SECONDS, MEMORY = {}, {}\nTESTS = [", kTestSeconds, kTestMemory);
  for (const Arguments& a : arguments) out += python_tuple(a) + ", ";
  return out + "]\n" + std::string(kPython);
}

std::string c_harness(const CodeSignature& s, std::span<const Arguments> arguments) {
  std::string out = c_declaration(s) + ";\nstatic const long long tests[] = {";
  for (const Arguments& a : arguments) {
    const std::vector<int64_t> x = a.x.type == ValueType::list ? a.x.list : std::vector{a.x.number};
    out += fmt::format("{}, {}, ", x.size(), a.k.value_or(0));
    for (int64_t n : x) out += fmt::format("{}, ", n);
  }
  return out +
         fmt::format(
             "0}};\n#define N_TESTS {}\n#define MILLISECONDS {}\n#define LIST_IN {}\n#define LIST_OUT {}\n"
             "#define HAS_K {}\n#define MEMORY {}\n",
             arguments.size(), static_cast<int>(kTestSeconds * 1000), s.in == ValueType::list ? 1 : 0,
             s.out == ValueType::list ? 1 : 0, s.has_k ? 1 : 0, kTestMemory) +
         std::string(kC);
}

}  // namespace quern::code
