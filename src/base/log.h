// Diagnostics for people, on stderr: log_warn("{}: scale {} is unusual", name, s). Thin over spdlog, whose headers stay
// out of ours. The level comes from the environment, DEEPINFER_LOG = trace, debug, info, warn (default), error or off,
// read once at the first use; an unknown word means the default. A message below the level is neither formatted nor
// written. Any thread may log; a line is written whole. Results never go here (stdout), and the error that ends a
// command is the CLI's own last line, not a log line.
#pragma once
#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace deepinfer {

enum class LogLevel { kTrace, kDebug, kInfo, kWarn, kError, kOff };

// "debug" -> kDebug; kWarn for anything unknown.
LogLevel parse_log_level(std::string_view name);
// Replaces the level from the environment.
void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);
void write_log(LogLevel level, std::string_view text);

template <typename... Args>
void log_at(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) write_log(level, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::kDebug, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::kInfo, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_warn(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::kWarn, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::kError, format, std::forward<Args>(args)...);
}

}  // namespace deepinfer
