// Requests of a coved that has been taken over, to a cove-spawn without walls: its sandboxes are values in memory, so
// that nothing of the machine is reached whatever is asked for. This file has the SandboxFactory that are linked in.
#include <unistd.h>

#include <cmath>
#include <set>

#include "base/error_wire.h"
#include "messages.h"
#include "spawn/server.h"

namespace {

using namespace cove;
using namespace cove::fuzz;
using spawn::Type;

class NoLayer : public Layer {
 public:
  LayerMount mount() const override { return {}; }
  Result<uint64_t> usage() const override { return 0; }
  Result<void> remove() override { return {}; }
  void keep() override {}
};

// Of the children that were not made by it, those whose names end with a digit are there.
class NoGroup : public sys::Cgroup {
 public:
  const std::string& name() const override { return name_; }
  bool has(sys::Controller) const override { return true; }
  Result<void> set_cpus(double cpus) override {
    require(std::isfinite(cpus) && cpus >= 0);
    return {};
  }
  Result<void> set_cpu_count(unsigned) override { return {}; }
  Result<void> set_memory(uint64_t, uint64_t) override { return {}; }
  bool counts_swap() const override { return true; }
  Result<void> set_pids(uint64_t) override { return {}; }
  Result<void> set_io(const std::string&, uint64_t, uint64_t) override { return {}; }
  Result<void> freeze() override { return {}; }
  Result<void> thaw() override { return {}; }
  Result<void> kill() override { return {}; }
  Result<bool> populated() const override { return false; }
  Result<std::vector<UniqueFd>> open_join_fds() const override { return open_nothings(1); }
  int clone_fd() const override { return folder_.get(); }
  Result<sys::CgroupUsage> usage() const override { return sys::CgroupUsage(); }
  Result<void> remove() override { return {}; }
  Result<std::unique_ptr<Cgroup>> create_child(const std::string& name) override {
    require(spawn::is_group_name(name));
    return std::make_unique<NoGroup>();
  }
  Result<std::unique_ptr<Cgroup>> adopt_child(const std::string& name) override {
    require(spawn::is_group_name(name));
    if (name.back() < '0' || name.back() > '9') return fail(Code::NotFound, "there is no such group");
    return std::make_unique<NoGroup>();
  }
  Parts parts() const override { return {2, {0}, {folder_.get()}}; }

 private:
  std::string name_ = "e-0";
  UniqueFd folder_ = open_nothing();
};

bool has_no_nul(const std::string& text) { return text.find('\0') == std::string::npos; }

void check(const SandboxSpec& spec) {
  require(spawn::is_sandbox_id(spec.id));
  require(spec.name.size() < 64 && spec.name.find('/') == std::string::npos && has_no_nul(spec.name));
  require(has_no_nul(spec.image) && has_no_nul(spec.user) && has_no_nul(spec.workspace.path));
  require(spec.lifetime == Lifetime::Long);
  require(std::isfinite(spec.limits.cpus.value) && spec.limits.cpus.value >= 0);
}

native::CreatedSandbox pretend(const SandboxSpec& spec) {
  native::CreatedSandbox created;
  created.spec = spec;
  native::LocalResources::Parts parts;
  parts.spec = spec;
  parts.layer = std::make_unique<NoLayer>();
  if (!spec.nesting) parts.group = std::make_unique<NoGroup>();
  created.resources = std::make_unique<native::LocalResources>(std::move(parts));
  created.control = open_nothing();
  return created;
}

uint64_t number_at(std::string_view data, size_t index) {
  uint64_t number = 0;
  if (data.size() >= (index + 1) * sizeof number) std::memcpy(&number, &data[index * sizeof number], sizeof number);
  return number;
}

// One answer at most, and it is an answer to this.
void check_answers(const std::vector<sys::Message>& answers, std::string_view request) {
  require(answers.size() <= 1);
  for (const sys::Message& answer : answers) {
    wire::Reader in(answer.data);
    auto type = static_cast<Type>(in.number());
    require(type == Type::Done || type == Type::Failed);
    require(in.number() == number_at(request, 1));
    if (type != Type::Failed) continue;
    std::string error = in.text();
    require(in.done() && encode_error(decode_error(error)) == error);
  }
}

}  // namespace

namespace cove::native {

SandboxFactory::SandboxFactory(Places places, IdRanges)
    : places_(std::move(places)), shares_ids_(true), groups_(fail(Code::Unsupported, "there are none here")) {}

Result<CreatedSandbox> SandboxFactory::create(const SandboxSpec& spec) {
  check(spec);
  require(spec.workspace.access == Access::None);  // there is none that may be shown
  if (spec.strictness == Strictness::Strict) return fail(Code::Unsupported, "walls");
  return pretend(spec);
}

Result<CreatedSandbox> SandboxFactory::adopt(const SandboxSpec& spec) {
  check(spec);
  if (spec.strictness == Strictness::Strict) return fail(Code::NotFound, "walls");
  return pretend(spec);
}

Result<void> SandboxFactory::remove_files(const std::string& id) {
  require(spawn::is_sandbox_id(id));
  return {};
}

Result<void> SandboxFactory::sweep(const std::vector<std::string>& known) {
  require(known.size() <= spawn::kMaxKnown);
  return {};
}

// What takes long is for a child: those requests are not asked for here.
Result<std::optional<unpack::Report>> SandboxFactory::find_layer(const std::string& key) const {
  require(key.size() == 64 && key.find('/') == std::string::npos);
  return key.front() == '0' ? std::optional(unpack::Report()) : std::nullopt;
}
Result<RuntimeFact> SandboxFactory::examine(const RuntimeKind&) const { return fail(Code::Unsupported, "walls"); }
Result<unpack::Report> SandboxFactory::unpack_layer(const UnpackRequest&) const {
  return fail(Code::Unsupported, "walls");
}
Result<unpack::Report> SandboxFactory::examine_layer(const std::string&) const {
  return fail(Code::Unsupported, "walls");
}
Result<void> SandboxFactory::assemble_image(const std::string&, const std::vector<std::string>&) const { return {}; }
Result<void> SandboxFactory::sweep_images(const std::set<std::string>&, const std::set<std::string>&) const {
  return {};
}

void SandboxFactory::maintain() {}

}  // namespace cove::native

namespace cove::docker {

// Nobody is asked for a container here.
Result<native::CreatedSandbox> EngineFactory::create(const SandboxSpec& spec) { return pretend(spec); }
Result<PendingContainer> EngineFactory::prepare(const SandboxSpec& spec) const {
  check(spec);
  return fail(Code::Unsupported, "engine");
}
Result<BuiltContainer> EngineFactory::build(const PendingContainer&) const { return fail(Code::Unsupported, "engine"); }
Result<native::CreatedSandbox> EngineFactory::finish(PendingContainer, BuiltContainer) {
  return fail(Code::Unsupported, "engine");
}
Result<native::CreatedSandbox> EngineFactory::adopt(const SandboxSpec& spec) const {
  check(spec);
  return pretend(spec);
}
Result<void> EngineFactory::remove_files(const std::string&) const { return {}; }
Result<void> EngineFactory::sweep(const std::vector<std::string>&) const { return {}; }
bool EngineFactory::used() const { return false; }
Result<ImageConfig> EngineFactory::image(const std::string&, const std::string&) const {
  return fail(Code::Unsupported, "engine");
}
void encode(wire::Writer&, const BuiltContainer&) {}
BuiltContainer decode_built_container(wire::Reader&) { return {}; }

}  // namespace cove::docker

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Without root a folder is opened with the rights of whoever runs this, if somebody's connection comes along.
  static const size_t most_fds = ::geteuid() == 0 ? 7 : 0;
  Peer coved;
  spawn::SpawnServer server(coved.take_first(), native::SandboxFactory({}, native::IdRanges::Shared), {});
  for (const Piece& piece : split_pieces({reinterpret_cast<const char*>(data), size})) {
    // A sandbox is ended by a child, and so is most of what is done with images.
    auto type = static_cast<Type>(number_at(piece.content, 0));
    if (type == Type::Destroy || (type >= Type::UnpackLayer && type <= Type::SweepImages)) continue;
    const bool to_engine =
        piece.content.find("docker") != piece.content.npos || piece.content.find("podman") != piece.content.npos;
    if (type == Type::EngineImage || type == Type::ExamineRuntime || (type == Type::RemoveFiles && to_engine)) continue;
    server.handle({std::string(piece.content), open_nothings(std::min<size_t>(piece.about, most_fds))});
    check_answers(coved.hear(), piece.content);
  }
  return 0;
}
