// quern ppl: perplexity of a text, and the KL divergence from a reference model, which measures quantization loss.
#include <unistd.h>

#include <cmath>
#include <iterator>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/context.h"
#include "apps/quern/models/shipped_models.h"
#include "quern/base/mmap.h"
#include "quern/infer/cache/kv_type.h"
#include "quern/infer/scoring/perplexity.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::cli {

int cmd_ppl(Words args) {
  std::string dir, file, against, reference_dtype = "auto";
  WeightFlags weights;
  std::optional<int64_t> window;
  int64_t maximum = 0;
  bool json = false, special = false;
  std::optional<std::string> kv_word;
  LoraFlag adapter;
  ContextFlags positions;
  Args a("ppl", "perplexity of a text, alone or against a reference model");
  a.positional("DIR", dir)
      .positional("FILE", file)
      .flag("--context N", window,
            fmt::format("window length in tokens, also beyond the trained context; reset at every BOS token [{}]",
                        infer::PerplexityOptions().context))
      .flag("--max-tokens N", maximum, "maximum number of tokens to score; 0 scores all")
      .alias("--tokens")
      .flag("--special", special, "parse special tokens that are spelled out in the text")
      .settings(weights, {{"dtype"}})
      .settings(adapter)
      .settings(positions, {{"rope_scaling"}, {"rope_theta"}})
      .flag("--kv TYPE", kv_word, "compute through a KV cache, as in generation: bf16, q8 or f32 [no KV cache]")
      .flag("--against MODEL", against,
            "reference model with the same tokenizer: also print the KL divergence from it")
      .flag("--against-dtype TYPE", reference_dtype, "weight type of the reference model, as --dtype")
      .json(json)
      .note(
          "Perplexity is e to the mean negative log-likelihood per token. KL is the divergence of this model's\n"
          "distribution from the reference's, in nats per token.");
  if (!a.parse(args)) return 0;
  a.check(positions);
  dir = model_folder(dir);
  std::optional<DType> kv;
  if (kv_word) kv = parse_kv_flag(*kv_word);
  MappedFile mapped(file);
  std::string_view text(reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size());
  text::Tokenizer tokenizer = models::load_tokenizer(dir);
  std::vector<int32_t> ids = tokenizer.encode(text, {.parse_special = special});
  if (maximum > 0 && static_cast<int64_t>(ids.size()) > maximum) ids.resize(static_cast<size_t>(maximum));
  positions.settings.context = window, positions.settings.at_least = true;
  auto model = load_for_inference(dir, positions.with(adapter.with(options_of(weights.dtype.value_or("auto")))));
  auto reference = against.empty() ? nullptr : load_for_inference(model_folder(against), reference_dtype);
  bool live = !json && isatty(STDERR_FILENO) != 0;
  infer::Perplexity p = infer::perplexity(
      *model, ids,
      {.context = window.value_or(std::min(infer::PerplexityOptions().context, model->max_positions())),
       .begin = tokenizer.bos_id(),
       .reference = reference.get(),
       .kv = kv,
       .progress = [&](const infer::Perplexity& so_far) {
         if (live)
           fmt::print(stderr, "\r{} of {} tokens, perplexity {:.4f} ", so_far.tokens, ids.size(),
                      std::exp(so_far.nll));
       }});
  if (live) fmt::print(stderr, "\n");
  double bits = p.nll / std::log(2.0) * static_cast<double>(ids.size()) / static_cast<double>(text.size());
  if (json) {
    Json j = Json::object();
    j.set("tokens", p.tokens);
    if (kv) j.set("kv", infer::kv_name(*kv));
    j.set("perplexity", std::exp(p.nll));
    j.set("nll", p.nll);
    j.set("nll_error", p.nll_error);
    if (maximum == 0) j.set("bits_per_byte", bits);
    if (reference) {
      j.set("reference_perplexity", std::exp(p.reference_nll));
      j.set("kl", p.kl);
      j.set("same_top", p.same_top);
    }
    fmt::print("{}\n", j.dump(2));
    return 0;
  }
  fmt::print("{} tokens  perplexity {:.4f} ± {:.4f}  {:.4f} nats per token", p.tokens, std::exp(p.nll),
             std::exp(p.nll) * p.nll_error, p.nll);
  fmt::print("{}\n", maximum == 0 ? fmt::format("  {:.4f} bits per byte", bits) : "");
  if (reference)
    fmt::print("reference   perplexity {:.4f} ({:+.2f} %)  KL {:.6f} nats per token  same top token {:.1f} %\n",
               std::exp(p.reference_nll), 100 * (std::exp(p.nll - p.reference_nll) - 1), p.kl, 100 * p.same_top);
  return 0;
}

}  // namespace quern::cli
