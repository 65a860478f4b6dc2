#include "tokenizer/tokenizer.h"

#include <simdjson.h>
#include <sys/stat.h>

#include "base/json_writer.h"
#include "base/mapped_file.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/tables.h"

namespace deepinfer {

using tokenizer::BpeScratch;

Tokenizer::Tokenizer(std::unique_ptr<Tables> tables) : tables_(std::move(tables)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::load(const std::string& file_or_folder) {
  struct stat st = {};
  const bool is_folder = stat(file_or_folder.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
  const std::string path = is_folder ? file_or_folder + "/tokenizer.json" : file_or_folder;
  DI_TRY(const MappedFile file, MappedFile::open(path));
  return parse(file.text(), path);
}

Result<Tokenizer> Tokenizer::parse(std::string_view json, std::string_view name) {
  auto tables = std::make_unique<Tables>();
  DI_TRY_STATUS(tables->fill(json, name));
  return Tokenizer(std::move(tables));
}

void Tokenizer::Tables::encode_plain(std::string_view text, BpeScratch& scratch, std::vector<int32_t>& out) const {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = tokenizer::pretoken_end(text, begin);
    bpe.encode(text.substr(begin, end - begin), text.size() - begin, scratch, out);
    begin = end;
  }
}

void Tokenizer::encode(std::string_view text, bool special, std::vector<int32_t>& out) const {
  if (text.empty()) return;
  Tables& t = *tables_;
  std::unique_ptr<BpeScratch> scratch;
  {
    const std::lock_guard lock(t.mutex);
    if (!t.free_scratches.empty()) {
      scratch = std::move(t.free_scratches.back());
      t.free_scratches.pop_back();
    }
  }
  if (!scratch) scratch = std::make_unique<BpeScratch>();

  if (!special) {
    t.encode_plain(text, *scratch, out);
  } else {
    for (size_t at = 0; at < text.size();) {
      const auto outer = t.first_pass.find(text, at);
      const std::string_view between = text.substr(0, outer.begin);
      while (at < between.size()) {
        const auto inner = t.second_pass.find(between, at);
        t.encode_plain(between.substr(at, inner.begin - at), *scratch, out);
        if (inner.id >= 0) out.push_back(inner.id);
        at = inner.end;
      }
      if (outer.id >= 0) out.push_back(outer.id);
      at = outer.end;
    }
  }

  scratch->trim();
  const std::lock_guard lock(t.mutex);
  t.free_scratches.push_back(std::move(scratch));
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, bool special) const {
  std::vector<int32_t> out;
  encode(text, special, out);
  return out;
}

void Tokenizer::append_bytes(std::span<const int32_t> ids, bool skip_special, std::string& out) const {
  const Tables& t = *tables_;
  for (const int32_t id : ids) {
    if (!t.has(id) || (skip_special && (t.flags[static_cast<size_t>(id)] & tokenizer::kSpecial))) continue;
    out += t.bytes[static_cast<size_t>(id)];
  }
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  std::string out;
  append_bytes(ids, skip_special, out);
  return simdjson::validate_utf8(out) ? out : sanitize_utf8(out);
}

std::string_view Tokenizer::token_bytes(int32_t id) const {
  return tables_->has(id) ? tables_->bytes[static_cast<size_t>(id)] : std::string_view();
}

std::string_view Tokenizer::raw_token(int32_t id) const {
  return tables_->has(id) ? tables_->raw_of(id) : std::string_view();
}

bool Tokenizer::is_special(int32_t id) const {
  return tables_->has(id) && (tables_->flags[static_cast<size_t>(id)] & tokenizer::kSpecial);
}

bool Tokenizer::is_added(int32_t id) const {
  return tables_->has(id) && (tables_->flags[static_cast<size_t>(id)] & tokenizer::kAdded);
}

int32_t Tokenizer::vocab_size() const { return static_cast<int32_t>(tables_->flags.size()); }

std::optional<int32_t> Tokenizer::find_raw(std::string_view raw) const {
  const int32_t id = tables_->by_raw.find(raw, [&](int32_t i) { return tables_->raw_of(i); });
  return id >= 0 ? std::optional(id) : std::nullopt;
}

std::optional<int32_t> Tokenizer::find_special(std::string_view literal) const {
  const std::optional<int32_t> id = find_raw(literal);
  return id && is_added(*id) ? id : std::nullopt;
}

int32_t Tokenizer::bos_id() const { return tables_->bos; }
int32_t Tokenizer::eos_id() const { return tables_->eos; }
int32_t Tokenizer::pad_id() const { return tables_->pad; }

}  // namespace deepinfer
