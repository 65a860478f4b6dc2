// `deepinfer score`: log-probabilities of given tokens, and optionally all logits.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <unordered_set>

#include "base/interrupt.h"
#include "cli/engine_options.h"
#include "cli/jsonl.h"

namespace deepinfer::cli {
namespace {

struct Options {
  EngineFlags engine;
  std::string input, logits;
};

// Logits of all requests as one safetensors file. The header comes first but is known last, so the data goes to
// FILE.part behind a gap and the file is put together at the end; FILE appears only whole.
class LogitsFile {
 public:
  static Result<std::unique_ptr<LogitsFile>> create(const std::string& path, int64_t vocab) {
    auto f = std::unique_ptr<LogitsFile>(new LogitsFile());
    f->path_ = path;
    f->part_ = path + ".part";
    f->vocab_ = vocab;
    f->fd_ = ::open(f->part_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (f->fd_ < 0) return fail(ErrorCode::kIo, "{}: cannot write: {}", f->part_, std::strerror(errno));
    return f;
  }
  ~LogitsFile() {
    if (fd_ >= 0) {
      close(fd_);
      unlink(part_.c_str());
    }
  }

  // Rows of one request follow. False: the name was used before.
  bool begin(const std::string& name) {
    if (!names_.insert(name).second) return false;
    size_ = tensors_.empty() ? 0 : tensors_.back().end;
    tensors_.push_back({name, 0, size_, size_});
    return true;
  }
  Status append(std::span<const float> logits) {
    const char* p = reinterpret_cast<const char*>(logits.data());
    size_t left = logits.size_bytes();
    while (left > 0) {
      const ssize_t n = pwrite(fd_, p, left, kGap + size_);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return fail(ErrorCode::kIo, "{}: cannot write: {}", part_, std::strerror(n < 0 ? errno : ENOSPC));
      p += n;
      left -= static_cast<size_t>(n);
      size_ += n;
    }
    tensors_.back().rows += static_cast<int64_t>(logits.size()) / vocab_;
    tensors_.back().end = size_;
    return {};
  }
  void drop() {
    names_.erase(tensors_.back().name);
    tensors_.pop_back();
  }

  Status finish() {
    JsonWriter w;
    w.begin_object();
    for (const Tensor& t : tensors_) {
      w.key(t.name + ".logits")
          .begin_object()
          .field("dtype", "F32")
          .key("shape")
          .begin_array()
          .value(t.rows)
          .value(vocab_)
          .end_array();
      w.key("data_offsets").begin_array().value(t.begin).value(t.end).end_array().end_object();
    }
    w.end_object();
    std::string header = w.take();
    const int64_t data = tensors_.empty() ? 0 : tensors_.back().end;
    // The header is padded with spaces to fill the gap; a longer one moves the data.
    int64_t gap = kGap;
    if (8 + static_cast<int64_t>(header.size()) > gap) {
      gap = (8 + static_cast<int64_t>(header.size()) + 63) / 64 * 64;
      DI_TRY_STATUS(move_data(data, gap));
    }
    header.resize(static_cast<size_t>(gap - 8), ' ');
    const uint64_t length = header.size();
    header.insert(0, reinterpret_cast<const char*>(&length), 8);
    if (pwrite(fd_, header.data(), header.size(), 0) != static_cast<ssize_t>(header.size()) ||
        ftruncate(fd_, gap + data) != 0)
      return fail(ErrorCode::kIo, "{}: cannot write: {}", part_, std::strerror(errno));
    if (close(std::exchange(fd_, -1)) != 0 || rename(part_.c_str(), path_.c_str()) != 0)
      return fail(ErrorCode::kIo, "{}: cannot write: {}", path_, std::strerror(errno));
    return {};
  }

 private:
  static constexpr int64_t kGap = 4096;
  struct Tensor {
    std::string name;
    int64_t rows, begin, end;
  };
  Status move_data(int64_t bytes, int64_t to) {
    std::string buffer(1 << 20, '\0');
    for (int64_t left = bytes; left > 0;) {  // from the end, so that nothing is overwritten before it is read
      const int64_t n = std::min<int64_t>(left, static_cast<int64_t>(buffer.size()));
      if (pread(fd_, buffer.data(), static_cast<size_t>(n), kGap + left - n) != n ||
          pwrite(fd_, buffer.data(), static_cast<size_t>(n), to + left - n) != n)
        return fail(ErrorCode::kIo, "{}: cannot write: {}", part_, std::strerror(errno));
      left -= n;
    }
    return {};
  }

  std::string path_, part_;
  int fd_ = -1;
  int64_t vocab_ = 0, size_ = 0;
  std::vector<Tensor> tensors_;
  std::unordered_set<std::string> names_;  // of tensors_
};

Result<int> score(const Options& o) {
  DI_TRY(EngineOptions options, engine_options(o.engine));
  install_interrupt_handler();
  if (!o.logits.empty() && same_file(o.input, o.logits))
    return fail(ErrorCode::kInvalidArgument, "IN and --logits are the same file {}; name another one", o.logits);
  DI_TRY(JsonlReader reader, JsonlReader::open(o.input));
  DI_TRY(std::unique_ptr<Engine> engine, Engine::create(options));
  std::unique_ptr<LogitsFile> file;
  if (!o.logits.empty()) {
    DI_TRY(file, LogitsFile::create(o.logits, engine->config().vocab_size));
  }
  Status io;  // a full disk ends the work, it is no fault of a line
  int64_t line = 0;
  auto result = answer_jsonl(reader, [&](const JsonlRecord& record, JsonWriter& answer) -> Status {
    DI_TRY_STATUS(io);
    ++line;
    DI_TRY_STATUS(record.only({"ids", "text"}));
    if (record.has("ids") == record.has("text"))
      return fail(ErrorCode::kInvalidArgument, "expected exactly one of ids and text");
    std::vector<int32_t> ids;
    if (record.has("ids")) {
      DI_TRY(ids, record.ids("ids"));
    } else {
      DI_TRY(const std::string_view text, record.string("text"));
      DI_TRY(ids, engine->encode_prompt(text));
    }
    std::vector<float> rows;
    if (file) {
      std::string name;
      if (record.has("id")) {
        simdjson::dom::element id;
        std::string_view text;
        if (!record.object()["id"].get(id))
          name = id.get_string().get(text) ? std::string(simdjson::minify(id)) : std::string(text);
      } else {
        name = std::to_string(line);
      }
      if (!file->begin(name))
        return fail(ErrorCode::kInvalidArgument, "id {} came before; in --logits every id names one tensor", name);
    }
    auto scores = engine->score(
        ids,
        [&](std::span<const float> logits) -> Status {
          if (!file) return {};
          io = file->append(logits);
          return io;
        },
        [] { return interrupted() != 0; });
    if (!scores) {
      if (file) file->drop();
      if (interrupted()) io = fail(ErrorCode::kCancelled, "cancelled");
      return tl::unexpected<Error>(scores.error());
    }
    double nll = 0;
    answer.key("ids").array(ids).key("logprobs").begin_array().null();
    for (size_t i = 0; i + 1 < scores->size(); ++i) {
      answer.value((*scores)[i].next_logprob);
      nll -= static_cast<double>((*scores)[i].next_logprob);
    }
    answer.end_array().key("argmax").begin_array();
    for (const Score& s : *scores) answer.value(s.argmax);
    answer.end_array().field("nll", nll);
    return {};
  });
  if (interrupted()) return 128 + interrupted();
  DI_TRY_STATUS(io);
  DI_TRY(const int code, std::move(result));
  if (file) DI_TRY_STATUS(file->finish());
  return code;
}

}  // namespace

void add_score(CLI::App& app, CommandContext& context) {
  auto o = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand(
      "score",
      "log-probabilities of given tokens: {\"ids\"} or {\"text\"} to {\"logprobs\",\"argmax\",\"nll\"}, line by line");
  sub->add_option("INPUT", o->input, "JSONL file, - or nothing: standard input");
  sub->add_option("--logits", o->logits,
                  "also write all logits to this safetensors file, <id>.logits F32 [tokens, vocab]");
  add_engine_options(*sub, o->engine);
  sub->callback([&context, o] { context.run = [o] { return score(*o); }; });
}

}  // namespace deepinfer::cli
