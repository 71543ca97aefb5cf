// fetch, Headers, Request, Response and FormData. The host decides what may be reached and does the request (op 0x12):
//     request  {method, url, headers: [[name, value]], redirect?, body: {"$bytes": n}?, async: true}  and the body
//     reply    {status, statusText, headers: [[name, value]], url, redirected, stream?}  and what there is of the body
// Each is a u32 (little-endian), as many bytes of JSON, then the body. The rest of a body is read from the stream (op 0x16) as
// the program reads it. What the host refuses rejects with a TypeError.
(function (cloche) {
  "use strict";

  const { Buffer } = cloche;
  const custom = Symbol.for("nodejs.util.inspect.custom");
  const opFetch = 0x12;
  const opRead = 0x16;
  const none = new Uint8Array(0);
  // What Node calls the causes of failures.
  const codes = {
    __proto__: null, PermissionError: "EACCES", ResolveError: "ENOTFOUND", ConnectionRefusedError: "ECONNREFUSED",
    ConnectionResetError: "ECONNRESET", ConnectionError: "ECONNABORTED", TimeoutError: "ETIMEDOUT", CertificateError: "ERR_TLS_CERT_ALTNAME_INVALID",
  };

  const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

  class Headers {
    #map = new Map(); // lower case -> [values]
    #given = new Map(); // lower case -> the name as it was given, for inspect
    constructor(init = undefined) {
      if (init === undefined || init === null) return;
      if (typeof init !== "object") throw cloche.wrongType("init", "an object", init);
      if (init instanceof Headers) {
        for (const [name, values] of init.#map) this.#map.set(name, [...values]);
        this.#given = new Map(init.#given);
      } else if (typeof init[Symbol.iterator] === "function") {
        for (const pair of init) {
          if (pair.length !== 2) throw new TypeError("Headers constructor: expected name/value pair to be length 2");
          this.append(pair[0], pair[1]);
        }
      } else {
        for (const name of Object.keys(init)) this.append(name, init[name]);
      }
    }
    #name(name) {
      name = `${name}`;
      if (!token.test(name)) throw new TypeError(`Headers: ${cloche.quote(name)} is an invalid header name.`);
      const lower = name.toLowerCase();
      if (!this.#map.has(lower)) this.#given.set(lower, name);
      return lower;
    }
    #value(name, value) {
      value = `${value}`.replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
      if (/[\0\n\r]/.test(value)) throw new TypeError(`Headers: the value of ${name} is invalid.`);
      return value;
    }
    append(name, value) {
      name = this.#name(name);
      value = this.#value(name, value);
      if (this.#map.has(name)) this.#map.get(name).push(value);
      else this.#map.set(name, [value]);
    }
    delete(name) { this.#map.delete(this.#name(name)); }
    get(name) { return this.#map.get(this.#name(name))?.join(", ") ?? null; }
    getSetCookie() { return [...this.#map.get("set-cookie") ?? []]; }
    has(name) { return this.#map.has(this.#name(name)); }
    set(name, value) {
      name = this.#name(name);
      this.#map.set(name, [this.#value(name, value)]);
    }
    forEach(fn, self) { for (const [name, value] of this) fn.call(self, value, name, this); }
    *entries() {
      for (const name of [...this.#map.keys()].sort()) {
        if (name === "set-cookie") for (const value of this.#map.get(name)) yield [name, value];
        else yield [name, this.#map.get(name).join(", ")];
      }
    }
    *keys() { for (const [name] of this.entries()) yield name; }
    *values() { for (const [, value] of this.entries()) yield value; }
    [Symbol.iterator]() { return this.entries(); }
    get [Symbol.toStringTag]() { return "Headers"; }
    [custom](depth, options, inspect) {
      const shown = {};
      for (const [name, values] of this.#map) shown[this.#given.get(name)] = values.join(", ");
      return `Headers ${inspect(shown, options)}`;
    }
  }

  class FormData {
    #list = [];
    append(name, value, filename) { this.#list.push([`${name}`, this.#value(value, filename)]); }
    #value(value, filename) {
      if (!(value instanceof Blob)) return `${value}`;
      return value instanceof File && filename === undefined ? value : new File([value], filename ?? "blob", { type: value.type });
    }
    delete(name) { this.#list = this.#list.filter(([n]) => n !== `${name}`); }
    get(name) { return this.#list.find(([n]) => n === `${name}`)?.[1] ?? null; }
    getAll(name) { return this.#list.filter(([n]) => n === `${name}`).map(([, v]) => v); }
    has(name) { return this.#list.some(([n]) => n === `${name}`); }
    set(name, value, filename) {
      const i = this.#list.findIndex(([n]) => n === `${name}`);
      if (i < 0) return this.append(name, value, filename);
      this.#list[i][1] = this.#value(value, filename);
      this.#list = this.#list.filter(([n], j) => j <= i || n !== `${name}`);
    }
    forEach(fn, self) { for (const [n, v] of this.#list) fn.call(self, v, n, this); }
    *entries() { yield* this.#list.map((pair) => [...pair]); }
    *keys() { for (const [n] of this.#list) yield n; }
    *values() { for (const [, v] of this.#list) yield v; }
    [Symbol.iterator]() { return this.entries(); }
    get [Symbol.toStringTag]() { return "FormData"; }
  }

  // A body's bytes, or what they come from, and the content type that it brings.
  function extract(body) {
    if (body === undefined || body === null) return {};
    if (typeof body === "string") return { bytes: Buffer.from(body), type: "text/plain;charset=UTF-8" };
    if (body instanceof URLSearchParams) return { bytes: Buffer.from(body.toString()), type: "application/x-www-form-urlencoded;charset=UTF-8" };
    if (body instanceof Blob) return { bytes: cloche.blobBytes(body), type: body.type || undefined };
    if (ArrayBuffer.isView(body)) return { bytes: Buffer.from(new Uint8Array(body.buffer, body.byteOffset, body.byteLength)) };
    if (cloche.is.arrayBuffer(body)) return { bytes: Buffer.from(new Uint8Array(body)) };
    if (body instanceof FormData) return multipart(body);
    if (typeof body === "object" && (typeof body[Symbol.asyncIterator] === "function" || typeof body[Symbol.iterator] === "function")) return { source: body };
    return { bytes: Buffer.from(`${body}`), type: "text/plain;charset=UTF-8" };
  }

  function multipart(form) {
    const boundary = `----cloche${cloche.cryptoModule.randomBytes(12).toString("hex")}`;
    const escapes = { '"': "%22", "\r": "%0D", "\n": "%0A" };
    const quoted = (s) => `"${s.replace(/["\r\n]/g, (c) => escapes[c])}"`;
    const parts = [];
    for (const [name, value] of form) {
      parts.push(Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name=${quoted(name)}`));
      if (typeof value === "string") {
        parts.push(Buffer.from(`\r\n\r\n${value.replace(/\r\n|\r|\n/g, "\r\n")}\r\n`));
      } else {
        parts.push(Buffer.from(`; filename=${quoted(value.name)}\r\nContent-Type: ${value.type || "application/octet-stream"}\r\n\r\n`),
          cloche.blobBytes(value), Buffer.from("\r\n"));
      }
    }
    parts.push(Buffer.from(`--${boundary}--\r\n`));
    return { bytes: Buffer.concat(parts), type: `multipart/form-data; boundary=${boundary}` };
  }

  async function gather(source) {
    const parts = [];
    for await (const part of source) parts.push(typeof part === "string" ? Buffer.from(part) : part);
    return Buffer.concat(parts);
  }

  // A body that the host has, piece by piece. It is read once.
  class Stream {
    #id;
    #signal;
    constructor(id, signal) {
      this.#id = id;
      this.#signal = signal;
    }
    // The next piece, or undefined at the end.
    async read(max = 65536) {
      if (this.#id === 0) return undefined;
      const header = cloche.stringify({ id: this.#id, max, async: true });
      const piece = await ask(opRead, header, none, this.#signal, "terminated").catch((error) => {
        this.cancel();
        throw error;
      });
      if (piece.byteLength > 0) return new Uint8Array(piece);
      this.#id = 0;
      return undefined;
    }
    cancel() {
      if (this.#id !== 0) cloche.cancel(this.#id);
      this.#id = 0;
    }
    async *[Symbol.asyncIterator]() {
      try {
        for (let piece; (piece = await this.read(1 << 18)) !== undefined;) yield piece;
      } finally {
        this.cancel();
      }
    }
  }

  // Enough of a ReadableStream, where there is none: bytes come from `next`, which gives undefined at their end.
  function readable(next, cancel) {
    if (typeof globalThis.ReadableStream === "function") {
      return new ReadableStream({
        async pull(controller) {
          const piece = await next();
          if (piece === undefined) controller.close();
          else controller.enqueue(piece);
        },
        cancel,
      }, { highWaterMark: 0 });
    }
    let locked = false;
    const reader = () => {
      if (locked) throw new TypeError("Invalid state: ReadableStream is locked");
      locked = true;
      let closed;
      return {
        closed: new Promise((resolve) => { closed = resolve; }),
        async read() {
          const value = await next();
          if (value === undefined) closed();
          return { done: value === undefined, value };
        },
        releaseLock() { locked = false; },
        async cancel() { cancel(); closed(); },
      };
    };
    return {
      get locked() { return locked; },
      getReader: reader,
      async cancel() { cancel(); },
      async *[Symbol.asyncIterator]() {
        reader();
        try {
          for (let piece; (piece = await next()) !== undefined;) yield piece;
        } finally {
          cancel();
        }
      },
    };
  }

  // What Request and Response share.
  class Body {
    #content;
    #used = false;
    #stream;
    constructor(body) { this.#content = extract(body); }
    get body() {
      const { bytes, source } = this.#content;
      if (bytes === undefined && source === undefined) return null;
      if (this.#stream === undefined) {
        let iterator;
        const next = async () => {
          this.#used = true;
          iterator ??= source === undefined ? [bytes][Symbol.iterator]() : source[Symbol.asyncIterator]?.() ?? source[Symbol.iterator]();
          const { done, value } = await iterator.next();
          if (done) return undefined;
          return typeof value === "string" ? new Uint8Array(Buffer.from(value)) : new Uint8Array(value);
        };
        this.#stream = readable(next, () => {
          this.#used = true;
          iterator?.return?.();
          source?.cancel?.();
        });
      }
      return this.#stream;
    }
    get bodyUsed() { return this.#used; }
    async bytes() {
      if (this.#used || this.#stream?.locked) throw new TypeError("Body is unusable: Body has already been read");
      const { bytes, source } = this.#content;
      if (bytes === undefined && source === undefined) return new Uint8Array(0);
      this.#used = true;
      return new Uint8Array(bytes ?? await gather(source));
    }
    async arrayBuffer() { return (await this.bytes()).buffer; }
    async text() { return new TextDecoder().decode(await this.bytes()); }
    async json() { return cloche.parse(await this.text()); }
    async blob() { return new Blob([await this.bytes()], { type: this.headers.get("content-type") ?? "" }); }
    async formData() {
      const type = this.headers.get("content-type") ?? "";
      if (type.startsWith("multipart/form-data")) return fromMultipart(type, Buffer.from(await this.bytes()));
      if (!type.startsWith("application/x-www-form-urlencoded")) throw new TypeError(`Could not parse content as FormData: its type is ${type || "not given"}`);
      const form = new FormData();
      for (const [n, v] of new URLSearchParams(await this.text())) form.append(n, v);
      return form;
    }
    static of(b) { return b.#content; }
    static share(from, to) {
      if (from.#used || from.#stream?.locked) throw new TypeError("Response.clone: Body has already been consumed.");
      if (from.#content.source !== undefined) from.#content = { ...from.#content, source: shared(from.#content.source) };
      to.#content = from.#content;
    }
    static take(from, to) {
      if (from.#used) throw new TypeError("Cannot construct a Request with a Request object that has already been used.");
      to.#content = from.#content;
      if (from.#content.bytes !== undefined || from.#content.source !== undefined) from.#used = true;
    }
  }

  // A source that can be read several times: what one reader has read is kept for the others.
  function shared(source) {
    if (source.kept !== undefined) return source;
    const kept = [];
    const iterator = source[Symbol.asyncIterator]?.() ?? source[Symbol.iterator]();
    let last = Promise.resolve();
    const more = () => (last = last.then(async () => {
      const { done, value } = await iterator.next();
      kept.push(done ? undefined : value);
    }));
    return {
      kept,
      async *[Symbol.asyncIterator]() {
        for (let i = 0; ; i++) {
          while (kept.length <= i) await more();
          if (kept[i] === undefined) return;
          yield kept[i];
        }
      },
    };
  }

  // Reads a multipart body (RFC 7578).
  function fromMultipart(type, bytes) {
    const boundary = /;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(type);
    const fail = () => { throw new TypeError("Could not parse content as FormData: it is not multipart as its type says"); };
    if (!boundary) fail();
    const line = Buffer.from(`\r\n--${boundary[1] ?? boundary[2]}`);
    const all = Buffer.concat([Buffer.from("\r\n"), bytes]);
    const form = new FormData();
    let at = all.indexOf(line);
    if (at < 0) fail();
    for (;;) {
      at += line.length;
      if (all.toString("latin1", at, at + 2) === "--") return form;
      const head = all.indexOf("\r\n\r\n", at);
      const end = all.indexOf(line, at);
      if (head < 0 || end < head) fail();
      const lines = all.toString("utf8", at, head);
      const content = all.subarray(head + 4, end);
      const name = /;\s*name="([^"]*)"/i.exec(lines);
      if (!name) fail();
      const plain = (s) => s.replace(/%22/g, '"').replace(/%0D/gi, "\r").replace(/%0A/gi, "\n");
      const file = /;\s*filename="([^"]*)"/i.exec(lines);
      if (file) form.append(plain(name[1]), new File([content], plain(file[1]), { type: /^content-type:\s*(.*)$/im.exec(lines)?.[1].trim() ?? "text/plain" }));
      else form.append(plain(name[1]), content.toString("utf8"));
      at = end;
    }
  }
  const { of: contentOf, share, take } = Body;
  delete Body.of;
  delete Body.share;
  delete Body.take;

  const methods = ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"];

  class Request extends Body {
    #url;
    #method;
    #headers;
    #signal;
    #init;
    constructor(input, init = undefined) {
      const from = input instanceof Request ? input : undefined;
      let url;
      try {
        url = from ? from.#url : new URL(`${input}`);
      } catch (error) {
        throw new TypeError(`Failed to parse URL from ${input}`, { cause: error });
      }
      let method = `${init?.method ?? from?.method ?? "GET"}`;
      if (!token.test(method)) throw new TypeError(`'${method}' is not a valid HTTP method.`);
      if (methods.includes(method.toUpperCase()) || method.toLowerCase() === "patch" && method === "PATCH") method = method.toUpperCase();
      const body = init?.body ?? null;
      const has = body !== null || from !== undefined && from.body !== null;
      if (has && (method === "GET" || method === "HEAD")) throw new TypeError("Request with GET/HEAD method cannot have body.");
      if (url.username || url.password) throw new TypeError(`Request cannot be constructed from a URL that includes credentials: ${url.href}`);
      super(body);
      if (body === null && from) take(from, this);
      this.#url = url;
      this.#method = method;
      this.#headers = new Headers(init?.headers ?? from?.headers);
      this.#signal = init?.signal ?? from?.signal ?? new AbortController().signal;
      this.#init = { redirect: "follow", credentials: "same-origin", cache: "default", mode: "cors", referrer: "about:client", integrity: "", keepalive: false, ...init };
      const { type } = contentOf(this);
      if (type && !this.#headers.has("content-type")) this.#headers.set("content-type", type);
    }
    get url() { return this.#url.href; }
    get method() { return this.#method; }
    get headers() { return this.#headers; }
    get signal() { return this.#signal; }
    get redirect() { return this.#init.redirect; }
    get credentials() { return this.#init.credentials; }
    get cache() { return this.#init.cache; }
    get mode() { return this.#init.mode; }
    get referrer() { return this.#init.referrer; }
    get integrity() { return this.#init.integrity; }
    get keepalive() { return this.#init.keepalive; }
    clone() {
      const r = new Request(this.url, { ...this.#init, method: this.#method, headers: this.#headers, signal: this.#signal, body: undefined });
      share(this, r);
      return r;
    }
    get [Symbol.toStringTag]() { return "Request"; }
    [custom](depth, options, inspect) {
      const { method, url, headers, redirect, signal } = this;
      return `Request ${inspect({ method, url, headers, redirect, signal }, options)}`;
    }
  }

  class Response extends Body {
    #status;
    #text;
    #headers;
    #url = "";
    #redirected = false;
    #type = "default";
    constructor(body = null, init = undefined) {
      const status = init?.status ?? 200;
      if (!Number.isInteger(status) || status < 200 || status > 599) throw new RangeError('init["status"] must be in the range of 200 to 599, inclusive.');
      if (body !== null && [101, 103, 204, 205, 304].includes(status)) throw new TypeError(`Response constructor: Invalid response status code ${status}`);
      super(body);
      this.#status = status;
      this.#text = `${init?.statusText ?? ""}`;
      this.#headers = new Headers(init?.headers);
      const { type } = contentOf(this);
      if (type && !this.#headers.has("content-type")) this.#headers.set("content-type", type);
    }
    static json(data, init) {
      const headers = new Headers(init?.headers);
      if (!headers.has("content-type")) headers.set("content-type", "application/json");
      return new Response(cloche.stringify(data), { ...init, headers });
    }
    static error() {
      const r = new Response();
      r.#status = 0;
      r.#type = "error";
      return r;
    }
    static redirect(url, status = 302) { return new Response(null, { status, headers: { location: new URL(`${url}`).href } }); }
    static received(reply, bytes) {
      const empty = [101, 103, 204, 205, 304].includes(reply.status);
      if (empty) bytes.cancel?.();
      const r = new Response(empty ? null : bytes, { headers: reply.headers ?? [] });
      r.#status = reply.status;
      r.#text = reply.statusText ?? "";
      r.#url = reply.url ?? "";
      r.#redirected = !!reply.redirected;
      r.#type = "basic";
      return r;
    }
    get status() { return this.#status; }
    get statusText() { return this.#text; }
    get ok() { return this.#status >= 200 && this.#status <= 299; }
    get headers() { return this.#headers; }
    get url() { return this.#url; }
    get redirected() { return this.#redirected; }
    get type() { return this.#type; }
    clone() {
      const r = new Response(null, { headers: this.#headers });
      share(this, r);
      r.#status = this.#status;
      r.#text = this.#text;
      r.#url = this.#url;
      r.#redirected = this.#redirected;
      r.#type = this.#type;
      return r;
    }
    get [Symbol.toStringTag]() { return "Response"; }
    [custom](depth, options, inspect) {
      const { status, statusText, headers, bodyUsed, ok, redirected, type, url } = this;
      return `Response ${inspect({ status, statusText, headers, bodyUsed, ok, redirected, type, url }, options)}`;
    }
  }
  const { received } = Response;
  delete Response.received;

  // Asks the host, and gives the frame's bytes. What it refuses is a TypeError; a signal that is aborted gives the request up.
  function ask(op, header, bytes, signal, words) {
    return new Promise((resolve, reject) => {
      let id = 0;
      const abort = () => {
        if (id !== 0) cloche.cancel(id);
        reject(signal.reason);
      };
      signal?.addEventListener?.("abort", abort, { once: true });
      const take = (frame) => {
        signal?.removeEventListener?.("abort", abort);
        if (typeof frame !== "string") return resolve(frame);
        const { name, message } = cloche.refusal(frame);
        const cause = new Error(message);
        cause.name = name;
        if (name in codes) cause.code = codes[name];
        cause.stack = cause.toString();
        reject(new TypeError(`${words}: ${message}`, { cause }));
      };
      try {
        id = cloche.ask(op, header, bytes, take);
      } catch (cause) {
        reject(new TypeError(`${words}: the host's answer is malformed`, { cause }));
      }
    });
  }

  async function fetch(input, init) {
    const called = {};
    Error.captureStackTrace(called, fetch);
    const request = new Request(input, init);
    const { signal } = request;
    signal?.throwIfAborted?.();
    const headers = [...request.headers];
    let { bytes, source } = contentOf(request);
    if (source !== undefined) bytes = await gather(source);
    const url = new URL(request.url);
    url.hash = "";
    const header = { method: request.method, url: url.href, headers, async: true };
    if (request.redirect !== "follow") header.redirect = request.redirect;
    if (bytes !== undefined) header.body = { $bytes: bytes.length };
    let reply;
    try {
      reply = await ask(opFetch, cloche.stringify(header), bytes ?? none, signal, "fetch failed");
    } catch (error) {
      if (error instanceof TypeError && error.cause !== undefined) error.stack = `${error}${called.stack.slice(called.stack.indexOf("\n"))}`;
      throw error;
    }
    try {
      const length = new DataView(reply).getUint32(0, true);
      const head = cloche.parse(cloche.decode("utf8", reply, 4, length));
      return received(head, head.stream ? new Stream(head.stream, signal) : new Uint8Array(reply, 4 + length));
    } catch (cause) {
      throw new TypeError("fetch failed: the host's answer is malformed", { cause });
    }
  }

  cloche.globals({ fetch, Headers, Request, Response, FormData });
})
