// Compiled by `./dev bench build` as a measure of the machine and its compiler: the standard library as it is used
// everywhere, and templates that cost time. It must not change, or figures of different days cannot be compared.
#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace {

template <int N>
struct Level {
  std::map<std::string, std::variant<int, double, std::string>> values;
  Level<N - 1> next;

  void fill(std::mt19937& random) {
    for (int i = 0; i < N; ++i) {
      std::string name = "level " + std::to_string(N) + " value " + std::to_string(i);
      if (i % 3 == 0)
        values[name] = static_cast<int>(random() % 1000);
      else if (i % 3 == 1)
        values[name] = static_cast<double>(random()) / 3;
      else
        values[name] = name;
    }
    next.fill(random);
  }

  void print(std::ostream& out, const std::regex& wanted) const {
    for (const auto& [name, value] : values)
      if (std::regex_search(name, wanted)) std::visit([&](const auto& v) { out << name << ' ' << v << '\n'; }, value);
    next.print(out, wanted);
  }
};

template <>
struct Level<0> {
  void fill(std::mt19937&) {}
  void print(std::ostream&, const std::regex&) const {}
};

}  // namespace

int main() {
  std::mt19937 random(42);
  auto levels = std::make_unique<Level<40>>();
  levels->fill(random);
  std::ostringstream out;
  levels->print(out, std::regex("value [0-9]*7$", std::regex::ECMAScript | std::regex::icase));
  std::unordered_map<std::string, std::vector<std::string>> words;
  std::istringstream in(out.str());
  for (std::string word; in >> word;) words[word].push_back(word);
  std::set<std::string> sorted;
  for (const auto& [word, places] : words) sorted.insert(word + std::to_string(places.size()));
  for (const std::string& word : sorted) std::cout << word << '\n';
}
