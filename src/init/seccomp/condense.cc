#include "init/seccomp/condense.h"

#include <linux/seccomp.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace cove::seccomp {
namespace {

constexpr uint32_t kNumberOffset = offsetof(seccomp_data, nr);
constexpr uint32_t kArchOffset = offsetof(seccomp_data, arch);

void must(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "seccomp filter: condense: %s\n", what.c_str());
  std::exit(1);
}

bool is_load(const sock_filter& each) { return each.code == (BPF_LD | BPF_W | BPF_ABS); }
bool is_return(const sock_filter& each) { return each.code == (BPF_RET | BPF_K); }
bool is_mask(const sock_filter& each) { return each.code == (BPF_ALU | BPF_AND | BPF_K); }
bool is_goto(const sock_filter& each) { return each.code == (BPF_JMP | BPF_JA); }

bool holds(const sock_filter& jump, uint32_t value) {
  switch (jump.code) {
    case BPF_JMP | BPF_JEQ | BPF_K:
      return value == jump.k;
    case BPF_JMP | BPF_JGT | BPF_K:
      return value > jump.k;
    case BPF_JMP | BPF_JGE | BPF_K:
      return value >= jump.k;
    case BPF_JMP | BPF_JSET | BPF_K:
      return (value & jump.k) != 0;
    default:
      must(false, "unknown instruction: " + std::to_string(jump.code));
      return false;
  }
}

// The first instruction for a call with this number that depends on its arguments, or its verdict. The accumulator has
// a known value on the whole path.
size_t follow(const Program& program, uint32_t arch, uint32_t number, size_t at, std::optional<uint32_t> known) {
  while (true) {
    const sock_filter& each = program.at(at);
    if (is_load(each)) {
      if (each.k != kNumberOffset && each.k != kArchOffset) return at;
      known = each.k == kNumberOffset ? number : arch;
      ++at;
    } else if (is_goto(each)) {
      at += 1 + each.k;
    } else if (is_return(each) || !known) {
      return at;
    } else {
      must(!is_mask(each) && BPF_OP(each.code) != BPF_JSET, "a test of single bits of a number");
      at += 1u + (holds(each, *known) ? each.jt : each.jf);
    }
  }
}

// Instructions whose jump targets are labels until all positions are known.
class Assembler {
 public:
  using Label = size_t;

  Label new_label() {
    places_.push_back(0);
    return places_.size() - 1;
  }
  void here(Label label) { places_[label] = lines_.size(); }
  void add(sock_filter instruction, Label yes = 0, Label no = 0) { lines_.push_back({instruction, yes, no}); }

  Program finish() const {
    Program program;
    for (size_t at = 0; at < lines_.size(); ++at) {
      sock_filter each = lines_[at].instruction;
      if (BPF_CLASS(each.code) == BPF_JMP) {
        each.jt = distance(at, lines_[at].yes);
        each.jf = distance(at, lines_[at].no);
      }
      program.push_back(each);
    }
    return program;
  }

 private:
  struct Line {
    sock_filter instruction;
    Label yes, no;
  };
  unsigned char distance(size_t at, Label label) const {
    must(places_[label] > at && places_[label] - at - 1 <= 255, "jump out of range");
    return static_cast<unsigned char>(places_[label] - at - 1);
  }

  std::vector<Line> lines_;
  std::vector<size_t> places_;
};

class Condenser {
 public:
  Condenser(const Program& program, uint32_t arch) : program_(program), arch_(arch) {}

  Program run() {
    find_ranges();
    const Assembler::Label ours = out_.new_label(), foreign = out_.new_label();
    out_.add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kArchOffset));
    out_.add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arch_, 0, 0), ours, foreign);
    out_.here(ours);
    out_.add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumberOffset));
    bisect(0, ranges_.size());
    for (const auto& [key, label] : blocks_) write_block(key, label);
    out_.here(foreign);
    const uint32_t other = arch_ + 1;
    const size_t end = follow(program_, other, 0, 0, std::nullopt);
    must(is_return(program_[end]), "foreign architectures have no verdict of their own");
    out_.add(program_[end]);
    for (const auto& [verdict, label] : verdicts_) {
      out_.here(label);
      out_.add(BPF_STMT(BPF_RET | BPF_K, verdict));
    }
    return out_.finish();
  }

 private:
  struct Range {
    uint32_t first;
    size_t target;
  };
  // A block belongs to one number, which the program may compare again after the arguments.
  struct Block {
    size_t target;
    uint32_t number;
    auto operator<=>(const Block&) const = default;
  };

  bool alike(const Range& a, const Range& b) const {
    const sock_filter &one = program_[a.target], &other = program_[b.target];
    return is_return(one) && is_return(other) && one.k == other.k;
  }

  // The result for a number can change only at a number that the program compares with.
  void find_ranges() {
    std::set<uint32_t> borders = {0};
    for (const sock_filter& each : program_)
      if (BPF_CLASS(each.code) == BPF_JMP && !is_goto(each)) borders.insert({each.k, each.k + 1});
    for (uint32_t first : borders) {
      Range range{first, follow(program_, arch_, first, 0, std::nullopt)};
      if (ranges_.empty() || !alike(ranges_.back(), range)) ranges_.push_back(range);
      must(is_return(program_[range.target]) || borders.contains(first + 1),
           "several numbers with the same argument check");
    }
  }

  Assembler::Label target_of(const Range& range) {
    const sock_filter& each = program_[range.target];
    auto& labels = is_return(each) ? verdicts_[each.k] : blocks_[{range.target, range.first}];
    return labels ? labels : labels = out_.new_label();
  }

  void bisect(size_t first, size_t last) {
    if (last - first == 1) return;
    const size_t middle = (first + last) / 2;
    auto label_of = [&](size_t from, size_t to) {
      return to - from == 1 ? target_of(ranges_[from]) : out_.new_label();
    };
    const Assembler::Label above = label_of(middle, last), below = label_of(first, middle);
    out_.add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, ranges_[middle].first, 0, 0), above, below);
    if (middle - first > 1) out_.here(below);
    bisect(first, middle);
    if (last - middle > 1) out_.here(above);
    bisect(middle, last);
  }

  // The instructions reachable from here with an unknown accumulator, in the program's order, which only goes forward.
  void write_block(const Block& block, Assembler::Label label) {
    std::set<size_t> reached, open = {block.target};
    std::map<size_t, Assembler::Label> labels = {{block.target, label}};
    auto settle = [&](size_t at) { return follow(program_, arch_, block.number, at, std::nullopt); };
    while (!open.empty()) {
      const size_t at = *open.begin();
      open.erase(open.begin());
      if (!reached.insert(at).second || is_return(program_[at])) continue;
      for (size_t next : successors(at)) open.insert(settle(next));
    }
    auto label_of = [&](size_t next) {
      const size_t at = settle(next);
      auto& known = is_return(program_[at]) ? verdicts_[program_[at].k] : labels[at];
      return known ? known : known = out_.new_label();
    };
    for (size_t at : reached) {
      const sock_filter& each = program_[at];
      if (is_return(each)) continue;
      out_.here(labels[at] ? labels[at] : labels[at] = out_.new_label());
      if (BPF_CLASS(each.code) == BPF_JMP) {
        out_.add(each, label_of(at + 1u + each.jt), label_of(at + 1u + each.jf));
        continue;
      }
      // The instruction after a load or a mask follows directly and is written next.
      must(settle(at + 1) == at + 1 && reached.contains(at + 1) && !is_return(program_[at + 1]),
           "a word is loaded but not used");
      out_.add(each);
    }
  }

  std::vector<size_t> successors(size_t at) const {
    const sock_filter& each = program_[at];
    if (BPF_CLASS(each.code) != BPF_JMP) return {at + 1};
    return {at + 1u + each.jt, at + 1u + each.jf};
  }

  const Program& program_;
  uint32_t arch_;
  std::vector<Range> ranges_;
  Assembler out_;
  // 0 is no label of these: it is `ours`.
  std::map<Block, Assembler::Label> blocks_;
  std::map<uint32_t, Assembler::Label> verdicts_;
};

}  // namespace

Program condense(const Program& program, uint32_t arch) { return Condenser(program, arch).run(); }

uint32_t evaluate(const Program& program, const std::vector<uint32_t>& words) {
  uint32_t accumulator = 0;
  for (size_t at = 0;; ++at) {
    const sock_filter& each = program.at(at);
    if (is_return(each)) return each.k;
    if (is_load(each))
      accumulator = words.at(each.k / sizeof(uint32_t));
    else if (is_mask(each))
      accumulator &= each.k;
    else if (is_goto(each))
      at += each.k;
    else
      at += holds(each, accumulator) ? each.jt : each.jf;
  }
}

}  // namespace cove::seccomp
