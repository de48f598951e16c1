// quern bench comm over threads, over mpirun on this machine, and over hosts whose network is known; quern bench host
// where it writes files.
#include <gtest/gtest.h>

#include <cmath>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/base/toml.h"
#include "tests/cli/shaped_network.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

constexpr const char* kMpi =
    "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0; ";

bool has_mpi() {
  return shell("command -v mpirun").code == 0 && shell("quern bench comm --ranks 1 --max-mib 1").code == 0 &&
         shell(std::string(kMpi) + "mpirun --oversubscribe -n 1 quern bench comm --max-mib 1").code == 0;
}

// A machine file as quern bench host writes it.
void write_own_machine(const std::string& file) {
  const Json host = Json::parse(shell("quern bench host --reps 1 --json").out);
  write_file(file, fmt::format("name = {}\nproduct_tflops = 0.4\nmemory_gib = 16\nmemory_gbs = 40\n",
                               host.at("cpu").dump()));
}

const Json& operation(const Json& report, const char* name, size_t ranks = 0) {
  return report.at("ranks").as_array()[ranks].at("operations").at(name);
}

TEST(BenchComm, ThreadsOfOneProcess) {
  ScratchFolder folder;
  const std::string machine = folder / "machine.toml";
  write_own_machine(machine);
  const Ran r = shell("quern bench comm --ranks 2 --ranks 4 --max-mib 1 --reps 3 --json --machine " + machine);
  ASSERT_EQ(r.code, 0) << r.err;
  const Json report = Json::parse(r.out);
  ASSERT_EQ(report.at("ranks").as_array().size(), 2u);
  for (const char* name :
       {"all-reduce", "butterfly", "reduce-scatter", "all-gather", "broadcast", "all-to-all", "message", "shift"})
    for (const size_t ranks : {0, 1}) {
      const Json& o = operation(report, name, ranks);
      EXPECT_EQ(o.at("points").as_array().size(), 18u);
      EXPECT_GT(o.at("busbw_gbs").as_double(), 0) << name;
    }
  EXPECT_EQ(report.at("ranks").as_array()[1].at("overlap").as_object().size(), 3u);
  EXPECT_GT(report.at("ranks").as_array()[1].at("bucket_elements").as_int(), 0);
  const Json m = read_toml(machine);
  EXPECT_EQ(m.at("devices").as_int(), 4);
  EXPECT_GT(m.at("link_gbs").as_double(), 0);
  EXPECT_DOUBLE_EQ(m.at("memory_gib").as_double(), 4);
  const Ran plan = shell("quern plan --days 0.1 --family llama --json --machine " + machine);
  EXPECT_EQ(plan.code, 0) << plan.err;
}

TEST(BenchHost, AMachineFileForPlansAndAPageOfASection) {
  ScratchFolder folder;
  const std::string machine = folder / "machine.toml", html = folder / "host.html";
  const Ran r =
      shell(fmt::format("quern bench host --reps 1 --only storage --storage {} --html {} --machine {} --json",
                        folder / "", html, machine));
  ASSERT_EQ(r.code, 0) << r.err;
  const Json report = Json::parse(r.out), m = read_toml(machine);
  EXPECT_GT(report.at("storage").at("read_gbs").as_double(), 0);
  EXPECT_NE(read_file(html).find("<h2>Storage</h2>"), std::string::npos);
  for (const char* key : {"product_tflops", "memory_gib", "memory_gbs", "storage_gbs", "storage_iops"})
    EXPECT_GT(m.at(key).as_double(), 0) << key;
  const Ran plan = shell("quern plan --days 0.1 --family llama --json --machine " + machine);
  EXPECT_EQ(plan.code, 0) << plan.err;
  const Ran section = shell("quern bench host --only memories");
  EXPECT_EQ(section.code, 2);
  EXPECT_NE(section.err.find("expected memory, products, operations or storage"), std::string::npos);
}

TEST(BenchComm, ProcessesOfMpirun) {
  if (!has_mpi()) GTEST_SKIP() << "no mpirun here, or a build without MPI";
  const Ran r = shell(std::string(kMpi) +
                      "mpirun --oversubscribe --host 127.0.0.1:4 -n 4 quern bench comm --ranks 2 --ranks 4 "
                      "--max-mib 1 --reps 3 --json --operation all-reduce --operation message");
  ASSERT_EQ(r.code, 0) << r.err;
  const Json report = Json::parse(r.out);
  EXPECT_EQ(report.at("kind").as_string(), "MPI processes");
  EXPECT_EQ(report.at("hosts").as_int(), 1);
  for (const size_t ranks : {0, 1}) EXPECT_GT(operation(report, "all-reduce", ranks).at("busbw_gbs").as_double(), 0);
}

TEST(BenchComm, WhatCannotBeIsRefused) {
  ScratchFolder folder;
  const Ran name = shell("quern bench comm --operation gather");
  EXPECT_EQ(name.code, 1);
  EXPECT_NE(name.err.find("expected one of all-reduce, "), std::string::npos) << name.err;
  const Ran levels = shell("quern bench comm --ranks 2 --max-mib 1 --operation all-reduce-2");
  EXPECT_EQ(levels.code, 1);
  EXPECT_NE(levels.err.find("need several hosts"), std::string::npos) << levels.err;
  const Ran size = shell("quern bench comm --max-mib 2000");
  EXPECT_EQ(size.code, 2);
  const Ran missing = shell("quern bench comm --machine " + (folder / "none.toml"));
  EXPECT_EQ(missing.code, 1);
  EXPECT_NE(missing.err.find("quern bench host --machine"), std::string::npos) << missing.err;
  write_file(folder / "other.toml", "name = \"8 H100\"\nproduct_tflops = 1\nmemory_gib = 1\nmemory_gbs = 1\n");
  const Ran other = shell("quern bench comm --machine " + (folder / "other.toml"));
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.err.find("it describes '8 H100'"), std::string::npos) << other.err;
}

// mpirun with four ranks, of which each two have a host's name of their own; "" where that is not permitted.
std::string mpirun_on_two_names(const std::string& script) {
  write_file(script, "#!/bin/sh\necho host$((OMPI_COMM_WORLD_RANK / 2)) > /proc/sys/kernel/hostname\nexec \"$@\"\n");
  if (shell("unshare --uts sh " + script + " true").code != 0) return "";
  return std::string(kMpi) + "mpirun --oversubscribe --host 127.0.0.1:4 -n 4 unshare --uts sh " + script + " ";
}

std::vector<double> losses(const std::string& metrics) {
  std::vector<double> all;
  const std::string text = read_file(metrics);
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const Json line = Json::parse(text.substr(at, end - at));
    if (const Json* loss = line.find("loss")) all.push_back(loss->as_double());
    at = end + 1;
  }
  return all;
}

TEST(BenchComm, TwoLevelsOnSeveralHosts) {
  if (!has_mpi()) GTEST_SKIP() << "no mpirun here, or a build without MPI";
  ScratchFolder folder;
  const std::string mpirun = mpirun_on_two_names(folder / "named.sh");
  if (mpirun.empty()) GTEST_SKIP() << "names of hosts cannot be set here";
  const Ran r = shell(mpirun + "quern bench comm --max-mib 1 --reps 2 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const Json report = Json::parse(r.out);
  EXPECT_EQ(report.at("hosts").as_int(), 2);
  for (const char* name : {"all-reduce", "reduce-scatter", "all-gather"}) {
    EXPECT_EQ(operation(report, (std::string(name) + "-2").c_str()).at("points").as_array().size(), 18u);
    EXPECT_GE(report.at("ranks").as_array()[0].at("two_levels_from_bytes").at(name).as_int(), 0);
  }
}

// A run whose gradients are summed in two levels learns what one learns that sums them in one.
TEST(Training, InTwoLevelsLearnsTheSame) {
  if (!has_mpi()) GTEST_SKIP() << "no mpirun here, or a build without MPI";
  ScratchFolder folder;
  const std::string mpirun = mpirun_on_two_names(folder / "named.sh"), dir = folder / "";
  if (mpirun.empty()) GTEST_SKIP() << "names of hosts cannot be set here";
  std::string text;
  for (int i = 0; i < 60; ++i) text += "The mill stands still. It turns on Monday.\n\n";
  write_file(dir + "/a.txt", text);
  write_file(dir + "/r.toml", R"(name = "levels"
dtype = "f32"
model = { from = "tiny" }
[[phase]]
steps = 3
sequence_length = 32
batch_size = 4
schedule = { peak = 1e-5, warmup = 0, final = 1e-5 }
data = [{ path = "set" }]
)");
  const Ran made = shell(
      fmt::format("cd {} && quern new --family zaya --size tiny tiny && quern data build a.txt --split-by blank "
                  "--tokenizer tiny --out set",
                  dir));
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string train = "cd " + dir + " && " + mpirun + "quern train r.toml --out ";
  const Ran one = shell(train + "one"), two = shell(train + "two --set parallel.two_level_from=1000");
  ASSERT_EQ(one.code, 0) << one.err;
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(one.err.find("two levels"), std::string::npos);
  EXPECT_NE(two.err.find("in two levels: 2 hosts with 2 ranks each"), std::string::npos) << two.err;
  const std::vector<double> a = losses(dir + "/one/metrics.jsonl"), b = losses(dir + "/two/metrics.jsonl");
  ASSERT_EQ(a.size(), 3u);
  ASSERT_EQ(b.size(), 3u);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5);
  const Ran both = shell("quern train " + dir + "/r.toml --out " + dir +
                         "/no --set parallel.two_level_from=1000 --set parallel.zero=1");
  EXPECT_EQ(both.code, 1);
  EXPECT_NE(both.err.find("two_level_from"), std::string::npos) << both.err;
}

// Runs a command on `ranks` ranks of each host. Long messages are sent at once: by default Open MPI asks the receiver
// first, and they take three latencies.
std::string mpirun_on(const ShapedNetwork& network, int hosts, int ranks, const std::string& agent) {
  std::string list;
  for (int h = 0; h < hosts; ++h) list += (h ? "," : "") + fmt::format("{}:{}", network.address(h), ranks);
  return std::string(kMpi) + network.on(0) + "mpirun --bind-to none --oversubscribe --host " + list +
         " --mca plm_rsh_agent " + network.agent(agent) +
         " --mca btl vader,tcp,self --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 "
         "--mca btl_tcp_eager_limit 8388608 --mca btl_tcp_rndv_eager_limit 8388608 -x PATH ";
}

// 30 ms and 4 MB/s on each of two and of three hosts, Open MPI over tcp. A packet of 9,000 bytes has 52 of headers.
TEST(BenchComm, DISABLED_RecoversTheLatencyAndBandwidthOfANetwork) {
  if (!has_mpi()) GTEST_SKIP() << "no mpirun here, or a build without MPI";
  constexpr double kLatency = 30e-3, kBandwidth = 4e6, kPayload = 8948.0 / 9000;
  for (const int hosts : {2, 3}) {
    const ShapedNetwork network({.hosts = hosts, .latency_s = kLatency, .bytes_per_s = kBandwidth});
    if (!network.refusal().empty()) GTEST_SKIP() << network.refusal();
    ScratchFolder folder;
    const std::string machine = folder / "machine.toml";
    write_own_machine(machine);
    const Ran r =
        shell(mpirun_on(network, hosts, 1, folder / "agent") +
              "quern bench comm --max-mib 2 --reps 3 --json --operation message --operation all-reduce --machine " +
              machine);
    ASSERT_EQ(r.code, 0) << r.err;
    const Json report = Json::parse(r.out);
    EXPECT_EQ(report.at("hosts").as_int(), hosts);
    const Json &message = operation(report, "message"), &reduce = operation(report, "all-reduce");
    EXPECT_NEAR(message.at("latency_us").as_double() * 1e-6 / kLatency, 1, 0.15);
    EXPECT_NEAR(message.at("busbw_gbs").as_double() * 1e9 / (kBandwidth * kPayload), 1, 0.15);
    EXPECT_NEAR(reduce.at("latency_us").as_double() * 1e-6 / (2 * kLatency), 1, 0.15);  // scatter, then gather
    EXPECT_NEAR(reduce.at("busbw_gbs").as_double() * 1e9 / (kBandwidth * kPayload), 1, 0.15);
    const Json m = read_toml(machine);
    EXPECT_EQ(m.at("nodes").as_int(), hosts);
    EXPECT_NEAR(m.at("network_gbs").as_double() * 1e9 / (kBandwidth * kPayload), 1, 0.15);
    EXPECT_NEAR(m.at("network_us").as_double() * 1e-6 / (2 * kLatency), 1, 0.15);
  }
}

// The same network, two ranks on each host: in two levels a host sends half of what it sends in one, and as often.
TEST(BenchComm, DISABLED_TwoLevelsOnANetwork) {
  if (!has_mpi()) GTEST_SKIP() << "no mpirun here, or a build without MPI";
  constexpr double kLatency = 30e-3, kBandwidth = 4e6, kPayload = 8948.0 / 9000;
  for (const int hosts : {2, 3}) {
    const ShapedNetwork network({.hosts = hosts, .latency_s = kLatency, .bytes_per_s = kBandwidth});
    if (!network.refusal().empty()) GTEST_SKIP() << network.refusal();
    ScratchFolder folder;
    std::string command = "quern bench comm --max-mib 2 --reps 3 --json";
    for (const char* name : {"all-reduce", "reduce-scatter", "all-gather"})
      command += fmt::format(" --operation {0} --operation {0}-2", name);
    const Ran r = shell(mpirun_on(network, hosts, 2, folder / "agent") + command);
    ASSERT_EQ(r.code, 0) << r.err;
    const Json report = Json::parse(r.out);
    fmt::print("{}\n", r.out);
    for (const char* name : {"all-reduce", "reduce-scatter", "all-gather"}) {
      const std::string two = std::string(name) + "-2";
      const int exchanges = std::string_view(name) == "all-reduce" ? 2 : 1;
      const auto seconds = [&](const std::string& operation_name, size_t point) {
        return operation(report, operation_name.c_str()).at("points").as_array()[point].at("seconds").as_double();
      };
      constexpr size_t kLargest = 18;  // 2 MiB
      const double far = static_cast<double>(exchanges) * (hosts - 1) / hosts * (2 << 20) / (kBandwidth * kPayload);
      EXPECT_NEAR((seconds(name, kLargest) - exchanges * kLatency) / (2 * far), 1, 0.15) << name << ", " << hosts;
      EXPECT_NEAR((seconds(two, kLargest) - exchanges * kLatency) / far, 1, 0.15) << two << ", " << hosts;
      const int64_t from = report.at("ranks").as_array()[0].at("two_levels_from_bytes").at(name).as_int();
      EXPECT_GT(from, 0) << name;
    }
  }
}

}  // namespace
}  // namespace quern
