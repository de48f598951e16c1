// New documents told from a saved index as in one run over old and new, where the old ones win.
#include <map>

#include "quern/base/test_message.h"
#include "quern/comm/in_process.h"
#include "quern/corpus/dedup/small_corpus.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

class IndexTest : public SmallCorpus {
 protected:
  // The corpus in three files of one form each, so that ids and blocks can be compared.
  IndexTest() {
    std::string lines = read_file(root_ / "in/a.jsonl");
    std::unique_ptr<ByteStream> b = open_bytes(root_ / "in/b.jsonl.zst");
    std::string piece(1 << 16, ' ');
    while (const size_t n = b->read(piece.data(), piece.size())) lines.append(piece, 0, n);
    for (int i = 0; i < 6; ++i) lines += fmt::format("{{\"text\":\"short {}\"}}\n", i % 3);
    std::string part[3];
    size_t n = 0;
    for (size_t at = 0; at < lines.size();) {
      const size_t end = lines.find('\n', at) + 1;
      part[n++ % 3] += lines.substr(at, end - at);
      at = end;
    }
    for (int i = 0; i < 3; ++i) write_file(root_ / fmt::format("{}.jsonl", "xyz"[i]), part[i]);
    config_.filters = {"none"};
  }
  DedupReport run(const std::string& files, const std::string& out, const std::string& against = "",
                  const std::string& save = "", int ranks = 1) {
    std::vector<std::string> words;
    for (char f : files) words.push_back(fmt::format("{}={}/{}.jsonl", f, root_.string(), f));
    config_.against = against.empty() ? "" : (root_ / against).string();
    config_.save_index = save.empty() ? "" : (root_ / save).string();
    DedupReport first;
    comm::run_ranks(ranks, [&](comm::Communicator& c) {
      DedupReport r = deduplicate(find_inputs(words), config_, root_ / out, {}, {}, &c);
      if (c.rank() == 0) first = std::move(r);
    });
    return first;
  }
  std::string lines(const std::string& out) const {
    std::vector<std::string> names;
    for (const auto& e : fs::directory_iterator(root_ / out))
      if (e.path().filename().string().starts_with("part-")) names.push_back(e.path().string());
    std::sort(names.begin(), names.end());
    std::string all;
    for (const std::string& n : names) all += unpacked(n);
    return all;
  }
  // Of every removed document its survivor, by id.
  std::map<int64_t, int64_t> survivors(const std::string& out) const {
    std::map<int64_t, int64_t> of;
    const std::string text = unpacked(root_ / out / "clusters.jsonl.zst");
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      const Json c = Json::parse(text.substr(at, end - at));
      for (const Json& d : c.at("removed").as_array()) of[d.at("id").as_int()] = c.at("survivor").as_int();
      at = end + 1;
    }
    return of;
  }
  // The head of an index without the hashes of what two ranks write in another order: exact and bands.
  Json head(const std::string& index) const {
    Json j = Json::read(root_ / index / "index.json"), parts = Json::object();
    for (const auto& [name, part] : j.at("parts").as_object())
      parts.set(name, name == "exact" || name.starts_with("band-") ? Json(part.at("bytes")) : Json(part));
    j.set("parts", std::move(parts));
    return j;
  }
  static std::string unpacked(const fs::path& file) {
    std::unique_ptr<ByteStream> in = open_bytes(file);
    std::string all, piece(1 << 16, ' ');
    while (const size_t n = in->read(piece.data(), piece.size())) all.append(piece, 0, n);
    return all;
  }
};

TEST_F(IndexTest, DecidesAsOneRunOverAll) {
  struct Case {
    const char* name;
    std::function<void(DedupConfig&)> change;
  };
  const Case cases[] = {
      {"exact Jaccard", [](DedupConfig&) {}},
      {"containment", [](DedupConfig& c) { c.verify = Verification::containment, c.threshold = 0.7; }},
      {"signature", [](DedupConfig& c) { c.verify = Verification::signature; }},
      {"unverified, collide", [](DedupConfig& c) { c.verify = Verification::none, c.collide_empty = true; }},
      {"copies alone", [](DedupConfig& c) { c.near = false; }},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    const DedupConfig before = config_;
    one.change(config_);
    const DedupReport all = run("xyz", "all");
    const DedupReport x = run("x", "ox", "", "ix"), y = run("y", "oy", "ix", "iy"), z = run("z", "oz", "iy", "iz", 2);
    EXPECT_EQ(x.kept + y.kept + z.kept, all.kept);
    EXPECT_EQ(y.indexed, x.kept);
    EXPECT_EQ(z.indexed, x.kept + y.kept);
    EXPECT_GT(y.overlap[0][1], 50u);  // the index removes something
    EXPECT_EQ(lines("ox") + lines("oy") + lines("oz"), lines("all"));
    std::map<int64_t, int64_t> pieces = survivors("ox");
    pieces.merge(survivors("oy")), pieces.merge(survivors("oz"));
    EXPECT_EQ(pieces, survivors("all"));
    // An index in one step is the index in three.
    run("xyz", "again", "", "iall");
    EXPECT_EQ(head("iall"), head("iz"));
    EXPECT_EQ(read_file(root_ / "iall/records"), read_file(root_ / "iz/records"));
    EXPECT_EQ(read_file(root_ / "iall/sets"), read_file(root_ / "iz/sets"));
    for (const char* gone : {"all", "ox", "oy", "oz", "again", "ix", "iy", "iz", "iall"})
      fs::remove_all(root_ / gone);
    config_ = before;
  }
}

TEST_F(IndexTest, WhatDoesNotFitIsRefused) {
  run("x", "ox", "", "ix");
  EXPECT_NE(message_of([&] { run("y", "o1", "nowhere"); }).find("no index.json"), std::string::npos);
  EXPECT_NE(message_of([&] { run("y", "o2", "", "ix"); }).find("exists already"), std::string::npos);
  const DedupConfig before = config_;
  config_.threshold = 0.5;
  EXPECT_NE(message_of([&] { run("y", "o3", "ix"); }).find("threshold is 0.4 in the index and 0.5 in this run"),
            std::string::npos);
  config_ = before;
  config_.clustering = Clustering::closure;
  EXPECT_NE(message_of([&] { run("y", "o4", "ix"); }).find("star clustering"), std::string::npos);
  config_ = before;
  config_.scope = Scope::across;
  EXPECT_NE(message_of([&] { run("y", "o5", "", "iy"); }).find("scope all"), std::string::npos);
  EXPECT_FALSE(fs::exists(root_ / "iy"));
}

// Of every file of an index: a byte less, another byte, no file.
TEST_F(IndexTest, DamageIsTold) {
  run("x", "ox", "", "ix");
  const Json parts = Json::read(root_ / "ix/index.json").at("parts");
  EXPECT_EQ(parts.as_object().size(), 7u + static_cast<size_t>(config_.bands.bands));
  for (const auto& [name, part] : parts.as_object()) {
    const fs::path file = root_ / "ix" / name;
    const std::string whole = read_file(file);
    const auto complaint = [&] { return message_of([&] { run("y", "oy", "ix", "", 2); }); };
    const std::string is_damaged = fmt::format("ix/{} is damaged", std::string(name));
    if (!whole.empty()) {
      write_file(file, std::string_view(whole).substr(1));
      EXPECT_NE(complaint().find(is_damaged), std::string::npos) << complaint();
      std::string other = whole;
      other[whole.size() / 2] ^= 1;
      write_file(file, other);
      EXPECT_NE(complaint().find(is_damaged), std::string::npos) << complaint();
    }
    fs::remove(file);
    EXPECT_NE(complaint().find(fmt::format("ix/{} is missing, but index.json lists it", name)), std::string::npos)
        << complaint();
    write_file(file, whole);
  }
  run("y", "oy", "ix");
}

// Cut off while it writes: the index comes with the run that goes on.
TEST_F(IndexTest, ComesWithTheRunThatGoesOn) {
  run("xyz", "whole", "", "iw");
  config_.save_index = (root_ / "ic").string(), config_.against.clear();
  const Inputs in = find_inputs(std::vector<std::string>{
      "x=" + (root_ / "x.jsonl").string(), "y=" + (root_ / "y.jsonl").string(), "z=" + (root_ / "z.jsonl").string()});
  EXPECT_NE(message_of([&] {
              deduplicate(in, config_, root_ / "cut", [&](const DedupProgress& p) {
                if (std::string_view(p.stage) == "write") fail("cut off");
              });
            }),
            "");
  EXPECT_FALSE(fs::exists(root_ / "ic"));
  EXPECT_EQ(deduplicate(in, config_, root_ / "cut").resumed, 1u);
  EXPECT_EQ(read_file(root_ / "ic/records"), read_file(root_ / "iw/records"));
  EXPECT_EQ(content("cut"), content("whole"));
}

// Cut off when the index bears its name already: it is the run's own, and another's is still refused.
TEST_F(IndexTest, StaysWithTheRunThatGoesOn) {
  config_.save_index = (root_ / "ic").string(), config_.against.clear();
  const Inputs in = find_inputs(std::vector<std::string>{"x=" + (root_ / "x.jsonl").string()});
  for (int ranks : {1, 2}) {
    int finished = 0;
    const auto cut = [&](bool now) {
      return message_of([&] {
        comm::run_ranks(ranks, [&](comm::Communicator& c) {
          deduplicate(
              in, config_, root_ / "cut", {},
              [&](const DedupReport&) {
                ++finished;
                if (now) fail("cut off");
              },
              &c);
        });
      });
    };
    EXPECT_NE(cut(true).find("cut off"), std::string::npos);
    const std::string records = read_file(root_ / "ic/records");
    EXPECT_EQ(cut(false), "") << ranks;
    EXPECT_EQ(finished, 2);
    EXPECT_EQ(read_file(root_ / "ic/records"), records);
    fs::remove_all(root_ / "cut");
    EXPECT_NE(cut(false).find("exists already"), std::string::npos);
    fs::remove_all(root_ / "ic"), fs::remove_all(root_ / "cut");
  }
}

}  // namespace
}  // namespace quern::corpus
