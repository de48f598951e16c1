// Piece: the elements of a logical tensor that a rank holds. It is a box (hyper-rectangle in the tensor's coordinates)
// and an interval [begin, end) of the box's elements in row-major order. One form thus describes a whole tensor, an
// expert shard (the whole box) and a ZeRO shard of either (part of the interval). A piece's elements lie in memory in
// that order.
//
// In the flattened tensor a piece is an ascending sequence of runs; two pieces intersect where their runs do, and only
// those runs are ever copied.
#pragma once
#include <cstddef>

#include "quern/tensor/tensor.h"

namespace quern::train {

struct Piece {
  Shape offset, shape;  // the box
  int64_t begin = 0, end = 0;

  static Piece whole(const Shape& tensor) { return flat(tensor, 0, element_count(tensor)); }
  static Piece box(Shape offset, Shape shape);
  static Piece flat(const Shape& tensor, int64_t begin, int64_t end);
  int64_t size() const { return end - begin; }
  bool is_box() const { return begin == 0 && end == element_count(shape); }
  bool operator==(const Piece&) const = default;
};
std::string to_string(const Piece& p);  // "[0, 2)×[0, 3), elements 1…5"
// Empty, or what is wrong with a piece of a tensor of this shape.
std::string piece_complaint(const Piece& p, const Shape& tensor);

class Runs {
 public:
  Runs(const Piece& piece, const Shape& tensor);
  struct Run {
    int64_t at;     // in the flattened tensor
    int64_t local;  // in the piece
    int64_t size;
  };
  int64_t count() const { return last_ - first_; }
  Run operator[](int64_t i) const;
  int64_t find(int64_t at) const;  // the first run that ends behind `at`; count() if none

 private:
  const Piece& piece_;
  Shape strides_;         // of the tensor
  size_t inner_;          // axes from here on are one run
  int64_t length_;        // of a whole run
  int64_t first_, last_;  // runs of the box
};

// Copies every element that both pieces hold; returns how many.
int64_t copy_common(const Shape& tensor, const Piece& to, std::byte* dst, const Piece& from, const std::byte* src,
                    int64_t element_bytes);

bool pieces_meet(const Shape& tensor, const Piece& a, const Piece& b);

// The boxes, in order, that an interval of a box's elements falls into: at most 2·rank − 1.
std::vector<Piece> boxes_of(const Piece& p);

}  // namespace quern::train
