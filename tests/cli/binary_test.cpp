// The deepinfer binary as a script sees it: exit codes, where output goes, one error line.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

struct Outcome {
  int code = -1;  // exit code, or -signal
  std::string out, err;
  std::string last_line() const {
    const std::string text = err.empty() || err.back() != '\n' ? err : err.substr(0, err.size() - 1);
    return text.substr(text.rfind('\n') + 1);
  }
};

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class Binary : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/deepinfer-test-XXXXXX";
    folder_ = mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Outcome run(const std::string& arguments, const std::string& redirect = "") {
    const std::string out = folder_ + "/out", err = folder_ + "/err";
    const int status = std::system(("'" DEEPINFER_BINARY "' " + arguments + (redirect.empty() ? " >" + out : redirect) +
                                    " 2>" + err + " </dev/null")
                                       .c_str());
    Outcome o;
    o.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    o.out = slurp(out);
    o.err = slurp(err);
    return o;
  }
  const std::string data_ = DEEPINFER_SOURCE_DIR "/tests/data";
  std::string folder_;
};

TEST_F(Binary, wrong_calls_exit_2_with_one_line) {
  for (const char* arguments : {"", "nonsense", "inspect --nonsense", "inspect /nowhere/at/all", "inspect --batch 0 x",
                                "inspect --context many", "synth", "synth /tmp/x",
                                "synth /tmp/x --config /nowhere.json", "inspect a --model b"}) {
    const Outcome o = run(arguments);
    EXPECT_EQ(o.code, 2) << arguments << ": " << o.err;
    EXPECT_EQ(o.out, "") << arguments;
    EXPECT_EQ(o.last_line().rfind("deepinfer: ", 0), 0u) << arguments << ": " << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
  }
}

TEST_F(Binary, help_and_version_go_to_stdout) {
  for (const char* arguments : {"--help", "--version", "inspect --help", "synth --help"}) {
    const Outcome o = run(arguments);
    EXPECT_EQ(o.code, 0) << arguments;
    EXPECT_GT(o.out.size(), 50u) << arguments;
    EXPECT_EQ(o.err, "") << arguments;
  }
}

TEST_F(Binary, a_synthetic_model_is_inspected) {
  const std::string model = folder_ + "/m";
  Outcome o = run("synth " + model + " --config " + data_ +
                  "/config-tiny.json --seed 5 --layers 4 --experts 3 --engram-rows 600");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.err, "");
  o = run("inspect " + model);
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("whole and valid"), std::string::npos);
  EXPECT_EQ(o.err, "");
  o = run("inspect --json --context 1000 --batch 2 --model " + model);
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("\"num_hidden_layers\":4"), std::string::npos);
  EXPECT_NE(o.out.find("\"blocks\":16"), std::string::npos);
  o = run("inspect --context 100000 " + model);
  EXPECT_EQ(o.code, 2);
  o = run("synth " + model + " --config " + data_ + "/config-tiny.json");
  EXPECT_EQ(o.code, 2);
  EXPECT_NE(o.last_line().find("--force"), std::string::npos);
}

TEST_F(Binary, a_tokenizer_must_have_the_ids_that_the_config_names) {
  const std::string shared = DEEPINFER_SOURCE_DIR "/../shared/model/v41-small";
  if (!std::filesystem::exists(shared)) GTEST_SKIP() << "no ../shared in this checkout";
  std::filesystem::copy(shared, folder_ + "/m");
  ASSERT_EQ(run("inspect " + folder_ + "/m").code, 0);
  const auto config = folder_ + "/m/config.json";
  std::string text = slurp(config);
  const std::string from = "\"pad_token_id\": 2", to = "\"pad_token_id\": 3";
  text.replace(text.find(from), from.size(), to);
  std::filesystem::remove(config);
  std::ofstream(config) << text;
  const Outcome o = run("inspect " + folder_ + "/m");
  EXPECT_EQ(o.code, 1);
  EXPECT_NE(o.last_line().find("tokenizer.json"), std::string::npos) << o.err;
  EXPECT_NE(o.last_line().find("pad_token_id"), std::string::npos) << o.err;
}

TEST_F(Binary, results_that_cannot_be_written_are_an_error) {
  ASSERT_EQ(run("synth " + folder_ + "/m --config " + data_ + "/config-tiny.json --sparse").code, 0);
  const Outcome o = run("inspect " + folder_ + "/m", " >/dev/full");
  EXPECT_EQ(o.code, 1);
  EXPECT_NE(o.last_line().find("stdout"), std::string::npos) << o.err;
}

TEST_F(Binary, the_official_checkpoint_is_inspected_within_3_s_and_200_MB) {
  ASSERT_EQ(run("synth " + folder_ + "/m --config " + data_ + "/config-official.json --sparse --shard-size 11G").code,
            0);
  const auto start = std::chrono::steady_clock::now();
  const Outcome o = run("inspect --json " + folder_ + "/m");
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ASSERT_EQ(o.code, 0) << o.err;
  for (const char* part :
       {"\"tensors\":96085,\"bytes\":510286023000,\"parameters\":763205315794", "\"bytes_per_token\":890,"})
    EXPECT_NE(o.out.find(part), std::string::npos) << part;
  rusage usage = {};
  getrusage(RUSAGE_CHILDREN, &usage);  // the largest child so far
  std::printf("inspect of 96,085 tensors: %.2f s, %ld kB\n", seconds, usage.ru_maxrss);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(seconds, 3.0);
  EXPECT_LT(usage.ru_maxrss, 200 * 1024);
#endif
}

}  // namespace
