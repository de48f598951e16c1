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
  EXPECT_EQ(outcome("def f(x): return 10 ** (x * 10)"), "10000000000 <an unreadable result> <an unreadable result> "
                                                         "<an unreadable result>");
  EXPECT_EQ(outcome("def g(x): return x"), "<no function f> <no function f> <no function f> <no function f>");
  EXPECT_EQ(outcome("def f(x: return"), "<does not compile: SyntaxError> <does not compile: SyntaxError> "
                                        "<does not compile: SyntaxError> <does not compile: SyntaxError>");
  EXPECT_EQ(outcome("import math\ndef f(x): return math.factorial(x)"), "1 2 6 24");
}

// Each attack costs the test in which it happens; other tests and the harness go on.
TEST_P(PythonRunner, OutlivesTheAnswer) {
  const auto attack = [&](const std::string& body) { return outcome("import os, sys\ndef f(x):\n    if x == 2:\n        " +
                                                                    body + "\n    return x"); };
  EXPECT_EQ(attack("sys.exit()"), "1 <SystemExit> 3 4");
  EXPECT_EQ(attack("os._exit(0)"), "1 <ended> 3 4");
  EXPECT_EQ(attack("os.abort()"), "1 <ended> 3 4");
  EXPECT_EQ(attack("raise KeyboardInterrupt"), "1 <KeyboardInterrupt> 3 4");
  EXPECT_EQ(attack("return f(x)"), "1 <RecursionError> 3 4");
  EXPECT_EQ(attack("sys.setrecursionlimit(10**9); return f(x)"), "1 <ended> 3 4");
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
  // Opens the harness's output by its process: the lines are out of order, and what follows is lost.
  const std::string injects =
      "import os\n"
      "def f(x):\n"
      "    for fd in os.listdir('/proc/%d/fd' % os.getppid()):\n"
      "        try:\n"
      "            with open('/proc/%d/fd/%s' % (os.getppid(), fd), 'w') as o: o.write('2 n 2\\n')\n"
      "        except OSError: pass\n"
      "    return 0\n";
  const std::string outcome_of_injects = outcome(injects);
  EXPECT_TRUE(outcome_of_injects == "0 0 0 0" || outcome_of_injects.find("the tests were ended") != std::string::npos)
      << outcome_of_injects;
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
                       .run("def f(x):\n"
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
  EXPECT_TRUE(wrong.starts_with("<does not compile: 'y' undeclared")) << wrong;
  EXPECT_NE(outcome("int main(void) { return 0; }\nlong long f(long long x) { return x; }").find("does not compile"),
            std::string::npos);
  EXPECT_EQ(outcome("__attribute__((constructor)) static void first(void) { _exit(0); }\n#include <unistd.h>\n"
                    "long long f(long long x) { return x; }"),
            "<the tests were ended> <the tests were ended> <the tests were ended> <the tests were ended>");
}

TEST_P(CRunner, ChangesListsInPlace) {
  const std::vector<Arguments> all = {{CodeValue::of(std::vector<int64_t>{4, -5, 6}), 1}, {CodeValue::of(std::vector<int64_t>{}), 2}};
  const CodeSignature s{ValueType::list, ValueType::list, true};
  auto out = shared_runner(GetParam()).run("int f(long long *x, int len, long long k) { if (len) x[0] = k; return len; }",
                                           s, all);
  EXPECT_EQ(out[0].value, CodeValue::of(std::vector<int64_t>{1, -5, 6}));
  EXPECT_EQ(out[1].value, CodeValue::of(std::vector<int64_t>{}));
  out = shared_runner(GetParam()).run("int f(long long *x, int len, long long k) { return 100; }", s, all);
  EXPECT_EQ(out[0].problem, "returns a length of 100");
}

// Generated programs, edge cases included, give in Python and C what is computed here.
TEST_P(Runner, AgreesWithGeneratedPrograms) {
  Rng r(5);
  const TaskSize size{.dialect = python() ? Dialect::python : Dialect::c};
  for (int i = 0; i < (python() ? 60 : 24); ++i) {
    TaskSize s = size;
    s.difficulty = i % 12;
    const CodeTask t = random_task(r, s);
    const std::string source = python() ? python_of(t.program) : c_of(t.program);
    const auto outputs = shared_runner(GetParam()).run(source, t.program.signature(), arguments_of(t.hidden));
    const TestCount count = count_passed(outputs, t.hidden);
    EXPECT_EQ(count.passed, count.total) << source << count.reason;
  }
}

TEST_P(Runner, IsBounded) {
  Stopwatch watch;
  if (python())
    EXPECT_EQ(outcome("while True: pass"), "<time> <time> <time> <time>");
  else
    EXPECT_NE(outcome("#include \"/dev/zero\"\n").find("<"), std::string::npos);
  EXPECT_LT(watch.lap(), 9.5);
  EXPECT_EQ(outcome(std::string(200'000, ' ')).substr(0, 12), "<a program o");
}

}  // namespace
}  // namespace quern::code
