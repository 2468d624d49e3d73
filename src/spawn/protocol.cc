#include "spawn/protocol.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>

#include "base/text.h"
#include "image/reference.h"
#include "model/limit_fields.h"
#include "model/runtime_kind.h"
#include "model/sandbox_fields.h"

namespace cove::spawn {
namespace {

constexpr size_t kMaxText = 4096;

bool is_id_character(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// Where walls hold a limit, cove-spawn makes them.
bool travels(const LimitField& field) { return field.of != LimitOf::Exec; }

uint64_t bits_of(double value) { return std::bit_cast<uint64_t>(value); }
uint64_t bits_of(uint64_t value) { return value; }
uint64_t bits_of(std::chrono::milliseconds value) { return static_cast<uint64_t>(value.count()); }

void take_bits(uint64_t bits, double& value) {
  value = std::bit_cast<double>(bits);
  if (!std::isfinite(value) || value < 0 || value > 1e6) value = 1;
}
void take_bits(uint64_t bits, uint64_t& value) { value = bits; }
void take_bits(uint64_t bits, std::chrono::milliseconds& value) {
  value = std::chrono::milliseconds(static_cast<int64_t>(bits));
}

std::unexpected<Error> invalid_request(std::string_view what) {
  return fail(Code::Invalid, concat("invalid request: ", what));
}

bool is_plain(const std::string& text) { return text.size() <= kMaxText && text.find('\0') == text.npos; }

bool is_hostname(const std::string& name) {
  return name.size() <= 63 && std::ranges::all_of(name, [](char c) {
           return is_id_character(c) || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.';
         });
}

}  // namespace

bool is_sandbox_id(std::string_view id) { return id.size() == 20 && std::ranges::all_of(id, is_id_character); }

bool is_group_name(std::string_view name) { return name.starts_with("e-") && is_sandbox_id(name.substr(2)); }

void encode(Writer& out, const Limits& limits) {
  visit_limits(
      [&](const LimitField& field, const auto& limit) {
        if (travels(field)) out.number(bits_of(limit.value)).number(limit.named ? 1 : 0);
      },
      limits);
}

Limits decode_limits(Reader& in) {
  Limits limits;
  visit_limits(
      [&](const LimitField& field, auto& limit) {
        if (!travels(field)) return;
        take_bits(in.number(), limit.value);
        limit.named = in.number() != 0;
      },
      limits);
  return limits;
}

namespace {

// The last of each choice that there is.
constexpr Access last_of(Access) { return Access::Review; }
constexpr NetworkTier last_of(NetworkTier) { return NetworkTier::Unrestricted; }
constexpr Strictness last_of(Strictness) { return Strictness::Strict; }

template <typename T>
concept Choice = requires(T value) { last_of(value); };

void put(Writer& out, const std::string& text) { out.text(text); }
void put(Writer& out, const std::vector<std::string>& texts) { out.texts(texts); }
void put(Writer& out, uint64_t number) { out.number(number); }
void put(Writer& out, std::same_as<bool> auto flag) { out.number(flag ? 1 : 0); }
void put(Writer& out, const Limits& limits) { encode(out, limits); }
template <Choice T>
void put(Writer& out, T choice) {
  out.number(static_cast<uint64_t>(choice));
}
template <Listed T>
void put(Writer& out, const T& value) {
  auto add = [&](const Field& field, const auto& member) {
    if constexpr (requires { put(out, member); })
      if (field.in(kChannel)) put(out, member);
  };
  FieldsOf<T>::visit(add, value);
}

bool fits(Form form, const std::string& text) {
  switch (form) {
    case Form::Id:
      return is_sandbox_id(text);
    case Form::Name:
      return is_hostname(text);
    case Form::Runtime:
      return text.empty() || find_runtime_kind(text);
    case Form::AbsolutePath:
      return is_plain(text) && (text.empty() || text.starts_with('/'));
    default:
      return is_plain(text);
  }
}

// Reads what `put` wrote, and remembers the first field that makes no sense.
class FieldReader {
 public:
  explicit FieldReader(Reader& in) : in_(in) {}

  template <Listed T>
  void take(const Field&, T& value) {
    auto read = [&](const Field& field, auto& member) {
      if constexpr (requires { take(field, member); })
        if (field.in(kChannel)) take(field, member);
    };
    FieldsOf<T>::visit(read, value);
  }
  void take(const Field& field, std::string& text) {
    text = in_.text();
    check(field, fits(field.form, text));
  }
  void take(const Field& field, std::vector<std::string>& texts) {
    texts = in_.texts();
    check(field, std::ranges::all_of(texts, is_plain));
  }
  void take(const Field&, uint64_t& number) { number = in_.number(); }
  void take(const Field&, bool& flag) { flag = in_.number() != 0; }
  void take(const Field&, Limits& limits) { limits = decode_limits(in_); }
  template <Choice T>
  void take(const Field& field, T& choice) {
    const uint64_t number = in_.number();
    const bool known = number <= static_cast<uint64_t>(last_of(T()));
    if (known) choice = static_cast<T>(number);
    check(field, known);
  }

  std::string_view wrong() const { return wrong_; }

 private:
  void check(const Field& field, bool fits) {
    if (!fits && wrong_.empty()) wrong_ = field.name;
  }

  Reader& in_;
  std::string_view wrong_;
};

}  // namespace

void encode(Writer& out, const SandboxSpec& spec) { put(out, spec); }

Result<SandboxSpec> decode_spec(Reader& in) {
  SandboxSpec spec;
  FieldReader reader(in);
  reader.take({}, spec);
  spec.lifetime = Lifetime::Long;
  if (!in.done()) return invalid_request("it is malformed");
  if (!reader.wrong().empty()) return invalid_request(concat("its ", reader.wrong()));
  if (spec.workspace.access != Access::None && spec.workspace.path.empty()) return invalid_request("its workspace");
  return spec;
}

void encode(Writer& out, const sys::CgroupUsage& usage) {
  for (uint64_t number :
       {usage.cpu_user_us, usage.cpu_system_us, usage.memory_bytes, usage.memory_peak_bytes, usage.pids,
        usage.pids_peak, usage.io_read_bytes, usage.io_write_bytes, usage.oom_kills, usage.pids_refused})
    out.number(number);
}

sys::CgroupUsage decode_usage(Reader& in) {
  sys::CgroupUsage usage;
  for (uint64_t* number :
       {&usage.cpu_user_us, &usage.cpu_system_us, &usage.memory_bytes, &usage.memory_peak_bytes, &usage.pids,
        &usage.pids_peak, &usage.io_read_bytes, &usage.io_write_bytes, &usage.oom_kills, &usage.pids_refused})
    *number = in.number();
  return usage;
}

void encode(Writer& out, const HostRunOrder& order) {
  out.number(static_cast<uint64_t>(order.fence)).texts(order.argv).text(order.shell).text(order.cwd);
  out.text(order.workspace).number(order.device).number(order.inode).number(order.env.size());
  for (const auto& [name, value] : order.env) out.text(name).text(value);
}

Result<HostRunOrder> decode_host_order(Reader& in) {
  HostRunOrder order;
  uint64_t fence = in.number();
  order.argv = in.texts();
  order.shell = in.text();
  order.cwd = in.text();
  order.workspace = in.text();
  order.device = in.number();
  order.inode = in.number();
  uint64_t variables = in.number();
  for (uint64_t i = 0; i < variables && in.ok(); ++i) {
    std::string name = in.text();
    order.env.emplace_back(std::move(name), in.text());
  }
  if (!in.done() || fence > static_cast<uint64_t>(HostFence::None)) return invalid_request("it is malformed");
  order.fence = static_cast<HostFence>(fence);
  auto has_nul = [](const std::string& text) { return text.find('\0') != text.npos; };
  bool nul = has_nul(order.shell) || has_nul(order.cwd) || has_nul(order.workspace);
  for (const std::string& word : order.argv) nul = nul || has_nul(word);
  for (const auto& [name, value] : order.env)
    if (nul = nul || has_nul(name) || has_nul(value); name.empty() || name.find('=') != name.npos) nul = true;
  if (nul) return invalid_request("a string in it");
  if (order.argv.empty() == order.shell.empty()) return invalid_request("it is not one command");
  for (const std::string& path : {order.cwd, order.workspace})
    if (!path.empty() && !path.starts_with('/')) return invalid_request("a path in it");
  if (order.fence == HostFence::Reading && order.workspace.empty()) return invalid_request("it has no workspace");
  return order;
}

void encode(Writer& out, const HostRunEnd& end) {
  out.number(static_cast<uint64_t>(end.wait_status)).number(end.usage.cpu_user_ms).number(end.usage.cpu_system_ms);
  out.number(end.usage.memory_peak_bytes);
}

HostRunEnd decode_host_end(Reader& in) {
  HostRunEnd end;
  end.wait_status = static_cast<int>(in.number());
  end.usage.cpu_user_ms = in.number();
  end.usage.cpu_system_ms = in.number();
  end.usage.memory_peak_bytes = in.number();
  return end;
}

void encode(Writer& out, const UnpackRequest& request) {
  out.text(request.key).text(request.dependent_key).texts(request.parents).number(request.lowest ? 1 : 0);
  out.number(request.max_bytes).number(request.max_entries);
}

Result<UnpackRequest> decode_unpack(Reader& in) {
  UnpackRequest request;
  request.key = in.text();
  request.dependent_key = in.text();
  request.parents = in.texts();
  request.lowest = in.number() != 0;
  request.max_bytes = in.number();
  request.max_entries = in.number();
  if (!in.done()) return invalid_request("it is malformed");
  bool keys =
      is_hex_key(request.key) && is_hex_key(request.dependent_key) && std::ranges::all_of(request.parents, is_hex_key);
  if (!keys || request.parents.size() > kMaxLayers) return invalid_request("the keys of the layers");
  return request;
}

void encode(Writer& out, const unpack::Report& report) {
  unpack::Report plain = report;
  plain.opaque_folders.clear();
  out.text(plain.encode());
}

void encode(Writer& out, const ImageConfig& config) {
  out.number(config.env.size());
  for (const auto& [name, value] : config.env) out.text(name).text(value);
  out.texts(config.entrypoint).texts(config.cmd).text(config.cwd).text(config.user);
}

ImageConfig decode_image_config(Reader& in) {
  ImageConfig config;
  uint64_t count = in.number();
  for (uint64_t i = 0; i < count && in.ok(); ++i) {
    std::string name = in.text();
    config.env.emplace_back(std::move(name), in.text());
  }
  config.entrypoint = in.texts();
  config.cmd = in.texts();
  config.cwd = in.text();
  config.user = in.text();
  return config;
}

}  // namespace cove::spawn
