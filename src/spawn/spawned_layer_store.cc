#include "base/text.h"
#include "image/layer_store.h"
#include "spawn/client.h"

namespace cove::spawn {
namespace {

using spawn::Type;
using wire::Reader;
using wire::Writer;

std::unexpected<Error> malformed_reply() { return fail(Code::Internal, "cove-spawn sent a malformed reply"); }

Result<unpack::Report> decode_report(Reader& in) {
  std::string text = in.text();
  Reader inner(text);
  unpack::Report report;
  if (!in.ok() || !report.decode(inner)) return malformed_reply();
  return report;
}

class SpawnedLayerStore : public LayerStore {
 public:
  explicit SpawnedLayerStore(std::shared_ptr<SpawnClient> spawn) : spawn_(std::move(spawn)) {}

  Result<std::vector<std::optional<unpack::Report>>> find(const std::vector<std::string>& keys) override {
    SpawnClient::Answer answer = COVE_TRY(spawn_->ask(Type::FindLayers, Writer().texts(keys)));
    Reader in(answer.body);
    std::vector<std::optional<unpack::Report>> found;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (in.number() == 0)
        found.emplace_back();
      else
        found.emplace_back(COVE_TRY(decode_report(in)));
    }
    if (!in.done()) return malformed_reply();
    return found;
  }

  Result<unpack::Report> unpack(const UnpackRequest& request) override {
    Writer message;
    spawn::encode(message, request);
    return report_of(spawn_->ask(Type::UnpackLayer, message, {request.archive}));
  }

  Result<unpack::Report> examine(const std::string& key) override {
    return report_of(spawn_->ask(Type::ExamineLayer, Writer().text(key)));
  }

  Result<void> assemble(const std::string& digest, const std::vector<std::string>& keys) override {
    COVE_TRY(spawn_->ask(Type::AssembleImage, Writer().text(digest).texts(keys)));
    return {};
  }

  Result<void> sweep(const std::vector<std::string>& digests, const std::vector<std::string>& keys) override {
    constexpr size_t kPerMessage = 1000;
    auto part = [](const std::vector<std::string>& all, size_t from) {
      auto begin = all.begin() + static_cast<std::ptrdiff_t>(std::min(from, all.size()));
      auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(from + kPerMessage, all.size()));
      return std::vector<std::string>(begin, end);
    };
    const size_t count = std::max(digests.size(), keys.size());
    for (size_t from = 0; from == 0 || from < count; from += kPerMessage) {
      const bool last = from + kPerMessage >= count;
      COVE_TRY(spawn_->ask(Type::SweepImages,
                           Writer().number(last ? 1 : 0).texts(part(digests, from)).texts(part(keys, from))));
    }
    return {};
  }

 private:
  static Result<unpack::Report> report_of(Result<SpawnClient::Answer> answer) {
    if (!answer) return std::unexpected(answer.error());
    Reader in(answer->body);
    return decode_report(in);
  }

  std::shared_ptr<SpawnClient> spawn_;
};

}  // namespace

std::unique_ptr<LayerStore> make_spawned_layer_store(std::shared_ptr<SpawnClient> spawn) {
  return std::make_unique<SpawnedLayerStore>(std::move(spawn));
}

}  // namespace cove::spawn
