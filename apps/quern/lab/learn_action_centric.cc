#include "apps/quern/lab/learn_action_centric.h"

#include <algorithm>

#include "apps/quern/cli/menu.h"
#include "apps/quern/cli/progress.h"
#include "apps/quern/lab/learn_images.h"
#include "lab/action_centric/blahut_arimoto.h"
#include "lab/action_centric/nuisance.h"
#include "lab/action_centric/probe.h"
#include "lab/action_centric/report.h"
#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/base/stopwatch.h"

namespace quern::cli {
namespace {

Json to_json(const lab::CodeFigures& f) {
  Json j = Json::object();
  j.set("bits", f.bits), j.set("information_bits", f.information), j.set("accuracy", f.accuracy);
  j.set("squared_error", f.squared_error), j.set("active", f.active);
  return j;
}

// A code trained from a start.
lab::ImageCode<float> trained_code(const ImageSetting& s, const lab::Images& train, lab::CodeLoss loss, double beta,
                                   std::vector<lab::Question<float>> questions, int64_t seed) {
  lab::ImageCode<float> code(s.shape, loss, beta, std::move(questions), static_cast<uint64_t>(100 * seed));
  lab::TrainCode how = s.code;
  how.seed = static_cast<uint64_t>(seed);
  lab::train_code(code, train, how);
  return code;
}

// The pictures a report shows and the points of its planes.
struct Shown {
  std::vector<int64_t> pictures;
  int64_t points;
};

std::vector<float> rows_of(std::span<const float> x, int64_t wide, const std::vector<int64_t>& which) {
  std::vector<float> out;
  for (int64_t i : which) out.insert(out.end(), x.begin() + i * wide, x.begin() + (i + 1) * wide);
  return out;
}

int curve(Words args) {
  ImageFlags f;
  LossFlags compared;
  std::string file;
  Args a("research action-centric curve",
         "rate and accuracy of codes trained for reconstruction, for a question (action), or without reconstruction");
  a.settings(f).settings(compared).json(f.json).flag("--report FILE", file,
                                                     "write an HTML report with images, curves and codes to FILE");
  if (!a.parse(args)) return 0;
  const std::vector<lab::CodeLoss> losses = compared.chosen();
  const std::vector<double> given = f.chosen_betas();
  const ImageSetting s = f.setting();
  const lab::Images& test = s.data.test;
  lab::Query<float> query = lab::train_query(s.data.train, s.query_shape, s.query);
  const double right = lab::query_accuracy(query, test);
  const Shown shown{lab::one_of_each_class(test, 10), std::min<int64_t>(test.size(), 1500)};
  lab::CodeReport page{.data = f.data == "digits" ? "digits" : "Fashion-MNIST",
                       .pixels = test.pixels,
                       .classes = test.classes,
                       .seeds = f.count.seeds,
                       .train = s.data.train.size(),
                       .test = test.size(),
                       .query_accuracy = right,
                       .shown = rows_of(test.x, test.pixels, shown.pictures),
                       .labels = {test.label.begin(), test.label.begin() + shown.points},
                       .codes = {}};
  Json out = Json::object();
  out.set("data", f.data), out.set("query_accuracy", right), out.set("seeds", f.count.seeds);
  out.set("epochs", s.code.epochs);
  if (!f.json)
    fmt::print(
        "the query network has accuracy {:.3f} on {} test images\n{:<15}{:>8}{:>8}{:>8}{:>10}{:>12}{:>8}{:>9}\n",
        right, test.size(), "", "beta", "bits", "I(X;Z)", "accuracy", "sq. error", "active", "seconds");
  for (lab::CodeLoss loss : losses) {
    Json rows = Json::object();
    for (double beta : given.empty() ? s.betas[static_cast<size_t>(loss)] : given) {
      const Stopwatch watch;
      lab::ReportedCode code{.loss = loss, .beta = beta};
      lab::CodeFigures& mean = code.figures;
      for (int64_t seed = 1; seed <= f.count.seeds; ++seed) {
        lab::ImageCode<float> one = trained_code(s, s.data.train, loss, beta, {{&query}}, seed);
        const lab::CodedImages coded = lab::code_images(one, test, static_cast<uint64_t>(seed));
        const lab::CodeFigures m = lab::measure_code(coded, s.shape.latent, query, test);
        const double n = static_cast<double>(f.count.seeds);
        mean.bits += m.bits / n, mean.information += m.information / n, mean.accuracy += m.accuracy / n;
        mean.squared_error += m.squared_error / n, mean.active = std::max(mean.active, m.active);
        if (seed > 1) continue;
        if (!coded.image.empty()) code.images = rows_of(coded.image, test.pixels, shown.pictures);
        code.plane = lab::principal_plane(
            std::span(coded.mean).first(static_cast<size_t>(shown.points * s.shape.latent)), s.shape.latent);
      }
      const double seconds = watch.seconds();
      if (!f.json)
        fmt::print("{:<15}{:>8g}{:>8.2f}{:>8.2f}{:>10.3f}{:>12.2f}{:>8}{:>9.1f}\n", lab::code_loss_name(loss), beta,
                   mean.bits, mean.information, mean.accuracy, mean.squared_error, mean.active, seconds);
      std::fflush(stdout);
      rows.set(fmt::format("{:g}", beta), to_json(mean));
      page.codes.push_back(std::move(code));
    }
    out.set(lab::code_loss_name(loss), std::move(rows));
  }
  if (!file.empty()) write_file(file, lab::code_report_html(page));
  if (f.json) fmt::print("{}\n", out.dump(2));
  return 0;
}

// What codes tell of what was done to their pictures, read off by a linear map fitted on the pictures they learned
// from.
int invariance(Words args) {
  ImageFlags f;
  LossFlags compared;
  int64_t shift = -1;
  Args a("research action-centric invariance",
         "how much codes reveal of shifts and brightness changes of their images");
  a.settings(f).settings(compared).json(f.json).flag(
      "--shift N", shift, "maximum shift of the images, in pixels; -1 uses the default of the data set");
  if (!a.parse(args)) return 0;
  const std::vector<lab::CodeLoss> losses = compared.chosen();
  const std::vector<double> given = f.chosen_betas();
  ImageSetting s = f.setting();
  lab::NuisanceRange range{.shift = shift < 0 ? s.max_shift : shift};
  const lab::DisturbedImages test = lab::disturb(s.data.test, range, 2);
  if (f.data == "digits") range.copies = 4, s.query.epochs /= 2;
  if (range.copies > 1 && f.epochs == 0) s.code.epochs /= range.copies;  // as many steps as without copies
  const lab::DisturbedImages train = lab::disturb(s.data.train, range, 1);
  lab::Query<float> query = lab::train_query(train.images, s.query_shape, s.query);
  const double right = lab::query_accuracy(query, test.images);
  Json out = Json::object();
  out.set("data", f.data), out.set("query_accuracy", right), out.set("seeds", f.count.seeds),
      out.set("shift", range.shift);
  if (!f.json)
    fmt::print(
        "the query network has accuracy {:.3f} on {} shifted and dimmed test images\n{:<15}{:>8}{:>8}{:>10}{:>8}{:>8}"
        "{:>8}{:>12}{:>8}\n",
        right, test.images.size(), "", "beta", "bits", "accuracy", "right", "down", "shift", "brightness", "label");
  Progress progress;
  for (lab::CodeLoss loss : losses) {
    Json rows = Json::object();
    for (double beta : given.empty() ? s.betas[static_cast<size_t>(loss)] : given) {
      double bits = 0, accuracy = 0, told[3] = {}, label = 0;
      for (int64_t seed = 1; seed <= f.count.seeds; ++seed) {
        progress("{} at beta {:g}: seed {} of {}", lab::code_loss_name(loss), beta, seed, f.count.seeds);
        lab::ImageCode<float> code = trained_code(s, train.images, loss, beta, {{&query}}, seed);
        const lab::CodedImages fit = lab::code_images(code, train.images, static_cast<uint64_t>(seed) + 50),
                               seen = lab::code_images(code, test.images, static_cast<uint64_t>(seed));
        const double n = static_cast<double>(f.count.seeds);
        bits += seen.bits / n;
        accuracy += lab::measure_code(seen, s.shape.latent, query, test.images).accuracy / n;
        const std::pair<const std::vector<double>*, const std::vector<double>*> nuisances[] = {
            {&train.right, &test.right}, {&train.down, &test.down}, {&train.brightness, &test.brightness}};
        for (size_t k = 0; k < 3; ++k)
          told[k] +=
              lab::explained_share(fit.mean, *nuisances[k].first, seen.mean, *nuisances[k].second, s.shape.latent) /
              n;
        label += lab::probe_accuracy(fit.mean, train.images.label, seen.mean, test.images.label, s.shape.latent) / n;
      }
      Json row = Json::object();
      row.set("bits", bits), row.set("accuracy", accuracy), row.set("right_r2", told[0]), row.set("down_r2", told[1]);
      row.set("shift_r2", (told[0] + told[1]) / 2), row.set("brightness_r2", told[2]), row.set("label_probe", label);
      if (!f.json)
        fmt::print("{:<15}{:>8g}{:>8.2f}{:>10.3f}{:>8.3f}{:>8.3f}{:>8.3f}{:>12.3f}{:>8.3f}\n",
                   lab::code_loss_name(loss), beta, bits, accuracy, told[0], told[1], (told[0] + told[1]) / 2,
                   told[2], label);
      std::fflush(stdout);
      rows.set(fmt::format("{:g}", beta), std::move(row));
    }
    out.set(lab::code_loss_name(loss), std::move(rows));
  }
  if (f.json) fmt::print("{}\n", out.dump(2));
  return 0;
}

// Codes made for a question with two answers, for the labels, and for both by halves: what each knows of either.
int transfer(Words args) {
  ImageFlags f;
  Args a("research action-centric transfer", "how much a code trained for one question reveals about another");
  a.settings(f).json(f.json);
  if (!a.parse(args)) return 0;
  const std::vector<double> given = f.chosen_betas();
  const ImageSetting s = f.setting();
  const lab::ImageSplit halves{lab::relabeled(s.data.train, s.half), lab::relabeled(s.data.test, s.half)};
  lab::Query<float> half = lab::train_query(halves.train, s.query_shape, s.query),
                    label = lab::train_query(s.data.train, s.query_shape, s.query);
  const double half_right = lab::query_accuracy(half, halves.test),
               label_right = lab::query_accuracy(label, s.data.test);
  Json out = Json::object();
  out.set("data", f.data), out.set("half", s.half_name), out.set("seeds", f.count.seeds);
  out.set("half_query_accuracy", half_right), out.set("label_query_accuracy", label_right);
  if (!f.json)
    fmt::print(
        "query accuracy on the images themselves: {} {:.3f}, label {:.3f}\n{:<15}{:>8}{:>8}{:>8}{:>8}{:>12}{:>13}\n",
        s.half_name, half_right, label_right, "trained for", "beta", "bits", "half", "label", "half, probe",
        "label, probe");
  const std::pair<const char*, std::vector<lab::Question<float>>> made_for[] = {
      {"half", {{&half}}}, {"label", {{&label}}}, {"both", {{&half, 0.5}, {&label, 0.5}}}};
  Progress progress;
  for (const auto& [name, questions] : made_for) {
    Json rows = Json::object();
    for (double beta : given.empty() ? s.betas[static_cast<size_t>(lab::CodeLoss::action)] : given) {
      double bits = 0, on_half = 0, on_label = 0, half_probe = 0, label_probe = 0;
      for (int64_t seed = 1; seed <= f.count.seeds; ++seed) {
        progress("{} at beta {:g}: seed {} of {}", name, beta, seed, f.count.seeds);
        lab::ImageCode<float> code = trained_code(s, s.data.train, lab::CodeLoss::action, beta, questions, seed);
        const lab::CodedImages fit = lab::code_images(code, s.data.train, static_cast<uint64_t>(seed) + 50),
                               seen = lab::code_images(code, s.data.test, static_cast<uint64_t>(seed));
        const double n = static_cast<double>(f.count.seeds);
        const int64_t L = s.shape.latent;
        bits += seen.bits / n;
        on_half += lab::answer_accuracy(half, seen.image, halves.test) / n;
        on_label += lab::answer_accuracy(label, seen.image, s.data.test) / n;
        half_probe += lab::probe_accuracy(fit.mean, halves.train.label, seen.mean, halves.test.label, L) / n;
        label_probe += lab::probe_accuracy(fit.mean, s.data.train.label, seen.mean, s.data.test.label, L) / n;
      }
      Json row = Json::object();
      row.set("bits", bits), row.set("half", on_half), row.set("label", on_label), row.set("half_probe", half_probe);
      row.set("label_probe", label_probe);
      if (!f.json)
        fmt::print("{:<15}{:>8g}{:>8.2f}{:>8.3f}{:>8.3f}{:>12.3f}{:>13.3f}\n", name, beta, bits, on_half, on_label,
                   half_probe, label_probe);
      std::fflush(stdout);
      rows.set(fmt::format("{:g}", beta), std::move(row));
    }
    out.set(name, std::move(rows));
  }
  if (f.json) fmt::print("{}\n", out.dump(2));
  return 0;
}

// Four equally likely states: all of them told, or only which half they are in.
int rate(Words args) {
  bool json = false;
  Args a("research action-centric rate",
         "minimum rates (Blahut-Arimoto) of four states, a binary question about them, and ten answers");
  a.json(json);
  if (!a.parse(args)) return 0;
  lab::FiniteSource states{std::vector<double>(4, 0.25), {}}, question = states;
  for (int x = 0; x < 4; ++x) {
    states.distortion.emplace_back(4, 1.0), question.distortion.emplace_back(2, 1.0);
    states.distortion.back()[static_cast<size_t>(x)] = question.distortion.back()[static_cast<size_t>(x / 2)] = 0;
  }
  Json all = Json::object(), table = Json::object(), ten = Json::object();
  for (double d : {0.01, 0.11, 0.25, 0.5}) {
    Json row = Json::object();
    row.set("states_bits", lab::rate_at_distortion(states, d)),
        row.set("question_bits", lab::rate_at_distortion(question, d));
    table.set(fmt::format("{:g}", d), std::move(row));
  }
  for (double accuracy : {0.67, 0.8, 0.85, 0.9, 1.0})
    ten.set(fmt::format("{:g}", accuracy), lab::min_query_rate(10, accuracy));
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

constexpr MenuItem kItems[] = {
    {"curve", "", "rate and accuracy of codes", curve},
    {"invariance", "", "how much codes reveal of shifts and brightness of their images", invariance},
    {"transfer", "", "how much a code trained for one question reveals about another", transfer},
    {"rate", "", "minimum rates of small sources (Blahut-Arimoto)", rate},
};

}  // namespace

int learn_action_centric(Words args) {
  return choose("research action-centric", "rate-distortion codes of images for a question", kItems, args);
}

}  // namespace quern::cli
