// Functions run in the sandbox: results, failures of each kind, answers that attack the harness, and generated programs
// in Python and C against the results computed here. Skips where nothing can be isolated.
#include "quern/code/code_runner.h"

#include <gtest/gtest.h>

#include "quern/base/error.h"
#include "quern/base/stopwatch.h"
#include "quern/code/random_program.h"

namespace quern::code {
namespace {

class Runner : public testing::TestWithParam<CodeLanguage> {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "AddressSanitizer needs more address space than a sandbox has";
#endif
    if (const auto why = why_unavailable(GetParam())) GTEST_SKIP() << *why;
  }
  bool python() const { return GetParam() == CodeLanguage::python; }
  // What f gives for 1 to 4; a problem stands in angle brackets.
  std::string outcome(const std::string& source) {
    std::vector<Arguments> all;
    for (int64_t i = 1; i <= 4; ++i) all.push_back({CodeValue::of(i)});
    std::string out;
    for (const TestOutput& o : shared_runner(GetParam()).run(source, {}, all))
      out += (out.empty() ? "" : " ") + (o.value ? text_of(*o.value) : "<" + o.problem + ">");
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(Of, Runner, testing::Values(CodeLanguage::python, CodeLanguage::c),
                         [](const auto& i) { return i.param == CodeLanguage::python ? "Python" : "C"; });

class PythonRunner : public Runner {};
INSTANTIATE_TEST_SUITE_P(Of, PythonRunner, testing::Values(CodeLanguage::python));
class CRunner : public Runner {};
INSTANTIATE_TEST_SUITE_P(Of, CRunner, testing::Values(CodeLanguage::c));

TEST_P(PythonRunner, GivesResults) {
  EXPECT_EQ(outcome("def f(x):\n    print('12 n 3')\n    return x * 2"), "2 4 6 8");
  EXPECT_EQ(outcome("def f(x): return 10 // (x - 2)"), "-10 <ZeroDivisionError> 10 5");
  EXPECT_EQ(outcome("def f(x): return [True, 1.0, None, (1,)][x - 1]"),
            "<returns bool> <returns float> <returns NoneType> <returns tuple>");
  EXPECT_EQ(outcome("def f(x): return 10 ** (x * 10)"),
            "10000000000 <an unreadable result> <an unreadable result> "
            "<an unreadable result>");
  EXPECT_EQ(outcome("def g(x): return x"), "<no function f> <no function f> <no function f> <no function f>");
  EXPECT_EQ(outcome("def f(x: return"),
            "<does not compile: SyntaxError> <does not compile: SyntaxError> "
            "<does not compile: SyntaxError> <does not compile: SyntaxError>");
  EXPECT_EQ(outcome("import math\ndef f(x): return math.factorial(x)"), "1 2 6 24");
}

// The same program on the same arguments is run once; another one, or other arguments, are run.
TEST_P(PythonRunner, RemembersTheLastRuns) {
  const std::string random = "import os\ndef f(x): return int.from_bytes(os.urandom(7), 'big')";
  const std::string first = outcome(random);
  EXPECT_EQ(outcome(random), first);
  EXPECT_NE(outcome(random + "\n"), first);
  const std::vector<Arguments> others = {{CodeValue::of(1)}, {CodeValue::of(2)}};
  const auto run = [&] { return text_of(*shared_runner(GetParam()).run(random, {}, others)[0].value); };
  const std::string second = run();
  EXPECT_EQ(run(), second);
  EXPECT_NE(first.substr(0, first.find(' ')), second);
  for (int i = 0; i < 40; ++i) outcome("def f(x): return " + std::to_string(i));
  EXPECT_NE(run(), second);  // forgotten
}

// Each attack costs the test in which it happens; other tests and the harness go on.
TEST_P(PythonRunner, OutlivesTheAnswer) {
  const auto attack = [&](const std::string& body) {
    return outcome("import os, sys\ndef f(x):\n    if x == 2:\n        " + body + "\n    return x");
  };
  EXPECT_EQ(attack("sys.exit()"), "1 <SystemExit> 3 4");
  EXPECT_EQ(attack("os._exit(0)"), "1 <ended> 3 4");
  EXPECT_EQ(attack("os.abort()"), "1 <ended> 3 4");
  EXPECT_EQ(attack("raise KeyboardInterrupt"), "1 <KeyboardInterrupt> 3 4");
  EXPECT_EQ(attack("return f(x)"), "1 <RecursionError> 3 4");
  const std::string deep = attack("sys.setrecursionlimit(10**9); return f(x)");  // out of memory, or of time
  EXPECT_TRUE(deep == "1 <MemoryError> 3 4" || deep == "1 <time> 3 4") << deep;
  EXPECT_EQ(attack("x = bytearray(10**10)"), "1 <MemoryError> 3 4");
  EXPECT_EQ(attack("while True: pass"), "1 <time> 3 4");
  EXPECT_EQ(attack("raise type('a\\n3 n 7', (Exception,), {})()"), "1 <a> 3 4");
  EXPECT_EQ(attack("os.fork(); os.fork(); os.setsid(); sys.exit()"), "1 <SystemExit> 3 4");
}

TEST_P(PythonRunner, StopsForkBombs) {
  EXPECT_EQ(outcome("import os\ndef f(x):\n    if x == 2:\n        while True:\n            try: os.fork()\n"
                    "            except OSError: pass\n    return x")
                .substr(0, 9),
            "1 <time> ");
}

// Whatever it writes where: results are compared outside, with what never was inside.
TEST_P(PythonRunner, ForgesNothing) {
  const std::string writes =
      "import os\n"
      "def f(x):\n"
      "    for fd in range(3, 40):\n"
      "        try: os.write(fd, b'0 n 5\\n1 n 5\\n2 n 5\\n3 n 5\\n')\n"
      "        except OSError: pass\n"
      "    return x\n";
  EXPECT_EQ(outcome(writes).find(" 5"), std::string::npos);
  // Opens the harness's pipes by its process: results become unreadable or come out of order.
  const std::string injects =
      "import os\n"
      "def f(x):\n"
      "    for fd in os.listdir('/proc/%d/fd' % os.getppid()):\n"
      "        try:\n"
      "            with open('/proc/%d/fd/%s' % (os.getppid(), fd), 'w') as o: o.write('2 n 2\\n')\n"
      "        except OSError: pass\n"
      "    return 0\n";
  EXPECT_EQ(outcome(injects).find('2'), std::string::npos);
  EXPECT_EQ(outcome("import os, signal\ndef f(x):\n    if x == 3: os.kill(os.getppid(), 9)\n    return x"),
            "1 2 <stopped: a signal> <stopped: a signal>");
  // Neither other builtins nor another harness file help: there is nothing to compare with inside.
  EXPECT_EQ(outcome("import builtins, os\n"
                    "builtins.type = lambda v: int\n"
                    "os.write = lambda *a: 0\n"
                    "def f(x): return x"),
            "<ended> <ended> <ended> <ended>");
  EXPECT_EQ(outcome("def f(x):\n    open('/work/run.py', 'w').write('print(1)')\n"
                    "    open('/work/answer.py', 'w').write('def f(x): return 9')\n    return x"),
            "1 2 3 4");
  EXPECT_EQ(outcome("class E(int):\n    def __eq__(self, o): return True\ndef f(x): return E(7)"),
            "<returns E> <returns E> <returns E> <returns E>");
}

// What the answer can read of the harness is the arguments of its tests, never a result.
TEST_P(PythonRunner, ShowsNoExpectedResults) {
  const CodeTest test{{CodeValue::of(3)}, CodeValue::of(987654321)};
  const auto out = shared_runner(GetParam())
                       .run(
                           "def f(x):\n"
                           "    text = open('/work/run.py').read() + open('/proc/self/environ').read()\n"
                           "    return 1 if '987654321' in text else 2 if '(3,)' in text else 0\n",
                           {}, arguments_of(std::vector{test}));
  EXPECT_EQ(out[0].value, CodeValue::of(2));
}

TEST_P(CRunner, GivesResults) {
  EXPECT_EQ(outcome("#include <stdio.h>\nlong long f(long long x) { puts(\"0 n 7\"); return x * 2; }"), "2 4 6 8");
  EXPECT_EQ(outcome("long long f(long long x) { return 10 / (x - 2); }"), "-10 <ended> 10 5");
  EXPECT_EQ(outcome("long long f(long long x) { while (x == 2); return x; }"), "1 <time> 3 4");
  EXPECT_EQ(outcome("#include <stdlib.h>\nlong long f(long long x) { if (x == 2) exit(0); return x; }"),
            "1 <ended> 3 4");
  EXPECT_EQ(outcome("long long f(long long x) { return x == 2 ? f(x) + 1 : x; }").substr(0, 2), "1 ");
  const std::string wrong = outcome("long long f(long long x) { return y; }");
  EXPECT_TRUE(wrong.starts_with("<does not compile: ") && wrong.find("undeclared") != wrong.npos) << wrong;
  EXPECT_NE(outcome("int main(void) { return 0; }\nlong long f(long long x) { return x; }").find("does not compile"),
            std::string::npos);
  EXPECT_EQ(outcome("__attribute__((constructor)) static void first(void) { _exit(0); }\n#include <unistd.h>\n"
                    "long long f(long long x) { return x; }"),
            "<the tests were ended> <the tests were ended> <the tests were ended> <the tests were ended>");
}

TEST_P(CRunner, ChangesListsInPlace) {
  const std::vector<Arguments> all = {{CodeValue::of(std::vector<int64_t>{4, -5, 6}), 1},
                                      {CodeValue::of(std::vector<int64_t>{}), 2}};
  const CodeSignature s{ValueType::list, ValueType::list, true};
  auto out = shared_runner(GetParam())
                 .run("int f(long long *x, int len, long long k) { if (len) x[0] = k; return len; }", s, all);
  EXPECT_EQ(out[0].value, CodeValue::of(std::vector<int64_t>{1, -5, 6}));
  EXPECT_EQ(out[1].value, CodeValue::of(std::vector<int64_t>{}));
  out = shared_runner(GetParam()).run("int f(long long *x, int len, long long k) { return 100; }", s, all);
  EXPECT_EQ(out[0].problem, "returns a length of 100");
}

TEST_P(Runner, AgreesWithGeneratedPrograms) {
  Rng r(5);
  for (int i = 0; i < (python() ? 8 : 4); ++i) {
    const CodeTask t = random_task(r, {.dialect = python() ? Dialect::python : Dialect::c, .difficulty = i});
    const std::string source = python() ? python_of(t.program) : c_of(t.program);
    const auto outputs = shared_runner(GetParam()).run(source, t.program.signature(), arguments_of(t.hidden));
    const TestCount count = count_passed(outputs, t.hidden);
    EXPECT_EQ(count.passed, count.total) << source << count.reason;
    EXPECT_EQ(count.share(), 1);
  }
}

TEST_P(Runner, IsBounded) {
  const auto first = [&](const std::string& source) {
    return shared_runner(GetParam()).run(source, {}, std::vector<Arguments>{{CodeValue::of(1)}})[0].problem;
  };
  Stopwatch watch;
  if (python()) {
    EXPECT_EQ(first("while True: pass"), "time");
  } else {
    EXPECT_EQ(first("#include \"/dev/zero\"\n").substr(0, 16), "does not compile");
  }
  EXPECT_LT(watch.lap(), 9.5);
  EXPECT_EQ(first(std::string(200'000, ' ')), "a program of more than 100000 bytes");
}

// The lines that the programs print, each program's from what it writes with print(repr(...)) or printf, in one run.
std::vector<std::string> printed(CodeLanguage language, const std::string& source) {
  const bool python = language == CodeLanguage::python;
  const sandbox::Result r =
      sandbox::run({.limits = {.seconds = 20, .output_mib = 8}},
                   {.argv = {"sh", "-c", python ? "python3 -I -S a.py" : "cc -O1 -w -o a a.c && ./a"},
                    .files = {{python ? "a.py" : "a.c", source}}});
  EXPECT_EQ(r.status, 0) << r.err.substr(0, 1000);
  std::vector<std::string> lines(1);
  for (char c : r.out)
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  lines.pop_back();
  return lines;
}

void expect_same(const std::vector<std::string>& lines, const std::vector<CodeTask>& tasks) {
  size_t at = 0;
  for (const CodeTask& t : tasks)
    for (const CodeTest& test : t.hidden) {
      ASSERT_LT(at, lines.size());
      ASSERT_EQ(lines[at++], text_of(test.expected)) << python_of(t.program) << text_of(test.arguments);
    }
  EXPECT_EQ(at, lines.size());
}

// Many generated programs on their tests, edge cases included: Python gives what is computed here.
TEST_P(PythonRunner, AgreesOnManyPrograms) {
  Rng r(6);
  std::vector<CodeTask> tasks;
  std::string source;
  for (int i = 0; i < 500; ++i) {
    tasks.push_back(random_task(r, {.difficulty = i % 24}));
    source += python_of(tasks.back().program);
    for (const CodeTest& t : tasks.back().hidden) source += fmt::format("print(repr(f({})))\n", text_of(t.arguments));
  }
  expect_same(printed(GetParam(), source), tasks);
}

std::string c_call(const CodeSignature& s, const Arguments& a) {
  const std::string k = a.k ? fmt::format(", {}", *a.k) : "";
  if (s.in == ValueType::number) return fmt::format("  printf(\"%lld\\n\", f({}{}));\n", a.x.number, k);
  const std::string list = fmt::format("  {{ long long x[] = {{{}}}; int n = ", fmt::join(a.x.list, ", "));
  if (s.out == ValueType::number)
    return fmt::format("{}{}; printf(\"%lld\\n\", f(x, n{})); }}\n", list, a.x.list.size(), k);
  return fmt::format("{}f(x, {}{}); show(x, n); }}\n", list, a.x.list.size(), k);
}

TEST_P(CRunner, AgreesOnManyPrograms) {
  Rng r(7);
  std::vector<CodeTask> tasks;
  std::string source =
      "#include <stdio.h>\nstatic void show(long long *x, int n) {\n"
      "  putchar('[');\n  for (int i = 0; i < n; i++) printf(\"%s%lld\", i ? \", \" : \"\", x[i]);\n  "
      "puts(\"]\");\n}\n";
  std::string main = "int main(void) {\n";
  for (int i = 0; i < 60; ++i) {
    tasks.push_back(random_task(r, {.dialect = Dialect::c, .difficulty = i % 16}));
    source += fmt::format("#undef f\n#define f f{0}\n{1}void t{0}(void) {{\n", i, c_of(tasks.back().program));
    for (const CodeTest& t : tasks.back().hidden) source += c_call(tasks.back().program.signature(), t.arguments);
    source += "}\n", main += fmt::format("  t{}();\n", i);
  }
  expect_same(printed(GetParam(), source + main + "}\n"), tasks);
}

}  // namespace
}  // namespace quern::code
