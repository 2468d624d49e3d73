#include "security/attempts.h"

#include "base/text.h"

namespace cove::test {
namespace {

std::map<std::string, std::string> parse(const std::string& output) {
  std::map<std::string, std::string> lines;
  for (const std::string& line : split(output, '\n')) {
    size_t space = line.find(' ');
    if (space != std::string::npos) lines[line.substr(0, space)] = line.substr(space + 1);
  }
  return lines;
}

const char* expected(const Expectation& expectation, Mode mode) {
  if (mode.inside == Inside::Root && *expectation.root) return expectation.root;
  bool single = mode.outside == Outside::Rootless && mode.inside == Inside::User;
  return single && *expectation.user_single_id ? expectation.user_single_id : expectation.user;
}

// "default limits are enforced without control groups (…, processes 512 by nothing), because …"
bool is_held(const std::string& limit, const std::string& warnings) {
  size_t begin = warnings.find(" " + limit + " ");
  return limit.empty() || begin == warnings.npos ||
         !warnings.substr(begin, warnings.find_first_of(",)", begin) - begin).ends_with(" by nothing");
}

bool fits(const std::string& line, const std::string& wanted) {
  for (const std::string& word : split(wanted, '|')) {
    bool error = word.starts_with('E');
    if (line == (error ? "denied " + word : word) || (!error && line.starts_with(word + " "))) return true;
  }
  return false;
}

// Where a theme's options say "{workspace}".
std::vector<std::string> fill_in(std::vector<std::string> options, Mode mode) {
  constexpr std::string_view kPlace = "{workspace}";
  for (std::string& option : options)
    if (size_t place = option.find(kPlace); place != std::string::npos)
      option.replace(place, kPlace.size(), Host::get().workspace(mode.outside));
  return options;
}

Batch make(const Theme& theme, Mode mode) {
  std::string program = concat("/tmp/testee-", std::string_view(theme.testee));
  Order order{mode, fill_in(theme.options, mode), {theme.testee}, theme.command};
  if (order.command.empty()) order.command = {program, "all"};
  Batch made;
  made.before = Host::get().state();
  made.outcome = run(order);
  made.after = Host::get().state();
  made.lines = parse(made.outcome.out);
  return made;
}

TEST_P(Attempts, IsHeldOff) {
  auto [test, mode] = GetParam();
  const Batch& made = batch(*test.theme, mode);
  EXPECT_EQ(made.outcome.exit_code, 0) << made.outcome.err << made.outcome.out;
  EXPECT_EQ(made.before, made.after) << "the host was harmed";
  auto line = made.lines.find(test.expectation->name);
  ASSERT_NE(line, made.lines.end()) << "nothing came of it; the output is:\n" << made.outcome.out << made.outcome.err;
  if (!is_held(test.expectation->limit, made.outcome.err)) GTEST_SKIP() << made.outcome.err;
  EXPECT_TRUE(fits(line->second, expected(*test.expectation, mode)))
      << line->second << ", expected " << expected(*test.expectation, mode);
  // An attempt that nobody judges would be worth nothing.
  EXPECT_EQ(made.lines.size(), test.theme->expectations.size()) << made.outcome.out;
}

}  // namespace

const Batch& batch(const Theme& theme, Mode mode) {
  static std::map<std::pair<const Theme*, Mode>, Batch> made;
  auto found = made.find({&theme, mode});
  if (found == made.end()) found = made.emplace(std::pair(&theme, mode), make(theme, mode)).first;
  return found->second;
}

std::vector<AttemptCase> cases(const Theme& theme) {
  std::vector<AttemptCase> list;
  for (const Expectation& expectation : theme.expectations) list.push_back({&theme, &expectation});
  return list;
}

void PrintTo(const AttemptCase& test, std::ostream* out) { *out << test.expectation->name; }

std::string attempt_name(const testing::TestParamInfo<Attempts::ParamType>& test) {
  return concat(std::string_view(std::get<0>(test.param).expectation->name), "_", mode_name(std::get<1>(test.param)));
}

}  // namespace cove::test
