// Byte-level BPE tokenizer of a Hugging Face tokenizer.json: text to token ids and back, byte for byte as the reference
// (spec/chat.md section 8). The pre-tokenizer is our own table-driven matcher (pretokenizer.h), merging is bpe.h, added
// tokens such as <think> are found by added_tokens.h, text that arrives token by token goes through stream_decoder.h.
//
// A Tokenizer is immutable after loading: every const function may be called from any thread at the same time. Views it
// returns live as long as the object. Move only.
//
//   DI_TRY(const Tokenizer tokenizer, Tokenizer::load("models/v41-small"));
//   std::vector<int32_t> ids;
//   tokenizer.encode("Hello", /*special=*/false, ids);
//   std::string text = tokenizer.decode(ids, /*skip_special=*/true);
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace deepinfer {

// Literals of the tokens every checkpoint has; the ids differ between the official and the small vocabulary.
inline constexpr std::string_view kBosLiteral = "<｜begin▁of▁sentence｜>";
inline constexpr std::string_view kEosLiteral = "<｜end▁of▁sentence｜>";
inline constexpr std::string_view kPadLiteral = "<｜▁pad▁｜>";

class Tokenizer {
 public:
  // Reads a tokenizer.json, or the one inside a folder. Errors name the file and the field: kNotFound (no such file),
  // kIo, kBadModel (cut, wrong types, ids out of range, merges of unknown tokens, a pre-tokenizer or decoder we do not
  // implement exactly).
  static Result<Tokenizer> load(const std::string& file_or_folder);
  // The same from memory; `name` stands for the file in messages.
  static Result<Tokenizer> parse(std::string_view json, std::string_view name);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Appends the ids of `text` to `out`; adds no BOS. special: recognise the added tokens' literals (all of them,
  // flagged special or not); false: every literal is ordinary text, which is how user text must be encoded. Bytes that
  // are not valid UTF-8 are kept (each counts as a character of no class), so token_bytes of the ids always joins to
  // `text`. Time grows at most with n log n, whatever the text.
  void encode(std::string_view text, bool special, std::vector<int32_t>& out) const;
  std::vector<int32_t> encode(std::string_view text, bool special) const;

  // The text of `ids`: their bytes joined, each maximal invalid UTF-8 part replaced by U+FFFD. Unknown ids are left
  // out, with skip_special also the tokens flagged special.
  std::string decode(std::span<const int32_t> ids, bool skip_special) const;
  // The same without making it valid UTF-8.
  void append_bytes(std::span<const int32_t> ids, bool skip_special, std::string& out) const;

  // Bytes of one token (an added token: its literal; an unknown id: empty).
  std::string_view token_bytes(int32_t id) const;
  // The entry as tokenizer.json spells it: bytes as the byte-level alphabet's printable characters, e.g. "Ġthe".
  std::string_view raw_token(int32_t id) const;
  // Flagged special: left out by skip_special. Some added tokens (<think>, <｜User｜>) are not.
  bool is_special(int32_t id) const;
  // In the added vocabulary, special or not.
  bool is_added(int32_t id) const;
  // One more than the largest id.
  int32_t vocab_size() const;
  // Id of an added token by its literal.
  std::optional<int32_t> find_special(std::string_view literal) const;
  // Id of an entry by its spelling in tokenizer.json (vocabulary, then added tokens).
  std::optional<int32_t> find_raw(std::string_view raw) const;

  // Ids of the literals above; -1 if the tokenizer has none.
  int32_t bos_id() const;
  int32_t eos_id() const;
  int32_t pad_id() const;

 private:
  struct Tables;
  explicit Tokenizer(std::unique_ptr<Tables> tables);
  std::unique_ptr<Tables> tables_;
};

}  // namespace deepinfer
