// Digests of FIPS 180-4's examples and of lengths around the block's.
#include "quern/serve/http/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace quern::serve {
namespace {

std::string hex(const Sha256Digest& d) {
  std::string out;
  for (uint8_t b : d) out += fmt::format("{:02x}", b);
  return out;
}

TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// As Python's hashlib has them.
TEST(Sha256, EndsABlockWhereItShould) {
  EXPECT_EQ(hex(sha256(std::string(55, 'x'))), "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072");
  EXPECT_EQ(hex(sha256(std::string(56, 'x'))), "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e");
  EXPECT_EQ(hex(sha256(std::string(64, 'x'))), "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c");
  EXPECT_EQ(hex(sha256(std::string(119, 'x'))), "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c");
}

TEST(Sha256, IsReadFromHex) {
  const Sha256Digest d = sha256("abc");
  EXPECT_TRUE(same_digest(*read_sha256("BA7816BF8F01CFEA414140DE5DAE2223b00361a396177a9cb410ff61f20015ad"), d));
  EXPECT_FALSE(same_digest(sha256("abd"), d));
  EXPECT_FALSE(read_sha256("ba78"));
  EXPECT_FALSE(read_sha256(std::string(63, '0') + "g"));
}

}  // namespace
}  // namespace quern::serve
