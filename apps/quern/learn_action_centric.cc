#include "apps/quern/learn_action_centric.h"

#include <chrono>
#include <cmath>
#include <filesystem>

#include "apps/quern/args.h"
#include "quern/base/json.h"
#include "quern/learn/action_centric/blahut_arimoto.h"
#include "quern/learn/action_centric/vae.h"

namespace quern {
namespace {

// What a data set is learnt with, unless flags say otherwise.
struct Setting {
  ImageSplit data;
  CodeShape shape;
  std::vector<int64_t> query_hidden;
  TrainCode query, code;
  std::vector<double> betas[3];  // by loss
};

Setting digits(const std::string& file) {
  const std::filesystem::path at =
      file.empty() ? "/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz" : file;
  if (!std::filesystem::exists(at))
    fail("{}: no digits there; install python3-sklearn, or name digits.csv.gz by --file", at.string());
  return {.data = split(read_digits(at), 1297, 1),
          .shape = {},
          .query_hidden = {64},
          .query = {.epochs = 60, .lr = 3e-3},
          .code = {.epochs = 150},
          .betas = {{2, 1, 0.5, 0.05}, {0.5, 0.1, 0.02, 0.001}, {0.5, 0.1, 0.02, 0.001}}};
}

Setting fashion(const std::string& folder) {
  const std::filesystem::path at = folder.empty() ? "/usr/share/datasets/fashion-mnist" : folder;
  auto images = [&](const char* part) {
    const std::string x = fmt::format("{}-images-idx3-ubyte.gz", part),
                      y = fmt::format("{}-labels-idx1-ubyte.gz", part);
    if (!std::filesystem::exists(at / x))
      fail("{}: no {} there; install dataset-fashion-mnist, or name its folder by --file", at.string(), x);
    return read_idx(at / x, at / y);
  };
  return {.data = {images("train"), images("t10k")},
          .shape = {.pixels = 784, .hidden = 256, .layers = 2},
          .query_hidden = {256, 128},
          .query = {.epochs = 8, .batch = 128, .lr = 1e-3},
          .code = {.epochs = 8, .batch = 128, .lr = 1e-3},
          .betas = {{10, 5, 2, 1}, {0.1, 0.03, 0.01, 0.001}, {0.1, 0.03, 0.01, 0.001}}};
}

double number(const std::string& text) {
  size_t used = 0;
  double x = -1;
  try {
    x = std::stod(text, &used);
  } catch (const std::logic_error&) {
  }
  if (used == 0 || used != text.size() || !(x >= 0) || !std::isfinite(x))
    throw UsageError(fmt::format("--beta {}: expected a number, 0 or more", text));
  return x;
}

Json to_json(const CodeFigures& f) {
  Json j = Json::object();
  j.set("bits", f.bits), j.set("information_bits", f.information), j.set("accuracy", f.accuracy);
  j.set("squared_error", f.squared_error), j.set("active", f.active);
  return j;
}

int curve(Words args) {
  std::string data = "digits", file;
  std::vector<std::string> losses, betas;
  int64_t seeds = 1, epochs = 0;
  bool json = false;
  Args a("learn action-centric curve",
         "rate and accuracy of codes made for the picture, for a question, or without a picture");
  a.flag("--data", data, "digits (scikit-learn's) or fashion (Fashion-MNIST)")
      .flag("--file", file, "digits.csv[.gz], or the folder of Fashion-MNIST [where Debian's packages put them]")
      .flag("--loss", losses, "reconstruction, action, bottleneck; may be given again [all]")
      .flag("--beta", betas, "price of a nat; may be given again [four a loss]")
      .flag("--seeds", seeds, "starts that figures are means of")
      .flag("--epochs", epochs, "passes over the images; 0 = as the data set has it")
      .flag("--json", json, "one JSON object");
  if (!a.parse(args)) return 0;
  if (data != "digits" && data != "fashion")
    throw UsageError(fmt::format("--data {}: expected digits or fashion", data));
  if (seeds < 1 || epochs < 0) throw UsageError("--seeds must be 1 or more, --epochs 0 or more");
  std::vector<CodeLoss> all;
  for (const std::string& l : losses) all.push_back(parse_code_loss(l));
  if (all.empty()) all = {CodeLoss::reconstruction, CodeLoss::action, CodeLoss::bottleneck};
  std::vector<double> given;
  for (const std::string& b : betas) given.push_back(number(b));
  Setting s = data == "digits" ? digits(file) : fashion(file);
  if (epochs > 0) s.code.epochs = epochs;
  Mlp<float> query = train_query(s.data.train, s.query_hidden, s.query);
  const double right = query_accuracy(query, s.data.test);
  Json out = Json::object();
  out.set("data", data), out.set("query_accuracy", right), out.set("seeds", seeds), out.set("epochs", s.code.epochs);
  if (!json)
    fmt::print(
        "the query network is right on {:.3f} of {} test images\n{:<15}{:>8}{:>8}{:>8}{:>10}{:>12}{:>8}{:>9}\n",
        right, s.data.test.size(), "", "beta", "bits", "I(X;Z)", "accuracy", "sq. error", "active", "seconds");
  for (CodeLoss loss : all) {
    Json rows = Json::object();
    for (double beta : given.empty() ? s.betas[static_cast<size_t>(loss)] : given) {
      const auto begin = std::chrono::steady_clock::now();
      CodeFigures mean;
      for (int64_t seed = 1; seed <= seeds; ++seed) {
        ImageCode<float> code(s.shape, loss, beta, &query, static_cast<uint64_t>(100 * seed));
        TrainCode how = s.code;
        how.seed = static_cast<uint64_t>(seed);
        train_code(code, s.data.train, how);
        const CodeFigures f = measure_code(code, query, s.data.test, static_cast<uint64_t>(seed));
        const double n = static_cast<double>(seeds);
        mean.bits += f.bits / n, mean.information += f.information / n, mean.accuracy += f.accuracy / n;
        mean.squared_error += f.squared_error / n, mean.active = std::max(mean.active, f.active);
      }
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (!json)
        fmt::print("{:<15}{:>8g}{:>8.2f}{:>8.2f}{:>10.3f}{:>12.2f}{:>8}{:>9.1f}\n", code_loss_name(loss), beta,
                   mean.bits, mean.information, mean.accuracy, mean.squared_error, mean.active, seconds);
      std::fflush(stdout);
      rows.set(fmt::format("{:g}", beta), to_json(mean));
    }
    out.set(code_loss_name(loss), std::move(rows));
  }
  if (json) fmt::print("{}\n", out.dump(2));
  return 0;
}

// Four equally likely states: all of them told, or only which half they are in.
int rate(Words args) {
  bool json = false;
  Args a("learn action-centric rate",
         "the least rates of four states, of a binary question about them, and of ten answers");
  a.flag("--json", json, "one JSON object");
  if (!a.parse(args)) return 0;
  FiniteSource states{std::vector<double>(4, 0.25), {}}, question = states;
  for (int x = 0; x < 4; ++x) {
    states.distortion.emplace_back(4, 1.0), question.distortion.emplace_back(2, 1.0);
    states.distortion.back()[static_cast<size_t>(x)] = question.distortion.back()[static_cast<size_t>(x / 2)] = 0;
  }
  Json all = Json::object(), table = Json::object(), ten = Json::object();
  for (double d : {0.01, 0.11, 0.25, 0.5}) {
    Json row = Json::object();
    row.set("states_bits", rate_at_distortion(states, d)), row.set("question_bits", rate_at_distortion(question, d));
    table.set(fmt::format("{:g}", d), std::move(row));
  }
  for (double accuracy : {0.67, 0.8, 0.85, 0.9, 1.0})
    ten.set(fmt::format("{:g}", accuracy), least_query_rate(10, accuracy));
  all.set("distortion", std::move(table)), all.set("ten_answers", std::move(ten));
  if (json) {
    fmt::print("{}\n", all.dump(2));
    return 0;
  }
  fmt::print("wrong      four states   which half\n");
  for (const auto& [d, row] : all.at("distortion").as_object())
    fmt::print("{:<11}{:>9.4f} b {:>9.4f} b\n", d, row.at("states_bits").as_double(),
               row.at("question_bits").as_double());
  fmt::print("\nright      ten equally likely answers\n");
  for (const auto& [accuracy, bits] : all.at("ten_answers").as_object())
    fmt::print("{:<11}{:>9.4f} b\n", accuracy, bits.as_double());
  return 0;
}

}  // namespace

int learn_action_centric(Words args) {
  const std::string study = args.empty() ? "" : args[0];
  if (study == "curve") return curve(args.subspan(1));
  if (study == "rate") return rate(args.subspan(1));
  throw UsageError(fmt::format("quern learn action-centric: '{}', expected curve or rate", study));
}

}  // namespace quern
