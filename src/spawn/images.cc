// Requests about images and the runtimes that run them.
#include <unistd.h>

#include "base/text.h"
#include "image/reference.h"
#include "model/runtime_kind.h"
#include "runtime/docker/docker_runtime.h"
#include "spawn/server.h"
#include "sys/file.h"
#include "sys/program.h"

namespace cove::spawn {
namespace {

using spawn::Type;
using wire::Reader;
using wire::Writer;

constexpr std::chrono::seconds kDoctorTimeout(10);

}  // namespace

Result<void> SpawnServer::examine_runtime(uint64_t token, Reader& in) {
  const RuntimeKind* kind = find_runtime_kind(in.text());
  if (!in.done() || !kind || kind->family == RuntimeFamily::Native) return fail(Code::Invalid, "unknown runtime");
  return run_helper(token, [&]() -> Result<Writer> {
    RuntimeFact fact =
        kind->family == RuntimeFamily::Oci ? COVE_TRY(factory_.examine(*kind)) : docker::examine(kind->name);
    Writer rest;
    rest.text(fact.title)
        .number(fact.available ? 1 : 0)
        .text(fact.version)
        .text(fact.program)
        .text(fact.problem)
        .text(fact.remedy);
    return rest;
  });
}

// Examines the machine with the rights of the process that creates sandboxes; coved runs as another user.
Result<void> SpawnServer::diagnose(uint64_t token) {
  return run_helper(token, [&]() -> Result<Writer> {
    sys::Question doctor{{factory_.places().programs + "/cove", "doctor", "--json"}, {}, spawn::kMaxMessage / 2};
    for (char** variable = environ; *variable; ++variable) doctor.env.emplace_back(*variable);
    doctor.patience = kDoctorTimeout;
    return Writer().text(COVE_TRY_NOTE("examine the machine", sys::output_of(doctor)));
  });
}

Result<void> SpawnServer::engine_image(uint64_t token, Reader& in) {
  std::string runtime = in.text();
  std::string name = in.text();
  if (!in.done() || !is_engine_runtime(runtime)) return fail(Code::Invalid, "the runtime has no images of its own");
  return run_helper(token, [&]() -> Result<Writer> {
    Writer rest;
    spawn::encode(rest, COVE_TRY(engine_factory_.image(runtime, name)));
    return rest;
  });
}

Result<void> SpawnServer::find_layers(uint64_t token, Reader& in) {
  std::vector<std::string> keys = in.texts();
  if (!in.done() || keys.size() > 2 * spawn::kMaxLayers || !std::ranges::all_of(keys, is_hex_key))
    return fail(Code::Invalid, "invalid layer keys");
  Writer rest;
  for (const std::string& key : keys) {
    std::optional<unpack::Report> report = COVE_TRY(factory_.find_layer(key));
    rest.number(report ? 1 : 0);
    if (report) spawn::encode(rest, *report);
  }
  return done(token, rest);
}

Result<void> SpawnServer::unpack_layer(uint64_t token, Reader& in, std::vector<UniqueFd> fds) {
  UnpackRequest request = COVE_TRY(spawn::decode_unpack(in));
  if (fds.size() != 1) return fail(Code::Invalid, "the archive to unpack is missing");
  request.archive = fds[0].get();
  return run_helper(token, [&]() -> Result<Writer> {
    Writer rest;
    spawn::encode(rest, COVE_TRY(factory_.unpack_layer(request)));
    return rest;
  });
}

Result<void> SpawnServer::examine_layer(uint64_t token, Reader& in) {
  std::string key = in.text();
  if (!in.done() || !is_hex_key(key)) return fail(Code::Invalid, "invalid layer key");
  return run_helper(token, [&]() -> Result<Writer> {
    Writer rest;
    spawn::encode(rest, COVE_TRY(factory_.examine_layer(key)));
    return rest;
  });
}

Result<void> SpawnServer::assemble_image(uint64_t token, Reader& in) {
  std::string digest = in.text();
  std::vector<std::string> keys = in.texts();
  if (!in.done() || !is_hex_key(digest) || keys.size() > spawn::kMaxLayers || !std::ranges::all_of(keys, is_hex_key))
    return fail(Code::Invalid, "invalid list of layers");
  return run_helper(token, [&]() -> Result<Writer> {
    COVE_TRY(factory_.assemble_image(digest, keys));
    return Writer();
  });
}

Result<void> SpawnServer::sweep_images(uint64_t token, Reader& in) {
  bool last = in.number() != 0;
  for (std::string& digest : in.texts()) known_images_.insert(std::move(digest));
  for (std::string& key : in.texts()) known_layers_.insert(std::move(key));
  if (!in.done() || known_images_.size() + known_layers_.size() > spawn::kMaxKnown) {
    known_images_.clear();
    known_layers_.clear();
    return fail(Code::Invalid, "invalid list of known images");
  }
  if (!last) return done(token);
  std::set<std::string> images = std::exchange(known_images_, {});
  std::set<std::string> layers = std::exchange(known_layers_, {});
  return run_helper(token, [&]() -> Result<Writer> {
    COVE_TRY(factory_.sweep_images(images, layers));
    return Writer();
  });
}

}  // namespace cove::spawn
