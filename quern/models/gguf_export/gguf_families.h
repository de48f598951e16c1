// What each family writes: metadata and tensors. Throws Error naming the field that the format cannot hold; notes are
// what other programs do otherwise.
#pragma once
#include "quern/models/gguf_export/gguf_sheet.h"
#include "quern/models/llama/llama_config.h"
#include "quern/models/mamba_hybrid/falcon_h1_config.h"
#include "quern/models/mamba_hybrid/granite_config.h"
#include "quern/models/mamba_hybrid/nemotron_h_config.h"

namespace quern::models {

using Notes = std::vector<std::string>;

const char* gguf_arch(const LlamaConfig& c);
void put_llama(GgufSheet& s, const LlamaConfig& c, Notes& notes);
const char* gguf_arch(const GraniteConfig& c);
void put_granite(GgufSheet& s, const GraniteConfig& c, Notes& notes);
const char* gguf_arch(const FalconH1Config& c);
void put_falcon_h1(GgufSheet& s, const FalconH1Config& c, Notes& notes);
const char* gguf_arch(const NemotronHConfig& c);
void put_nemotron_h(GgufSheet& s, const NemotronHConfig& c, Notes& notes);

// Shared by the families (gguf_parts.cc): embedding, head and last norm; rotary settings; the Mamba-2 part of metadata and
// layers, whose input and output may have a factor.
void put_ends(GgufSheet& s, const std::string& final_norm);
void put_rope(GgufSheet& s, const RopeScaling& rope, const Json& config, double theta, int64_t rotary_dims);
void put_ssm(GgufSheet& s, const mixers::Mamba2Config& m);
void put_mamba2(GgufSheet& s, const mixers::Mamba2Config& m, const std::string& hf, const std::string& blk,
                double in = 1, double out = 1);

}  // namespace quern::models
