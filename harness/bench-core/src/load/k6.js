// The load of rpc-bench's staged users, over HTTP or WebSocket. Every user sends one request a second and waits for its answer.
// LOAD names a file of JSON: url, headers, stages (users and milliseconds each), timeout_ms, and requests, each with the true answer as expected. Each
// user has one of the requests for all of its time, so where there are as many as users, an answer to another user's shows.

import { sleep } from 'k6';
import { SharedArray } from 'k6/data';
import exec from 'k6/execution';
import http from 'k6/http';
import { Counter, Gauge, Trend } from 'k6/metrics';
import { clearTimeout, setTimeout } from 'k6/timers';
import { WebSocket } from 'k6/websockets';

// The load, and behind it the requests: held once for all users.
const asked = new SharedArray('load', () => {
  const { requests, ...load } = JSON.parse(open(__ENV.LOAD));
  return [load, ...requests];
});
const load = asked[0];
// This user's own; what is shared can't be changed.
let request;
let expected;

// Where the clock below began, on the clock of the samples' timestamps.
const began = new Gauge('rpc_began', true);
// From when a request was sent to when it was answered or had failed, without connecting. One for each request that ended.
const latency = new Trend('rpc_latency', true);
// By how much a request was sent later than it was due. There is one for each request that was sent.
const lag = new Trend('rpc_lag', true);
// Until a connection could carry requests: TCP's handshake, and with WebSocket its own after that.
const connecting = new Trend('rpc_connect', true);
const failures = new Counter('rpc_failures');

const SECOND_MS = 1000;
const CONNECTED = '';

const users = {
  executor: 'ramping-vus',
  startVUs: 0,
  stages: load.stages.map(([users, ms]) => ({ target: users, duration: `${ms}ms` })),
  // A user that leaves closes its connection at once.
  gracefulRampDown: '0s',
  gracefulStop: '0s',
};

export const options = {
  scenarios: { users },
  summaryTrendStats: ['count'],
  // Tags cost time at each sample, and all requests are alike.
  systemTags: [],
};

// One clock for all users and both transports, in milliseconds.
function now() {
  return exec.instance.currentTestRunDuration;
}

// Nothing is in flight meanwhile, so it may hold up the user's events. False where the user leaves: k6 ends its sleep at once, and would
// let it send without a pause until its connection is closed.
function sleepUntil(time) {
  const left = time - now();
  if (left > 0) {
    sleep(left / SECOND_MS);
  }
  return now() > time - 1;
}

// A failure's kind: without addresses, which differ for every user, and in characters that need no quotes.
function kind(text) {
  const plain = String(text).replace(/(\d{1,3}\.){3}\d{1,3}(:\d+)?(->)?/g, '');
  return plain.replace(/[^A-Za-z0-9 :._/-]+/g, ' ').replace(/ +/g, ' ').trim();
}

function failed(what) {
  return { failure: kind(what) };
}

class OverHttp {
  constructor() {
    this.params = {
      headers: load.headers,
      responseType: 'text',
      timeout: load.timeout_ms,
    };
  }

  // HTTP connects with its first request.
  ready() {
    return CONNECTED;
  }

  async ask(body) {
    const response = await http.asyncRequest('POST', load.url, body, this.params);
    const connected = response.timings.connecting + response.timings.tls_handshaking;
    if (connected > 0) {
      connecting.add(connected);
    }
    if (response.error_code === 1050) {
      return { ...failed('timeout'), connected };
    }
    if (response.status === 0) {
      return { ...failed(response.error), connected };
    }
    if (response.status !== 200) {
      return { ...failed(`HTTP ${response.status}`), connected };
    }
    return { text: response.body, connected };
  }
}

class OverWebSocket {
  constructor() {
    this.socket = null;
    this.end = null;
  }

  // Ends what is awaited: a connection, or an answer.
  settle(outcome) {
    const end = this.end;
    this.end = null;
    if (end !== null) {
      end(outcome);
    }
  }

  lost(socket, why) {
    if (socket === this.socket) {
      this.socket = null;
      this.settle(failed(why));
    }
  }

  // Waits for what the socket gives next, at most for the timeout.
  next() {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.settle(failed('timeout')), load.timeout_ms);
      this.end = (outcome) => {
        clearTimeout(timer);
        resolve(outcome);
      };
    });
  }

  async ready() {
    if (this.socket !== null) {
      return CONNECTED;
    }
    const from = now();
    const socket = new WebSocket(load.url, null, { headers: load.headers });
    this.socket = socket;
    const opened = this.next();
    socket.onopen = () => this.settle({});
    socket.onmessage = (message) => this.received(message.data);
    socket.onerror = (event) => this.lost(socket, event.error);
    socket.onclose = () => this.lost(socket, 'connection closed');
    const { failure } = await opened;
    if (failure === undefined) {
      connecting.add(now() - from);
      return CONNECTED;
    }
    if (this.socket === socket) {
      this.socket = null;
      socket.close();
    }
    return failure;
  }

  received(text) {
    // A notification, a call of the server, or an answer to an earlier request, which was given up, is not this one's.
    if (this.end !== null && !isOther(text, this.id)) {
      this.settle({ text });
    }
  }

  ask(body, id) {
    this.id = id;
    const answer = this.next();
    try {
      this.socket.send(body);
    } catch (error) {
      this.lost(this.socket, error);
    }
    return answer;
  }
}

function isOther(text, id) {
  try {
    const message = JSON.parse(text);
    return message.id < id || message.method !== undefined;
  } catch {
    return String(text).trim() === '';
  }
}

// How an answer is wrong, as failure.rs calls it.
const NOT_JSON_RPC = 'answer that is no JSON-RPC';
const OTHER_CALL = 'answer to another call';
const WRONG_ANSWER = 'wrong answer';

// Why an answer is not the true one; undefined where it is.
function judged(text, id) {
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    return NOT_JSON_RPC;
  }
  if (answer === null || answer.id !== id) {
    return OTHER_CALL;
  }
  // JSON-RPC 1.x has an error of null next to a result.
  if (answer.error !== undefined && answer.error !== null) {
    return `JSON-RPC error ${answer.error.code ?? JSON.stringify(answer.error).slice(0, 60)}`;
  }
  return isTrue(answer.result) ? undefined : WRONG_ANSWER;
}

// Whether a result is the true one. A context of null, where the server has a chain of its own, stands for any.
function isTrue(result) {
  if (!expected) {
    return result !== undefined;
  }
  const wanted = expected.result;
  if (wanted && wanted.context === null && result && result.context) {
    result.context = null;
  }
  return same(result, wanted);
}

function same(a, b) {
  if (a === b) {
    return true;
  }
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) {
    return false;
  }
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => same(a[name], b[name]));
}

let complained = false;

function complain(what, text) {
  if (!complained && [NOT_JSON_RPC, OTHER_CALL, WRONG_ANSWER].includes(what)) {
    complained = true;
    console.error(`${what}: ${String(text).slice(0, 200)}`);
  }
}

async function ask(client, id) {
  request.id = id;
  const body = JSON.stringify(request);
  const from = now();
  const notConnected = await client.ready();
  const isConnected = notConnected === CONNECTED;
  const sent = isConnected ? now() : from;
  const { text, failure, connected = 0 } = isConnected ? await client.ask(body, id) : failed(notConnected);
  latency.add(Math.max(now() - sent - connected, 0));
  const wrong = failure === undefined ? judged(text, id) : failure;
  if (wrong !== undefined) {
    complain(wrong, text);
  }
  return wrong;
}

export default async function user() {
  const own = asked[1 + ((exec.vu.idInInstance - 1) % (asked.length - 1))];
  request = { ...own.request };
  expected = own.expected;
  let due = now();
  began.add(due);
  const client = load.url.startsWith('ws:') ? new OverWebSocket() : new OverHttp();
  for (let id = 1; sleepUntil(due); id += 1) {
    lag.add(Math.max(now() - due, 0));
    const wrong = await ask(client, id);
    if (wrong !== undefined) {
      failures.add(1, { kind: wrong });
    }
    due += SECOND_MS;
  }
}

// The harness reads it from standard output.
export function handleSummary(data) {
  return { stdout: `${JSON.stringify(data.metrics)}\n` };
}
