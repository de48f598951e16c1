// What quern doctor says of a model: in which formats it fits into the free memory, with how much context, and how fast it
// will be by the rates that were just measured on this machine.
#pragma once
#include <cstdint>
#include <string>

#include "quern/base/json.h"
#include "quern/plan/inference.h"

namespace quern::cli {

struct ModelDiagnosis {
  std::string folder, kind;  // "encoder", or the family
  int64_t weights_mib = 0;   // of the files
  bool stored_quantized = false;
  std::vector<plan::InferenceForecast> formats = {};  // those that it can be loaded in
  double free_bytes = 0;
  int64_t max_positions = 0;
  std::string fault = {};  // the files cannot be read
  bool fits() const;       // in some format
};

constexpr int64_t kDoctorDepth = 1024;  // tokens of context that decode is forecast at

ModelDiagnosis diagnose(const std::string& folder, const plan::MachineRates& rates, double f32_gflops,
                        double free_bytes);
void print(const ModelDiagnosis& d);
Json to_json(const ModelDiagnosis& d);

}  // namespace quern::cli
