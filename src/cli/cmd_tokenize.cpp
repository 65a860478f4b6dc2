// `deepinfer tokenize` and `deepinfer detokenize`: JSON lines of texts to token ids and back (cli.md). They need only a
// tokenizer.json, no weights. detokenize --stream answers what a streaming client would have received, token by token.
#include "base/interrupt.h"
#include "cli/command.h"
#include "cli/default_model.h"
#include "cli/jsonl.h"
#include "tokenizer/stream_decoder.h"
#include "tokenizer/tokenizer.h"

namespace deepinfer::cli {
namespace {

struct Options {
  std::string input, model, tokenizer;
  bool stream = false;
};

Result<Tokenizer> load(const Options& o) {
  if (!o.tokenizer.empty()) return Tokenizer::load(o.tokenizer);
  return Tokenizer::load(o.model.empty() ? default_model() : o.model);
}

Result<int> tokenize(const Options& o) {
  install_interrupt_handler();
  DI_TRY(const Tokenizer tokenizer, load(o));
  DI_TRY(JsonlReader reader, JsonlReader::open(o.input));
  std::vector<int32_t> ids;
  return answer_jsonl(reader, [&](const JsonlRecord& record, JsonWriter& answer) -> Status {
    DI_TRY_STATUS(record.only({"text", "special"}));
    DI_TRY(const std::string_view text, record.string("text"));
    DI_TRY(const bool special, record.boolean("special", true));
    ids.clear();
    tokenizer.encode(text, special, ids);
    answer.key("ids").array(ids);
    return {};
  });
}

Result<int> detokenize(const Options& o) {
  install_interrupt_handler();
  DI_TRY(const Tokenizer tokenizer, load(o));
  DI_TRY(JsonlReader reader, JsonlReader::open(o.input));
  return answer_jsonl(reader, [&](const JsonlRecord& record, JsonWriter& answer) -> Status {
    DI_TRY_STATUS(record.only({"ids", "skip_special"}));
    DI_TRY(const std::vector<int32_t> ids, record.ids("ids"));
    DI_TRY(const bool skip_special, record.boolean("skip_special", false));
    if (!o.stream) {
      answer.field("text", tokenizer.decode(ids, skip_special));
      return {};
    }
    StreamDecoder decoder(tokenizer, skip_special);
    answer.key("pieces").begin_array();
    for (const int32_t id : ids) answer.value(std::string_view(decoder.push(id)));
    answer.end_array().field("tail", decoder.finish());
    return {};
  });
}

CLI::App* declare(CLI::App& app, const char* name, const char* what, Options& o) {
  CLI::App* sub = app.add_subcommand(name, what);
  sub->add_option("INPUT", o.input, "JSONL file, - or nothing: standard input");
  CLI::Option* model = sub->add_option("--model", o.model, "model folder (default: the bundled model)");
  sub->add_option("--tokenizer", o.tokenizer, "a tokenizer.json instead of a model folder")->excludes(model);
  return sub;
}

}  // namespace

void add_tokenize(CLI::App& app, CommandContext& context) {
  auto o = std::make_shared<Options>();
  CLI::App* sub =
      declare(app, "tokenize", "texts to token ids: {\"text\",\"special\":true} to {\"ids\"}, line by line", *o);
  sub->callback([&context, o] { context.run = [o] { return tokenize(*o); }; });
}

void add_detokenize(CLI::App& app, CommandContext& context) {
  auto o = std::make_shared<Options>();
  CLI::App* sub =
      declare(app, "detokenize", "token ids to text: {\"ids\",\"skip_special\":false} to {\"text\"}, line by line", *o);
  sub->add_flag("--stream", o->stream,
                "answer {\"pieces\",\"tail\"}: what a stream sends after each token, and at its end");
  sub->callback([&context, o] { context.run = [o] { return detokenize(*o); }; });
}

}  // namespace deepinfer::cli
