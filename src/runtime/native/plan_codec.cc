#include "runtime/native/plan_codec.h"

#include "init/protocol.h"

namespace cove::native {
namespace {

using wire::Reader;
using wire::Writer;

void encode(Writer& out, const sys::IdMap& map) {
  out.number(map.size());
  for (const sys::IdMapEntry& entry : map) out.number(entry.inside).number(entry.outside).number(entry.count);
}

sys::IdMap decode_map(Reader& in) {
  sys::IdMap map;
  for (uint64_t left = in.number(); left > 0 && in.ok(); --left) {
    auto next = [&] { return static_cast<uint32_t>(in.number()); };
    map.push_back({.inside = next(), .outside = next(), .count = next()});
  }
  return map;
}

void encode(Writer& out, const ImageRoot& image) {
  out.text(image.reference).text(image.dev).text(image.folder).number(static_cast<uint64_t>(image.dev_nodes));
  out.number(image.mounts.size());
  for (const ImageMount& mount : image.mounts) out.text(mount.target).texts(mount.lowers).number(mount.foreign ? 1 : 0);
  out.number(image.binds.size());
  for (const ImageBind& bind : image.binds) out.text(bind.target).text(bind.source);
}

ImageRoot decode_image(Reader& in) {
  ImageRoot image;
  image.reference = in.text();
  image.dev = in.text();
  image.folder = in.text();
  image.dev_nodes = static_cast<DevNodes>(in.number());
  for (uint64_t left = in.number(); left > 0 && in.ok(); --left)
    image.mounts.push_back({.target = in.text(), .lowers = in.texts(), .foreign = in.number() != 0});
  for (uint64_t left = in.number(); left > 0 && in.ok(); --left)
    image.binds.push_back({.target = in.text(), .source = in.text()});
  return image;
}

}  // namespace

EncodedPlan encode_plan(const SpawnPlan& plan, int control, int status) {
  Writer out;
  EncodedPlan encoded{{}, {control, status}};
  for (int fd : {plan.layer.mount, plan.workspace.mount, plan.workspace.repository, plan.listener, plan.ids.lock.get(),
                 plan.image_hold.get()}) {
    out.number(fd >= 0 ? 1 : 0);
    if (fd >= 0) encoded.fds.push_back(fd);
  }
  out.text(plan.id).text(plan.hostname).text(plan.init_program);
  encode(out, plan.image);
  out.number(static_cast<uint64_t>(plan.layer.kind)).number(plan.layer.bytes).number(plan.layer.inodes);
  out.text(plan.layer.folder);
  out.number(plan.ids.single_id ? 1 : 0).number(plan.ids.shared ? 1 : 0);
  encode(out, plan.ids.users);
  encode(out, plan.ids.groups);
  out.text(plan.workspace.path).number(static_cast<uint64_t>(plan.workspace.access)).number(plan.workspace_owner);
  out.text(plan.workspace.worktree);
  out.texts(plan.own_folders);
  out.number(plan.shm_bytes).number(plan.memory).number(plan.nesting ? 1 : 0).number(plan.ends_with_exec ? 1 : 0);
  encoded.data = out.data();
  return encoded;
}

Result<PlanMessage> decode_plan(std::string_view data, std::vector<UniqueFd> fds) {
  Reader in(data);
  PlanMessage message;
  SpawnPlan& plan = message.plan;
  auto next = [&, number = size_t{0}]() mutable { return number < fds.size() ? std::move(fds[number++]) : UniqueFd(); };
  message.control = next();
  message.status = next();
  for (UniqueFd* fd :
       {&message.layer, &message.workspace, &message.repository, &message.listener, &plan.ids.lock, &plan.image_hold})
    if (in.number() != 0) *fd = next();
  plan.listener = message.listener.get();
  plan.id = in.text();
  plan.hostname = in.text();
  plan.init_program = in.text();
  plan.image = decode_image(in);
  plan.layer.kind = static_cast<LayerKind>(in.number());
  plan.layer.bytes = in.number();
  plan.layer.inodes = in.number();
  plan.layer.folder = in.text();
  plan.layer.mount = message.layer.get();
  plan.ids.single_id = in.number() != 0;
  plan.ids.shared = in.number() != 0;
  plan.ids.users = decode_map(in);
  plan.ids.groups = decode_map(in);
  plan.workspace.path = in.text();
  plan.workspace.access = static_cast<Access>(in.number());
  plan.workspace.mount = message.workspace.get();
  plan.workspace.repository = message.repository.get();
  plan.workspace_owner = static_cast<uint32_t>(in.number());
  plan.workspace.worktree = in.text();
  plan.own_folders = in.texts();
  plan.shm_bytes = in.number();
  plan.memory = in.number();
  plan.nesting = in.number() != 0;
  plan.ends_with_exec = in.number() != 0;
  plan.lifetime = Lifetime::Long;
  if (!in.done() || !message.control || !message.status) return fail(Code::Internal, "the order is malformed");
  return message;
}

}  // namespace cove::native
