#include "quern/models/quantized_file.h"

#include <array>
#include <cmath>

#include "quern/base/config.h"
#include "quern/base/error.h"
#include "quern/base/threads.h"

namespace quern::models {
namespace {

constexpr const char* kVersionKey = "quern.packed.version";
constexpr const char* kIndexKey = "quern.packed";

std::string blob_name(size_t i) { return fmt::format("packed.{:05}", i); }

struct Errors {
  double weights = 0, outputs = 0;
};

// Relative errors of a matrix, some hundred rows at a time.
Errors relative_errors(const Tensor& w, const kernels::PrepackedWeight& packed, const kernels::InputFactor& inputs) {
  const int64_t n = packed.n(), k = packed.k();
  double error = 0, all = 0, output_error = 0, outputs = 0;
  std::array<double, 512> row_error{}, row_all{};
  for (int64_t first = 0; first < n; first += 512) {
    const Tensor rows = w.narrow(0, first, std::min<int64_t>(n - first, 512)).to(DType::f32).clone();
    const Tensor delta = Tensor::empty(rows.shape(), DType::f32);
    parallel_for(rows.dim(0), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        float* d = delta.data<float>() + i * k;
        packed.row(first + i, {d, {k}});
        double e = 0, a = 0;
        for (int64_t p = 0; p < k; ++p) {
          const float w_p = rows.data<float>()[i * k + p];
          d[p] = w_p - d[p];
          e += static_cast<double>(d[p]) * static_cast<double>(d[p]);
          a += static_cast<double>(w_p) * static_cast<double>(w_p);
        }
        row_error[static_cast<size_t>(i)] = e, row_all[static_cast<size_t>(i)] = a;
      }
    });
    for (int64_t i = 0; i < rows.dim(0); ++i)
      error += row_error[static_cast<size_t>(i)], all += row_all[static_cast<size_t>(i)];
    if (!inputs.d.empty()) output_error += output_cost(inputs, delta), outputs += output_cost(inputs, rows);
  }
  return {all > 0 ? std::sqrt(error / all) : 0, outputs > 0 ? std::sqrt(output_error / outputs) : 0};
}

int64_t extent(const Json& j, const char* key, const std::string& where) {
  const int64_t v = j.at(key, where).as_int(where + ", " + key);
  if (v < 1 || v > int64_t{1} << 40) fail("{}, {}: {} is outside 1 … 2^40", where, key, v);
  return v;
}

}  // namespace

Json to_json(const kernels::QuantFormat& s) {
  Json j = Json::object();
  j.set("format", kernels::format_name(s.format));
  if (s.format == kernels::WeightFormat::q4) j.set("group", s.group), j.set("asymmetric", s.asymmetric);
  return j;
}

kernels::QuantFormat quant_format_from_json(const Json& j, const std::string& where) {
  kernels::QuantFormat s;
  s.format = kernels::parse_format(j.at("format", where).as_string(where + ", format"), where + ", format");
  if (s.format == kernels::WeightFormat::q4) {
    s.group = j.at("group", where).as_int(where + ", group");
    s.asymmetric = j.at("asymmetric", where).as_bool(where + ", asymmetric");
  }
  kernels::check(s, where);
  return s;
}

std::unique_ptr<QuantizedReader> QuantizedReader::open(const std::filesystem::path& folder, const Json& config,
                                                       const TensorFolder& weights) {
  const Json* q = config.find("quantization_config");
  const Json* method = q ? q->find("quant_method") : nullptr;
  if (!method || !method->is_string()) return nullptr;
  if (method->as_string() != "quern")
    return nullptr;  // somebody else's: FP8 tensors are read as such, others fail by their own names
  std::unique_ptr<QuantizedReader> r(new QuantizedReader((folder / "model.safetensors").string(), weights));
  const auto& meta = weights.metadata();
  const std::string where = r->where_ + ", __metadata__ ";
  auto text = [&](const char* key) -> const std::string& {
    auto it = meta.find(key);
    if (it == meta.end()) fail("{}{} is missing: config.json says that these weights are quantized", where, key);
    return it->second;
  };
  if (text(kVersionKey) != kQuantizedVersion)
    fail("{}{}: version '{}', this program reads '{}'; quantize the model again", where, kVersionKey,
         text(kVersionKey), kQuantizedVersion);
  const std::string at = where + kIndexKey;
  const Json index = Json::parse(text(kIndexKey), at);
  r->body_ = quant_format_from_json(index.at("scheme", at), at + ", scheme");
  r->head_ = quant_format_from_json(index.at("head", at), at + ", head");
  for (const Json& p : index.at("parameters", at).as_array(at + ", parameters"))
    r->parameters_.insert(p.as_string(at + ", parameters"));
  for (const Json& m : index.at("matrices", at).as_array(at + ", matrices")) {
    const std::string what = fmt::format("{}, matrices {}", at, r->entries_.size());
    r->entries_.push_back({m.at("name", what).as_string(what + ", name"), extent(m, "n", what), extent(m, "k", what),
                           quant_format_from_json(m.at("scheme", what), what + ", scheme")});
    if (!r->entries_.back().scheme.quantized())
      fail("{}, scheme: {} is not a quantization format", what, kernels::to_string(r->entries_.back().scheme));
  }
  return r;
}

kernels::PrepackedWeight QuantizedReader::matrix(const std::string& name, int64_t n, int64_t k,
                                                 const kernels::QuantFormat&, const std::function<Tensor()>&) {
  if (next_ == entries_.size())
    fail("{}: the model needs '{}' after the last of {} quantized matrices", where_, name, next_);
  const Entry& e = entries_[next_];
  if (e.n != n || e.k != k)
    fail("{}: quantized matrix {} is '{}' [{}, {}], the model needs '{}' [{}, {}]", where_, next_, e.name, e.n, e.k,
         name, n, k);
  const std::string blob = blob_name(next_++);
  return kernels::QuantLinear::view(weights_.tensor(blob), n, k, e.scheme,
                                    fmt::format("{}, tensor '{}'", where_, blob));
}

std::map<std::string, int64_t> QuantizedReader::matrices_by_format() const {
  std::map<std::string, int64_t> counts;
  for (const Entry& e : entries_) ++counts[kernels::to_string(e.scheme)];
  return counts;
}

void QuantizedReader::finish() const {
  if (next_ != entries_.size()) fail("{}: {} quantized matrices, the model needs {}", where_, entries_.size(), next_);
}

kernels::PrepackedWeight QuantizationRecorder::matrix(const std::string& name, int64_t n, int64_t k,
                                                      const kernels::QuantFormat& asked,
                                                      const std::function<Tensor()>& plain) {
  const kernels::QuantFormat s = formats_.empty() ? asked : formats_.at(packed_.size());
  const Tensor w = plain();
  const kernels::InputFactor inputs = inputs_ ? inputs_(packed_.size()) : kernels::InputFactor();
  kernels::PrepackedWeight p = kernels::quantize_with_error_feedback(w, s, inputs);
  const Errors e = relative_errors(w, p, inputs);
  packed_.push_back({{name, n, k, p.bytes(), s, e.weights, {}}, p.quantized().blob()});
  if (!inputs.d.empty()) packed_.back().first.output_error = e.outputs;
  if (report_) report_(packed_.back().first);
  return p;
}

void QuantizationRecorder::save(const std::filesystem::path& file, const NamedTensors& plain,
                                const std::vector<std::string>& parameters, const kernels::QuantFormat& body,
                                const kernels::QuantFormat& head) const {
  NamedTensors tensors;  // blobs first: whole lines of 64 bytes each, they keep one another aligned
  Json matrices = Json::array(), names = Json::array(), index = Json::object();
  for (const auto& [row, blob] : packed_) {
    Json m = Json::object();
    m.set("name", row.name), m.set("n", row.n), m.set("k", row.k), m.set("scheme", to_json(row.scheme));
    matrices.push(m);
    tensors.emplace_back(blob_name(tensors.size()), blob);
  }
  for (const std::string& p : parameters) names.push(p);
  index.set("scheme", to_json(body)), index.set("head", to_json(head));
  index.set("matrices", matrices), index.set("parameters", names);
  tensors.insert(tensors.end(), plain.begin(), plain.end());
  save_safetensors(file, tensors, {{"format", "quern"}, {kVersionKey, kQuantizedVersion}, {kIndexKey, index.dump()}});
}

kernels::PrepackedWeight QuantizationCalibrator::matrix(const std::string&, int64_t, int64_t k,
                                                        const kernels::QuantFormat&,
                                                        const std::function<Tensor()>& plain) {
  kernels::PrepackedWeight p = kernels::PrepackedWeight::pack(plain(), DType::bf16);
  seen_.push_back({k, std::make_shared<kernels::InputSquares>(kUnwatched)});
  p.observe(seen_.back().sums);
  return p;
}

size_t QuantizationCalibrator::watch(size_t first, int64_t bytes) {
  for (Seen& s : seen_) *s.sums = kUnwatched;
  size_t next = first;
  for (; next < seen_.size(); ++next) {
    bytes -= seen_[next].k * seen_[next].k * static_cast<int64_t>(sizeof(double));
    if (bytes < 0 && next > first) break;
    seen_[next].sums->rows = 0;
  }
  return next;
}

}  // namespace quern::models
