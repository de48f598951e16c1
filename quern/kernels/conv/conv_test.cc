// Convolutions: by hand, gradients, carried rows in any split, every instruction set against the reference.
#include "quern/kernels/conv/conv.h"

#include <algorithm>

#include "quern/kernels/test_util.h"

namespace quern::kernels {
namespace {

using Offsets = std::vector<int32_t>;

// Lengths of outputs → both offset lists.
struct Segments {
  Offsets in{0}, out{0};
  Segments(std::initializer_list<int32_t> lengths, int32_t taps) {
    for (int32_t n : lengths) in.push_back(in.back() + n + taps - 1), out.push_back(out.back() + n);
  }
  ConvSpans spans() const { return {in, out}; }
};

template <class T>
View<T, 3> weights(Rows<T>& w, int64_t taps) {
  return {w.data.data(), {w.rows, w.width / taps, taps}};
}

TEST(DepthwiseConv, ByHand) {
  each_isa([] {
    Segments s({2, 1}, 2);  // inputs 1 2 3 | 10 20; taps (oldest first) 1, 10
    Rows<float> x(5, 1), w(1, 2), b(1, 1), y(3, 1);
    x.data = {1, 2, 3, 10, 20}, w.data = {1, 10}, b.data = {0.5f};
    depthwise_conv<float>(x.in(), w.in(), b.vec_in(), s.spans(), y.view());
    EXPECT_EQ(y.data, (std::vector<float>{21.5, 32.5, 210.5}));
  });
}

TEST(GroupedConv, ByHand) {
  each_isa([] {
    Segments s({1}, 2);  // rows (1, 2 | 3, 4) and (5, 6 | 7, 8), two groups of two channels, one output each
    Rows<float> x(2, 4), w(2, 4), b(1, 2), y(1, 2);
    x.data = {1, 2, 3, 4, 5, 6, 7, 8}, b.data = {0, 100};
    w.data = {1, 10, 2, 20, 1, 0, 0, 1};  // [out][in][tap]
    Arena scratch;
    grouped_conv<float>(
        {.x = x.in(), .w = weights<float>(w, 2), .b = b.vec_in(), .groups = 2, .spans = s.spans(), .y = y.view()},
        scratch);
    EXPECT_EQ(y.data, (std::vector<float>{1 + 50 + 4 + 120, 100 + 3 + 8}));
  });
}

TEST(DepthwiseConv, Gradient) {
  Segments s({3, 0, 1}, 3);
  Rows<double> x = Rows<double>::random(s.in.back(), 2, 1), w = Rows<double>::random(2, 3, 2),
               b = Rows<double>::random(1, 2, 3);
  Rows<double> g = Rows<double>::random(4, 2, 4), y(4, 2), gx = Rows<double>::random(s.in.back(), 2, 9), gw(2, 3),
               gb(1, 2);
  auto loss = [&] {
    depthwise_conv<double>(x.in(), w.in(), b.vec_in(), s.spans(), y.view());
    return weighted_sum(y, g);
  };
  depthwise_conv_backward<double>(
      {.x = x.in(), .w = w.in(), .gy = g.in(), .spans = s.spans(), .gx = gx.view(), .gw = gw.view(), .gb = gb.vec()});
  check_gradient(loss, x.data, gx.data);
  check_gradient(loss, w.data, gw.data);
  check_gradient(loss, b.data, gb.data);
}

TEST(GroupedConv, Gradient) {
  Segments s({3, 0, 1}, 2);
  Rows<double> x = Rows<double>::random(s.in.back(), 4, 1), w = Rows<double>::random(6, 4, 2),
               b = Rows<double>::random(1, 6, 3);
  Rows<double> g = Rows<double>::random(4, 6, 4), y(4, 6), gx = Rows<double>::random(s.in.back(), 4, 9), gw(6, 4),
               gb(1, 6);
  Arena scratch;
  auto loss = [&] {
    grouped_conv<double>(
        {.x = x.in(), .w = weights<double>(w, 2), .b = b.vec_in(), .groups = 2, .spans = s.spans(), .y = y.view()},
        scratch);
    return weighted_sum(y, g);
  };
  grouped_conv_backward<double>({.x = x.in(),
                                 .w = weights<double>(w, 2),
                                 .gy = g.in(),
                                 .groups = 2,
                                 .spans = s.spans(),
                                 .gx = gx.view(),
                                 .gw = weights<double>(gw, 2),
                                 .gb = gb.vec()},
                                scratch);
  check_gradient(loss, x.data, gx.data);
  check_gradient(loss, w.data, gw.data);
  check_gradient(loss, b.data, gb.data);
}

TEST(Conv, CarriedRowsInAnySplitEqualTheWhole) {  // the last K − 1 inputs of one call go in front of the next
  constexpr int64_t kLength = 12, kChannels = 48;
  each_isa([] {
    for (int32_t taps : {2, 4}) {
      Rows<float> x = Rows<float>::random(kLength + taps - 1, kChannels, 1),
                  dw = Rows<float>::random(kChannels, taps, 2);
      Rows<float> gw = Rows<float>::random(kChannels, 16 * taps, 3), whole(kLength, kChannels),
                  gwhole(kLength, kChannels);
      Arena scratch;
      Segments all({kLength}, taps);
      depthwise_conv<float>(x.in(), dw.in(), {}, all.spans(), whole.view());
      grouped_conv<float>(
          {.x = x.in(), .w = weights<float>(gw, taps), .groups = 3, .spans = all.spans(), .y = gwhole.view()},
          scratch);
      for (int32_t cut = 1; cut < kLength; ++cut) {
        Segments first({cut}, taps), rest({static_cast<int32_t>(kLength) - cut}, taps);
        Rows<float> y(kLength, kChannels), gy(kLength, kChannels);
        auto a = x.in().slice(0, cut + taps - 1), b = x.in().slice(cut, kLength + taps - 1);
        depthwise_conv<float>(a, dw.in(), {}, first.spans(), y.view().slice(0, cut));
        depthwise_conv<float>(b, dw.in(), {}, rest.spans(), y.view().slice(cut, kLength));
        EXPECT_EQ(y.data, whole.data);
        grouped_conv<float>({.x = a,
                             .w = weights<float>(gw, taps),
                             .groups = 3,
                             .spans = first.spans(),
                             .y = gy.view().slice(0, cut)},
                            scratch);
        grouped_conv<float>({.x = b,
                             .w = weights<float>(gw, taps),
                             .groups = 3,
                             .spans = rest.spans(),
                             .y = gy.view().slice(cut, kLength)},
                            scratch);
        for (size_t i = 0; i < gy.data.size(); ++i) EXPECT_NEAR(gy.data[i], gwhole.data[i], 1e-5);
      }
    }
  });
}

TEST(DepthwiseConv, AllIsasAgree) {
  for (int32_t taps : {1, 2, 3, 4, 5})
    for (int64_t channels : {1, 7, 33, 530}) {
      Segments s({5, 1, 0, 40, 2}, taps);
      same_on_all_isas(
          [&]<class T>(T) {
            using R = Rows<T>;
            const int64_t in = s.in.back(), out = s.out.back();
            R x = R::random(in, channels, 1, 3), w = R::random(channels, taps, 2), b = R::random(1, channels, 3);
            R gy = R::random(out, channels, 4, 1), y(out, channels, 2), gx(in, channels, 5),
              gw = R::random(channels, taps, 5);
            R gb = R::random(1, channels, 6);
            depthwise_conv<T>(x.in(), w.in(), b.vec_in(), s.spans(), y.view());
            depthwise_conv_backward<T>({.x = x.in(),
                                        .w = w.in(),
                                        .gy = gy.in(),
                                        .spans = s.spans(),
                                        .gx = gx.view(),
                                        .gw = gw.view(),
                                        .gb = gb.vec()});
            Outputs o;
            o.add(y), o.add(gx), o.add(gw), o.add(gb);
            depthwise_conv<T>(x.in(), w.in(), {}, s.spans(), y.view());
            depthwise_conv_backward<T>(
                {.x = x.in(), .w = w.in(), .gy = gy.in(), .spans = s.spans(), .gx = gx.view()});
            o.add(y), o.add(gx);
            return o;
          },
          5e-6);
    }
}

TEST(GroupedConv, AllIsasAgree) {
  struct Case {
    int64_t groups, per_in, per_out;
    std::initializer_list<int32_t> lengths;
  };
  for (const Case& c : {Case{1, 128, 128, {70, 3}}, Case{3, 40, 17, {30, 0, 1, 9}}, Case{2, 128, 128, {1}},
                        Case{2, 33, 20, {1, 1, 1}}, Case{9, 3, 2, {20, 5}}, Case{5, 1, 1, {7}}})
    for (int32_t taps : {1, 2, 3}) {
      SCOPED_TRACE(testing::Message() << c.groups << " groups of " << c.per_in << ", " << taps << " taps");
      Segments s(c.lengths, taps);
      same_on_all_isas(
          [&]<class T>(T) {
            using R = Rows<T>;
            const int64_t in = s.in.back(), out = s.out.back(), ci = c.groups * c.per_in, co = c.groups * c.per_out;
            R x = R::random(in, ci, 1, 3), w = R::random(co, c.per_in * taps, 2), b = R::random(1, co, 3);
            R gy = R::random(out, co, 4, 1), y(out, co, 2), gx(in, ci, 5), gw = R::random(co, c.per_in * taps, 5);
            R gb = R::random(1, co, 6);
            Arena scratch;
            grouped_conv<T>({.x = x.in(),
                             .w = weights<T>(w, taps),
                             .b = b.vec_in(),
                             .groups = c.groups,
                             .spans = s.spans(),
                             .y = y.view()},
                            scratch);
            grouped_conv_backward<T>({.x = x.in(),
                                      .w = weights<T>(w, taps),
                                      .gy = gy.in(),
                                      .groups = c.groups,
                                      .spans = s.spans(),
                                      .gx = gx.view(),
                                      .gw = weights<T>(gw, taps),
                                      .gb = gb.vec()},
                                     scratch);
            Outputs o;
            o.add(y), o.add(gx), o.add(gw), o.add(gb);
            grouped_conv<T>(
                {.x = x.in(), .w = weights<T>(w, taps), .groups = c.groups, .spans = s.spans(), .y = y.view()},
                scratch);
            grouped_conv_backward<T>({.x = x.in(),
                                      .w = weights<T>(w, taps),
                                      .gy = gy.in(),
                                      .groups = c.groups,
                                      .spans = s.spans(),
                                      .gx = gx.view()},
                                     scratch);
            o.add(y), o.add(gx);
            return o;
          },
          2e-5);
    }
}

TEST(GroupedConv, TokensInChunksOfScratch) {  // 4 groups of 512 channels, 2 taps: a chunk holds 256 tokens
  Segments s({300}, 2);
  same_on_all_isas(
      [&]<class T>(T) {
        using R = Rows<T>;
        R x = R::random(301, 2048, 1), w = R::random(32, 1024, 2), y(300, 32), gx(301, 2048), gw(32, 1024);
        R gy = R::random(300, 32, 3);
        Arena scratch;
        grouped_conv<T>({.x = x.in(), .w = weights<T>(w, 2), .groups = 4, .spans = s.spans(), .y = y.view()},
                        scratch);
        grouped_conv_backward<T>({.x = x.in(),
                                  .w = weights<T>(w, 2),
                                  .gy = gy.in(),
                                  .groups = 4,
                                  .spans = s.spans(),
                                  .gx = gx.view(),
                                  .gw = weights<T>(gw, 2)},
                                 scratch);
        Outputs o;
        o.add(y), o.add(gx), o.add(gw);
        return o;
      },
      2e-5);
}

}  // namespace
}  // namespace quern::kernels
