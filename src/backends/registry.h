// Backends by name. Only registry.cpp includes a backend; everybody else sees an OpTable: one function per operator.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ops/all.h"
#include "ops/cost.h"

namespace deepinfer {

// Function per operator of one backend; null where the backend lacks it. Plain data, copied freely, immutable after
// start.
struct OpTable {
#define DEEPINFER_OP_MEMBER(name, Params) void (*name)(const ops::Params&, ops::Context&) = nullptr;
  DEEPINFER_OPS(DEEPINFER_OP_MEMBER)
#undef DEEPINFER_OP_MEMBER
  std::string backend;  // "reference", "cpu"
  std::string isa;      // "avx512_bf16", "generic", ... ; "scalar" for reference
};

// name: "auto", "cpu", "reference", ("cuda", "ascend": an error that says this build has none).
// The cpu backend picks the best instruction set of this processor; DEEPINFER_CPU_ISA forces one (generic, avx2,
// avx512, avx512_bf16, amx) and it is an error to force one that the processor lacks. DEEPINFER_CHECK_OPS=1 makes every
// call run the operator's check first and abort on a miss (for debugging; one cpu table at a time).
Result<OpTable> make_op_table(std::string_view backend);

std::vector<std::string> compiled_backends();
// Instruction-set paths of the cpu backend that this processor can run, best last.
std::vector<std::string> available_cpu_isas();
// What the machine can do at most on a table's path, measured when called (for benchmarks; one short sample each).
struct MachineProbe {
  // bytes/s of reading [data, data + bytes) once with all threads, as fast as this path's loads go.
  double (*read_bandwidth)(const uint8_t* data, int64_t bytes, ThreadPool& pool);
  // flop/s (2 a multiply-add) of the unit's instruction on registers with all threads; 0: the path has no such unit.
  double (*peak_flops)(ops::Unit unit, ThreadPool& pool);
  const char* (*instruction)(ops::Unit unit);
};
MachineProbe machine_probe(const OpTable& table);

// Operators that the table lacks, by name.
std::vector<std::string> missing_operators(const OpTable& table);

}  // namespace deepinfer
