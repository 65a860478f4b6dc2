// `deepinfer batch IN OUT`: offline inference, JSON lines in and out, answers in input order.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <unordered_set>

#include "base/interrupt.h"
#include "base/progress.h"
#include "cli/engine_options.h"
#include "cli/jsonl.h"

namespace deepinfer::cli {
namespace {

struct Options {
  EngineFlags engine;
  std::string in = "-", out = "-";
  bool resume = false;
};

// Where answers go: stdout or a file that grows line by line, so that what is there is always whole.
class Sink {
 public:
  static Result<Sink> open(const std::string& path, bool resume, std::unordered_set<std::string>& done) {
    Sink s;
    s.path_ = path;
    if (path == "-") {
      s.fd_ = STDOUT_FILENO;
      return s;
    }
    off_t keep = 0;
    if (resume) {
      DI_TRY(keep, read_answers(path, done));
    }
    s.fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (s.fd_ < 0) return fail(ErrorCode::kIo, "{}: cannot write: {}", path, std::strerror(errno));
    s.owned_ = true;
    struct stat st = {};
    const bool regular = fstat(s.fd_, &st) == 0 && S_ISREG(st.st_mode);
    if (regular && (ftruncate(s.fd_, keep) != 0 || lseek(s.fd_, keep, SEEK_SET) < 0))
      return fail(ErrorCode::kIo, "{}: cannot write: {}", path, std::strerror(errno));
    return s;
  }
  Sink() = default;
  Sink(Sink&& o) noexcept : path_(std::move(o.path_)), fd_(o.fd_), owned_(std::exchange(o.owned_, false)) {}
  Sink& operator=(Sink&& o) noexcept {
    std::swap(path_, o.path_);
    std::swap(fd_, o.fd_);
    std::swap(owned_, o.owned_);
    return *this;
  }
  ~Sink() {
    if (owned_) close(fd_);
  }

  Status write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = ::write(fd_, text.data(), text.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0)
        return fail(ErrorCode::kIo, "{}: cannot write: {}", path_ == "-" ? "stdout" : path_, std::strerror(errno));
      text.remove_prefix(static_cast<size_t>(n));
    }
    return {};
  }

 private:
  // Ids of the whole lines of an earlier run; returns where the last whole line ends (a torn line is cut off).
  static Result<off_t> read_answers(const std::string& path, std::unordered_set<std::string>& done) {
    struct stat st = {};
    if (stat(path.c_str(), &st) != 0) return off_t{0};
    DI_TRY(MappedFile file, MappedFile::open(path));
    const std::string_view all = file.text();
    const size_t last = all.rfind('\n');
    const size_t whole = last == std::string_view::npos ? 0 : last + 1;
    JsonlParser parser;
    for (size_t at = 0; at < whole;) {
      const size_t end = all.find('\n', at);
      std::string line(all.substr(at, end - at));
      line.reserve(line.size() + simdjson::SIMDJSON_PADDING);
      std::string id;
      auto record = parser.parse(line, id);
      if (!record)
        return fail(ErrorCode::kBadModel,
                    "{}: not an answer file of an earlier run ({}); name another OUT or drop --resume", path,
                    record.error().message);
      if (id != "null") done.insert(id);
      at = end + 1;
    }
    return static_cast<off_t>(whole);
  }

  std::string path_;
  int fd_ = -1;
  bool owned_ = false;
};

void append_output(JsonWriter& w, const Output& o, bool with_logprobs) {
  w.key("choices").begin_array();
  for (const Choice& c : o.choices) {
    w.begin_object()
        .field("index", c.index)
        .field("text", c.text)
        .key("ids")
        .array(c.ids)
        .field("finish_reason", c.finish_reason)
        .key("stop_reason");
    if (const auto* text = std::get_if<std::string>(&c.stop_reason))
      w.value(std::string_view(*text));
    else if (const auto* id = std::get_if<int32_t>(&c.stop_reason))
      w.value(*id);
    else
      w.null();
    if (with_logprobs) {
      w.key("logprobs").begin_array();
      for (const TokenLogprob& t : c.logprobs) {
        w.begin_object().field("id", t.id).field("logprob", t.logprob).key("top").begin_array();
        for (auto [id, logprob] : t.top) w.begin_array().value(id).value(logprob).end_array();
        w.end_array().end_object();
      }
      w.end_array();
    }
    w.end_object();
  }
  w.end_array();
  const Usage& u = o.usage;
  w.key("usage").begin_object();
  w.field("prompt_tokens", u.prompt_tokens)
      .field("completion_tokens", u.completion_tokens)
      .field("cached_tokens", u.cached_tokens);
  w.field("drafted_tokens", u.drafted_tokens)
      .field("accepted_tokens", u.accepted_tokens)
      .field("replay", "exact")
      .end_object();
  if (!o.warning.empty()) w.field("warning", o.warning);
}

Result<int> batch(const Options& o) {
  DI_TRY(EngineOptions options, engine_options(o.engine));
  if (o.resume && o.out == "-") return fail(ErrorCode::kInvalidArgument, "--resume needs OUT to be a file");
  if (o.in != "-" && o.out != "-" && same_file(o.in, o.out))
    return fail(ErrorCode::kInvalidArgument, "IN {} and OUT {} are the same file; name another OUT", o.in, o.out);
  install_interrupt_handler();
  DI_TRY(JsonlReader reader, JsonlReader::open(o.in));
  DI_TRY(std::unique_ptr<Engine> engine, Engine::create(options));
  std::unordered_set<std::string> done;
  DI_TRY(Sink sink, Sink::open(o.out, o.resume, done));

  struct stat st = {};
  const int64_t total = o.in != "-" && stat(o.in.c_str(), &st) == 0 ? st.st_size : 0;
  ProgressBar progress("batch", total, "bytes", total > 0);
  JsonlParser parser;
  JsonWriter writer;
  std::string id, line;
  bool failed = false;
  int64_t read_bytes = 0;
  while (!interrupted()) {
    auto next = reader.next();
    if (!next && next.error().code == ErrorCode::kCancelled) break;
    DI_TRY(const std::optional<std::string_view> text, std::move(next));
    if (!text) break;
    read_bytes += static_cast<int64_t>(text->size()) + 1;
    const auto answer = [&]() -> Result<std::string> {
      DI_TRY(const JsonlRecord record, parser.parse(*text, id));
      if (done.count(id)) return std::string();
      DI_TRY(const Request request, parse_request(record.object(), engine->config().vocab_size));
      DI_TRY(const Output output, engine->generate(request, {}, [] { return interrupted() != 0; }));
      writer.clear();
      writer.begin_object().key("id").raw(id);
      append_output(writer, output, request.sampling.logprobs >= 0);
      writer.end_object();
      return writer.str() + "\n";
    }();
    if (answer) {
      line = *answer;
    } else {
      if (answer.error().code == ErrorCode::kCancelled) break;
      line.clear();
      append_error_line(line, id, answer.error());
      failed = true;
    }
    DI_TRY_STATUS(sink.write(line));
    progress.set(read_bytes);
  }
  progress.finish();
  if (interrupted()) return 128 + interrupted();
  return failed ? 1 : 0;
}

}  // namespace

void add_batch(CLI::App& app, CommandContext& context) {
  auto o = std::make_shared<Options>();
  CLI::App* sub =
      app.add_subcommand("batch", "offline inference: JSON lines of requests to JSON lines of answers, in order");
  sub->add_option("IN", o->in, "JSONL of requests; -: standard input")->required();
  sub->add_option("OUT", o->out, "JSONL of answers; -: stdout")->required();
  sub->add_flag("--resume", o->resume, "skip requests whose id is already in OUT");
  add_engine_options(*sub, o->engine);
  sub->callback([&context, o] { context.run = [o] { return batch(*o); }; });
}

}  // namespace deepinfer::cli
