// fetch, Headers, Request, Response and FormData. The host decides what may be reached and does the request (op 0x12):
//     request  {method, url, headers: [[name, value]], redirect?, body: {"$bytes": n}?, async: true}  and the body
//     reply    {status, statusText, headers: [[name, value]], url, redirected, stream?}  and what there is of the body
// Each is a u32 (little-endian), as many bytes of JSON, then the body. The rest of a body is read from the stream (op 0x16) as
// the program reads it. What the host refuses rejects with a TypeError.
(function (cloche) {
  "use strict";

  const { Buffer } = cloche;
  const { parse } = JSON; // that says what is wrong in Node's words
  const custom = Symbol.for("nodejs.util.inspect.custom");
  const opFetch = 0x12;
  const opRead = 0x16;
  const none = new Uint8Array(0);
  // What Node calls the causes of failures.
  const codes = {
    __proto__: null, PermissionError: "EACCES", ResolveError: "ENOTFOUND", TLSError: "EPROTO", ProtocolError: "HPE_INVALID_CONSTANT", ConnectionRefusedError: "ECONNREFUSED",
    ConnectionResetError: "ECONNRESET", ConnectionError: "ECONNABORTED", TimeoutError: "ETIMEDOUT", CertificateError: "ERR_TLS_CERT_ALTNAME_INVALID",
  };

  const token = cloche.httpToken = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

  class Headers {
    #map = new Map(); // lower case -> [values]
    #given = new Map(); // lower case -> the name as it was given, for inspect
    #fixed = false; // those of an answer, which nobody may change
    constructor(init = undefined) {
      if (init === undefined) return;
      if (typeof init !== "object" && typeof init !== "function" || init === null) {
        throw new TypeError("Headers constructor: Argument 1 could not be converted to one of: sequence<sequence<ByteString>>, record<ByteString, ByteString>.");
      }
      if (init instanceof Headers) {
        for (const [name, values] of init.#map) this.#map.set(name, [...values]);
        this.#given = new Map(init.#given);
      } else if (typeof init[Symbol.iterator] === "function") {
        for (const pair of init) {
          const [name, value, ...more] = pair;
          if (pair.length < 2 || more.length > 0) throw new TypeError(`Headers constructor: expected name/value pair to be length 2, found ${pair.length}.`);
          this.append(name, value);
        }
      } else {
        for (const name of Object.keys(init)) this.append(name, init[name]);
      }
    }
    #name(name, method) {
      name = `${name}`;
      if (!token.test(name)) throw new TypeError(`Headers.${method}: ${cloche.stringify(name)} is an invalid header name.`);
      const lower = name.toLowerCase();
      if (!this.#map.has(lower)) this.#given.set(lower, name);
      return lower;
    }
    #value(value, method) {
      value = `${value}`.replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
      const wide = /[^\0-\xff]/.exec(value);
      if (wide) throw new TypeError(`Cannot convert argument to a ByteString because the character at index ${wide.index} has a value of ${value.charCodeAt(wide.index)} which is greater than 255.`);
      if (/[\0\n\r]/.test(value)) throw new TypeError(`Headers.${method}: ${cloche.stringify(value)} is an invalid header value.`);
      return value;
    }
    #change() { if (this.#fixed) throw new TypeError("immutable"); }
    static fix(headers) { headers.#fixed = true; }
    append(name, value) {
      this.#change();
      name = this.#name(name, "append");
      value = this.#value(value, "append");
      if (this.#map.has(name)) this.#map.get(name).push(value);
      else this.#map.set(name, [value]);
    }
    delete(name) {
      this.#change();
      this.#map.delete(this.#name(name, "delete"));
    }
    get(name) { return this.#map.get(this.#name(name, "get"))?.join(", ") ?? null; }
    getSetCookie() { return [...this.#map.get("set-cookie") ?? []]; }
    has(name) { return this.#map.has(this.#name(name, "has")); }
    set(name, value) {
      this.#change();
      name = this.#name(name, "set");
      this.#map.set(name, [this.#value(value, "set")]);
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

  const { fix } = Headers;
  delete Headers.fix;

  class FormData {
    #list = [];
    constructor(form = undefined) {
      if (form !== undefined) throw new TypeError("FormData constructor: Argument 1 could not be converted to: undefined.");
    }
    append(...given) { this.#list.push(this.#entry("append", given)); }
    #entry(method, given) {
      const [name, value, filename] = given;
      if (given.length < 2) throw new TypeError(`FormData.${method}: 2 arguments required, but only ${given.length} found.`);
      if (given.length > 2 && !(value instanceof Blob)) throw new TypeError(`Failed to execute '${method}' on 'FormData': parameter 2 is not of type 'Blob'`);
      return [`${name}`, this.#value(value, filename)];
    }
    #value(value, filename) {
      if (!(value instanceof Blob)) return `${value}`;
      return value instanceof File && filename === undefined ? value : new File([value], filename ?? "blob", { type: value.type });
    }
    delete(name) { this.#list = this.#list.filter(([n]) => n !== `${name}`); }
    get(name) { return this.#list.find(([n]) => n === `${name}`)?.[1] ?? null; }
    getAll(name) { return this.#list.filter(([n]) => n === `${name}`).map(([, v]) => v); }
    has(name) { return this.#list.some(([n]) => n === `${name}`); }
    set(...given) {
      const entry = this.#entry("set", given);
      const i = this.#list.findIndex(([n]) => n === entry[0]);
      if (i < 0) {
        this.#list.push(entry);
        return;
      }
      this.#list[i] = entry;
      this.#list = this.#list.filter(([n], j) => j <= i || n !== entry[0]);
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
    if (cloche.isReadable(body)) {
      if (body.locked || cloche.isDisturbed(body)) throw new TypeError("Response body object should not be disturbed or locked");
      return { stream: body };
    }
    if (typeof body[Symbol.asyncIterator] === "function") return { source: body };
    return { bytes: Buffer.from(`${body}`), type: "text/plain;charset=UTF-8" };
  }

  function multipart(form) {
    const boundary = `----cloche${cloche.cryptoModule.randomBytes(12).toString("hex")}`;
    const escapes = { '"': "%22", "\r": "%0D", "\n": "%0A" };
    const lines = (s) => s.replace(/\r\n|\r|\n/g, "\r\n");
    const quoted = (s) => `"${s.replace(/["\r\n]/g, (c) => escapes[c])}"`;
    const parts = [];
    for (const [name, value] of form) {
      parts.push(Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name=${quoted(lines(name))}`));
      if (typeof value === "string") {
        parts.push(Buffer.from(`\r\n\r\n${lines(value)}\r\n`));
      } else {
        parts.push(Buffer.from(`; filename=${quoted(value.name)}\r\nContent-Type: ${value.type || "application/octet-stream"}\r\n\r\n`),
          cloche.blobBytes(value), Buffer.from("\r\n"));
      }
    }
    parts.push(Buffer.from(`--${boundary}--\r\n`));
    return { bytes: Buffer.concat(parts), type: `multipart/form-data; boundary=${boundary}` };
  }

  // All bytes of what gives them in pieces. What a program's iterator gives may be text, a stream's chunks not.
  async function gather(source) {
    const parts = [];
    const strict = cloche.isReadable(source);
    for await (const part of source) {
      if (typeof part === "string" && !strict) parts.push(Buffer.from(part));
      else if (part instanceof Uint8Array) parts.push(part);
      else throw new TypeError("Received non-Uint8Array chunk");
    }
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

  // What Request and Response share.
  class Body {
    #content; // {bytes}, {source}, {stream}, or nothing of them
    #used = false;
    constructor(body) { this.#content = extract(body); }
    get body() {
      const { bytes, source, stream } = this.#content;
      if (stream !== undefined) return stream;
      if (bytes === undefined && source === undefined) return null;
      const iterator = source === undefined ? [bytes].values() : source[Symbol.asyncIterator]();
      const made = cloche.byteStream(async () => {
        const { done, value } = await iterator.next();
        if (done) return undefined;
        return typeof value === "string" ? Buffer.from(value) : value;
      }, async (reason) => {
        await iterator.return?.(reason);
        source?.cancel?.();
      });
      this.#content = { stream: made, type: this.#content.type };
      if (this.#used) made.cancel();
      return made;
    }
    get bodyUsed() { return this.#used || this.#content.stream !== undefined && cloche.isDisturbed(this.#content.stream); }
    async bytes() {
      const { bytes, source, stream } = this.#content;
      if (this.bodyUsed || stream?.locked) throw new TypeError("Body is unusable: Body has already been read");
      if (bytes === undefined && source === undefined && stream === undefined) return new Uint8Array(0);
      this.#used = true;
      return new Uint8Array(bytes ?? await gather(source ?? stream));
    }
    async arrayBuffer() { return (await this.bytes()).buffer; }
    async text() { return new TextDecoder().decode(await this.bytes()); }
    async json() { return parse(await this.text()); }
    async blob() { return new Blob([await this.bytes()], { type: this.headers.get("content-type") ?? "" }); }
    async formData() {
      const type = this.headers.get("content-type") ?? "";
      if (type.startsWith("multipart/form-data")) return fromMultipart(type, Buffer.from(await this.bytes()));
      if (!type.startsWith("application/x-www-form-urlencoded")) throw new TypeError('Content-Type was not one of "multipart/form-data" or "application/x-www-form-urlencoded".');
      const form = new FormData();
      for (const [n, v] of new URLSearchParams(await this.text())) form.append(n, v);
      return form;
    }
    static of(b) { return b.#content; }
    static share(from, to) {
      const { bytes, source, stream, type } = from.#content;
      if (from.bodyUsed || stream?.locked) throw new TypeError("Response.clone: Body has already been consumed.");
      to.#content = from.#content;
      if (bytes !== undefined || source === undefined && stream === undefined) return;
      const [mine, other] = from.body.tee();
      from.#content = { stream: mine, type };
      to.#content = { stream: other, type };
    }
    static take(from, to) {
      const { bytes, source, stream } = from.#content;
      if (from.bodyUsed || stream?.locked) throw new TypeError("Cannot construct a Request with a Request object that has already been used.");
      to.#content = from.#content;
      if (bytes !== undefined || source !== undefined || stream !== undefined) from.#used = true;
    }
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

  // What the settings of a request may be, the usual first. Most have no effect here.
  const settings = {
    redirect: ["follow", "manual", "error"],
    credentials: ["same-origin", "omit", "include"],
    cache: ["default", "no-store", "reload", "no-cache", "force-cache", "only-if-cached"],
    mode: ["cors", "same-origin", "no-cors"],
    referrerPolicy: ["", "no-referrer", "no-referrer-when-downgrade", "same-origin", "origin", "strict-origin", "origin-when-cross-origin",
      "strict-origin-when-cross-origin", "unsafe-url"],
  };
  function settingsOf(init, from) {
    const chosen = { referrer: "about:client", integrity: "", keepalive: false };
    for (const name of Object.keys(settings)) {
      const value = init?.[name];
      chosen[name] = value === undefined ? from?.[name] ?? settings[name][0] : `${value}`;
      if (name === "mode" && chosen[name] === "navigate") throw new TypeError("Request constructor: invalid request mode navigate.");
      if (!settings[name].includes(chosen[name])) throw new TypeError(`Request constructor: ${chosen[name]} is not an accepted type. Expected one of ${settings[name].join(", ")}.`);
    }
    if (init?.integrity !== undefined) chosen.integrity = `${init.integrity}`;
    if (init?.keepalive !== undefined) chosen.keepalive = !!init.keepalive;
    return chosen;
  }

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
      if (/^(connect|trace|track)$/i.test(method)) throw new TypeError(`'${method}' HTTP method is unsupported.`);
      const body = init?.body ?? null;
      if (body !== null && typeof body === "object" && init.duplex === undefined && (cloche.isReadable(body) || typeof body[Symbol.asyncIterator] === "function")) {
        throw new TypeError("RequestInit: duplex option is required when sending a body.");
      }
      const has = body !== null || from !== undefined && from.body !== null;
      if (has && (method === "GET" || method === "HEAD")) throw new TypeError("Request with GET/HEAD method cannot have body.");
      if (url.username || url.password) throw new TypeError(`Request cannot be constructed from a URL that includes credentials: ${url.href}`);
      super(body);
      if (body === null && from) take(from, this);
      this.#url = url;
      this.#method = method;
      this.#headers = new Headers(init?.headers ?? from?.headers);
      this.#signal = init?.signal ?? from?.signal ?? new AbortController().signal;
      this.#init = settingsOf(init, from?.#init);
      if (this.#signal !== null && !(this.#signal instanceof AbortSignal)) {
        throw new TypeError("Failed to construct 'Request': member signal is not of type AbortSignal.");
      }
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
    get referrerPolicy() { return this.#init.referrerPolicy; }
    get destination() { return ""; }
    get duplex() { return "half"; }
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
      const status = init?.status === undefined ? 200 : Math.trunc(Number(init.status));
      if (!(status >= 200 && status <= 599)) throw new RangeError('init["status"] must be in the range of 200 to 599, inclusive.');
      if (body !== null && [101, 103, 204, 205, 304].includes(status)) throw new TypeError(`Response constructor: Invalid response status code ${status}`);
      super(body);
      this.#status = status;
      this.#text = `${init?.statusText ?? ""}`;
      if (/[^\t\x20-\x7e\x80-\xff]/.test(this.#text)) throw new TypeError("Invalid statusText");
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
    static redirect(url, status = 302) {
      let location;
      try {
        location = new URL(`${url}`).href;
      } catch (cause) {
        throw new TypeError(`Failed to parse URL from ${url}`, { cause });
      }
      if (![301, 302, 303, 307, 308].includes(status)) throw new RangeError(`Invalid status code ${status}`);
      const r = new Response(null, { status, headers: { location } });
      fix(r.headers);
      return r;
    }
    static received(reply, bytes) {
      const empty = [101, 103, 204, 205, 304].includes(reply.status);
      if (empty) bytes?.cancel?.();
      const r = new Response(empty ? null : bytes, { headers: reply.headers ?? [] });
      r.#status = reply.status;
      r.#text = reply.statusText ?? "";
      r.#url = reply.url ?? "";
      r.#redirected = !!reply.redirected;
      r.#type = "basic";
      fix(r.#headers);
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
        signal?.removeEventListener?.("abort", abort);
        reject(new TypeError(`${words}: the host's answer is malformed`, { cause }));
      }
    });
  }

  // What a promise gives, unless a signal is aborted first.
  function unlessAborted(signal, promise) {
    return new Promise((resolve, reject) => {
      const abort = () => reject(signal.reason);
      signal.addEventListener("abort", abort, { once: true });
      promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    });
  }

  // The answer to a data: URL, which nobody need be asked for (Fetch, "data: URL processor").
  function fromData(url) {
    const fail = (why) => { throw new TypeError("fetch failed", { cause: new Error(why) }); };
    const [, head, text] = /^data:([^,]*),([^#]*)/.exec(url.href) ?? fail("invalid data: URL: it has no comma");
    let body = Buffer.from(percentDecoded(text));
    let type = head.trim();
    const base64 = /;\s*base64$/i.exec(type);
    if (base64) {
      type = type.slice(0, base64.index);
      try {
        body = Buffer.from(atob(body.toString("latin1")), "latin1");
      } catch {
        fail("invalid data: URL: it is not base64");
      }
    }
    if (type.startsWith(";")) type = `text/plain${type}`;
    if (!/^[^/\s;]+\/[^/\s;]+/.test(type)) type = "text/plain;charset=US-ASCII";
    return received({ status: 200, statusText: "OK", headers: [["content-type", type]], url: url.href.replace(/#.*$/, "") }, new Uint8Array(body));
  }
  function percentDecoded(text) {
    const parts = text.split(/%([0-9a-fA-F]{2})/);
    return Buffer.concat(parts.map((part, i) => i % 2 ? Buffer.from([Number.parseInt(part, 16)]) : Buffer.from(part)));
  }

  // The answer to a URL of URL.createObjectURL.
  function fromBlob(url, method) {
    const blob = cloche.blobOf(url.href.replace(/#.*$/, ""));
    if (blob === undefined || method !== "GET") throw new TypeError("fetch failed", { cause: new Error("there is no such blob, or it is not asked for by GET") });
    const bytes = new Uint8Array(cloche.blobBytes(blob));
    return received({ status: 200, statusText: "OK", headers: [["content-length", `${blob.size}`], ["content-type", blob.type]], url: url.href }, bytes);
  }

  async function fetch(input, init = undefined) {
    const called = {};
    Error.captureStackTrace(called, fetch);
    const request = new Request(input, init);
    const { signal } = request;
    signal?.throwIfAborted?.();
    const headers = [...request.headers];
    if (!request.headers.has("accept")) headers.push(["accept", "*/*"]);
    const url = new URL(request.url);
    if (url.protocol === "data:") return fromData(url);
    if (url.protocol === "blob:") return fromBlob(url, request.method);
    let { bytes, source, stream } = contentOf(request);
    if (source !== undefined || stream !== undefined) {
      try {
        bytes = await unlessAborted(signal, gather(source ?? stream));
      } catch (cause) {
        if (signal.aborted) throw signal.reason;
        throw new TypeError("fetch failed", { cause });
      }
    }
    url.hash = "";
    const header = { method: request.method, url: url.href, headers };
    if (request.redirect !== "follow") header.redirect = request.redirect;
    let answer;
    try {
      answer = await exchange(header, bytes, signal);
    } catch (error) {
      if (error instanceof TypeError && error.cause !== undefined) error.stack = `${error}${called.stack.slice(called.stack.indexOf("\n"))}`;
      throw error;
    }
    return received(answer.head, request.method === "HEAD" ? null : answer.body);
  }

  // Does a request {method, url, headers: [[name, value]], redirect?} with a body or none. The answer is {head, body}, of which the
  // body is a Uint8Array or a Stream.
  async function exchange(header, bytes, signal) {
    header = { ...header, async: true };
    if (bytes !== undefined) header.body = { $bytes: bytes.length };
    const reply = await ask(opFetch, cloche.stringify(header), bytes ?? none, signal, "fetch failed");
    try {
      const length = new DataView(reply).getUint32(0, true);
      const head = cloche.parse(cloche.decode("utf8", reply, 4, length));
      return { head, body: head.stream ? new Stream(head.stream, signal) : new Uint8Array(reply, 4 + length) };
    } catch (cause) {
      throw new TypeError("fetch failed: the host's answer is malformed", { cause });
    }
  }

  cloche.exchange = exchange;
  cloche.globals({ fetch, Headers, Request, Response, FormData });
})
