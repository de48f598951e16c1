#include "apps/quern/lab/learn_images.h"

#include <cmath>
#include <filesystem>

#include "apps/quern/models/shipped_models.h"

namespace quern::cli {
namespace {

namespace fs = std::filesystem;

// Digits come with Quern; Debian's package has the same file.
fs::path digits_file() {
  if (const auto shipped = shipped_file("papers/action-centric/digits/digits.csv.gz")) return *shipped;
  fs::path debian = "/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz";
  if (fs::exists(debian)) return debian;
  fail("the shipped digits are missing: install python3-sklearn, or name digits.csv.gz with --file");
}

ImageSetting digits(const std::string& file) {
  const fs::path at = file.empty() ? digits_file() : fs::path(file);
  if (!fs::exists(at))
    fail("{}: file not found; install python3-sklearn, or name digits.csv.gz with --file", at.string());
  return {.data = lab::split(lab::read_digits(at), 1297, 1),
          .shape = {},
          .query_shape = {},
          .query = {.epochs = 60, .lr = 3e-3},
          .code = {.epochs = 150},
          .betas = {{2, 1, 0.5, 0.05}, {0.5, 0.1, 0.02, 0.001}, {0.5, 0.1, 0.02, 0.001}},
          .half = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1},
          .half_name = "even or odd",
          .max_shift = 1};
}

ImageSetting fashion(const std::string& folder, bool dense_query) {
  const fs::path at = folder.empty() ? "/usr/share/datasets/fashion-mnist" : folder;
  auto images = [&](const char* part) {
    const std::string x = fmt::format("{}-images-idx3-ubyte.gz", part),
                      y = fmt::format("{}-labels-idx1-ubyte.gz", part);
    if (!fs::exists(at / x))
      fail("{}: {} not found; install dataset-fashion-mnist, or name its folder with --file", at.string(), x);
    return lab::read_idx(at / x, at / y);
  };
  return {.data = {images("train"), images("t10k")},
          .shape = {.pixels = 784, .hidden = 256, .layers = 2},
          .query_shape = dense_query ? lab::QueryShape{.channels = {}, .hidden = {256, 128}}
                                     : lab::QueryShape{.channels = {16, 32}, .hidden = {128}},
          .query = {.epochs = dense_query ? 8 : 5, .batch = 128, .lr = 1e-3},
          .code = {.epochs = 8, .batch = 128, .lr = 1e-3},
          .betas = {{10, 5, 2, 1}, {0.1, 0.03, 0.01, 0.001}, {0.1, 0.03, 0.01, 0.001}},
          .half = {0, 1, 0, 0, 0, 1, 0, 1, 1,
                   1},  // shirt, trousers, pullover, dress, coat, sandal, shirt, shoe, bag, boot
          .half_name = "worn on the upper body, or not",
          .max_shift = 2};
}

double beta_of(const std::string& text) {
  size_t used = 0;
  double x = -1;
  try {
    x = std::stod(text, &used);
  } catch (const std::logic_error&) {
  }
  if (used == 0 || used != text.size() || !(x >= 0) || !std::isfinite(x))
    throw UsageError(fmt::format("--beta '{}': expected a number of 0 or more", text));
  return x;
}

}  // namespace

ImageSetting ImageFlags::setting() const {
  if (data != "digits" && data != "fashion")
    throw UsageError(fmt::format("--data '{}': expected digits or fashion", data));
  if (count.seeds < 1 || epochs < 0) throw UsageError("expected --seeds of at least 1 and --epochs of at least 0");
  chosen_betas();
  ImageSetting s = data == "digits" ? digits(file) : fashion(file, dense_query);
  if (epochs > 0) s.code.epochs = epochs;
  return s;
}

std::vector<lab::CodeLoss> LossFlags::chosen() const {
  std::vector<lab::CodeLoss> all;
  for (const std::string& l : losses) all.push_back(lab::parse_code_loss(l));
  if (all.empty()) all = {lab::CodeLoss::reconstruction, lab::CodeLoss::action, lab::CodeLoss::bottleneck};
  return all;
}

std::vector<double> ImageFlags::chosen_betas() const {
  std::vector<double> all;
  for (const std::string& b : betas) all.push_back(beta_of(b));
  return all;
}

}  // namespace quern::cli
