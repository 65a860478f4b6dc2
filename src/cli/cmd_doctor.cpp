// `deepinfer doctor`: what this machine can run, what is missing, and the command that fixes it.
#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <fstream>

#include "backends/registry.h"
#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/default_model.h"

namespace deepinfer::cli {
namespace {

// A field of /proc/meminfo in bytes, or 0.
double memory(const std::string& field) {
  std::ifstream file("/proc/meminfo");
  std::string name;
  double kb;
  std::string unit;
  while (file >> name >> kb) {
    std::getline(file, unit);
    if (name == field + ":") return kb * 1024;
  }
  return 0;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

bool library_there(const char* name) {
  void* handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (handle) dlclose(handle);
  return handle != nullptr;
}

Result<int> doctor() {
  bool fine = true;
  const auto line = [](const char* what, const std::string& text) { fmt::print("{:<14} {}\n", what, text); };
  line("processor", cpu_model_name());
  line("instructions", cpu_features_string());
  std::string paths;
  for (const std::string& isa : available_cpu_isas()) paths += (paths.empty() ? "" : ", ") + isa;
  const auto table = make_op_table("cpu");
  if (table) {
    line("cpu path", table->isa + " (available: " + paths + "; DEEPINFER_CPU_ISA forces one)");
    const auto missing = missing_operators(*table);
    std::string list;
    for (const std::string& name : missing) list += " " + name;
    if (!missing.empty()) line("", "operators that run on the reference backend:" + list);
  } else {
    fine = false;
    line("cpu path", "PROBLEM: " + table.error().message);
  }
  line("threads", fmt::format("{} (physical cores this process may use)", default_thread_count()));
  line("memory",
       fmt::format("{} available of {}", human_bytes(memory("MemAvailable")), human_bytes(memory("MemTotal"))));
  line("huge pages", "transparent: " + first_line("/sys/kernel/mm/transparent_hugepage/enabled"));

  const std::string folder = default_model();
  auto config = ModelConfig::load(folder);
  if (config) {
    const auto checkpoint = Checkpoint::open(folder, *config);
    if (checkpoint) {
      line("model", fmt::format("{}: {} tensors, {}", folder, checkpoint->num_tensors(),
                                human_bytes(static_cast<double>(checkpoint->total_bytes()))));
      if (static_cast<double>(checkpoint->total_bytes()) > memory("MemAvailable"))
        line("", "larger than the available memory: it will run through the page cache, at the speed of the disk");
    } else {
      fine = false;
      line("model", "PROBLEM: " + checkpoint.error().message);
    }
  } else {
    fine = false;
    line("model", "PROBLEM: " + config.error().message + "; set DEEPINFER_MODEL or pass --model");
  }
  struct statvfs disk = {};
  if (statvfs(".", &disk) == 0)
    line("disk here",
         fmt::format("{} free", human_bytes(static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize))));
  line("NVIDIA", std::string(library_there("libcuda.so.1") ? "a driver is installed" : "no driver") +
                     "; this build has no cuda backend");
  line("Ascend", std::string(library_there("libascendcl.so") ? "CANN is installed" : "no CANN") +
                     "; this build has no ascend backend");
  fmt::print("{}\n", fine ? "ready: try  deepinfer run -p \"Once upon a time\"" : "not ready: see PROBLEM above");
  return fine ? 0 : 1;
}

}  // namespace

void add_doctor(CLI::App& app, CommandContext& context) {
  CLI::App* sub = app.add_subcommand("doctor", "what this machine can run, what is missing, and how to fix it");
  sub->callback([&context] { context.run = [] { return doctor(); }; });
}

}  // namespace deepinfer::cli
