#include "api/preview/pages.h"

#include "base/text.h"

namespace cove::api {
namespace {

constexpr std::string_view kStyle =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:15vh auto;padding:0 1rem;color:#222;"
    "background:#fff}h1{font-size:1.3rem}code,li{font-family:ui-monospace,monospace}p{color:#555}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}p{color:#aaa}}";

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  return out;
}

std::string plain(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return out;
}

std::string line_of(const engine::ListeningPort& port) {
  return concat(port.port, "  ", port.command.empty() ? port.name : port.command);
}

std::string page_of(const Notice& notice) {
  std::string html = concat("<!doctype html><html lang=en><meta charset=utf-8><title>", escaped(notice.title),
                            "</title>", notice.passing ? "<meta http-equiv=refresh content=2>" : "", "<style>", kStyle,
                            "</style><h1>", escaped(notice.title), "</h1>");
  if (!notice.hint.empty()) html += concat("<p>", escaped(notice.hint), "</p>");
  if (!notice.ports.empty()) html += "<p>Listening:</p><ul>";
  for (const engine::ListeningPort& port : notice.ports) html += concat("<li>", escaped(line_of(port)), "</li>");
  if (!notice.ports.empty()) html += "</ul>";
  return html + (notice.passing ? "<p>This page reloads by itself.</p></html>\n" : "</html>\n");
}

std::string text_of(const Notice& notice) {
  std::string text = concat(plain(notice.title), "\n");
  for (const engine::ListeningPort& port : notice.ports) text += concat("listening: ", plain(line_of(port)), "\n");
  if (!notice.hint.empty()) text += concat("hint: ", plain(notice.hint), "\n");
  return text;
}

}  // namespace

std::string notice_body(const Notice& notice, Reader reader) {
  return reader == Reader::Browser ? page_of(notice) : text_of(notice);
}

void tell_notice(http::Exchange& exchange, const Notice& notice, Reader reader) {
  const bool browser = reader == Reader::Browser;
  http::Headers headers = {
      {"Content-Type", browser ? "text/html; charset=utf-8" : "text/plain; charset=utf-8"},
      {"Cache-Control", "no-store"},
      {"Referrer-Policy", "no-referrer"},
      {"X-Content-Type-Options", "nosniff"},
      {"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"}};
  if (notice.passing) headers.emplace_back("Retry-After", "2");
  if (notice.status == 401) headers.emplace_back("WWW-Authenticate", "Bearer realm=\"cove preview\"");
  static_cast<void>(exchange.respond(notice.status, headers, notice_body(notice, reader)));
}

}  // namespace cove::api
