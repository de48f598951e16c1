// The binary with weights that PyTorch saved: the same logits as with safetensors, one command that converts them, also
// to a .gguf file, and files that would run something in Python refused without running it.
#include <gtest/gtest.h>

#include <fstream>

#include "quern/base/mmap.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

const fs::path kFiles = fs::path(QUERN_SOURCE_DIR) / "tests/goldens/torch";

class TorchWeights : public testing::Test {
 protected:
  std::string folder(const std::string& name, const std::string& weights, const std::string& as) {
    const std::string to = scratch_ / name;
    fs::create_directories(to);
    fs::copy_file(kFiles / "model/config.json", to + "/config.json");
    fs::copy_file(kFiles / weights, to + "/" + as);
    return to;
  }
  std::string out_of(const std::string& command) {
    const Ran r = shell(command);
    EXPECT_EQ(r.code, 0) << command << ": " << r.err;
    return r.out;
  }
  std::string logits(const std::string& model) {
    const std::string file = scratch_ / "logits.npy";
    out_of("quern logits " + model + " --ids 1,5,9,30 --out " + file);
    return read_file(file);
  }
  ScratchFolder scratch_;
};

TEST_F(TorchWeights, AreReadAndBecomeSafetensors) {
  const std::string safe = folder("safe", "model/model.safetensors", "model.safetensors"),
                    torch = folder("torch", "model/pytorch_model.bin", "pytorch_model.bin");
  const std::string wanted = logits(safe);
  EXPECT_GT(wanted.size(), size_t{4 * 32 * 4});
  EXPECT_EQ(logits(torch), wanted);
  EXPECT_EQ(logits(torch + "/pytorch_model.bin"), wanted);
  out_of("quern info " + torch);
  const std::string made = scratch_ / "made", again = scratch_ / "again";
  out_of("quern export " + torch + " " + made + " --dtype f32");
  EXPECT_FALSE(fs::exists(made + "/pytorch_model.bin"));
  EXPECT_EQ(logits(made), wanted);
  out_of("quern export " + safe + " " + again + " --dtype f32");
  EXPECT_EQ(read_file(made + "/model.safetensors"), read_file(again + "/model.safetensors"));
  const Ran twice = shell("quern export " + torch + " " + made);
  EXPECT_EQ(twice.code, 1);
  EXPECT_NE(twice.err.find("already exists"), std::string::npos) << twice.err;
  const Ran other = shell("quern export " + torch + " " + (scratch_ / "x") + " --config config.json");
  EXPECT_EQ(other.code, 2);
}

TEST_F(TorchWeights, BecomeAGgufFile) {
  const std::string torch = folder("torch", "model/pytorch_model.bin", "pytorch_model.bin"),
                    gguf = scratch_ / "model.gguf";
  const Ran made = shell("quern export " + torch + " " + gguf + " --dtype f32");
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.err.find("warning: the file has no tokenizer"), std::string::npos) << made.err;
  EXPECT_EQ(logits(gguf).size(), logits(torch).size());
  for (const char* dtype : {"f16", "bf16", "q8_0"})
    out_of("quern export " + torch + " " + (scratch_ / dtype) + ".gguf --dtype " + dtype);
  EXPECT_LT(fs::file_size((scratch_ / "f16") + ".gguf"), fs::file_size(gguf));
  EXPECT_NE(shell("quern export " + torch + " " + gguf).err.find("already exists"), std::string::npos);
  const Ran wrong = shell("quern export " + torch + " " + (scratch_ / "x.gguf") + " --dtype q4");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("a .gguf file takes f32, f16, bf16 or q8_0"), std::string::npos) << wrong.err;
  const Ran run = shell("quern export " + (scratch_ / "nothing") + " " + (scratch_ / "y.gguf"));
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.err.find("is not a model folder"), std::string::npos) << run.err;
}

TEST_F(TorchWeights, BothKindsAreSaid) {
  const std::string both = folder("both", "model/model.safetensors", "model.safetensors");
  fs::copy_file(kFiles / "model/pytorch_model.bin", both + "/pytorch_model.bin");
  const Ran r = shell("quern logits " + both + " --ids 1,5 --out " + (scratch_ / "x.npy"));
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("pytorch_model.bin in "), std::string::npos) << r.err;
}

TEST_F(TorchWeights, CodeIsRefusedAndNotRun) {
  const std::string hostile = folder("hostile", "hostile/command.bin", "pytorch_model.bin");
  const Ran r = shell("cd " + hostile + " && quern logits . --ids 1,5 --out x.npy");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("asks for posix.system"), std::string::npos) << r.err;
  EXPECT_FALSE(fs::exists(hostile + "/executed"));
}

}  // namespace
}  // namespace quern
