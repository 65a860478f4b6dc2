// `deepinfer bench tokenizer`: speed of encode, decode and streaming decode, one thread, and of loading. Without --text
// it measures a built-in mix of English, code and Chinese, repeated with varying words so that caches are not
// flattered.
#include <algorithm>

#include "base/json_writer.h"
#include "base/mapped_file.h"
#include "base/stopwatch.h"
#include "cli/command.h"
#include "cli/default_model.h"
#include "tokenizer/stream_decoder.h"
#include "tokenizer/tokenizer.h"

namespace deepinfer::cli {
namespace {

struct Options {
  std::string text, model, tokenizer;
  bool json = false, special = false;
  double seconds = 2;
};

// Two megabytes. Words are put together from syllables by a fixed generator: new ones keep coming, as in real text.
std::string built_in_text() {
  constexpr std::string_view kSyllables[] = {"the ",  "ing ", "re",   "con", "er ", "tion ", "al ",
                                             "in ",   "of ",  "and ", "com", "un",  "ed ",   "es ",
                                             "ment ", "pro",  "st",   "a ",  "to ", "is "};
  constexpr std::string_view kCode[] = {"for (int i = 0; i < n; ++i) {\n",
                                        "  return x->value + ",
                                        "if (!ok) break;\n",
                                        "std::vector<float> ",
                                        "// see section ",
                                        "#include <cmath>\n",
                                        "}\n\n",
                                        "  sum += a[i] * b[i];\n"};
  constexpr std::string_view kHan[] = {"我们", "今天", "天气", "很好", "，",   "模型", "推理",
                                       "的",   "速度", "。",   "语言", "かな", "カタ"};
  std::string out;
  uint64_t state = 1;
  const auto draw = [&](size_t n) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<size_t>(state >> 33) % n;
  };
  while (out.size() < (size_t{2} << 20)) {
    const size_t kind = draw(3);
    for (int k = 0; k < 100; ++k) {
      if (kind == 0) out += kSyllables[draw(std::size(kSyllables))];
      if (kind == 1)
        out += draw(4) ? std::string(kCode[draw(std::size(kCode))]) : std::to_string(draw(1u << 20)) + ";\n";
      if (kind == 2) out += kHan[draw(std::size(kHan))];
    }
    out += '\n';
  }
  return out;
}

// Best of the runs that fit into `seconds`, at least three.
template <typename F>
double best_seconds(double seconds, const F& f) {
  double best = 1e300;
  const auto start = Clock::now();
  for (int run = 0; run < 3 || seconds_since(start) < seconds; ++run) {
    const auto begin = Clock::now();
    f();
    best = std::min(best, seconds_since(begin));
  }
  return best;
}

Result<int> bench(const Options& o) {
  const std::string path = !o.tokenizer.empty() ? o.tokenizer : o.model.empty() ? default_model() : o.model;
  auto start = Clock::now();
  DI_TRY(const Tokenizer tokenizer, Tokenizer::load(path));
  const double load_ms = seconds_since(start) * 1e3;
  std::string text;
  if (o.text.empty()) {
    text = built_in_text();
  } else {
    DI_TRY(const MappedFile file, MappedFile::open(o.text));
    text = file.text();
    if (text.empty())
      return fail(ErrorCode::kInvalidArgument, "{}: is empty; give a file with text to measure", o.text);
  }

  std::vector<int32_t> ids;
  const double encode_s = best_seconds(o.seconds, [&] {
    ids.clear();
    tokenizer.encode(text, o.special, ids);
  });
  std::string decoded;
  const double decode_s = best_seconds(o.seconds / 2, [&] { decoded = tokenizer.decode(ids, false); });
  const bool same = decoded == sanitize_utf8(text);
  const double stream_s = best_seconds(o.seconds / 2, [&] {
    StreamDecoder decoder(tokenizer);
    decoded.clear();
    for (const int32_t id : ids) decoder.push(id, decoded);
    decoded += decoder.finish();
  });
  if (!same || decoded != sanitize_utf8(text))
    return fail(ErrorCode::kInternal, "decoding the ids of {} does not give the text back",
                o.text.empty() ? "the built-in text" : o.text);

  const double mb = static_cast<double>(text.size()) / 1e6, tokens = static_cast<double>(ids.size());
  if (o.json) {
    JsonWriter w;
    w.begin_object().field("tokenizer", path).field("text", o.text.empty() ? std::string("built-in") : o.text);
    w.field("bytes", static_cast<uint64_t>(text.size()))
        .field("tokens", static_cast<uint64_t>(ids.size()))
        .field("threads", 1);
    w.field("load_ms", load_ms).field("encode_mb_s", mb / encode_s).field("encode_tok_s", tokens / encode_s);
    w.field("decode_mb_s", mb / decode_s).field("decode_tok_s", tokens / decode_s);
    w.field("stream_mb_s", mb / stream_s).field("stream_tok_s", tokens / stream_s).end_object();
    DI_TRY_STATUS(write_stdout(w.take() + "\n"));
    return 0;
  }
  std::string out = fmt::format("{}: loaded in {:.1f} ms; {:.2f} MB of text, {} tokens, one thread\n", path, load_ms,
                                mb, grouped(static_cast<int64_t>(ids.size())));
  const auto row = [&](const char* name, double s) {
    out += fmt::format("  {:<18}{:>9.1f} MB/s{:>9.2f} M tokens/s\n", name, mb / s, tokens / s / 1e6);
  };
  row("encode", encode_s);
  row("decode", decode_s);
  row("streaming decode", stream_s);
  DI_TRY_STATUS(write_stdout(out));
  return 0;
}

}  // namespace

void add_bench_tokenizer(CLI::App& app, CommandContext& context) {
  auto o = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("tokenizer", "encode, decode and load speed of the tokenizer, one thread");
  sub->add_option("--text", o->text, "file to measure on (default: a built-in mix of English, code and Chinese)");
  CLI::Option* model = sub->add_option("--model", o->model, "model folder (default: the bundled model)");
  sub->add_option("--tokenizer", o->tokenizer, "a tokenizer.json instead of a model folder")->excludes(model);
  sub->add_option("--seconds", o->seconds, "time to spend on each figure")->check(CLI::Range(0.0, 600.0));
  sub->add_flag("--special", o->special, "recognise added tokens too");
  sub->add_flag("--json", o->json, "one JSON object on stdout");
  sub->callback([&context, o] { context.run = [o] { return bench(*o); }; });
}

}  // namespace deepinfer::cli
