// The reference backend: every operator in plain scalar code, the truth that other backends are held to. Slow on
// purpose; rows run in parallel.
#pragma once
#include "ops/all.h"

namespace deepinfer::reference {
void embed(const ops::EmbedParams& p, ops::Context& ctx);
void engram_hash(const ops::EngramHashParams& p, ops::Context& ctx);
void engram_gather(const ops::EngramGatherParams& p, ops::Context& ctx);
void engram_gate(const ops::EngramGateParams& p, ops::Context& ctx);
void hc_mix(const ops::HcMixParams& p, ops::Context& ctx);
void hc_collapse(const ops::HcCollapseParams& p, ops::Context& ctx);
void hc_expand(const ops::HcExpandParams& p, ops::Context& ctx);
void stream_mean(const ops::StreamMeanParams& p, ops::Context& ctx);
void rms_norm(const ops::RmsNormParams& p, ops::Context& ctx);
void linear(const ops::LinearParams& p, ops::Context& ctx);
void rope(const ops::RopeParams& p, ops::Context& ctx);
void store_records(const ops::StoreRecordsParams& p, ops::Context& ctx);
void compress(const ops::CompressParams& p, ops::Context& ctx);
void index_scores(const ops::IndexScoresParams& p, ops::Context& ctx);
void index_topk(const ops::IndexTopkParams& p, ops::Context& ctx);
void candidate_blocks(const ops::CandidateBlocksParams& p, ops::Context& ctx);
void sparse_attention(const ops::SparseAttentionParams& p, ops::Context& ctx);
void router(const ops::RouterParams& p, ops::Context& ctx);
void moe(const ops::MoeParams& p, ops::Context& ctx);
void gather_rows(const ops::GatherRowsParams& p, ops::Context& ctx);
void confidence(const ops::ConfidenceParams& p, ops::Context& ctx);
void penalties(const ops::PenaltiesParams& p, ops::Context& ctx);
void sample(const ops::SampleParams& p, ops::Context& ctx);
void logprobs(const ops::LogprobsParams& p, ops::Context& ctx);
void accept_drafts(const ops::AcceptDraftsParams& p, ops::Context& ctx);
}  // namespace deepinfer::reference
