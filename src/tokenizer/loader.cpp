// Reads a tokenizer.json into Tokenizer::Tables. Everything that changes ids or text is either implemented exactly or
// refused by name; nothing is ignored in silence.
#include <simdjson.h>

#include <array>

#include "base/json_writer.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/tables.h"

namespace deepinfer {
namespace {

namespace dom = simdjson::dom;
using tokenizer::kMaxMerges;
using tokenizer::kMaxTokenId;

// The byte-level alphabet: printable Latin-1 stands for itself, the other 68 bytes for U+0100 on, in order.
struct Alphabet {
  std::array<uint16_t, 256> to_char{};
  std::array<int16_t, 0x144> to_byte{};
  Alphabet() {
    to_byte.fill(-1);
    uint16_t next = 0x100;
    for (uint16_t b = 0; b < 256; ++b) {
      const bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
      to_char[b] = printable ? b : next++;
      to_byte[to_char[b]] = static_cast<int16_t>(b);
    }
  }
  std::string spell(uint8_t byte) const {
    const uint16_t c = to_char[byte];
    if (c < 0x80) return std::string(1, static_cast<char>(c));
    return {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
  }
  // False if `raw` (valid UTF-8) has a character outside the alphabet.
  bool decode(std::string_view raw, std::string& out) const {
    out.clear();
    for (size_t i = 0; i < raw.size();) {
      unsigned c = static_cast<uint8_t>(raw[i++]);
      if (c >= 0x80) {
        if (c >= 0xE0) return false;
        c = (c & 0x1F) << 6 | (static_cast<uint8_t>(raw[i++]) & 0x3F);
      }
      if (c >= to_byte.size() || to_byte[c] < 0) return false;
      out += static_cast<char>(to_byte[c]);
    }
    return true;
  }
};

const char* type_name(dom::element e) {
  switch (e.type()) {
    case dom::element_type::ARRAY:
      return "an array";
    case dom::element_type::OBJECT:
      return "an object";
    case dom::element_type::STRING:
      return "a string";
    case dom::element_type::BOOL:
      return "a boolean";
    case dom::element_type::NULL_VALUE:
      return "null";
    default:
      return "a number";
  }
}

// Text from the file inside a message: short, quoted.
std::string in_quotes(std::string_view text) {
  std::string out;
  append_json_string(out, text.substr(0, 60));
  return out;
}

class Loader {
 public:
  Loader(std::string_view name, tokenizer::Bpe& bpe) : name_(name), bpe_(bpe) {}

  template <typename... Args>
  tl::unexpected<Error> bad(std::string_view field, fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorCode::kBadModel, "{}: {} {}", name_, field, fmt::format(format, std::forward<Args>(args)...));
  }

  // A member that must be there and of the given type.
  template <typename T>
  Result<T> need(dom::object object, std::string_view key, std::string_view field, std::string_view expected) const {
    dom::element e;
    if (object[key].get(e)) return bad(field, "is missing; expected {}", expected);
    T value;
    if (e.get(value)) return bad(field, "must be {}, found {}", expected, type_name(e));
    return value;
  }
  // A member that, if there, must be null, false, "" or 0: a feature that is off.
  Status must_be_off(dom::object object, std::string_view key, std::string_view field) const {
    dom::element e;
    if (object[key].get(e) || e.is_null()) return {};
    bool flag;
    std::string_view text;
    double number;
    if ((!e.get(flag) && !flag) || (!e.get(text) && text.empty()) || (!e.get(number) && number == 0)) return {};
    return bad(field, "is set; this engine supports byte-level BPE without it");
  }

  Status check_pipeline(dom::object root) const;
  Status read_vocab(dom::object root, dom::object model);
  Status read_added(dom::object root);
  Status read_merges(dom::object model);

  struct Added {
    std::string_view content;
    int32_t id;
    bool special, normalized;
  };
  const std::vector<std::string_view>& entries() const { return entries_; }  // by id; data() null: none
  const std::vector<Added>& added() const { return added_; }
  tokenizer::IdIndex& index() { return index_; }
  std::string_view text_of(int32_t id) const { return entries_[static_cast<size_t>(id)]; }
  const Alphabet& alphabet() const { return alphabet_; }

 private:
  Result<int32_t> check_id(int64_t id, std::string_view field, std::string_view text) const;
  Status check_split(dom::element step, std::string_view field, std::string_view pattern) const;
  Result<int32_t> merge_part(std::string_view text, size_t rank, const char* what) const;

  std::string_view name_;
  tokenizer::Bpe& bpe_;
  Alphabet alphabet_;
  std::vector<std::string_view> entries_;
  std::vector<Added> added_;
  tokenizer::IdIndex index_;
};

Status Loader::check_split(dom::element step, std::string_view field, std::string_view pattern) const {
  dom::object object;
  if (step.get(object)) return bad(field, "must be an object, found {}", type_name(step));
  DI_TRY(const std::string_view type,
         need<std::string_view>(object, "type", fmt::format("{}.type", field), "a string"));
  if (type != "Split") return bad(field, "has type {}; expected \"Split\"", in_quotes(type));
  std::string_view regex, behavior;
  if (object["pattern"]["Regex"].get(regex)) return bad(field, "has no pattern.Regex");
  if (regex != pattern)
    return bad(field, "has the regex {}, which this engine does not implement; expected that of DeepSeek-V4.1",
               in_quotes(regex));
  if (object["behavior"].get(behavior) || behavior != "Isolated") return bad(field, "must have behavior \"Isolated\"");
  return must_be_off(object, "invert", fmt::format("{}.invert", field));
}

Status Loader::check_pipeline(dom::object root) const {
  DI_TRY_STATUS(must_be_off(root, "truncation", "truncation"));
  DI_TRY_STATUS(must_be_off(root, "padding", "padding"));
  dom::element e;
  if (!root["normalizer"].get(e) && !e.is_null()) {
    dom::array list;
    std::string_view type;
    if (e["type"].get(type) || type != "Sequence" || e["normalizers"].get(list) || list.size() != 0)
      return bad("normalizer", "is not empty; this engine encodes text as it is");
  }
  DI_TRY(const dom::object pre, need<dom::object>(root, "pre_tokenizer", "pre_tokenizer", "an object"));
  DI_TRY(const std::string_view type, need<std::string_view>(pre, "type", "pre_tokenizer.type", "a string"));
  if (type != "Sequence") return bad("pre_tokenizer.type", "is {}; expected \"Sequence\"", in_quotes(type));
  DI_TRY(const dom::array steps, need<dom::array>(pre, "pretokenizers", "pre_tokenizer.pretokenizers", "an array"));
  if (steps.size() != 4)
    return bad("pre_tokenizer.pretokenizers", "has {} steps; expected three Split and one ByteLevel", steps.size());
  constexpr std::string_view kPatterns[] = {tokenizer::kNumberPattern, tokenizer::kHanPattern, tokenizer::kWordPattern};
  size_t k = 0;
  for (const dom::element step : steps) {
    const std::string field = fmt::format("pre_tokenizer.pretokenizers[{}]", k);
    if (k < 3) {
      DI_TRY_STATUS(check_split(step, field, kPatterns[k]));
    } else {
      std::string_view kind;
      bool prefix_space = true, use_regex = true;
      dom::object object;
      if (step["type"].get(kind) || kind != "ByteLevel" || step.get(object))
        return bad(field, "must have type \"ByteLevel\"");
      if (object["add_prefix_space"].get(prefix_space) || prefix_space || object["use_regex"].get(use_regex) ||
          use_regex)
        return bad(field, "must have add_prefix_space false and use_regex false");
    }
    ++k;
  }
  std::string_view kind;
  if (!root["post_processor"].get(e) && !e.is_null() && (e["type"].get(kind) || kind != "ByteLevel"))
    return bad("post_processor", "must be null or of type \"ByteLevel\"; one that adds tokens is not supported");
  DI_TRY(const dom::object decoder, need<dom::object>(root, "decoder", "decoder", "an object"));
  DI_TRY(const std::string_view decoder_type, need<std::string_view>(decoder, "type", "decoder.type", "a string"));
  if (decoder_type != "ByteLevel") return bad("decoder.type", "is {}; expected \"ByteLevel\"", in_quotes(decoder_type));
  return {};
}

Result<int32_t> Loader::check_id(int64_t id, std::string_view field, std::string_view text) const {
  if (id < 0 || id > kMaxTokenId)
    return bad(field, "gives {} the id {}; expected 0 to {}", in_quotes(text), id, kMaxTokenId);
  if (static_cast<size_t>(id) < entries_.size() && entries_[static_cast<size_t>(id)].data() != nullptr)
    return bad(field, "gives the id {} to both {} and {}", id, in_quotes(entries_[static_cast<size_t>(id)]),
               in_quotes(text));
  return static_cast<int32_t>(id);
}

Status Loader::read_vocab(dom::object root, dom::object model) {
  DI_TRY(const std::string_view type, need<std::string_view>(model, "type", "model.type", "a string"));
  if (type != "BPE") return bad("model.type", "is {}; expected \"BPE\"", in_quotes(type));
  constexpr std::pair<const char*, const char*> kOff[] = {
      {"dropout", "model.dropout"},
      {"unk_token", "model.unk_token"},
      {"byte_fallback", "model.byte_fallback"},
      {"continuing_subword_prefix", "model.continuing_subword_prefix"},
      {"end_of_word_suffix", "model.end_of_word_suffix"},
      {"ignore_merges", "model.ignore_merges"}};
  for (const auto& [key, field] : kOff) DI_TRY_STATUS(must_be_off(model, key, field));
  DI_TRY(const dom::object vocab, need<dom::object>(model, "vocab", "model.vocab", "an object of entry: id"));
  std::vector<std::pair<std::string_view, int64_t>> list;
  list.reserve(vocab.size());
  int64_t last = -1;
  for (const dom::key_value_pair field : vocab) {
    int64_t id;
    if (field.value.get(id))
      return bad("model.vocab", "entry {} must be an integer id, found {}", in_quotes(field.key),
                 type_name(field.value));
    if (id >= 0 && id <= kMaxTokenId) last = std::max(last, id);
    list.emplace_back(field.key, id);
  }
  entries_.assign(static_cast<size_t>(last + 1), {});
  dom::array added;
  index_.reserve(list.size() + (root["added_tokens"].get(added) ? 0 : added.size()));
  for (const auto& [text, raw_id] : list) {
    DI_TRY(const int32_t id, check_id(raw_id, "model.vocab", text));
    entries_[static_cast<size_t>(id)] = text;
    if (index_.insert(text, id, [&](int32_t i) { return text_of(i); }) >= 0)
      return bad("model.vocab", "has the entry {} twice", in_quotes(text));
  }
  for (int b = 0; b < 256; ++b) {
    const std::string letter = alphabet_.spell(static_cast<uint8_t>(b));
    const int32_t id = index_.find(letter, [&](int32_t i) { return text_of(i); });
    if (id < 0)
      return bad("model.vocab", "has no entry {} for the byte 0x{:02x}; byte-level BPE needs all 256",
                 in_quotes(letter), b);
    bpe_.set_byte_token(static_cast<uint8_t>(b), id);
  }
  return {};
}

Result<int32_t> Loader::merge_part(std::string_view text, size_t rank, const char* what) const {
  const int32_t id = index_.find(text, [&](int32_t i) { return text_of(i); });
  if (id < 0) return bad(fmt::format("model.merges[{}]", rank), "{} {} is not in model.vocab", what, in_quotes(text));
  return id;
}

Status Loader::read_merges(dom::object model) {
  DI_TRY(const dom::array merges, need<dom::array>(model, "merges", "model.merges", "an array of \"left right\""));
  // size() of the DOM saturates at 2^24 - 1.
  if (merges.size() > kMaxMerges) return bad("model.merges", "has more than {} merges", kMaxMerges);
  bpe_.reserve(merges.size());
  std::string joined;
  size_t rank = 0;
  for (const dom::element merge : merges) {
    std::string_view both, left, right;
    dom::array pair;
    if (!merge.get(both)) {
      const size_t space = both.find(' ');
      if (space == std::string_view::npos || both.find(' ', space + 1) != std::string_view::npos)
        return bad(fmt::format("model.merges[{}]", rank), "is {}; expected two entries with one space between",
                   in_quotes(both));
      left = both.substr(0, space);
      right = both.substr(space + 1);
    } else if (merge.get(pair) || pair.size() != 2 || pair.at(0).get(left) || pair.at(1).get(right)) {
      return bad(fmt::format("model.merges[{}]", rank), "must be a string or an array of two strings");
    }
    joined.assign(left);
    joined += right;
    DI_TRY(const int32_t left_id, merge_part(left, rank, "left part"));
    DI_TRY(const int32_t right_id, merge_part(right, rank, "right part"));
    DI_TRY(const int32_t merged_id, merge_part(joined, rank, "result"));
    bpe_.add_merge(left_id, right_id, merged_id);
    ++rank;
  }
  bpe_.finish();
  return {};
}

Status Loader::read_added(dom::object root) {
  dom::element e;
  if (root["added_tokens"].get(e) || e.is_null()) return {};
  dom::array list;
  if (e.get(list)) return bad("added_tokens", "must be an array, found {}", type_name(e));
  size_t k = 0;
  for (const dom::element item : list) {
    const std::string field = fmt::format("added_tokens[{}]", k++);
    dom::object object;
    if (item.get(object)) return bad(field, "must be an object, found {}", type_name(item));
    DI_TRY(const std::string_view content, need<std::string_view>(object, "content", field + ".content", "a string"));
    DI_TRY(const int64_t raw_id, need<int64_t>(object, "id", field + ".id", "an integer"));
    for (const char* key : {"single_word", "lstrip", "rstrip"})
      DI_TRY_STATUS(must_be_off(object, key, fmt::format("{}.{}", field, key)));
    bool special = false, normalized = true;
    if (!object["special"].get(e) && e.get(special))
      return bad(field + ".special", "must be a boolean, found {}", type_name(e));
    if (!object["normalized"].get(e)) {
      if (e.get(normalized)) return bad(field + ".normalized", "must be a boolean, found {}", type_name(e));
    } else {
      normalized = !special;  // the reference's default
    }
    if (content.empty()) return bad(field + ".content", "is empty");
    int32_t id = index_.find(content, [&](int32_t i) { return text_of(i); });
    if (id >= 0) {
      if (id != raw_id)
        return bad(field, "gives {} the id {}, but it already has the id {}", in_quotes(content), raw_id, id);
    } else {
      DI_TRY(const int32_t fresh, check_id(raw_id, field, content));
      id = fresh;
      if (static_cast<size_t>(id) >= entries_.size()) entries_.resize(static_cast<size_t>(id) + 1);
      entries_[static_cast<size_t>(id)] = content;
      index_.insert(content, id, [&](int32_t i) { return text_of(i); });
    }
    added_.push_back({content, id, special, normalized});
  }
  return {};
}

}  // namespace

Status Tokenizer::Tables::fill(std::string_view json, std::string_view name) {
  dom::parser parser;
  dom::element document;
  const auto error = parser.parse(json.data(), json.size(), true).get(document);
  if (error == simdjson::MEMALLOC)
    return fail(ErrorCode::kOutOfMemory, "{}: not enough memory to read {} bytes", name, json.size());
  if (error)
    return fail(ErrorCode::kBadModel, "{}: is not valid JSON ({}); the file is cut or damaged, fetch it again", name,
                simdjson::error_message(error));
  dom::object root;
  if (document.get(root))
    return fail(ErrorCode::kBadModel, "{}: must be an object, found {}", name, type_name(document));

  Loader loader(name, bpe);
  DI_TRY(const dom::object model, loader.need<dom::object>(root, "model", "model", "an object"));
  DI_TRY_STATUS(loader.read_vocab(root, model));
  DI_TRY_STATUS(loader.read_merges(model));
  DI_TRY_STATUS(loader.read_added(root));
  DI_TRY_STATUS(loader.check_pipeline(root));

  const auto& entries = loader.entries();
  flags.assign(entries.size(), 0);
  for (const auto& token : loader.added()) {
    flags[static_cast<size_t>(token.id)] |= tokenizer::kAdded | (token.special ? tokenizer::kSpecial : 0);
    (token.normalized ? second_pass : first_pass).add(token.content, token.id);
  }
  size_t total = 0;
  for (const std::string_view text : entries) total += text.size();
  for (tokenizer::StringTable* table : {&raw, &bytes}) {
    table->bytes.reserve(total);
    table->begin.reserve(entries.size() + 1);
  }
  std::string decoded;
  bpe.start_entries(entries.size());
  for (size_t id = 0; id < entries.size(); ++id) {
    const std::string_view text = entries[id];
    if (text.data() != nullptr) flags[id] |= tokenizer::kKnown;
    raw.push(text);
    const bool in_alphabet = loader.alphabet().decode(text, decoded);
    if (in_alphabet) bpe.add_entry(decoded);
    // An added token stands for its literal; so does an entry outside the byte alphabet, as in the reference.
    bytes.push(in_alphabet && !(flags[id] & tokenizer::kAdded) ? std::string_view(decoded) : text);
  }
  by_raw = std::move(loader.index());
  const auto literal = [&](std::string_view text) {
    const int32_t id = by_raw.find(text, [&](int32_t i) { return raw_of(i); });
    return id >= 0 && (flags[static_cast<size_t>(id)] & tokenizer::kAdded) ? id : -1;
  };
  bos = literal(kBosLiteral);
  eos = literal(kEosLiteral);
  pad = literal(kPadLiteral);
  return {};
}

}  // namespace deepinfer
