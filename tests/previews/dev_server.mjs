// A development server for the inside of a sandbox: shows page.html, and tells the browser over a WebSocket when it changes.
// Each request's cookies and referrer are noted at /seen. dev_server.mjs PORT
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';

const sockets = new Set();
const seen = [];
const reload = `<script>
  window.changes = new WebSocket('ws://' + location.host + '/changes');
  window.changes.onmessage = () => location.reload();
</script>`;

const server = http.createServer((request, response) => {
  if (request.url === '/seen') return response.end(JSON.stringify(seen));
  seen.push({ url: request.url, cookie: request.headers.cookie ?? '', referer: request.headers.referer ?? '' });
  response.setHeader('content-type', 'text/html');
  response.end(fs.readFileSync('page.html', 'utf8') + reload);
});

server.on('upgrade', (request, socket) => {
  const accept = crypto.createHash('sha1').update(request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
  sockets.add(socket);
  socket.on('close', () => sockets.delete(socket));
  socket.on('error', () => socket.destroy());
});

fs.watch('.', (_, name) => {
  if (name === 'page.html') for (const socket of sockets) socket.write(Buffer.from([0x81, 2, 0x67, 0x6f]));
});
server.listen(Number(process.argv[2]), '127.0.0.1');
