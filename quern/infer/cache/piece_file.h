// Files of the prefix cache on disk, in safetensors. A piece holds consecutive tokens of a text and the rows of the KV
// cache that they made; it continues another piece, anywhere inside it, or begins a text. A snapshot holds the recurrent
// state after one token of a piece. A piece is named by a hash of all that it stands for, its tokens and the piece before
// it; both files have a checksum over their tensors. Nothing in them is trusted: reading throws Error naming the file.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "quern/mixers/state.h"

namespace quern::infer {

struct PieceFacts {
  std::string parent = {}, variant = {};  // the piece before it, empty: none; as in PrefixText
  int64_t begin = 0;                      // position of tokens[0] in the text
  std::vector<int32_t> tokens = {};
  std::string id() const;
  int64_t end() const { return begin + static_cast<int64_t>(tokens.size()); }
};

// Each returns the bytes of the file. `rows` and `fixed`: the per-token parts and the others, in the order of the sites.
int64_t write_piece(const std::filesystem::path& file, const PieceFacts& facts,
                    const std::vector<mixers::StateSite>& sites, const std::vector<Tensor>& rows);
int64_t write_snapshot(const std::filesystem::path& file, const std::string& piece, int64_t position,
                       const std::vector<mixers::StateSite>& sites, const std::vector<Tensor>& fixed);

PieceFacts read_piece_facts(const std::filesystem::path& file);  // checked against their hash, not the rows
// Windows of the mapped file, all bytes checked.
std::vector<Tensor> read_piece_rows(const std::filesystem::path& file, int64_t tokens,
                                    const std::vector<mixers::StateSite>& sites);
std::vector<Tensor> read_snapshot(const std::filesystem::path& file, const std::string& piece, int64_t position,
                                  const std::vector<mixers::StateSite>& sites);

}  // namespace quern::infer
