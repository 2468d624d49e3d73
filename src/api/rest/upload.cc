#include "api/rest/upload.h"

#include <unistd.h>

#include <vector>

#include "api/rest/call.h"
#include "api/rest/digest.h"
#include "base/text.h"
#include "image/images.h"
#include "sys/file.h"

namespace cove::api {

Checked<Upload> receive_upload(Call& call) {
  UniqueFd file = COVE_TRY(call.engine().images().scratch_file());
  Digest digest;
  std::vector<char> piece(256 << 10);
  uint64_t room = call.engine().config().images.max_size;
  while (true) {
    Result<size_t> count = call.exchange.read(piece);
    if (!count) return refuse(body_problem(count.error()));
    if (*count == 0) break;
    if (*count > room)
      return refuse(Problem(413, "too_large",
                            concat("the archive is larger than ", format_bytes(call.engine().config().images.max_size)))
                        .advise("the server's setting images.max_size allows more"));
    room -= *count;
    digest.update({piece.data(), *count});
    COVE_TRY_NOTE("keep the archive", with_advice(sys::write_all(file.get(), {piece.data(), *count})));
  }
  if (::lseek(file.get(), 0, SEEK_SET) < 0) return refuse(Problem(Error::from_errno(errno, "lseek")));
  return Upload{std::move(file), digest.hex()};
}

}  // namespace cove::api
