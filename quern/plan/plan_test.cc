// Arithmetic of plans against the figures that the published reports give, and against closed forms.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "quern/base/test_message.h"
#include "quern/plan/search.h"

namespace quern::plan {
namespace {

Machine one_device() {
  Machine m;
  m.product_tflops = 1, m.memory_gib = 16, m.memory_gbs = 50;
  return m;
}

ModelShape zaya1() {  // as published
  ModelShape s = proportioned(Family::zaya, 2048, 40, 262272);
  EXPECT_EQ(s.n_head, 8);
  EXPECT_EQ(s.n_head_kv, 2);
  EXPECT_EQ(s.head_dim, 128);
  EXPECT_EQ(s.ffn, 2048);
  EXPECT_EQ(s.experts, 16);
  EXPECT_EQ(s.router, 256);
  EXPECT_EQ(s.vocab, 262272);
  return s;
}

TEST(PlanShape, ProportionsAreThePublishedOnes) {
  const ModelShape s = zaya1();
  const double head = 262272.0 * 2048;
  EXPECT_NEAR(static_cast<double>(parameters(s)) - head, 8.3e9, 0.03e9);
  EXPECT_NEAR(active_parameters(s) - head, 0.76e9, 0.03e9);
  // A token's training at 4096: three forward passes of 2.89 GFLOP, the head included.
  EXPECT_NEAR(matmul_flops(s) + attention_flops(s, 4096), 2.89e9, 0.05e9);
}

TEST(PlanCost, StorageOfTheReport) {  // 4096 sequences of 4096 tokens of 4 bytes in 2.5 s, 70,000 reads a second
  Machine m = one_device();
  m.storage_iops = 70000, m.storage_gbs = 1000;
  const Loading l = loading(m, {.sequences = 4096, .context = 4096}, 2.5);
  EXPECT_DOUBLE_EQ(l.bytes, 64.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(l.pages, 16384);
  EXPECT_NEAR(l.iops, 6554, 1);
  EXPECT_NEAR(l.min_step_s, 0.234, 0.001);
}

TEST(PlanCost, CheckpointsOfTheReport) {
  Machine m = one_device();
  m.nodes = 128, m.devices = 8, m.weight_bytes = 2, m.master_bytes = 4, m.storage_gbs = 15;
  m.link_gbs = 300, m.network_gbs = 45, m.mtbf_hours = 49.0 * 1024;
  const Checkpoint c = checkpoint(zaya1(), m);
  EXPECT_NEAR(c.bytes, 90e9, 2e9);
  EXPECT_NEAR(c.save_s, 6, 0.2);
  EXPECT_NEAR(c.every_s / 60, 24, 1) << "Young and Daly";
  EXPECT_NEAR(c.lost_share, 2 * c.save_s / c.every_s, 1e-6) << "at the optimum both halves are equal";
}

TEST(PlanCost, BucketsReachTheBandwidth) {
  Machine m = one_device();
  m.nodes = 4, m.network_gbs = 10, m.network_us = 50;
  const double size = bucket_bytes(m), seconds = 50e-6 + size / 10e9;
  EXPECT_NEAR(size / seconds, 0.95 * 10e9, 1e3);
  EXPECT_EQ(bucket_bytes(one_device()), 0);
}

TEST(PlanMachine, WhatIsWrittenIsRead) {
  Machine m = one_device();
  m.name = "a \"quoted\" name", m.nodes = 2, m.network_gbs = 0.0125, m.network_us = 4000, m.storage_iops = 1e5;
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("quern-machine-{}.toml", ::getpid());
  write_machine(file, m);
  EXPECT_EQ(write_value(read_machine(file)), write_value(m));
  std::filesystem::remove(file);
}

TEST(PlanMachine, ANodeDividedKeepsWhatItHas) {
  Machine m = one_device();
  const double memory = m.memory_gib, tflops = m.product_tflops;
  divide_node(m, 4);
  EXPECT_EQ(m.devices, 4);
  EXPECT_DOUBLE_EQ(4 * m.memory_gib, memory);
  EXPECT_DOUBLE_EQ(4 * m.product_tflops, tflops);
}

TEST(PlanCost, MemoryFallsWithRanksWhereStateIsSharded) {
  Machine m = one_device();
  const ModelShape s = proportioned(Family::llama, 512, 12, 32000);
  const Batch b{.sequences = 64, .context = 512, .micro = 4};
  const Memory one = memory(s, m, b);
  EXPECT_DOUBLE_EQ(one.weights, 4.0 * static_cast<double>(parameters(s)));
  m.nodes = 4, m.network_gbs = 1;
  const Memory four = memory(s, m, b);
  EXPECT_DOUBLE_EQ(four.optimizer, one.optimizer / 4);
  EXPECT_DOUBLE_EQ(four.weights, one.weights);
  EXPECT_GT(step_time(s, m, b).communication, 0);
}

TEST(PlanCost, CommunicationIsExposedOnceItIsLongerThanTheBackwardPass) {
  Machine m = one_device();
  m.nodes = 4, m.network_gbs = 1000;
  const ModelShape s = proportioned(Family::llama, 512, 12, 32000);
  const Batch b{.sequences = 64, .context = 512};
  EXPECT_EQ(step_time(s, m, b).exposed, 0);
  m.network_gbs = 0.01;
  const StepTime t = step_time(s, m, b);
  EXPECT_NEAR(t.exposed, t.communication - (t.products + t.attention + t.other) * 2 / 3, 1e-9);
}

TEST(PlanSearch, BestFirstAndWithinTheGoal) {
  const Machine m = one_device();
  const Goal goal{.days = 1, .context = 512, .vocab = 8192, .families = {Family::llama, Family::zaya}};
  const std::vector<Planned> found = search(m, goal, 3);
  ASSERT_EQ(found.size(), 6u);
  for (size_t i = 1; i < found.size(); ++i) EXPECT_LE(found[i - 1].loss, found[i].loss);
  for (const Planned& p : found) {
    EXPECT_LE(p.days, 1.0001);
    EXPECT_NEAR(p.days * 86400, static_cast<double>(p.steps) * p.step.total(), 1);
    EXPECT_LE(p.memory.total(), 0.93 * 16 * 1024 * 1024 * 1024);
    EXPECT_EQ(p.tokens, static_cast<double>(p.steps * p.batch.tokens()));
    EXPECT_GE(p.batch.micro * p.accumulation, p.batch.sequences);
  }
  Goal longer = goal;
  longer.days = 10;
  EXPECT_LT(search(m, longer, 1)[0].loss, found[0].loss);
  EXPECT_GT(parameters(search(m, longer, 1)[0].shape), parameters(found[0].shape)) << "more time, a larger model";
  for (const Remedy& r : remedies(m, goal, found[0].loss)) EXPECT_LT(r.loss, found[0].loss) << r.change;
  Machine small = m;
  small.memory_gib = 1e-3;
  EXPECT_TRUE(search(small, goal, 3).empty());
}

TEST(PlanSearch, TokensAndDaysTogetherLimitTheShape) {
  const Machine m = one_device();
  const ModelShape s = proportioned(Family::llama, 512, 12, 8192);
  Goal goal{.tokens = 1e9, .vocab = 8192, .families = {}};
  const auto free = plan_shape(s, m, goal);
  ASSERT_TRUE(free);
  goal.days = free->days * 1.01;
  EXPECT_TRUE(plan_shape(s, m, goal));
  goal.days = free->days * 0.5;
  EXPECT_FALSE(plan_shape(s, m, goal));
  EXPECT_NE(message_of([&] { plan_shape(s, m, {}); }).find("days or tokens"), std::string::npos);
}

TEST(PlanMachine, FilesAreChecked) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "machine.toml";
  const auto with = [&](const std::string& text) {
    std::ofstream(file) << text;
    return read_machine(file);
  };
  EXPECT_EQ(with("product_tflops = 1\nmemory_gib = 8\nmemory_gbs = 20\nnodes = 2\nnetwork_gbs = 1").ranks(), 2);
  EXPECT_NE(message_of([&] { with("product_tflops = 1\nmemory_gib = 8"); }).find("memory_gbs are required"),
            std::string::npos);
  EXPECT_NE(
      message_of([&] { with("product_tflops = 1\nmemory_gib = 8\nmemory_gbs = 20\nnodes = 2"); }).find("network_gbs"),
      std::string::npos);
  EXPECT_NE(message_of([&] { with("product_tflop = 1"); }).find("product_tflop"), std::string::npos);
  EXPECT_NE(message_of([&] { with("product_tflops = -1\nmemory_gib = 8\nmemory_gbs = 20"); }).find("product_tflops"),
            std::string::npos);
}

}  // namespace
}  // namespace quern::plan
