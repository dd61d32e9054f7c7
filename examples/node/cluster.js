// SPDX-License-Identifier: Apache-2.0
//
// node cluster.js WORKERS PORT: a cluster of HTTP servers without dependencies
// whose costs are known.
//
//     /fast        a small body, no work
//     /io?ms=T     waits T ms: the loop serves others meanwhile
//     /cpu?ms=T    uses T ms of CPU time: only more processes help, up to the cores
'use strict';
const cluster = require('cluster');
const http = require('http');

const routes = {
  '/fast': (ms, done) => done(),
  '/io': (ms, done) => setTimeout(done, ms),
  // CPU time, not that of the clock: a worker that has to share a core then
  // takes longer, as real work does.
  '/cpu': (ms, done) => {
    const start = process.cpuUsage();
    let used;
    do {
      used = process.cpuUsage(start);
    } while (used.user + used.system < ms * 1000);
    done();
  },
};

function respond(response, status, body) {
  response.writeHead(status, {'Content-Type': 'text/plain', 'Content-Length': body.length});
  response.end(body);
}

function serve(request, response) {
  const url = new URL(request.url, 'http://localhost');
  const route = routes[url.pathname];
  const ms = Number(url.searchParams.get('ms'));
  if (!route) respond(response, 404, 'no such path\n');
  else if (Number.isNaN(ms)) respond(response, 400, 'ms is not a number\n');
  else route(ms, () => respond(response, 200, 'ok\n'));
}

const [workers, port] = process.argv.slice(2).map(Number);
if (cluster.isPrimary) {
  for (let i = 0; i < workers; i++) cluster.fork();
} else {
  http.createServer(serve).listen(port, '127.0.0.1');
}
