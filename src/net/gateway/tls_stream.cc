#include <cstring>

#include "net/gateway/byte_stream.h"

namespace cove::net {
namespace {

// --- a BIO over a RawSocket
// ---------------------------------------------------------------------------------------------

RawSocket& socket_of(BIO* bio) { return *static_cast<RawSocket*>(BIO_get_data(bio)); }

int bio_read(BIO* bio, char* data, size_t size, size_t* count) {
  const RawSocket::Attempt attempt = socket_of(bio).read({data, size});
  BIO_clear_retry_flags(bio);
  if (attempt.status == RawSocket::Status::Blocked) BIO_set_retry_read(bio);
  if (attempt.status == RawSocket::Status::Ended) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  *count = attempt.bytes;
  return attempt.status == RawSocket::Status::Moved ? 1 : 0;
}

int bio_write(BIO* bio, const char* data, size_t size, size_t* count) {
  const RawSocket::Attempt attempt = socket_of(bio).write({data, size});
  BIO_clear_retry_flags(bio);
  if (attempt.status == RawSocket::Status::Blocked) BIO_set_retry_write(bio);
  *count = attempt.bytes;
  return attempt.status == RawSocket::Status::Moved ? 1 : 0;
}

long bio_control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return 0;
}

int bio_create(BIO* bio) {
  BIO_set_init(bio, 1);
  return 1;
}

const BIO_METHOD* socket_method() {
  static BIO_METHOD* const kMethod = [] {
    BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    BIO_meth_set_read_ex(method, bio_read);
    BIO_meth_set_write_ex(method, bio_write);
    BIO_meth_set_ctrl(method, bio_control);
    BIO_meth_set_create(method, bio_create);
    return method;
  }();
  return kMethod;
}

// --- the stream
// ---------------------------------------------------------------------------------------------------------

std::string name_of_error(unsigned long code) {
  const char* reason = ERR_reason_error_string(code);
  return reason == nullptr ? "unknown TLS error" : reason;
}

class TlsStream final : public ByteStream {
 public:
  TlsStream(RawSocket socket, TlsSession session) : ByteStream(std::move(socket)), session_(std::move(session)) {
    BIO* bio = BIO_new(socket_method());
    BIO_set_data(bio, &socket_);
    SSL_set_bio(session_.get(), bio, bio);
    SSL_set_app_data(session_.get(), this);
    SSL_set_info_callback(session_.get(), note_progress);
  }

  Attempt read(std::span<char> buffer) override {
    if (over_) return {broken_ ? Status::Broken : Status::Ended, 0};
    ERR_clear_error();
    size_t count = 0;
    const int result = SSL_read_ex(session_.get(), buffer.data(), buffer.size(), &count);
    return result == 1 ? Attempt{Status::Moved, count} : explain(result, read_waits_for_);
  }

  Attempt write(std::string_view data) override {
    if (broken_) return {Status::Broken, 0};
    ERR_clear_error();
    size_t count = 0;
    const int result = SSL_write_ex(session_.get(), data.data(), data.size(), &count);
    return result == 1 ? Attempt{Status::Moved, count} : explain(result, write_waits_for_);
  }

  Attempt shut() override {
    if (broken_ || !is_ready()) return {Status::Moved, 0};
    ERR_clear_error();
    const int result = SSL_shutdown(session_.get());
    if (result < 0 && explain(result, write_waits_for_).status == Status::Blocked) return {Status::Blocked, 0};
    socket_.shut();
    return {Status::Moved, 0};
  }

  bool is_ready() const override { return ready_; }
  std::string why_broken() const override { return why_; }
  bool ended_cleanly() const override { return clean_; }

 private:
  // OpenSSL itself forgets that the handshake was over when something fails after it.
  static void note_progress(const SSL* session, int where, int) {
    if ((where & SSL_CB_HANDSHAKE_DONE) != 0) static_cast<TlsStream*>(SSL_get_app_data(session))->ready_ = true;
  }

  Attempt explain(int result, uint32_t& waits_for) {
    switch (SSL_get_error(session_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        waits_for = EPOLLIN;
        return {Status::Blocked, 0};
      case SSL_ERROR_WANT_WRITE:
        waits_for = EPOLLOUT;
        return {Status::Blocked, 0};
      case SSL_ERROR_ZERO_RETURN:
        over_ = clean_ = true;
        return {Status::Ended, 0};
      default:
        return end(ERR_peek_error());
    }
  }

  // A connection that ends without a word is an end, if the handshake was over; else it is broken.
  Attempt end(unsigned long code) {
    over_ = true;
    const bool eof = ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
    broken_ = !(eof && is_ready());
    if (eof || (code == 0 && socket_.error() == 0))
      why_ = "the connection was closed in the TLS handshake";
    else if (long verdict = SSL_get_verify_result(session_.get()); verdict != X509_V_OK)
      why_ = concat("its certificate is not valid: ", X509_verify_cert_error_string(verdict));
    else
      why_ = code != 0 ? name_of_error(code) : std::strerror(socket_.error());
    ERR_clear_error();
    return {broken_ ? Status::Broken : Status::Ended, 0};
  }

  TlsSession session_;
  bool ready_ = false, over_ = false, broken_ = false, clean_ = false;
  std::string why_;
};

}  // namespace

std::unique_ptr<ByteStream> ByteStream::tls(RawSocket socket, TlsSession session) {
  return std::make_unique<TlsStream>(std::move(socket), std::move(session));
}

}  // namespace cove::net
