// What each family writes: metadata and tensors. Throws Error naming the field that the format cannot hold; notes are
// what other programs do otherwise.
#pragma once
#include "quern/gguf/export/gguf_sheet.h"
#include "quern/models/bamba/granite_config.h"
#include "quern/models/falcon_h1/falcon_h1_config.h"
#include "quern/models/llama/llama_config.h"
#include "quern/models/nemotron_h/nemotron_h_config.h"

namespace quern::gguf {

using Notes = std::vector<std::string>;

const char* gguf_arch(const models::LlamaConfig& c);
void put_llama(GgufSheet& s, const models::LlamaConfig& c, Notes& notes);
const char* gguf_arch(const models::GraniteConfig& c);
void put_granite(GgufSheet& s, const models::GraniteConfig& c, Notes& notes);
const char* gguf_arch(const models::FalconH1Config& c);
void put_falcon_h1(GgufSheet& s, const models::FalconH1Config& c, Notes& notes);
const char* gguf_arch(const models::NemotronHConfig& c);
void put_nemotron_h(GgufSheet& s, const models::NemotronHConfig& c, Notes& notes);

// Shared by the families (gguf_parts.cc): embedding, head and last norm; rotary settings; the Mamba-2 part of metadata and
// layers, whose input and output may have a factor.
void put_ends(GgufSheet& s, const std::string& final_norm);
void put_rope(GgufSheet& s, const models::RopeScaling& rope, const Json& config, double theta, int64_t rotary_dims);
void put_ssm(GgufSheet& s, const mixers::Mamba2Config& m);
void put_mamba2(GgufSheet& s, const mixers::Mamba2Config& m, const std::string& hf, const std::string& blk,
                double in = 1, double out = 1);

}  // namespace quern::gguf
