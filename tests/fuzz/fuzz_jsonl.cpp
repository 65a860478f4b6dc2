// Any bytes as JSON lines: every line that is not blank comes out once and in order, is parsed or refused in one short
// line, and the getters never fail without a message.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "cli/jsonl.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace deepinfer;
  using namespace deepinfer::cli;
  const int fd = memfd_create("jsonl", MFD_CLOEXEC);
  if (fd < 0 || write(fd, data, size) != static_cast<ssize_t>(size) || lseek(fd, 0, SEEK_SET) != 0) std::abort();
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  JsonlReader reader = JsonlReader::from_fd(fd, "memory");
  JsonlParser parser;
  size_t at = 0;
  for (;;) {
    const auto line = reader.next();
    if (!line) std::abort();
    if (!*line) break;
    const size_t found = all.find(**line, at);
    if (found == std::string_view::npos ||
        all.substr(at, found - at).find_first_not_of(" \t\r\n") != std::string_view::npos)
      std::abort();
    at = found + (*line)->size();
    if (at < size && all[at] != '\n') std::abort();
    std::string id, out;
    const auto record = parser.parse(**line, id);
    if (!record) {
      append_error_line(out, id, record.error());
      if (record.error().message.empty() || record.error().message.size() > 300 || out.find('\n') + 1 != out.size())
        std::abort();
      continue;
    }
    const auto message_of = [](const auto& result) {
      if (!result && result.error().message.empty()) std::abort();
    };
    message_of(record->string("text"));
    message_of(record->boolean("special", true));
    message_of(record->integer("n", 1));
    message_of(record->number("temperature", 1));
    message_of(record->ids("ids"));
    message_of(record->only({"text", "special", "ids"}));
  }
  if (all.substr(at).find_first_not_of(" \t\r\n") != std::string_view::npos) std::abort();
  close(fd);
  return 0;
}
