// The cpu backend: instruction-set paths, chosen at run time. Each fill_* puts its operators into the table for one
// path; a path may share the kernels of a lower one. Results of one path never depend on threads or batch; different
// paths may round differently.
#pragma once
#include <string_view>
#include <vector>

#include "backends/registry.h"

namespace deepinfer::cpu {

enum class Isa { kGeneric, kAvx2, kAvx512, kAvx512Bf16, kAmx };
inline constexpr Isa kIsas[] = {Isa::kGeneric, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx};

const char* isa_name(Isa isa);  // "generic", "avx2", "avx512", "avx512_bf16", "amx"
bool isa_supported(Isa isa);    // by this processor and system
Isa best_isa();

void fill_linear(OpTable& table, Isa isa);  // linear, moe
void fill_attention(
    OpTable& table,
    Isa isa);  // sparse_attention, index_scores, index_topk, candidate_blocks, rope, store_records, compress
void fill_elementwise(OpTable& table, Isa isa);  // embed, engram_*, hc_*, stream_mean, rms_norm, router, gather_rows
void fill_sampling(OpTable& table, Isa isa);     // confidence, penalties, sample, logprobs, accept_drafts

}  // namespace deepinfer::cpu
