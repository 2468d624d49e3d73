#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

// What the benchmarks share: timing whole processes beside each other, percentiles, the table and the ratio lines.
namespace cove::bench {

// Milliseconds of one piece of work, many times.
class Samples {
 public:
  explicit Samples(std::string name) : name_(std::move(name)) {}
  void add(double milliseconds) { values_.push_back(milliseconds); }
  double percentile(double fraction) const;
  double median() const { return percentile(0.5); }
  const std::string& name() const { return name_; }
  size_t size() const { return values_.size(); }

 private:
  std::string name_;
  std::vector<double> values_;
};

double milliseconds(const std::function<void()>& work);

using Command = std::vector<std::string>;
// Where this program is, and those of Cove beside it.
std::string folder_of_programs();
// What becomes of what a program writes to standard error.
enum class Errors { Shown, Hidden };
// Starts the program with its other streams on /dev/null and waits for it; a program that fails ends the benchmark.
void spawn_and_wait(const Command& command, Errors errors = Errors::Shown);
bool installed(const std::string& program);
std::string text_of(const Command& command);

// One contender: what it is called and what is timed.
struct Contender {
  std::string name;
  std::function<void()> work;
};
// Rounds of all contenders in turn, so that noise hits all alike.
std::vector<Samples> alternate(const std::vector<Contender>& contenders, int rounds,
                               std::chrono::milliseconds pause = {});

void print_table(const std::vector<Samples>& rows);
// "ratio NAME VALUE", alone on a line.
void print_ratio(const std::string& name, double value);

}  // namespace cove::bench
