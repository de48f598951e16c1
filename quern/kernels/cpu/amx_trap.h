// Tests: runs AMX machine code on a processor that does not have AMX. There each of its instructions raises SIGILL; while
// an AmxTrap lives, a handler executes it on tiles in memory and goes on behind it. The instructions that a compiler
// or an assembler made are thereby the ones that are tested. One thread at a time.
#pragma once
#include <signal.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "quern/kernels/cpu/amx.h"

namespace quern::kernels {

class AmxTrap {
 public:
  AmxTrap() {
    struct sigaction action {};
    action.sa_sigaction = [](int, siginfo_t*, void* context) { execute(*static_cast<ucontext_t*>(context)); };
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, &before_);
    state() = {};
  }
  ~AmxTrap() { sigaction(SIGILL, &before_, nullptr); }
  AmxTrap(const AmxTrap&) = delete;
  AmxTrap& operator=(const AmxTrap&) = delete;
  static int64_t count() { return state().count; }         // instructions carried out
  static bool configured() { return state().configured; }  // and not released

 private:
  struct State {
    alignas(64) uint8_t tile[8][1024];
    uint8_t rows[16];
    uint16_t row_bytes[16];
    bool configured;
    int64_t count;
  };
  static State& state() {
    static State s;
    return s;
  }

  static void require(bool met) {
    if (!met) std::abort();  // an instruction of another kind, or one that a real processor would refuse
  }

  static int64_t number(ucontext_t& c, int i) {  // of a general register as instructions count them
    static constexpr int kOrder[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                       REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    return c.uc_mcontext.gregs[kOrder[i]];
  }

  // VEX with three bytes (C4, R X B mmmmm, W vvvv L pp), opcode, ModRM, SIB, displacement.
  struct Instruction {
    int prefix, opcode, mod, reg, rm, vvvv;
    int64_t address = 0, row = 0;  // row: the index register, scaled
    int length = 5;
  };

  static Instruction decode(ucontext_t& c) {
    const auto* code = reinterpret_cast<const uint8_t*>(c.uc_mcontext.gregs[REG_RIP]);
    require(code[0] == 0xc4 && (code[1] & 0x1f) == 2 && (code[2] & 0x84) == 0);
    Instruction i{.prefix = code[2] & 3,
                  .opcode = code[3],
                  .mod = code[4] >> 6,
                  .reg = code[4] >> 3 & 7,
                  .rm = code[4] & 7,
                  .vvvv = ~code[2] >> 3 & 15};
    if (i.mod == 3) return i;
    const int x = ~code[1] >> 6 & 1, b = ~code[1] >> 5 & 1;
    int base = i.rm + 8 * b, index = 4, scale = 0;
    if (i.rm == 4) {
      scale = code[5] >> 6, index = (code[5] >> 3 & 7) + 8 * x, base = (code[5] & 7) + 8 * b;
      ++i.length;
    }
    int32_t offset = 0;
    const uint8_t* at = code + i.length;
    if (i.mod == 0 && i.rm == 5) {  // relative to the next instruction
      std::memcpy(&offset, at, 4);
      i.length += 4, i.address = c.uc_mcontext.gregs[REG_RIP] + i.length + offset;
      return i;
    }
    require(i.mod != 0 || (base & 7) != 5);
    if (i.mod == 1) offset = static_cast<int8_t>(*at), ++i.length;
    if (i.mod == 2) std::memcpy(&offset, at, 4), i.length += 4;
    i.row = index == 4 ? 0 : number(c, index) << scale;
    i.address = number(c, base) + offset;
    return i;
  }

  static void configure(State& s, const uint8_t* from) {
    require(from[0] == 1 && from[1] == 0);
    std::memcpy(s.row_bytes, from + 16, sizeof s.row_bytes), std::memcpy(s.rows, from + 48, sizeof s.rows);
    for (int i = 0; i < 8; ++i) require(s.rows[i] <= 16 && s.row_bytes[i] <= 64);
    std::memset(s.tile, 0, sizeof s.tile);
    s.configured = true;
  }

  static uint8_t* row_at(const Instruction& i, int row) { return reinterpret_cast<uint8_t*>(i.address + row * i.row); }
  static void load(State& s, const Instruction& i) {
    for (int row = 0; row < s.rows[i.reg]; ++row)
      std::memcpy(s.tile[i.reg] + 64 * row, row_at(i, row), s.row_bytes[i.reg]);
  }
  static void store(const State& s, const Instruction& i) {
    for (int row = 0; row < s.rows[i.reg]; ++row)
      std::memcpy(row_at(i, row), s.tile[i.reg] + 64 * row, s.row_bytes[i.reg]);
  }

  static void execute(ucontext_t& c) {
    const Instruction i = decode(c);
    State& s = state();
    constexpr int kNone = 0, k66 = 1, kF3 = 2, kF2 = 3;
    if (i.opcode == 0x49 && i.prefix == kNone && i.mod == 3) {
      s.configured = false;
    } else if (i.opcode == 0x49 && i.prefix == kNone) {
      configure(s, reinterpret_cast<const uint8_t*>(i.address + i.row));
    } else {
      require(s.configured);
      for (int t = 0; t < 8; ++t) require(s.rows[t] == 16 && s.row_bytes[t] == 64);
      if (i.opcode == 0x49 && i.prefix == kF2) {
        std::memset(s.tile[i.reg], 0, 1024);
      } else if (i.opcode == 0x4b && i.prefix == kF2) {
        load(s, i);
      } else if (i.opcode == 0x4b && i.prefix == kF3) {
        store(s, i);
      } else if (i.opcode == 0x5c && i.prefix == kF3) {
        require(i.reg != i.rm && i.reg != i.vvvv && i.rm != i.vvvv);
        float sums[256];
        std::memcpy(sums, s.tile[i.reg], 1024);
        amx_dot_bf16(s.tile[i.rm], 64, s.tile[i.vvvv], 64, sums);
        std::memcpy(s.tile[i.reg], sums, 1024);
      } else {
        require(i.opcode == 0x5e && i.prefix == k66 && i.reg != i.rm && i.reg != i.vvvv && i.rm != i.vvvv);
        int32_t sums[256];
        std::memcpy(sums, s.tile[i.reg], 1024);
        amx_dot_bytes(s.tile[i.rm], 64, s.tile[i.vvvv], 64, sums);
        std::memcpy(s.tile[i.reg], sums, 1024);
      }
    }
    ++s.count;
    c.uc_mcontext.gregs[REG_RIP] += i.length;
  }

  struct sigaction before_ {};
};

}  // namespace quern::kernels
