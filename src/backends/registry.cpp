#include "backends/registry.h"

#include <cstdlib>

#include "backends/cpu/cpu.h"
#include "backends/cpu/probe.h"
#include "base/check.h"
#include "ops/reference/reference.h"

namespace deepinfer {
namespace {

// DEEPINFER_CHECK_OPS=1: every call goes through the operator's check first. One table a backend keeps the real
// functions.
enum { kCheckedReference, kCheckedCpu, kCheckedBackends };
OpTable checked_target[kCheckedBackends];

#define DEEPINFER_CHECKED(name, Params)                                                          \
  template <int kBackend>                                                                        \
  void checked_##name(const ops::Params& p, ops::Context& ctx) {                                 \
    const Status status = ops::check(p);                                                         \
    DI_CHECK(status.has_value(), #name ": {}", status ? std::string() : status.error().message); \
    checked_target[kBackend].name(p, ctx);                                                       \
  }
DEEPINFER_OPS(DEEPINFER_CHECKED)
#undef DEEPINFER_CHECKED

template <int kBackend>
OpTable with_checks(OpTable t) {
  const char* wanted = std::getenv("DEEPINFER_CHECK_OPS");
  if (!wanted || std::string_view(wanted) != "1") return t;
  checked_target[kBackend] = t;
#define DEEPINFER_WRAP(name, Params) t.name = checked_##name<kBackend>;
  DEEPINFER_OPS(DEEPINFER_WRAP)
#undef DEEPINFER_WRAP
  return t;
}

OpTable reference_table() {
  OpTable t;
#define DEEPINFER_FILL(name, Params) t.name = reference::name;
  DEEPINFER_OPS(DEEPINFER_FILL)
#undef DEEPINFER_FILL
  t.backend = "reference";
  t.isa = "scalar";
  return t;
}

Result<OpTable> cpu_table() {
  cpu::Isa isa = cpu::best_isa();
  if (const char* forced = std::getenv("DEEPINFER_CPU_ISA"); forced && *forced) {
    bool known = false;
    for (cpu::Isa i : cpu::kIsas) {
      if (std::string_view(forced) != cpu::isa_name(i)) continue;
      known = true;
      isa = i;
    }
    if (!known)
      return fail(ErrorCode::kInvalidArgument,
                  "DEEPINFER_CPU_ISA={}: unknown; choose generic, avx2, avx512, avx512_bf16 or amx", forced);
    if (!cpu::isa_supported(isa))
      return fail(ErrorCode::kUnsupported,
                  "DEEPINFER_CPU_ISA={}: this processor cannot run it; unset it or choose a lower one", forced);
  }
  OpTable t;
  t.backend = "cpu";
  t.isa = cpu::isa_name(isa);
  cpu::fill_linear(t, isa);
  cpu::fill_attention(t, isa);
  cpu::fill_elementwise(t, isa);
  cpu::fill_sampling(t, isa);
  // Whatever is not there yet runs on the reference, and missing_operators() keeps naming it.
  const OpTable plain = reference_table();
#define DEEPINFER_COMPLETE(name, Params) \
  if (!t.name) t.name = plain.name;
  DEEPINFER_OPS(DEEPINFER_COMPLETE)
#undef DEEPINFER_COMPLETE
  return t;
}

}  // namespace

Result<OpTable> make_op_table(std::string_view backend) {
  if (backend == "reference") return with_checks<kCheckedReference>(reference_table());
  if (backend == "cpu" || backend == "auto") {
    Result<OpTable> table = cpu_table();
    if (table) table = with_checks<kCheckedCpu>(std::move(*table));
    return table;
  }
  if (backend == "cuda" || backend == "ascend")
    return fail(ErrorCode::kUnsupported, "--backend {}: this build has no {} backend yet; use cpu", backend, backend);
  return fail(ErrorCode::kInvalidArgument, "--backend {}: unknown; choose auto, cpu, cuda, ascend or reference",
              backend);
}

std::vector<std::string> compiled_backends() { return {"cpu", "reference"}; }

std::vector<std::string> available_cpu_isas() {
  std::vector<std::string> out;
  for (cpu::Isa isa : cpu::kIsas)
    if (cpu::isa_supported(isa)) out.emplace_back(cpu::isa_name(isa));
  return out;
}

MachineProbe machine_probe(const OpTable& table) {
  for (cpu::Isa isa : cpu::kIsas)
    if (table.isa == cpu::isa_name(isa)) return cpu::probe(isa);
  return cpu::probe(cpu::Isa::kGeneric);  // the reference is plain code
}

std::vector<std::string> missing_operators(const OpTable& t) {
  std::vector<std::string> out;
  const bool is_reference = t.backend == "reference";
#define DEEPINFER_MISSING(name, Params) \
  if (!t.name || (!is_reference && t.name == &reference::name)) out.emplace_back(#name);
  DEEPINFER_OPS(DEEPINFER_MISSING)
#undef DEEPINFER_MISSING
  return out;
}

}  // namespace deepinfer
