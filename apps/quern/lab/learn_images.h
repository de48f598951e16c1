// What quern research action-centric is measured on: digits or Fashion-MNIST, and what each is learned with.
#pragma once
#include <string>
#include <vector>

#include "apps/quern/cli/args.h"
#include "apps/quern/lab/study_flags.h"
#include "lab/action_centric/study.h"

namespace quern::cli {

struct ImageSetting {
  lab::ImageSplit data;
  lab::CodeShape shape;
  lab::QueryShape query_shape;
  lab::TrainCode query, code;
  std::vector<double> betas[3];  // by loss
  std::vector<int> half;         // of each label: the answer to a question with two, which halves the labels
  std::string half_name;
  int64_t max_shift;  // pixels that invariance is tried with
};

// Of the studies that compare losses.
struct LossFlags {
  std::vector<std::string> losses;
  template <class V>
  void visit(V& v) {
    v("loss", losses, "loss of the codes: reconstruction, action or bottleneck; repeatable",
      {.value = "NAME", .shown_default = "all"});
  }
  std::vector<lab::CodeLoss> chosen() const;
};

// Of every study of images.
struct ImageFlags {
  std::string data = "digits", file;
  std::vector<std::string> betas;
  SeedCount count = {};
  int64_t epochs = 0;
  bool dense_query = false, json = false;

  template <class V>
  void visit(V& v) {
    v("data", data, "data set: digits (scikit-learn) or fashion (Fashion-MNIST)", {.value = "NAME"});
    v("file", file, "digits.csv or digits.csv.gz, or the folder of Fashion-MNIST",
      {.value = "PATH", .shown_default = "from the sources or Debian packages"});
    v("beta", betas, "weight of the rate in the loss, per nat; repeatable",
      {.value = "X", .shown_default = "set by the data set"});
    count.visit(v);
    v("epochs", epochs, "passes over the images; 0 uses the default of the data set");
    v("dense_query", dense_query, "fashion: query network with dense layers only, no convolutions");
  }
  ImageSetting setting() const;              // throws UsageError or Error
  std::vector<double> chosen_betas() const;  // empty unless given
};

}  // namespace quern::cli
