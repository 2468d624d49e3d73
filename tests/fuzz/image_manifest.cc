// Manifests, indexes and configs, as registries and archives have them.
#include "image/manifest.h"
#include "image/reference.h"
#include "messages.h"

using namespace cove;
using namespace cove::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (Result<ManifestDocument> document = parse_manifest(text)) {
    if (auto* index = std::get_if<ManifestIndex>(&*document)) {
      Result<Descriptor> chosen = choose_manifest(*index, own_platform());
      require(!chosen || is_digest(chosen->digest));
    } else {
      const Manifest& manifest = std::get<Manifest>(*document);
      require(manifest.layers.size() <= kMostLayers && is_digest(manifest.config.digest));
      for (const Descriptor& layer : manifest.layers) require(is_digest(layer.digest));
    }
  }
  if (Result<ImageConfig> config = parse_image_config(text)) {
    for (const std::string& id : config->diff_ids) require(is_digest(id));
    for (const auto& [name, value] : config->env) require(!name.empty() && value.find('\0') == std::string::npos);
  }
  return 0;
}
