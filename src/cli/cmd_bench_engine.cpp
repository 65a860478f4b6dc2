// `deepinfer bench engine`: prefill and decode speed of the whole engine on random prompts, with latencies and, on
// request, the time of every operator.
#include <sys/resource.h>

#include <algorithm>

#include "backends/bench/bench.h"
#include "base/aligned_buffer.h"
#include "base/interrupt.h"
#include "base/json_writer.h"
#include "base/stopwatch.h"
#include "cli/engine_options.h"
#include "engine/sampler.h"

namespace deepinfer::cli {
namespace {

struct Options {
  EngineFlags engine;
  std::string prompt_len = "512", output_len = "128", concurrency = "1";
  int64_t requests = 3;
  bool json = false, profile = false;
};

constexpr int64_t kProfileSteps = 64;

struct Latency {
  double p50, p90, p99;
};
Latency latency(std::vector<double> ms) {
  if (ms.empty()) return {0, 0, 0};
  std::sort(ms.begin(), ms.end());
  auto at = [&](double share) { return ms[static_cast<size_t>(share * static_cast<double>(ms.size() - 1) + 0.5)]; };
  return {at(0.5), at(0.9), at(0.99)};
}

struct Run {
  int64_t prompt_len, output_len, concurrency;
  double prefill_tok_s, decode_tok_s, step_overhead_us;
  Latency ttft, tpot;
};

// Ordinary ids, all prompts different.
std::vector<int32_t> random_prompt(int64_t n, int64_t vocab, uint64_t& state) {
  std::vector<int32_t> ids;
  const int64_t low = std::min<int64_t>(100, vocab / 4), span = std::max<int64_t>(1, vocab * 3 / 4 - low);
  for (int64_t i = 0; i < n; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    ids.push_back(static_cast<int32_t>(low + static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(span))));
  }
  return ids;
}

class Bench {
 public:
  explicit Bench(Engine& engine) : e_(engine) {}

  Result<Run> run(int64_t prompt_len, int64_t output_len, int64_t concurrency, int64_t requests) {
    const int64_t context = e_.config().max_position_embeddings;
    if (prompt_len + output_len > context)
      return fail(ErrorCode::kInvalidArgument, "--prompt-len {} and --output-len {} do not fit the context of {}",
                  prompt_len, output_len, context);
    double prefill_s = 0, decode_s = 0;
    int64_t prefill_tokens = 0, decode_tokens = 0;
    std::vector<double> ttft, tpot;
    for (int64_t first = 0; first < requests; first += concurrency) {
      const int64_t streams = std::min(concurrency, requests - first);
      std::vector<Sequence> sequences;
      std::vector<int32_t> last;
      Status status;
      for (int64_t i = 0; i < streams && status; ++i) {
        const auto prompt = random_prompt(prompt_len, e_.config().vocab_size, state_);
        sequences.push_back(e_.model().new_sequence());
        status = e_.model().reserve(sequences.back(), e_.blocks(), prompt_len + output_len);
        if (!status) break;
        const Clock::time_point start = Clock::now();
        last.push_back(prefill(sequences.back(), prompt));
        ttft.push_back(seconds_since(start) * 1e3);
        prefill_s += seconds_since(start);
        prefill_tokens += prompt_len;
      }
      for (int64_t step = 1; step < output_len && status; ++step) {
        if (interrupted()) status = fail(ErrorCode::kCancelled, "cancelled");
        const Clock::time_point start = Clock::now();
        decode(sequences, last);
        tpot.push_back(seconds_since(start) * 1e3);
        decode_s += seconds_since(start);
        decode_tokens += streams;
      }
      for (Sequence& s : sequences) Model::release(s, e_.blocks());
      DI_TRY_STATUS(status);
    }
    return Run{prompt_len,
               output_len,
               concurrency,
               static_cast<double>(prefill_tokens) / prefill_s,
               decode_s > 0 ? static_cast<double>(decode_tokens) / decode_s : 0,
               overhead_us(std::min<int64_t>(prompt_len, 256)),
               latency(std::move(ttft)),
               latency(std::move(tpot))};
  }

  // Per-operator times of one prefill and of decode steps behind it.
  struct Profile {
    std::vector<Stepper::OpTime> prefill, decode;
    double prefill_s, decode_s;
    int64_t steps;
  };
  Profile profile(int64_t prompt_len, int64_t steps, Stepper::Profiling what = Stepper::Profiling::kTimes) {
    Sequence s = e_.model().new_sequence();
    const bool room = e_.model().reserve(s, e_.blocks(), prompt_len + steps).has_value();
    Profile p{{}, {}, 0, 0, steps};
    if (!room) return p;
    const auto prompt = random_prompt(prompt_len, e_.config().vocab_size, state_);
    std::vector<int32_t> last(1);
    e_.stepper().set_profiling(what);
    Clock::time_point start = Clock::now();
    last[0] = prefill(s, prompt);
    p.prefill_s = seconds_since(start);
    p.prefill = e_.stepper().op_times();
    e_.stepper().set_profiling(what);
    std::vector<Sequence> one;
    one.push_back(std::move(s));
    start = Clock::now();
    for (int64_t i = 0; i < steps; ++i) decode(one, last);
    p.decode_s = seconds_since(start);
    p.decode = e_.stepper().op_times();
    e_.stepper().set_profiling(Stepper::Profiling::kOff);
    Model::release(one[0], e_.blocks());
    return p;
  }
  // The same with costs; times are the fastest of four passes, operator by operator.
  Profile profile_with_costs(int64_t prompt_len, int64_t steps) {
    Profile best = profile(prompt_len, steps);
    auto merge = [](std::vector<Stepper::OpTime>& into, const std::vector<Stepper::OpTime>& from, bool costs) {
      for (size_t i = 0; i < into.size() && i < from.size(); ++i) {
        into[i].seconds = std::min(into[i].seconds, from[i].seconds);
        if (costs) into[i].cost = from[i].cost;
      }
    };
    for (int pass = 0; pass < 3; ++pass) {
      const bool costs = pass == 2;
      const Profile p =
          profile(prompt_len, steps, costs ? Stepper::Profiling::kTimesAndCosts : Stepper::Profiling::kTimes);
      merge(best.prefill, p.prefill, costs);
      merge(best.decode, p.decode, costs);
      if (!costs)
        best.prefill_s = std::min(best.prefill_s, p.prefill_s), best.decode_s = std::min(best.decode_s, p.decode_s);
    }
    return best;
  }

 private:
  int32_t prefill(Sequence& s, std::span<const int32_t> prompt) {
    std::span<const float> logits;
    for (size_t at = 0; at < prompt.size();) {
      const size_t n = std::min(prompt.size() - at, static_cast<size_t>(e_.max_batch_tokens()));
      const StepInput in{&s, prompt.subspan(at, n), at + n == prompt.size() ? 1 : 0};
      logits = e_.stepper().step({&in, 1});
      at += n;
    }
    return best(logits, 1)[0];
  }
  void decode(std::vector<Sequence>& sequences, std::vector<int32_t>& last) {
    std::vector<StepInput> in;
    for (size_t i = 0; i < sequences.size(); ++i) in.push_back({&sequences[i], {&last[i], 1}, 1});
    last = best(e_.stepper().step(in), static_cast<int64_t>(sequences.size()));
  }
  std::vector<int32_t> best(std::span<const float> logits, int64_t rows) {
    std::vector<DrawInput> inputs(static_cast<size_t>(rows), DrawInput{0, 0, nullptr});
    SamplingParams greedy;
    greedy.temperature = 0;
    std::vector<int32_t> out;
    for (const Draw& d :
         draw_tokens(e_.model().ops(), e_.pool(), scratch_, greedy, 0, logits, e_.config().vocab_size, inputs))
      out.push_back(std::max(0, d.id));
    return out;
  }
  // Time of a decode step outside its operators.
  double overhead_us(int64_t prompt_len) {
    const Profile p = profile(prompt_len, 32);
    double inside = 0;
    for (const Stepper::OpTime& t : p.decode) inside += t.seconds;
    return p.steps > 0 ? std::max(0.0, (p.decode_s - inside) / static_cast<double>(p.steps)) * 1e6 : 0;
  }

  Engine& e_;
  Arena scratch_;
  uint64_t state_ = 42;
};

// What the machine can do, measured once for both phases of a profile: the fastest samples, as the times are.
struct Ceilings {
  static constexpr int kUnits = static_cast<int>(ops::Unit::kMatrix) + 1;
  ThreadPool& pool;
  MachineProbe probe;
  bench::BandwidthLadder ladder;
  double peak[kUnits] = {};

  Ceilings(const OpTable& table, ThreadPool& threads)
      : pool(threads), probe(machine_probe(table)), ladder(table, pool) {
    for (int u = 1; u < kUnits; ++u)
      for (int i = 0; i < 3; ++i) peak[u] = std::max(peak[u], probe.peak_flops(static_cast<ops::Unit>(u), pool));
  }
  // Of reading a set of that size.
  double read_bandwidth(double bytes) const {
    const size_t set = static_cast<size_t>(std::clamp(bytes, 1e6, 1e9));
    AlignedBuffer data(set);
    std::fill(data.data(), data.data() + set, uint8_t{1});
    double best = 0;
    for (int i = 0; i < 7; ++i)
      best = std::max(best, probe.read_bandwidth(data.data(), static_cast<int64_t>(set), pool));
    return best;
  }
};

// A profile's phase against the ceilings: weights at the bandwidth of a set as large as a step's, activations at that
// of a set as large as a call's, and the peak of each unit.
class Account {
 public:
  struct Line {
    const char* name;
    int64_t calls;
    double us, floor_us;
    const char* bound;
  };
  std::vector<Line> lines;  // the longest first
  double total_us, floor_us = 0, weight_bytes = 0, read_bandwidth = 0;

  Account(const Ceilings& ceilings, const std::vector<Stepper::OpTime>& times, double seconds, int64_t steps)
      : total_us(seconds * 1e6 / static_cast<double>(steps)) {
    const double per_step = 1.0 / static_cast<double>(steps);
    for (const Stepper::OpTime& t : times) weight_bytes += t.cost.weight_bytes * per_step;
    read_bandwidth = ceilings.read_bandwidth(weight_bytes);
    for (const Stepper::OpTime& t : times) {
      const double calls = static_cast<double>(t.calls);
      const bench::Floor f = bench::floor_of(t.cost, read_bandwidth, ceilings.ladder.at(t.cost.io_bytes / calls),
                                             ceilings.peak[static_cast<int>(t.cost.unit)]);
      lines.push_back({t.name, t.calls / steps, t.seconds * 1e6 * per_step, f.seconds * 1e6 * per_step, f.bound});
      floor_us += f.seconds * 1e6 * per_step;
    }
    std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.us > b.us; });
  }

  void print(const std::string& title) const {
    fmt::print("{}: {:.1f} us, floor {:.1f} us ({:.1f} %), {} of weights at {:.1f} GB/s\n", title, total_us, floor_us,
               100 * floor_us / total_us, human_bytes(weight_bytes), read_bandwidth * 1e-9);
    fmt::print("  {:<18} {:>7} {:>11} {:>8} {:>11}  {:<11} {:>8}\n", "operator", "calls", "us", "of step", "floor us",
               "bound by", "of floor");
    for (const Line& l : lines)
      fmt::print("  {:<18} {:>7} {:>11.1f} {:>6.1f} % {:>11.1f}  {:<11} {:>6.1f} %\n", l.name, l.calls, l.us,
                 100 * l.us / total_us, l.floor_us, l.bound, l.us > 0 ? 100 * l.floor_us / l.us : 0);
  }
  void write(JsonWriter& w, const char* name) const {
    w.key(name).begin_object().field("total_us", total_us).field("floor_us", floor_us);
    w.field("weight_bytes", weight_bytes).field("read_gb_s", read_bandwidth * 1e-9).key("operators").begin_array();
    for (const Line& l : lines)
      w.begin_object()
          .field("op", l.name)
          .field("calls", l.calls)
          .field("us", l.us)
          .field("floor_us", l.floor_us)
          .field("bound", l.bound)
          .end_object();
    w.end_array().end_object();
  }
};

void append(JsonWriter& w, const Run& r) {
  auto lat = [&](const char* name, const Latency& l) {
    w.key(name).begin_object().field("p50", l.p50).field("p90", l.p90).field("p99", l.p99).end_object();
  };
  w.field("prompt_len", r.prompt_len)
      .field("output_len", r.output_len)
      .field("concurrency", r.concurrency)
      .field("draft", "off");
  w.field("prefill_tok_s", r.prefill_tok_s).field("decode_tok_s", r.decode_tok_s);
  lat("ttft_ms", r.ttft);
  lat("tpot_ms", r.tpot);
  w.field("step_overhead_us", r.step_overhead_us);
}

Result<int> bench(const Options& o) {
  DI_TRY(EngineOptions options, engine_options(o.engine));
  DI_TRY(const auto prompts, parse_integers("--prompt-len", o.prompt_len, 1));
  DI_TRY(const auto outputs, parse_integers("--output-len", o.output_len, 1));
  DI_TRY(const auto streams, parse_integers("--concurrency", o.concurrency, 1));
  if (o.requests < 1) return fail(ErrorCode::kInvalidArgument, "--requests {}: expected at least 1", o.requests);
  install_interrupt_handler();
  DI_TRY(std::unique_ptr<Engine> engine, Engine::create(options));
  Bench bench(*engine);
  DI_TRY(Run warm, bench.run(std::min<int64_t>(prompts[0], 64), 4, 1, 1));
  (void)warm;
  std::vector<Run> runs;
  for (int64_t prompt : prompts)
    for (int64_t output : outputs)
      for (int64_t concurrency : streams) {
        DI_TRY(Run run, bench.run(prompt, output, concurrency, std::max(o.requests, concurrency)));
        runs.push_back(run);
      }
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const OpTable& ops = engine->model().ops();
  std::vector<Account> accounts;  // of prefill and of decode, if asked for
  if (o.profile) {
    const auto p = bench.profile_with_costs(prompts[0], kProfileSteps);
    const Ceilings ceilings(ops, engine->pool());
    accounts.emplace_back(ceilings, p.prefill, p.prefill_s, 1);
    accounts.emplace_back(ceilings, p.decode, p.decode_s, p.steps);
  }
  if (o.json) {
    JsonWriter w;
    w.begin_object();
    append(w, runs.front());
    w.field("load_s", engine->load_seconds()).field("peak_rss_bytes", static_cast<int64_t>(usage.ru_maxrss) * 1024);
    w.field("threads", engine->pool().num_threads()).field("backend", ops.backend).field("isa", ops.isa);
    w.field("numerics", options.numerics == Numerics::kFp32 ? "fp32" : "quantized")
        .field("weight_bytes", engine->model().weight_bytes());
    if (runs.size() > 1) {
      w.key("runs").begin_array();
      for (const Run& r : runs) {
        w.begin_object();
        append(w, r);
        w.end_object();
      }
      w.end_array();
    }
    if (!accounts.empty()) {
      w.key("profile").begin_object();
      accounts[0].write(w, "prefill");
      accounts[1].write(w, "decode");
      w.end_object();
    }
    w.end_object();
    DI_TRY_STATUS(write_stdout(w.str() + "\n"));
    return 0;
  }
  fmt::print("{} ({}), {} threads, load {:.1f} ms, peak memory {}\n", ops.backend, ops.isa,
             engine->pool().num_threads(), engine->load_seconds() * 1e3,
             human_bytes(static_cast<double>(usage.ru_maxrss) * 1024));
  fmt::print("{:>8} {:>8} {:>8} {:>14} {:>13} {:>24} {:>24} {:>9}\n", "prompt", "output", "streams", "prefill tok/s",
             "decode tok/s", "ttft ms p50/p90/p99", "tpot ms p50/p90/p99", "overhead");
  for (const Run& r : runs)
    fmt::print("{:>8} {:>8} {:>8} {:>14.1f} {:>13.1f} {:>8.2f}{:>8.2f}{:>8.2f} {:>8.3f}{:>8.3f}{:>8.3f} {:>6.1f} us\n",
               r.prompt_len, r.output_len, r.concurrency, r.prefill_tok_s, r.decode_tok_s, r.ttft.p50, r.ttft.p90,
               r.ttft.p99, r.tpot.p50, r.tpot.p90, r.tpot.p99, r.step_overhead_us);
  if (!accounts.empty()) {
    accounts[0].print(fmt::format("prefill of {} tokens", prompts[0]));
    accounts[1].print(fmt::format("decode step behind {} tokens", prompts[0]));
  }
  return 0;
}

}  // namespace

void add_bench_engine(CLI::App& app, CommandContext& context) {
  auto o = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("engine", "prefill and decode speed and latencies; options take comma lists");
  sub->add_option("--prompt-len", o->prompt_len, "tokens of a prompt")->capture_default_str();
  sub->add_option("--output-len", o->output_len, "tokens to generate")->capture_default_str();
  sub->add_option("--concurrency", o->concurrency, "streams that decode together")->capture_default_str();
  sub->add_option("--requests", o->requests, "requests per setting (at least the streams)")->capture_default_str();
  sub->add_flag("--json", o->json, "one JSON object");
  sub->add_flag(
      "--profile", o->profile,
      "also the time of every operator in one prefill and in decode steps, against the floor of this machine");
  add_engine_options(*sub, o->engine);
  sub->callback([&context, o] { context.run = [o] { return bench(*o); }; });
}

}  // namespace deepinfer::cli
