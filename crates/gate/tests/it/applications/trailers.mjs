// Trailers by Node's own HTTP/1.1 and HTTP/2.
//   trailers.mjs serve h1|h2                   prints its port; answers with what it understood, and with trailers
//   trailers.mjs ask h1|h2 URL FIELDS-AS-JSON  asks with trailers, and writes what it understood of the answer
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';

const [, , role, protocol, url, fields] = process.argv;

const TOLD = {
  'x-sum': 'down',
  'x-role-of': 'boss',
  'set-cookie': 'evil=1',
  'x-forwarded-for': '203.0.113.9',
  'content-type': 'text/evil',
  authorization: 'Basic ZXZpbDo=',
};

function told(head, body, trailers) {
  const plain = Object.fromEntries(Object.entries(trailers ?? {}));
  return JSON.stringify({ te: head.te ?? null, trailer: head.trailer ?? null, body, trailers: plain });
}

async function text(stream) {
  let all = '';
  for await (const piece of stream) all += piece;
  return all;
}

function serveH1() {
  const server = http.createServer(async (request, response) => {
    const body = await text(request);
    response.writeHead(200, { Trailer: 'x-sum', 'Transfer-Encoding': 'chunked' });
    response.write(told(request.headers, body, request.trailers));
    response.addTrailers(TOLD);
    response.end();
  });
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
}

function serveH2() {
  const server = http2.createServer();
  server.on('stream', async (stream, head) => {
    let trailers = {};
    stream.on('trailers', (came) => { trailers = came; });
    const body = await text(stream);
    if (head[':path'] === '/only') {
      stream.respond({ ':status': 200, 'x-sum': 'only' }, { endStream: true });
      return;
    }
    stream.respond({ ':status': 200 }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers(TOLD));
    stream.end(told(head, body, trailers));
  });
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
}

function askH1() {
  const kind = url.startsWith('https:') ? https : http;
  const headers = { 'Transfer-Encoding': 'chunked', Trailer: 'x-sum', ...JSON.parse(fields ?? '{}') };
  const request = kind.request(url, { method: 'POST', headers, rejectUnauthorized: false }, async (response) => {
    const body = await text(response);
    report(response.statusCode, response.headers, body, response.trailers);
  });
  request.write('up');
  request.addTrailers({ ...TOLD, 'x-sum': 'up' });
  request.end();
}

function askH2() {
  const { origin, pathname } = new URL(url);
  const session = http2.connect(origin, { rejectUnauthorized: false });
  const head = { ':method': 'POST', ':path': pathname, ...JSON.parse(fields ?? '{}') };
  const stream = session.request(head, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ ...TOLD, 'x-sum': 'up' }));
  let response, trailers = {}, ended = false;
  stream.on('response', (came, flags) => {
    response = came;
    ended = (flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0;
  });
  stream.on('trailers', (came) => { trailers = came; });
  stream.end('up');
  text(stream).then((body) => {
    report(response[':status'], { ...response, ended }, body, trailers);
    session.close();
  });
}

function report(status, head, body, trailers) {
  console.log(JSON.stringify({
    status,
    trailer: head.trailer ?? null,
    sum: head['x-sum'] ?? null,
    ended: head.ended ?? null,
    told: body ? JSON.parse(body) : null,
    trailers: Object.fromEntries(Object.entries(trailers)),
  }));
}

({ serve: { h1: serveH1, h2: serveH2 }, ask: { h1: askH1, h2: askH2 } })[role][protocol]();
