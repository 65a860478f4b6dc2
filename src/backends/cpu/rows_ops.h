// The row-wise operators for one instruction-set path (rows.cpp, select.cpp).
#pragma once
#include "backends/cpu/rows.h"

namespace deepinfer::cpu {

#define DEEPINFER_ROW_OPS(X)           \
  X(embed, EmbedParams)                \
  X(engram_hash, EngramHashParams)     \
  X(engram_gather, EngramGatherParams) \
  X(engram_gate, EngramGateParams)     \
  X(hc_mix, HcMixParams)               \
  X(hc_collapse, HcCollapseParams)     \
  X(hc_expand, HcExpandParams)         \
  X(stream_mean, StreamMeanParams)     \
  X(rms_norm, RmsNormParams)           \
  X(rope, RopeParams)                  \
  X(store_records, StoreRecordsParams) \
  X(compress, CompressParams)          \
  X(router, RouterParams)              \
  X(gather_rows, GatherRowsParams)

#define DEEPINFER_DECLARE(name, Params) \
  template <Isa isa>                    \
  void name(const ops::Params& p, ops::Context& ctx);
DEEPINFER_ROW_OPS(DEEPINFER_DECLARE)
DEEPINFER_DECLARE(index_topk, IndexTopkParams)
DEEPINFER_DECLARE(candidate_blocks, CandidateBlocksParams)
#undef DEEPINFER_DECLARE

}  // namespace deepinfer::cpu
