// Pieces against enumeration; what is saved on n ranks is read on m; every kind of damage is named; failures on the
// way leave earlier checkpoints and the writer usable.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <map>
#include <set>

#include "quern/base/cpu.h"
#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/comm/in_process.h"
#include "quern/train/checkpoint/copy.h"
#include "quern/train/checkpoint/crc.h"
#include "quern/train/checkpoint/test_state.h"

namespace quern::train {
namespace {

namespace fs = std::filesystem;
using namespace checkpoint_test;

uint32_t crc_of(const std::string& s) { return crc32c(std::as_bytes(std::span(s))); }

TEST(Crc32c, PublishedVectors) {  // RFC 3720, B.4, and the usual check value
  for (Isa isa : {Isa::ref, detected_isa()}) {
    set_active_isa(isa);
    EXPECT_EQ(crc_of("123456789"), 0xe3069283u);
    EXPECT_EQ(crc_of(std::string(32, '\0')), 0x8a9136aau);
    EXPECT_EQ(crc_of(std::string(32, '\xff')), 0x62a8ab43u);
    EXPECT_EQ(crc_of(""), 0u);
  }
  std::string s;
  for (int i = 0; i < 1000; ++i) s += static_cast<char>(mix64(static_cast<uint64_t>(i)));
  const auto bytes = std::as_bytes(std::span(s));
  for (size_t cut : {size_t{0}, size_t{3}, size_t{8}, size_t{517}, size_t{1000}})
    EXPECT_EQ(crc32c(bytes.subspan(cut), crc32c(bytes.first(cut))), crc32c_ref(bytes.data(), 1000, 0));
}

TEST(CopyPastCache, AnyAlignmentAndLength) {
  std::vector<std::byte> src(1000), dst(1000);
  for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<std::byte>(mix64(i));
  for (Isa isa : {Isa::ref, detected_isa()}) {
    set_active_isa(isa);
    for (int64_t from : {0, 1, 31, 64})
      for (int64_t to : {0, 1, 33, 64})
        for (int64_t n : {0, 1, 63, 64, 65, 129, 800}) {
          std::fill(dst.begin(), dst.end(), std::byte{0x5a});
          copy_past_cache(dst.data() + to, src.data() + from, n);
          for (int64_t i = 0; i < 1000; ++i)
            ASSERT_EQ(dst[i], i >= to && i < to + n ? src[from + i - to] : std::byte{0x5a}) << from << to << n;
        }
  }
}

// Flat indices of a piece's elements, in its order: the definition.
std::vector<int64_t> enumerate(const Piece& p, const Shape& tensor) {
  std::vector<int64_t> out;
  for (int64_t e = p.begin; e < p.end; ++e) {
    int64_t rest = e, at = 0, stride = 1;
    for (size_t d = tensor.size(); d-- > 0;) {
      at += (p.offset[d] + rest % p.shape[d]) * stride;
      rest /= p.shape[d];
      stride *= tensor[d];
    }
    out.push_back(at);
  }
  return out;
}

Piece random_piece(const Shape& tensor, Rng& rng) {
  Piece p;
  for (int64_t d : tensor) {
    const auto a = static_cast<int64_t>(rng.below(static_cast<uint64_t>(d) + 1));
    p.offset.push_back(rng.below(3) == 0 ? 0 : a);
    p.shape.push_back(rng.below(3) == 0
                          ? d - p.offset.back()
                          : static_cast<int64_t>(rng.below(static_cast<uint64_t>(d - p.offset.back()) + 1)));
  }
  const int64_t n = element_count(p.shape);
  p.begin = rng.below(2) ? 0 : static_cast<int64_t>(rng.below(static_cast<uint64_t>(n) + 1));
  p.end = rng.below(2) ? n : p.begin + static_cast<int64_t>(rng.below(static_cast<uint64_t>(n - p.begin) + 1));
  return p;
}

TEST(Piece, RunsMeetingsAndBoxesEqualEnumeration) {
  Rng rng(3);
  int64_t met = 0;
  for (const Shape& tensor : {Shape{}, Shape{7}, Shape{4, 5}, Shape{3, 1, 4}, Shape{2, 3, 4, 5}, Shape{3, 0, 2}})
    for (int turn = 0; turn < 2000; ++turn) {
      const Piece a = random_piece(tensor, rng), b = random_piece(tensor, rng);
      ASSERT_EQ(piece_complaint(a, tensor), "");
      const std::vector<int64_t> ea = enumerate(a, tensor), eb = enumerate(b, tensor);
      std::vector<int64_t> runs;
      const Runs r(a, tensor);
      for (int64_t i = 0; i < r.count(); ++i) {
        ASSERT_EQ(r[i].local, static_cast<int64_t>(runs.size()));
        for (int64_t k = 0; k < r[i].size; ++k) runs.push_back(r[i].at + k);
      }
      ASSERT_EQ(runs, ea) << to_string(a);
      // Copy what b holds (its flat indices) into a.
      std::vector<int64_t> dst(ea.size(), -1), want(ea.size(), -1);
      const std::set<int64_t> in_b(eb.begin(), eb.end());
      int64_t common = 0;
      for (size_t i = 0; i < ea.size(); ++i)
        if (in_b.contains(ea[i])) want[i] = ea[i], ++common;
      ASSERT_EQ(copy_common(tensor, a, reinterpret_cast<std::byte*>(dst.data()), b,
                            reinterpret_cast<const std::byte*>(eb.data()), 8),
                common);
      ASSERT_EQ(dst, want);
      ASSERT_EQ(pieces_meet(tensor, a, b), common > 0);
      met += common > 0;
      std::vector<int64_t> boxes;
      const std::vector<Piece> cut = boxes_of(a);
      ASSERT_LE(cut.size(), std::max<size_t>(1, 2 * tensor.size()));
      for (const Piece& p : cut) {
        ASSERT_TRUE(p.is_box());
        for (int64_t at : enumerate(p, tensor)) boxes.push_back(at);
      }
      ASSERT_EQ(boxes, ea);
    }
  EXPECT_GT(met, 500);
}

void save(const fs::path& dir, int ranks, int64_t step, uint64_t salt, CheckpointOptions options = {}) {
  comm::run_ranks(ranks, [&](comm::Communicator& c) {
    CheckpointWriter w(c, dir, options);
    w.save(step, pieces_of(c.rank(), c.size(), salt), state_of(step));
    w.wait();
  });
}

std::map<std::string, std::string> data_files(const fs::path& folder) {
  std::map<std::string, std::string> out;
  for (const auto& e : fs::directory_iterator(folder))
    if (e.path().extension() == ".bin") out[e.path().filename()] = read_file(e.path());
  return out;
}

TEST(Checkpoint, FourRanksToAnyAndBackAreTheSameBits) {
  const Scratch s;
  const CheckpointOptions small{.chunk_bytes = 64};  // many chunks
  save(s.path / "a", 4, 7, 1, small);
  const fs::path a = *latest_committed(s.path / "a");
  EXPECT_EQ(a.filename(), "step_7");
  expect_holds(a, 1);
  EXPECT_EQ(CheckpointReader(a).state(), state_of(7));
  EXPECT_EQ(CheckpointReader(a).step(), 7);
  // Reads `from` on n ranks and saves what was read.
  const auto move = [&](const fs::path& from, const fs::path& to, int n) {
    comm::run_ranks(n, [&](comm::Communicator& c) {
      const CheckpointReader r(from);
      std::vector<TensorPiece> pieces;
      for (const checkpoint_test::TestTensor& p : parts()) {
        const Piece piece = piece_of(p, c.rank(), n);
        pieces.push_back({p.name, p.role, p.shape, piece, r.read(p.name, p.role, piece)});
        EXPECT_TRUE(same_bits(pieces.back().data, cut(p, expected(p, 1), piece)));
      }
      CheckpointWriter w(c, to, small);
      w.save(r.step(), pieces, r.state());
      w.wait();
    });
  };
  for (int n : {1, 2, 3, 8}) {  // 8: more ranks than the norm has elements
    const fs::path there = s.path / fmt::format("to{}", n), back = s.path / fmt::format("back{}", n);
    move(a, there, n);
    expect_holds(*latest_committed(there), 1);
    move(*latest_committed(there), back, 4);
    EXPECT_EQ(data_files(*latest_committed(back)), data_files(a)) << n;
  }
  EXPECT_EQ(data_files(a).size(), 4u);
}

TEST(Checkpoint, ReadsWhatAnotherProgramWroteByTheDocument) {  // tools/oracles/checkpoint/make.py
  const CheckpointReader r(fs::path(QUERN_SOURCE_DIR) / "tests/goldens/checkpoint/step_41");
  EXPECT_EQ(r.step(), 41);
  EXPECT_EQ(r.state().at("text").as_string(), "prê");
  const Tensor w = r.read("experts", "master"), m = r.read("experts", "muon_m"), b = r.read("experts", "weight");
  ASSERT_EQ(w.shape(), (Shape{2, 3, 4}));
  for (int64_t i = 0; i < 24; ++i) {
    const double x = 0.5 * static_cast<double>(i) - 3;
    EXPECT_EQ(w.item(i), x);
    EXPECT_EQ(m.item(i), -x);
    EXPECT_EQ(b.item(i), x);
  }
  EXPECT_EQ(b.dtype(), DType::bf16);
  EXPECT_EQ(r.read("experts", "step").data<int64_t>()[0], 41);
  const Tensor second = r.read("experts", "muon_m", Piece::box({1, 0, 1}, {1, 3, 2}));  // across stored boxes
  ASSERT_EQ(second.shape(), (Shape{1, 3, 2}));
  for (int64_t i = 0; i < 6; ++i)
    EXPECT_EQ(second.item(i), -(0.5 * static_cast<double>(12 + i / 2 * 4 + 1 + i % 2) - 3));
  const Tensor norm = r.read("norm", "master");
  const std::vector<double> tenths{0.1, 0.2, 0.3};
  EXPECT_TRUE(same_bits(norm, Tensor::of<double>({3}, tenths)));
  const std::string said = message_of([&] { r.read("norm", "v"); });
  EXPECT_NE(said.find("there is no tensor 'norm' (v)"), std::string::npos) << said;
}

TEST(Checkpoint, GenerationsAndPruning) {
  const Scratch s;
  EXPECT_EQ(latest_committed(s.path), std::nullopt);
  EXPECT_EQ(latest_committed(s.path / "absent"), std::nullopt);
  fs::create_directories(s.path / "step_1");  // of a run that died
  for (int64_t step : {5, 10, 15}) save(s.path, 2, step, static_cast<uint64_t>(step), {.keep = 2});
  EXPECT_FALSE(fs::exists(s.path / "step_1"));
  EXPECT_FALSE(fs::exists(s.path / "step_5"));
  expect_holds(s.path / "step_10", 10);
  expect_holds(s.path / "step_15", 15);
  EXPECT_EQ(latest_committed(s.path), s.path / "step_15");
  // The same step again, after a roll-back: the committed folder is not touched.
  save(s.path, 3, 15, 99, {.keep = 2});
  EXPECT_EQ(latest_committed(s.path), s.path / "step_15.2");
  expect_holds(s.path / "step_15", 15);
  expect_holds(s.path / "step_15.2", 99);
  fs::remove(s.path / "step_15.2" / "COMMIT.json");
  EXPECT_EQ(latest_committed(s.path), s.path / "step_15");
  const std::string said = message_of([&] { CheckpointReader r(s.path / "step_15.2"); });
  EXPECT_NE(said.find("has no COMMIT.json: this checkpoint was never completed"), std::string::npos) << said;
  save(s.path, 1, 20, 20, {.keep = 1});
  discard_newer(s.path, 15);
  EXPECT_EQ(latest_committed(s.path), std::nullopt);  // keep = 1 had left the last alone
}

TEST(Checkpoint, WritesWhileTheCallerGoesOn) {
  const Scratch s;
  comm::run_ranks(2, [&](comm::Communicator& c) {
    CheckpointWriter w(c, s.path);
    std::vector<TensorPiece> pieces = pieces_of(c.rank(), 2, 1);
    w.save(1, pieces, Json());
    for (TensorPiece& p : pieces)
      if (p.data.size() > 0) std::memset(p.data.raw(), 0, static_cast<size_t>(p.data.bytes()));  // training goes on
    EXPECT_TRUE(w.busy());
    w.save(2, pieces_of(c.rank(), 2, 2), Json());
    w.wait();
    EXPECT_FALSE(w.busy());
    w.wait();  // nothing to wait for
  });
  expect_holds(s.path / "step_1", 1);
  expect_holds(s.path / "step_2", 2);
}

TEST(Checkpoint, PiecesThatDoNotCoverTheTensorAreRefused) {
  const Scratch s;
  const auto said = message_of([&] {
    comm::run_ranks(2, [&](comm::Communicator& c) {
      CheckpointWriter w(c, s.path);
      const Tensor t = Tensor::zeros({4, 3}, DType::f32);
      w.save(1, std::vector{c.rank() == 0 ? whole_piece("a", "m", t) : flat_share("a", "m", t, c)}, Json());
      w.wait();
    });
  });
  EXPECT_NE(said.find("tensor 'a' (m): the ranks' pieces hold 18 elements, the tensor [4, 3] has 12"),
            std::string::npos)
      << said;
  EXPECT_EQ(latest_committed(s.path), std::nullopt);
  EXPECT_TRUE(step_folders(s.path).empty());  // the failed folder is gone
}

// A change to one file of a good checkpoint, and what must be said.
TEST(Checkpoint, DamageIsNamed) {
  const auto said_after = [](const std::function<void(const fs::path&)>& damage) {
    const Scratch s;
    save(s.path, 2, 3, 1);
    damage(s.path / "step_3");
    return message_of([&] {
      const CheckpointReader r(s.path / "step_3");
      r.verify();
    });
  };
  const auto expect = [](const std::string& said, std::initializer_list<const char*> words) {
    for (const char* w : words) EXPECT_NE(said.find(w), std::string::npos) << said << "\nlacks: " << w;
  };
  EXPECT_EQ(said_after([](const fs::path&) {}), "");
  expect(said_after([](const fs::path& f) { fs::resize_file(f / "rank_1.bin", 100); }),
         {"rank_1.bin", "100 bytes", "truncated", "tensor 'embed' (master) and"});
  expect(said_after([](const fs::path& f) { fs::remove(f / "rank_0.bin"); }), {"rank_0.bin", "missing", "embed"});
  expect(said_after([](const fs::path& f) { fs::remove(f / "index.json"); }), {"index.json"});
  expect(said_after([](const fs::path& f) { std::ofstream(f / "index.json", std::ios::app) << " "; }),
         {"index.json", "COMMIT.json says"});
  expect(said_after([](const fs::path& f) { write_file(f / "COMMIT.json", "{"); }), {"COMMIT.json"});
  expect(said_after([](const fs::path& f) { write_file(f / "COMMIT.json", R"({"format":"other"})"); }),
         {"format", "expected 'quern checkpoint'"});
  // Any bit of any element.
  for (const char* part : {"muon_m", "v", "weight"}) {
    const std::string said = said_after([&](const fs::path& f) {
      StoredChunk chunk;
      const CheckpointReader r(f);
      for (const StoredTensor& t : r.tensors())
        if (t.role == part) chunk = t.chunks.back();
      std::string bytes = read_file(f / chunk.file);
      bytes[static_cast<size_t>(chunk.offset) + 3] ^= 0x10;
      write_file(f / chunk.file, bytes);
    });
    expect(said, {"damaged at bytes", part, ".bin", "checksum"});
  }
}

TEST(Checkpoint, AHostileIndexIsAnError) {  // signed anew, so that the checksum does not help
  const Scratch s;
  save(s.path, 2, 3, 1);
  const fs::path folder = s.path / "step_3";
  const std::string index = read_file(folder / "index.json");
  const CheckpointCommit commit = read_commit(folder);
  const auto sign = [&](const std::string& text) {
    CheckpointCommit c = commit;
    c.index_bytes = static_cast<int64_t>(text.size());
    c.index_crc = crc_of(text);
    write_file(folder / "index.json", text);
    write_file(folder / "COMMIT.json", to_json(c).dump());
    return message_of([&] {
      const CheckpointReader r(folder);
      for (const StoredTensor& t : r.tensors())
        if (element_count(t.shape) < 10000) r.read(t.name, t.role);
    });
  };
  EXPECT_EQ(sign(index), "");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = index;
    const size_t at = text.find(from);
    QUERN_CHECK(at != text.npos);
    return sign(text.replace(at, from.size(), to));
  };
  EXPECT_NE(with("\"rank_0.bin\"", "\"../x\"").find("is not a file name"), std::string::npos);
  EXPECT_NE(with("\"rank_0.bin\"", "\"rank_9.bin\"").find("not listed"), std::string::npos);
  EXPECT_NE(with("\"file_offset\": 0", "\"file_offset\": 9000000000000000000").find("a chunk of"), std::string::npos);
  EXPECT_NE(with("37", "9223372036854775807").find("too large"), std::string::npos);
  EXPECT_NE(with("\"bf16\"", "\"f99\""), "");
  EXPECT_NE(with("37", "36").find("does not lie in the tensor"), std::string::npos);
  Rng rng(8);
  int errors = 0;
  for (int turn = 0; turn < 300; ++turn) {
    std::string text = index;
    for (int k = 0; k < 3; ++k) text[rng.below(text.size())] = static_cast<char>(' ' + rng.below(95));
    errors += !sign(text).empty();
  }
  EXPECT_GT(errors, 100);
}

TEST(Checkpoint, AFullDiskIsToldAndTrainingGoesOn) {
  const Scratch s;
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto limit = [&](rlim_t bytes) {
    const rlimit r{bytes, old.rlim_max};
    QUERN_CHECK(setrlimit(RLIMIT_FSIZE, &r) == 0);
  };
  comm::run_ranks(2, [&](comm::Communicator& c) {
    CheckpointWriter w(c, s.path);
    w.save(1, pieces_of(c.rank(), 2, 1), Json());
    w.wait();
    // Rank 1 alone holds more than the limit.
    const Tensor big = Tensor::zeros({c.rank() == 1 ? 100000 : 10}, DType::f32);
    const std::vector<TensorPiece> pieces{whole_piece(fmt::format("t{}", c.rank()), "master", big)};
    c.barrier();
    if (c.rank() == 0) limit(65536);
    c.barrier();
    w.save(2, pieces, Json());
    EXPECT_TRUE(w.busy());
    std::string said = message_of([&] { w.save(3, pieces, Json()); });  // told by the next call, on both ranks
    EXPECT_NE(said.find("checkpoint of step 2: rank 1: cannot write"), std::string::npos) << said;
    EXPECT_NE(said.find("rank_1.bin: File too large"), std::string::npos) << said;
    c.barrier();
    if (c.rank() == 0) {
      EXPECT_EQ(latest_committed(s.path), s.path / "step_1");
      EXPECT_FALSE(fs::exists(s.path / "step_2"));  // gives its space back
      limit(old.rlim_cur);
    }
    c.barrier();
    w.save(3, pieces_of(c.rank(), 2, 3), Json());
    w.wait();
  });
  expect_holds(s.path / "step_1", 1);
  expect_holds(s.path / "step_3", 3);
}

TEST(Checkpoint, AnImpossibleFolderIsToldOnAllRanks) {
  const Scratch s;
  write_file(s.path / "file", "x");
  comm::run_ranks(2, [&](comm::Communicator& c) {
    CheckpointWriter w(c, s.path / "file" / "dir");
    const std::string said = message_of([&] { w.save(1, pieces_of(c.rank(), 2, 1), Json()); });
    EXPECT_NE(said.find("cannot begin a checkpoint in"), std::string::npos) << said;
  });
}

TEST(Checkpoint, StagingIsAFractionOfABlockingSave) {
  const Scratch s;
  constexpr int64_t kElements = int64_t{50} << 20;  // 200 MB
  const Tensor t = Tensor::full({kElements}, DType::f32, 1.5);
  std::vector<double> ratio, stall, whole;
  comm::run_ranks(1, [&](comm::Communicator& c) {
    CheckpointWriter w(c, s.path, {.keep = 1});
    for (int64_t turn = 0; turn < 4; ++turn) {
      const auto begin = std::chrono::steady_clock::now();
      const auto since = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      };
      w.save(turn, std::vector{whole_piece("t", "master", t)}, Json());
      const double a = since();
      w.wait();
      if (turn == 0) continue;  // the staging memory is new
      stall.push_back(a), whole.push_back(since()), ratio.push_back(a / whole.back());
    }
  });
  std::sort(ratio.begin(), ratio.end()), std::sort(stall.begin(), stall.end()), std::sort(whole.begin(), whole.end());
  fmt::print("210 MB: stall {:.1f} ms, blocking {:.1f} ms, ratio {:.3f} (median of 3)\n", 1e3 * stall[1],
             1e3 * whole[1], ratio[1]);
  EXPECT_LT(ratio[1], 0.5);
}

}  // namespace
}  // namespace quern::train
