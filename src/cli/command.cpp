#include "cli/command.h"

#include <sys/stat.h>

#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace deepinfer::cli {

Status write_stdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return fail(ErrorCode::kIo, "stdout: cannot write: {}", std::strerror(errno));
  return {};
}

std::string human_bytes(double bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  int unit = 0;
  while (bytes >= 999.5 && unit < 6) {
    bytes /= 1000;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f} B", bytes);
  return bytes < 99.95 ? fmt::format("{:.1f} {}", bytes, kUnits[unit]) : fmt::format("{:.0f} {}", bytes, kUnits[unit]);
}

std::string grouped(int64_t value) {
  std::string digits = std::to_string(value);
  for (int64_t at = static_cast<int64_t>(digits.size()) - 3; at > (value < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

Result<int64_t> parse_bytes(const std::string& text) {
  const auto bad = [&] {
    return fail(ErrorCode::kInvalidArgument, "'{}' is not a size; write e.g. 500000, 16M or 2GiB", text);
  };
  errno = 0;
  char* end = nullptr;
  if (text.empty() || !(std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '.')) return bad();
  const double number = std::strtod(text.c_str(), &end);
  if (errno != 0) return bad();
  while (*end == ' ') ++end;
  double factor = 1;
  if (*end) {
    constexpr std::string_view kPrefixes = "KMGTP";
    const size_t power = kPrefixes.find(static_cast<char>(std::toupper(static_cast<unsigned char>(*end))));
    if (power != std::string_view::npos) {
      ++end;
      const bool binary = *end == 'i';
      if (binary) ++end;
      factor = std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(power + 1));
    }
    if (*end == 'B' || *end == 'b') ++end;
  }
  const double bytes = number * factor;
  if (*end || !(bytes >= 0 && bytes < 9e18)) return bad();
  return static_cast<int64_t>(bytes);
}

Result<std::vector<int64_t>> parse_integers(const char* option, const std::string& text, int64_t low) {
  std::vector<int64_t> out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    int64_t v = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, v);
    if (error != std::errc() || stop != text.data() + end || v < low)
      return fail(ErrorCode::kInvalidArgument, "{} {}: expected numbers of at least {}, separated by commas", option,
                  text, low);
    out.push_back(v);
    at = end + 1;
  }
  return out;
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat x = {}, y = {};
  return stat(a.c_str(), &x) == 0 && stat(b.c_str(), &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

}  // namespace deepinfer::cli
