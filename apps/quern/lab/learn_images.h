// What quern research action-centric is measured on: digits or Fashion-MNIST, and what each is learned with.
#pragma once
#include <string>
#include <vector>

#include "apps/quern/cli/args.h"
#include "lab/action_centric/study.h"

namespace quern {

struct ImageSetting {
  ImageSplit data;
  CodeShape shape;
  QueryShape query_shape;
  TrainCode query, code;
  std::vector<double> betas[3];  // by loss
  std::vector<int> half;         // of each label: the answer to a question with two, which halves the labels
  std::string half_name;
  int64_t max_shift;  // pixels that invariance is tried with
};

// Flags every study of images has.
struct ImageFlags {
  std::string data = "digits", file;
  std::vector<std::string> losses, betas;
  int64_t seeds = 1, epochs = 0;
  bool dense_query = false, json = false;

  void declare(Args& a, bool with_losses);
  ImageSetting setting() const;  // throws UsageError or Error
  std::vector<CodeLoss> chosen_losses() const;
  std::vector<double> chosen_betas() const;  // empty unless given
};

}  // namespace quern
