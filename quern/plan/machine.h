// What a machine or a cluster gives a training run. Everything that a plan is computed from is a field here, so that
// machines one does not have can be described in a TOML file (recipes/machines/ has examples).
#pragma once
#include <filesystem>
#include <string>

#include "quern/base/config.h"

namespace quern::plan {

struct Machine {
  std::string name = "machine";
  int64_t nodes = 1, devices = 1;
  double product_tflops = 0, achieved = 1;
  double memory_gib = 0, memory_gbs = 0;
  double element_bytes = 160;
  double weight_bytes = 4, gradient_bytes = 4, master_bytes = 0, activation_scale = 1;
  double link_gbs = 0, link_us = 0, network_gbs = 0, network_us = 0;
  double storage_gbs = 0, storage_iops = 0;
  double mtbf_hours = 0;

  template <class V>
  void visit(V& v) {
    v("name", name, "what the machine is called in tables");
    v("nodes", nodes, "number of nodes", {.range = Bounds::at_least(1)});
    v("devices", devices, "devices of a node that compute: GPUs, or 1 for a CPU with all its cores",
      {.range = Bounds::at_least(1)});
    v("product_tflops", product_tflops, "TFLOP/s that large matrix products reach on one device",
      {.range = Bounds::above(0)});
    v("achieved", achieved, "share of the computed speed that whole steps were seen to reach, where that is known",
      {.range = Bounds::above(0).up_to(1)});
    v("memory_gib", memory_gib, "memory of one device that a run may use, GiB", {.range = Bounds::above(0)});
    v("memory_gbs", memory_gbs, "memory bandwidth of one device, GB/s", {.range = Bounds::above(0)});
    v("element_bytes", element_bytes,
      "bytes moved per token, layer and unit of width by everything that is not a matrix product, forward and "
      "backward",
      {.range = Bounds::at_least(0)});
    v("weight_bytes", weight_bytes, "bytes of a weight in forward and backward", {.range = Bounds::above(0)});
    v("gradient_bytes", gradient_bytes, "bytes of a gradient", {.range = Bounds::above(0)});
    v("master_bytes", master_bytes, "bytes of a weight's second copy in full precision; 0 where there is none",
      {.range = Bounds::at_least(0)});
    v("activation_scale", activation_scale, "activations against those in f32: 0.5 for bf16",
      {.range = Bounds::above(0)});
    v("link_gbs", link_gbs, "bus bandwidth of an all-reduce between the devices of a node, GB/s for each device",
      {.range = Bounds::at_least(0)});
    v("link_us", link_us, "latency of such a collective, µs", {.range = Bounds::at_least(0)});
    v("network_gbs", network_gbs, "bus bandwidth between nodes, GB/s for each device",
      {.range = Bounds::at_least(0)});
    v("network_us", network_us, "latency between nodes, µs", {.range = Bounds::at_least(0)});
    v("storage_gbs", storage_gbs, "storage bandwidth of the whole machine, GB/s; 0: not known",
      {.range = Bounds::at_least(0)});
    v("storage_iops", storage_iops, "random reads of 4 KiB a second of the storage; 0: not known",
      {.range = Bounds::at_least(0)});
    v("mtbf_hours", mtbf_hours, "mean time between failures of one device in hours; 0: not known",
      {.range = Bounds::at_least(0)});
  }

  int64_t ranks() const { return nodes * devices; }
};

Machine read_machine(const std::filesystem::path& file);  // throws Error naming file and field
// Every value that is not its default. What stood in the file is replaced, comments too.
void write_machine(const std::filesystem::path& file, const Machine& m);
// The same node with another number of devices: what the devices have together stays.
void divide_node(Machine& m, int64_t devices);

}  // namespace quern::plan
