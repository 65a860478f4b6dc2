#include "cli/jsonl.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "base/interrupt.h"
#include "cli/command.h"

namespace deepinfer::cli {
namespace {

constexpr size_t kReadBytes = size_t{1} << 18;
constexpr size_t kWriteBytes = size_t{1} << 20;
constexpr size_t kPadding = simdjson::SIMDJSON_PADDING;

const char* type_name(simdjson::dom::element e) {
  switch (e.type()) {
    case simdjson::dom::element_type::ARRAY:
      return "an array";
    case simdjson::dom::element_type::OBJECT:
      return "an object";
    case simdjson::dom::element_type::STRING:
      return "a string";
    case simdjson::dom::element_type::BOOL:
      return "a boolean";
    case simdjson::dom::element_type::NULL_VALUE:
      return "null";
    default:
      return "a number";
  }
}

tl::unexpected<Error> wrong_type(std::string_view key, const char* expected, simdjson::dom::element found) {
  return fail(ErrorCode::kInvalidArgument, "{}: must be {}, found {}", key, expected, type_name(found));
}

}  // namespace

Result<JsonlReader> JsonlReader::open(const std::string& path) {
  if (path.empty() || path == "-") return from_fd(STDIN_FILENO, "stdin");
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, "{}: cannot open: {}", path,
                std::strerror(errno));
  JsonlReader reader = from_fd(fd, path);
  reader.owned_ = true;
  return reader;
}

JsonlReader JsonlReader::from_fd(int fd, std::string name) {
  JsonlReader reader;
  reader.fd_ = fd;
  reader.name_ = std::move(name);
  return reader;
}

JsonlReader::JsonlReader(JsonlReader&& other) noexcept { *this = std::move(other); }

JsonlReader& JsonlReader::operator=(JsonlReader&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(owned_, other.owned_);
  std::swap(at_end_, other.at_end_);
  std::swap(name_, other.name_);
  std::swap(buffer_, other.buffer_);
  std::swap(capacity_, other.capacity_);
  std::swap(begin_, other.begin_);
  std::swap(end_, other.end_);
  std::swap(searched_, other.searched_);
  std::swap(line_number_, other.line_number_);
  return *this;
}

JsonlReader::~JsonlReader() {
  if (owned_) ::close(fd_);
}

bool JsonlReader::line_ready() const {
  if (at_end_) return true;
  if (end_ > begin_ && std::memchr(buffer_.get() + begin_, '\n', end_ - begin_)) return true;
  pollfd p = {fd_, POLLIN, 0};
  return ::poll(&p, 1, 0) > 0;
}

// Reads once; makes room first, keeping the padding behind end_.
Status JsonlReader::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    searched_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (capacity_ - end_ < kReadBytes + kPadding) {
    const size_t wanted = std::max(end_ * 2, end_ + kReadBytes) + kPadding;
    std::unique_ptr<char[]> bigger(new (std::nothrow) char[wanted]);
    if (!bigger)
      return fail(ErrorCode::kOutOfMemory, "{}: line {} does not fit in memory ({} bytes so far)", name_,
                  line_number_ + 1, end_);
    if (end_ > 0) std::memcpy(bigger.get(), buffer_.get(), end_);
    buffer_ = std::move(bigger);
    capacity_ = wanted;
  }
  // Waits in short steps, so that a signal between two system calls is seen too.
  pollfd ready = {fd_, POLLIN, 0};
  const int events = ::poll(&ready, 1, 200);
  if (events == 0 || (events < 0 && errno == EINTR)) return {};  // next() looks at the signal
  const ssize_t got = ::read(fd_, buffer_.get() + end_, capacity_ - end_ - kPadding);
  if (got < 0) {
    if (errno == EINTR || errno == EAGAIN) return {};
    return fail(ErrorCode::kIo, "{}: cannot read: {}", name_, std::strerror(errno));
  }
  at_end_ = got == 0;
  end_ += static_cast<size_t>(got);
  std::memset(buffer_.get() + end_, 0, kPadding);
  return {};
}

Result<std::optional<std::string_view>> JsonlReader::next() {
  for (;;) {
    if (interrupted() != 0) return fail(ErrorCode::kCancelled, "{}: stopped by a signal", name_);
    const char* start = buffer_.get() + begin_;
    const void* newline = end_ > searched_ ? std::memchr(buffer_.get() + searched_, '\n', end_ - searched_) : nullptr;
    size_t length = 0;
    if (newline) {
      length = static_cast<size_t>(static_cast<const char*>(newline) - start);
      begin_ += length + 1;
    } else if (at_end_) {
      if (begin_ == end_) return std::optional<std::string_view>();
      length = end_ - begin_;
      begin_ = end_;
    } else {
      searched_ = end_;
      DI_TRY_STATUS(fill());
      continue;
    }
    searched_ = begin_;
    ++line_number_;
    const std::string_view line(start, length);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) return std::optional(line);
  }
}

bool JsonlRecord::has(std::string_view key) const {
  simdjson::dom::element e;
  return !object_[key].get(e) && !e.is_null();
}

Result<std::string_view> JsonlRecord::string(std::string_view key) const {
  simdjson::dom::element e;
  if (object_[key].get(e)) return fail(ErrorCode::kInvalidArgument, "{}: is missing; expected a string", key);
  std::string_view value;
  if (e.get(value)) return wrong_type(key, "a string", e);
  return value;
}

Result<bool> JsonlRecord::boolean(std::string_view key, bool otherwise) const {
  simdjson::dom::element e;
  if (object_[key].get(e) || e.is_null()) return otherwise;
  bool value;
  if (e.get(value)) return wrong_type(key, "true or false", e);
  return value;
}

Result<int64_t> JsonlRecord::integer(std::string_view key, int64_t otherwise) const {
  simdjson::dom::element e;
  if (object_[key].get(e) || e.is_null()) return otherwise;
  int64_t value;
  if (!e.is_number() || e.get(value)) return wrong_type(key, "an integer", e);
  return value;
}

Result<double> JsonlRecord::number(std::string_view key, double otherwise) const {
  simdjson::dom::element e;
  if (object_[key].get(e) || e.is_null()) return otherwise;
  double value;
  if (e.get(value)) return wrong_type(key, "a number", e);
  return value;
}

Result<std::vector<int32_t>> JsonlRecord::ids(std::string_view key) const {
  simdjson::dom::element e;
  if (object_[key].get(e))
    return fail(ErrorCode::kInvalidArgument, "{}: is missing; expected an array of token ids", key);
  simdjson::dom::array array;
  if (e.get(array)) return wrong_type(key, "an array of token ids", e);
  std::vector<int32_t> out;
  out.reserve(array.size());
  for (const simdjson::dom::element item : array) {
    int64_t id;
    if (item.get(id)) return wrong_type(fmt::format("{}[{}]", key, out.size()), "an integer", item);
    if (id < std::numeric_limits<int32_t>::min() || id > std::numeric_limits<int32_t>::max())
      return fail(ErrorCode::kInvalidArgument, "{}[{}]: {} does not fit 32 bits", key, out.size(), id);
    out.push_back(static_cast<int32_t>(id));
  }
  return out;
}

Status JsonlRecord::only(std::initializer_list<std::string_view> known) const {
  for (const auto field : object_) {
    bool found = field.key == "id";
    for (const std::string_view name : known) found = found || field.key == name;
    if (found) continue;
    std::string list;
    for (const std::string_view name : known) list += fmt::format(", {}", name);
    return fail(ErrorCode::kInvalidArgument, "{}: unknown field; known are id{}", field.key, list);
  }
  return {};
}

Result<JsonlRecord> JsonlParser::parse(std::string_view line, std::string& id_json) {
  id_json = "null";
  simdjson::dom::element document;
  const auto error = parser_.parse(line.data(), line.size(), false).get(document);
  if (error == simdjson::MEMALLOC) return fail(ErrorCode::kOutOfMemory, "not enough memory for {} bytes", line.size());
  if (error) return fail(ErrorCode::kInvalidArgument, "not valid JSON: {}", simdjson::error_message(error));
  simdjson::dom::object object;
  if (document.get(object))
    return fail(ErrorCode::kInvalidArgument, "must be an object, found {}", type_name(document));
  simdjson::dom::element id;
  if (!object["id"].get(id)) id_json = simdjson::minify(id);
  return JsonlRecord(object);
}

void append_error_line(std::string& out, std::string_view id_json, const Error& error) {
  JsonWriter w;
  w.begin_object().key("id").raw(id_json).key("error").begin_object();
  w.field("code", std::string_view(error_code_name(error.code))).field("message", std::string_view(error.message));
  w.end_object().end_object();
  out += w.str();
  out += '\n';
}

Result<int> answer_jsonl(JsonlReader& reader,
                         const std::function<Status(const JsonlRecord&, JsonWriter&)>& answer_record) {
  JsonlParser parser;
  JsonWriter answer;
  std::string out, id;
  bool failed = false;
  const auto flush = [&]() -> Status {
    if (out.empty()) return {};
    DI_TRY_STATUS(write_stdout(out));
    out.clear();
    return {};
  };
  for (;;) {
    if (out.size() >= kWriteBytes || (!out.empty() && !reader.line_ready())) DI_TRY_STATUS(flush());
    Result<std::optional<std::string_view>> line = reader.next();
    if (!line) {
      DI_TRY_STATUS(flush());
      return tl::unexpected<Error>(std::move(line).error());
    }
    if (!*line) break;
    Result<JsonlRecord> record = parser.parse(**line, id);
    Status status;
    if (record) {
      answer.clear();
      answer.begin_object();
      if (id != "null") answer.key("id").raw(id);
      status = answer_record(*record, answer);
    } else {
      status = tl::unexpected<Error>(std::move(record).error());
    }
    if (status) {
      answer.end_object();
      out += answer.str();
      out += '\n';
    } else {
      Error error = status.error();
      error.message = fmt::format("line {}: {}", reader.line_number(), error.message);
      append_error_line(out, id, error);
      failed = true;
    }
  }
  DI_TRY_STATUS(flush());
  return failed ? 1 : 0;
}

}  // namespace deepinfer::cli
