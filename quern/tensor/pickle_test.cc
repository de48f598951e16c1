// Pickles by hand: what is built, and what no pickle may do to its reader.
#include "quern/tensor/pickle.h"

#include <gtest/gtest.h>

#include "quern/base/test_message.h"

namespace quern {
namespace {

using namespace std::string_literals;
using Kind = Pickle::Kind;

constexpr Pickle::Global kKnown[] = {{"good.call", true}, {"good.Type", false}};

Pickle read(const std::string& s) {
  return Pickle({reinterpret_cast<const std::byte*>(s.data()), s.size()}, "x.bin", kKnown);
}
std::string refusal(const std::string& s) {
  return message_of([&] { read(s); });
}

TEST(PickleReader, BuildsData) {
  // {"a": (1, -2, 300, None, True), "b": [1.5, 2**40, -1]}
  const std::string s =
      "\x80\x02}(X\x01\0\0\0a(K\x01J\xfe\xff\xff\xffM\x2c\x01N\x88tX\x01\0\0\0b](G\x3f\xf8\0\0\0\0\0\0"
      "\x8a\x06\0\0\0\0\0\x01\x8a\x01\xff\x65u.after"s;
  const Pickle p = read(s);
  EXPECT_EQ(p.size(), s.size() - 5);
  const auto items = p.items(p.root());
  ASSERT_EQ(items.size(), 4u);
  EXPECT_EQ(p.text(items[0]), "a");
  const auto tuple = p.items(items[1]);
  ASSERT_EQ(tuple.size(), 5u);
  EXPECT_EQ(tuple[0].integer(), 1);
  EXPECT_EQ(tuple[1].integer(), -2);
  EXPECT_EQ(tuple[2].integer(), 300);
  EXPECT_EQ(tuple[3].kind, Kind::none);
  EXPECT_EQ(tuple[4].integer(), 1);
  const auto list = p.items(items[3]);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].kind, Kind::real);
  EXPECT_EQ(list[1].integer(), int64_t{1} << 40);
  EXPECT_EQ(list[2].integer(), -1);
}

TEST(PickleReader, CallsAndPersistentValuesAreData) {
  const std::string s = "\x80\x02](cgood\ncall\nq\x00K\x05\x85Rh\x00)RX\x01\0\0\0k\x85Q\x63good\nType\ne."s;
  const Pickle p = read(s);
  const auto items = p.items(p.root());
  ASSERT_EQ(items.size(), 4u);
  ASSERT_EQ(items[0].kind, Kind::call);
  EXPECT_EQ(p.name(p.items(items[0])[0]), "good.call");
  EXPECT_EQ(p.items(p.items(items[0])[1])[0].integer(), 5);
  EXPECT_EQ(items[2].kind, Kind::persistent);
  EXPECT_EQ(p.persistents().size(), 1u);
  EXPECT_EQ(p.name(items[3]), "good.Type");
}

TEST(PickleReader, OrderedDictsAreDicts) {
  const Pickle p = read(
      "\x80\x02"
      "ccollections\nOrderedDict\n)RK\x01K\x02s}X\x01\0\0\0mK\x03sb."s);
  ASSERT_EQ(p.root().kind, Kind::dict);
  EXPECT_EQ(p.items(p.root()).size(), 2u);
}

TEST(PickleReader, RefusesWhatIsNotData) {
  const auto expect = [](const std::string& s, const char* part) {
    EXPECT_NE(refusal(s).find(part), std::string::npos) << refusal(s);
  };
  expect(
      "\x80\x02"
      "cos\nsystem\nX\x02\0\0\0ls\x85R."s,
      "x.bin asks for os.system");
  expect("\x80\x04\x8c\x02os\x8c\x06system\x93."s, "asks for os.system");
  expect(
      "\x80\x02"
      "cbuiltins\neval\n."s,
      "asks for builtins.eval");
  expect(
      "\x80\x02"
      "c\x1b[2J\nx\n."s,
      "asks for ?[2J.x");
  expect(
      "\x80\x02"
      "cgood\nType\n)R."s,
      "calls good.Type");
  expect(
      "\x80\x02"
      "cgood\ncall\n)RX\x01\0\0\0m\x85R."s,
      "calls what is not a name");
  expect(
      "\x80\x02"
      "cgood\ncall\n)R}b."s,
      "sets the state of an object");
  expect(
      "\x80\x02"
      "ccollections\nOrderedDict\n]\x85R."s,
      "OrderedDict with arguments");
  expect(
      "\x80\x02"
      "cgood\nType\n)\x81."s,
      "instruction 0x81");                                  // NEWOBJ
  expect("\x80\x02(ios\nsystem\n."s, "instruction 0x69");   // INST
  expect("\x80\x02(cgood\ncall\no."s, "instruction 0x6f");  // OBJ
  expect("\x80\x02\x82\x01."s, "instruction 0x82");         // EXT1
  expect("\x80\x02Pfile\n."s, "instruction 0x50");          // a persistent id as text
  expect("\x80\x09N."s, "protocol 9");
}

TEST(PickleReader, RefusesDamage) {
  const auto expect = [](const std::string& s, const char* part) {
    EXPECT_NE(refusal(s).find(part), std::string::npos) << refusal(s);
  };
  expect(""s, "truncated");
  expect("\x80\x02."s, "empty stack");
  expect("\x80\x02K\x01(."s, "empty stack");
  expect("\x80\x02h\x05."s, "memo 5 was never written");
  expect("\x80\x02j\xff\xff\xff\xff."s, "memo 4294967295 was never written");
  expect("\x80\x02Nr\xff\xff\xff\xff."s, "memo 4294967295 after 0 others");
  expect("\x80\x02X\xff\xff\xff\x7fx."s, "a text of 2147483647 bytes");
  expect("\x80\x02X\xff\0\0\0x."s, "255 bytes needed");
  expect("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xffx."s, "a text of");
  expect("\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xffN."s, "a frame ends past the file");
  expect("\x80\x02t."s, "a mark is missing");
  expect("\x80\x02K\x01\x86."s, "empty stack");
  expect("\x80\x02NNa."s, "not a list");
  expect("\x80\x02]K\x01K\x02s."s, "not a dict");
  expect("\x80\x02}(K\x01u."s, "a key without a value");
  expect(
      "\x80\x02"
      "cgood"s,
      "no end");
}

// Nesting costs no recursion, neither while reading nor while forgetting.
TEST(PickleReader, DepthIsFree) {
  std::string s = "\x80\x02N";
  s.append(300'000, '\x85');
  const Pickle p = read(s + ".");
  EXPECT_EQ(p.items(p.root()).size(), 1u);
  const Pickle cycle = read("\x80\x02]q\x00h\x00\x61."s);
  EXPECT_EQ(cycle.items(cycle.root()).size(), 1u);
}

TEST(PickleReader, InstructionsAreBounded) {
  std::string s = "\x80\x02";
  for (int i = 0; i < 17'000'000; ++i) s += "\x80\x02";  // PROTO, which leaves nothing behind
  EXPECT_NE(refusal(s).find("more than 16777216 instructions"), std::string::npos);
}

}  // namespace
}  // namespace quern
