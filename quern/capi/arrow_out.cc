#include "quern/capi/arrow_out.h"

#include <fmt/format.h>

#include <cerrno>

#include "quern/base/error.h"

namespace quern::capi {
namespace {

const char* format_of(ArrowType type) {
  switch (type) {
    case ArrowType::text:
      return "u";
    case ArrowType::integer:
      return "l";
    case ArrowType::number:
      return "g";
    case ArrowType::truth:
      return "b";
    case ArrowType::texts:
      return "+l";
  }
  return "n";
}

// Arrays or schemas below one that is exported: a receiver moves them out, and the rest is released with their owner, also
// when its export fails halfway.
template <class T>
struct Children {
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() {
    for (T& child : all)
      if (child.release) child.release(&child);
  }
  std::vector<T> all;
  std::vector<T*> pointers;
};

// What an exported array owns.
struct ArrayParts {
  std::vector<ArrowBuffer> buffers;
  std::vector<const void*> pointers;
  Children<ArrowArray> children;
};

void release_array(ArrowArray* a) {
  delete static_cast<ArrayParts*>(a->private_data);
  a->release = nullptr;
}

void fill_array(ArrowArray* out, std::unique_ptr<ArrayParts> parts, int64_t rows, int64_t nulls) {
  for (const ArrowBuffer& b : parts->buffers) parts->pointers.push_back(b.data);
  for (ArrowArray& child : parts->children.all) parts->children.pointers.push_back(&child);
  *out = {.length = rows,
          .null_count = nulls,
          .offset = 0,
          .n_buffers = static_cast<int64_t>(parts->pointers.size()),
          .n_children = static_cast<int64_t>(parts->children.pointers.size()),
          .buffers = parts->pointers.data(),
          .children = parts->children.pointers.data(),
          .dictionary = nullptr,
          .release = release_array,
          .private_data = parts.get()};
  parts.release();
}

template <class Values>
ArrowBuffer buffer_of(Values&& values) {
  auto kept = std::make_shared<std::remove_cvref_t<Values>>(std::move(values));
  const void* data = kept->data();
  return {std::move(kept), data};
}

struct SchemaParts {
  std::string format, name;
  Children<ArrowSchema> children;
};

void release_schema(ArrowSchema* s) {
  delete static_cast<SchemaParts*>(s->private_data);
  s->release = nullptr;
}

void fill_schema(ArrowSchema* out, std::unique_ptr<SchemaParts> parts, int64_t flags) {
  for (ArrowSchema& child : parts->children.all) parts->children.pointers.push_back(&child);
  *out = {.format = parts->format.c_str(),
          .name = parts->name.c_str(),
          .metadata = nullptr,
          .flags = flags,
          .n_children = static_cast<int64_t>(parts->children.pointers.size()),
          .children = parts->children.pointers.data(),
          .dictionary = nullptr,
          .release = release_schema,
          .private_data = parts.get()};
  parts.release();
}

void fill_schema(ArrowSchema* out, const ArrowField& field) {
  auto parts = std::make_unique<SchemaParts>();
  parts->format = format_of(field.type), parts->name = field.name;
  if (field.type == ArrowType::texts)
    fill_schema(&parts->children.all.emplace_back(), {.name = "item", .type = ArrowType::text});
  fill_schema(out, std::move(parts), kArrowNullable);
}

struct StreamParts {
  std::unique_ptr<RecordSource> source;
  std::string error;
};

StreamParts& parts_of(ArrowArrayStream* s) { return *static_cast<StreamParts*>(s->private_data); }

// Errors of a stream are numbers of errno and a text that is asked for.
template <class F>
int stream_call(ArrowArrayStream* s, F&& body) {
  std::string& error = parts_of(s).error;
  try {
    error.clear();
    body();
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  } catch (const std::exception& e) {
    error = e.what();
  } catch (...) {
    error = "an exception of unknown type";
  }
  return EIO;
}

int get_schema(ArrowArrayStream* s, ArrowSchema* out) {
  return stream_call(s, [&] {
    auto parts = std::make_unique<SchemaParts>();
    parts->format = "+s";
    const std::vector<ArrowField>& fields = parts_of(s).source->fields();
    parts->children.all.resize(fields.size());
    for (size_t i = 0; i < fields.size(); ++i) fill_schema(&parts->children.all[i], fields[i]);
    fill_schema(out, std::move(parts), 0);
  });
}

int get_next(ArrowArrayStream* s, ArrowArray* out) {
  return stream_call(s, [&] {
    std::optional<std::vector<ArrowColumn>> batch = parts_of(s).source->next();
    if (!batch) {
      *out = {};  // released: the end
      return;
    }
    auto parts = std::make_unique<ArrayParts>();
    const int64_t rows = batch->empty() ? 0 : batch->front().size();
    parts->children.all.resize(batch->size());
    for (size_t i = 0; i < batch->size(); ++i) (*batch)[i].export_to(&parts->children.all[i]);
    parts->buffers.push_back({});  // no row of a batch is null
    fill_array(out, std::move(parts), rows, 0);
  });
}

const char* get_last_error(ArrowArrayStream* s) {
  const std::string& error = parts_of(s).error;
  return error.empty() ? nullptr : error.c_str();
}

void release_stream(ArrowArrayStream* s) {
  delete static_cast<StreamParts*>(s->private_data);
  s->release = nullptr;
}

void set_bit(std::vector<uint8_t>& bits, int64_t i, bool on) {
  if (i % 8 == 0) bits.push_back(0);
  if (on) bits.back() |= static_cast<uint8_t>(1u << (i % 8));
}

int32_t end_of(size_t n) {
  if (n > INT32_MAX) fail("a record batch with 2 GiB of text or more: read with smaller batches");
  return static_cast<int32_t>(n);
}

}  // namespace

ArrowColumn::ArrowColumn(ArrowType type) : type_(type), ends_{0}, list_ends_{0} {}

void ArrowColumn::end_row(int64_t nulls) {
  set_bit(validity_, rows_, nulls == 0);
  nulls_ += nulls, ++rows_;
}

void ArrowColumn::add(std::string_view text) {
  text_ += text, ends_.push_back(end_of(text_.size()));
  end_row(0);
}
void ArrowColumn::add(int64_t value) { integers_.push_back(value), end_row(0); }
void ArrowColumn::add(double value) { numbers_.push_back(value), end_row(0); }
void ArrowColumn::add_truth(bool value) { set_bit(bits_, rows_, value), end_row(0); }

void ArrowColumn::add_null() {
  switch (type_) {
    case ArrowType::text:
      ends_.push_back(ends_.back());
      break;
    case ArrowType::integer:
      integers_.push_back(0);
      break;
    case ArrowType::number:
      numbers_.push_back(0);
      break;
    case ArrowType::truth:
      set_bit(bits_, rows_, false);
      break;
    case ArrowType::texts:
      list_ends_.push_back(list_ends_.back());
      break;
  }
  end_row(1);
}

void ArrowColumn::add_to_list(std::string_view text) { text_ += text, ends_.push_back(end_of(text_.size())); }
void ArrowColumn::end_list() { list_ends_.push_back(end_of(ends_.size() - 1)), end_row(0); }

void ArrowColumn::export_to(ArrowArray* out) {
  auto parts = std::make_unique<ArrayParts>();
  const int64_t rows = rows_, nulls = nulls_;
  parts->buffers.push_back(nulls > 0 ? buffer_of(std::move(validity_)) : ArrowBuffer{});
  switch (type_) {
    case ArrowType::text:
      parts->buffers.push_back(buffer_of(std::move(ends_))), parts->buffers.push_back(buffer_of(std::move(text_)));
      break;
    case ArrowType::integer:
      parts->buffers.push_back(buffer_of(std::move(integers_)));
      break;
    case ArrowType::number:
      parts->buffers.push_back(buffer_of(std::move(numbers_)));
      break;
    case ArrowType::truth:
      parts->buffers.push_back(buffer_of(std::move(bits_)));
      break;
    case ArrowType::texts: {
      ArrowColumn items(ArrowType::text);
      items.rows_ = static_cast<int64_t>(ends_.size()) - 1;
      items.ends_ = std::move(ends_), items.text_ = std::move(text_);
      parts->buffers.push_back(buffer_of(std::move(list_ends_)));
      items.export_to(&parts->children.all.emplace_back());
      break;
    }
  }
  fill_array(out, std::move(parts), rows, nulls);
  *this = ArrowColumn(type_);
}

void export_stream(std::unique_ptr<RecordSource> source, ArrowArrayStream* out) {
  auto parts = std::make_unique<StreamParts>(StreamParts{.source = std::move(source), .error = {}});
  *out = {.get_schema = get_schema,
          .get_next = get_next,
          .get_last_error = get_last_error,
          .release = release_stream,
          .private_data = parts.get()};
  parts.release();
}

}  // namespace quern::capi
