// node:http and node:https as clients: a request goes the way of fetch, through the host, which decides what may be reached.
// Bodies that came packed are unpacked by the host. And modules that need sockets, which can be imported, as packages do that use
// them or not; what is called of them says why it cannot be.
(function (cloche) {
  "use strict";

  const { Buffer, EventEmitter, httpToken: token, nextTick, refusals } = cloche;
  const { Readable, Writable, addAbortSignal } = cloche.stream;
  const { defineProperty } = Object;

  const METHODS = "ACL BIND CHECKOUT CONNECT COPY DELETE GET HEAD LINK LOCK M-SEARCH MERGE MKACTIVITY MKCALENDAR MKCOL MOVE NOTIFY OPTIONS PATCH POST PROPFIND PROPPATCH PURGE PUT QUERY REBIND REPORT SEARCH SOURCE SUBSCRIBE TRACE UNBIND UNLINK UNLOCK UNSUBSCRIBE".split(" ");
  // RFC 9110, section 15, and the registry of status codes.
  const STATUS_CODES = {
    100: "Continue", 101: "Switching Protocols", 102: "Processing", 103: "Early Hints",
    200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content", 205: "Reset Content",
    206: "Partial Content", 207: "Multi-Status", 208: "Already Reported", 226: "IM Used",
    300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified", 305: "Use Proxy",
    307: "Temporary Redirect", 308: "Permanent Redirect",
    400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
    411: "Length Required", 412: "Precondition Failed", 413: "Payload Too Large", 414: "URI Too Long", 415: "Unsupported Media Type",
    416: "Range Not Satisfiable", 417: "Expectation Failed", 418: "I'm a Teapot", 421: "Misdirected Request", 422: "Unprocessable Entity",
    423: "Locked", 424: "Failed Dependency", 425: "Too Early", 426: "Upgrade Required", 428: "Precondition Required",
    429: "Too Many Requests", 431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons",
    500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
    505: "HTTP Version Not Supported", 506: "Variant Also Negotiates", 507: "Insufficient Storage", 508: "Loop Detected",
    509: "Bandwidth Limit Exceeded", 510: "Not Extended", 511: "Network Authentication Required",
  };

  function validateHeaderName(name) {
    if (typeof name !== "string" || !token.test(name)) throw cloche.nodeError(TypeError, "ERR_INVALID_HTTP_TOKEN", `Header name must be a valid HTTP token ["${name}"]`);
  }
  function validateHeaderValue(name, value) {
    if (value === undefined) throw cloche.nodeError(TypeError, "ERR_HTTP_INVALID_HEADER_VALUE", `Invalid value "${value}" for header "${name}"`);
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) throw cloche.nodeError(TypeError, "ERR_INVALID_CHAR", `Invalid character in header content ["${name}"]`);
  }

  const once = new Set(("age authorization content-length content-type etag expires from host if-modified-since if-unmodified-since last-modified location " +
    "max-forwards proxy-authorization referer retry-after server user-agent").split(" ")); // of which the first counts
  const connection = new Set("connection content-length expect host keep-alive proxy-connection te trailer transfer-encoding upgrade".split(" ")); // the host's

  const ports = { "http:": 80, "https:": 443 };

  // What is left of a connection.
  class Socket extends EventEmitter {
    constructor(encrypted) {
      super();
      Object.assign(this, { encrypted, authorized: encrypted, destroyed: false, connecting: false, readable: true, writable: true });
    }
    setTimeout() { return this; }
    setNoDelay() { return this; }
    setKeepAlive() { return this; }
    ref() { return this; }
    unref() { return this; }
    address() { return {}; }
    destroy() {
      this.destroyed = true;
      return this;
    }
  }

  class IncomingMessage extends Readable {
    #body;
    constructor(request, head, body) {
      super();
      this.#body = body;
      Object.assign(this, {
        req: request, socket: request.socket, connection: request.socket, httpVersion: "1.1", httpVersionMajor: 1, httpVersionMinor: 1,
        statusCode: head.status, statusMessage: head.statusText || STATUS_CODES[head.status] || "",
        complete: !body || body instanceof Uint8Array, aborted: false, url: "", method: null, trailers: {}, rawTrailers: [], headers: {}, headersDistinct: { __proto__: null }, rawHeaders: [],
      });
      for (const [name, value] of head.headers ?? []) {
        const lower = name.toLowerCase();
        this.rawHeaders.push(name, value);
        (this.headersDistinct[lower] ??= []).push(value);
        if (lower === "set-cookie") (this.headers[lower] ??= []).push(value);
        else if (!Object.hasOwn(this.headers, lower)) this.headers[lower] = value;
        else if (!once.has(lower)) this.headers[lower] += `${lower === "cookie" ? "; " : ", "}${value}`;
      }
    }
    _read() {
      const body = this.#body;
      const push = (piece) => {
        if (piece !== undefined && piece.length > 0) {
          this.req._active();
          this.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
          return;
        }
        this.complete = true;
        this.push(null);
      };
      if (!body || body instanceof Uint8Array) {
        this.#body = undefined;
        push(body || undefined);
        return;
      }
      body.read().then(push, (error) => this.destroy(failure(error)));
    }
    destroy(error) {
      if (!this.complete) error ??= cloche.nodeError(Error, "ECONNRESET", "aborted");
      return super.destroy(this.listenerCount("error") > 0 ? error : undefined); // an error that nobody listens for is none
    }
    _destroy(error, done) {
      this.#body?.cancel?.();
      if (!this.readableEnded || !this.complete) {
        this.aborted = true;
        this.emit("aborted");
      }
      done(error);
    }
    setTimeout(ms, listener) {
      this.req.setTimeout(ms, listener);
      return this;
    }
  }

  // What an error of fetch is here: its cause, which has the code.
  function failure(error) {
    return error instanceof TypeError && error.cause instanceof Error ? error.cause : error;
  }

  class ClientRequest extends Writable {
    #headers = new Map(); // lower case -> [name, value]
    #parts = [];
    #url;
    #stop = new AbortController();
    #timer;
    #idle = 0;
    constructor(scheme, input, options, listener) {
      super({ autoDestroy: false }); // all is written long before all is done
      if (typeof input === "string" || input instanceof URL) {
        if (typeof options === "function") [listener, options] = [options, undefined];
        options = { ...cloche.urlModule.urlToHttpOptions(new URL(input)), ...options };
      } else {
        listener = options;
        options = { ...input };
      }
      const protocol = options.protocol ?? options.agent?.protocol ?? scheme;
      if (protocol !== scheme) throw cloche.nodeError(TypeError, "ERR_INVALID_PROTOCOL", `Protocol "${protocol}" not supported. Expected "${scheme}"`);
      const path = options.path ?? "/";
      if (/[^\x21-\xff]/.test(path)) throw cloche.nodeError(TypeError, "ERR_UNESCAPED_CHARACTERS", "Request path contains unescaped characters");
      const method = options.method ?? "GET";
      if (typeof method !== "string") throw cloche.wrongType(`"options.method" property`, "of type string", method);
      if (!token.test(method)) throw cloche.nodeError(TypeError, "ERR_INVALID_HTTP_TOKEN", `Method must be a valid HTTP token ["${method}"]`);
      const host = `${options.hostname ?? options.host ?? "localhost"}`.replace(/^\[(.*)\]$/, "$1");
      const port = options.port || options.defaultPort || ports[scheme];
      const authority = host.includes(":") ? `[${host}]` : host;
      this.#url = new URL(`${scheme}//${authority}:${port}${path.startsWith("/") ? "" : "/"}${path}`).href;
      Object.assign(this, {
        method: method.toUpperCase(), path, host, protocol, agent: options.agent, socket: new Socket(scheme === "https:"), res: null,
        aborted: false, reusedSocket: false, finished: false, headersSent: false, maxHeadersCount: null, timeout: options.timeout,
      });
      this.connection = this.socket;
      const { headers } = options;
      if (Array.isArray(headers)) {
        const pairs = Array.isArray(headers[0]) ? headers : headers.flatMap((name, i) => i % 2 ? [] : [[name, headers[i + 1]]]);
        for (const [name, value] of pairs) this.appendHeader(name, value);
      } else {
        for (const name of Object.keys(headers ?? {})) this.setHeader(name, headers[name]);
      }
      if (!this.hasHeader("host")) this.setHeader("Host", +port === ports[scheme] ? authority : `${authority}:${port}`);
      if (options.auth && !this.hasHeader("authorization")) this.setHeader("Authorization", `Basic ${Buffer.from(options.auth).toString("base64")}`);
      if (listener) this.once("response", listener);
      if (options.timeout) this.setTimeout(options.timeout);
      if (options.signal) addAbortSignal(options.signal, this);
      nextTick(() => this.emit("socket", this.socket));
    }
    setHeader(name, value) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
      if (this.headersSent) throw cloche.nodeError(Error, "ERR_HTTP_HEADERS_SENT", "Cannot set headers after they are sent to the client");
      this.#headers.set(name.toLowerCase(), [name, value]);
      return this;
    }
    appendHeader(name, value) {
      const had = this.getHeader(name);
      return this.setHeader(name, had === undefined ? value : [had, value].flat());
    }
    getHeader(name) { return this.#headers.get(`${name}`.toLowerCase())?.[1]; }
    hasHeader(name) { return this.#headers.has(`${name}`.toLowerCase()); }
    removeHeader(name) { this.#headers.delete(`${name}`.toLowerCase()); }
    getHeaderNames() { return [...this.#headers.keys()]; }
    getRawHeaderNames() { return [...this.#headers.values()].map(([name]) => name); }
    getHeaders() { return Object.assign({ __proto__: null }, Object.fromEntries([...this.#headers].map(([lower, [, value]]) => [lower, value]))); }
    setHeaders(headers) {
      for (const [name, value] of headers) this.setHeader(name, value);
      return this;
    }
    flushHeaders() {}
    setNoDelay() {}
    setSocketKeepAlive() {}
    cork() {}
    uncork() {}
    setTimeout(ms, listener) {
      if (listener) this.once("timeout", listener);
      this.#idle = +ms;
      this._active();
      return this;
    }
    // Begins the time anew in which something has to happen.
    _active() {
      clearTimeout(this.#timer);
      if (this.#idle > 0 && !this.destroyed) this.#timer = setTimeout(() => this.emit("timeout"), this.#idle).unref();
    }
    end(...given) {
      this.finished = true;
      return super.end(...given);
    }
    _write(chunk, encoding, done) {
      this.#parts.push(typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk);
      done();
    }
    _final(done) {
      this.#send();
      done();
    }
    async #send() {
      this.headersSent = true;
      this._active();
      const headers = [];
      for (const [lower, [name, value]] of this.#headers) {
        if (!connection.has(lower)) for (const v of Array.isArray(value) && lower !== "cookie" ? value : [value]) headers.push([name, Array.isArray(v) ? v.join("; ") : `${v}`]);
      }
      const body = this.#parts.length > 0 ? Buffer.concat(this.#parts) : undefined;
      let answer;
      try {
        answer = await cloche.exchange({ method: this.method, url: this.#url, headers, redirect: "manual" }, body, this.#stop.signal);
      } catch (error) {
        if (!this.destroyed) this.destroy(failure(error));
        return;
      }
      await new Promise(nextTick); // after "socket" and "finish", however soon it is there
      if (this.destroyed) return;
      this._active();
      const none = this.method === "HEAD" || answer.head.status === 204 || answer.head.status === 304;
      if (none) answer.body?.cancel?.();
      this.res = new IncomingMessage(this, answer.head, none ? undefined : answer.body);
      this.res.once("close", () => this.destroy());
      if (!this.emit("response", this.res)) this.res.resume();
    }
    abort() {
      if (this.aborted) return;
      this.aborted = true;
      nextTick(() => this.emit("abort"));
      this.destroy();
    }
    _destroy(error, done) {
      clearTimeout(this.#timer);
      this.socket.destroyed = true;
      this.#stop.abort();
      if (this.res && !this.res.complete) this.res.destroy(error ?? undefined);
      else if (!this.res) error ??= cloche.nodeError(Error, "ECONNRESET", "socket hang up");
      done(error);
    }
  }

  class Agent extends EventEmitter {
    constructor(options = {}) {
      super();
      Object.assign(this, { options: { ...options }, maxSockets: Infinity, maxFreeSockets: 256, maxTotalSockets: Infinity, requests: {}, sockets: {}, freeSockets: {} }, options);
    }
    getName({ host = "localhost", port = "", localAddress = "" } = {}) { return `${host}:${port}:${localAddress}`; }
    destroy() {}
  }

  const noServer = "nobody can connect to it; return values, or call functions, instead";
  function client(module, scheme) {
    class SchemeAgent extends Agent {
      defaultPort = ports[scheme];
      protocol = scheme;
    }
    defineProperty(SchemeAgent, "name", { value: "Agent" });
    const request = (url, options, listener) => new ClientRequest(scheme, url, options, listener);
    const get = (url, options, listener) => {
      const r = request(url, options, listener);
      r.end();
      return r;
    };
    return { request, get, Agent: SchemeAgent, globalAgent: new SchemeAgent(), ...refusals(module, noServer, "createServer Server") };
  }

  class OutgoingMessage extends Writable {}
  cloche.http = {
    METHODS, STATUS_CODES, ...client("http", "http:"), ClientRequest, IncomingMessage, OutgoingMessage, ServerResponse: class ServerResponse extends OutgoingMessage {},
    maxHeaderSize: 16384, validateHeaderName, validateHeaderValue, setMaxIdleHTTPParsers() {},
  };
  cloche.https = client("https", "https:");

  // ---- what needs sockets, processes or another engine

  const noSockets = "there are no sockets; use fetch, http.request or https.request";
  const isIPv4 = (text) => /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/.test(`${text}`);
  const isIPv6 = (text) => {
    text = `${text}`.replace(/%[0-9a-zA-Z.]+$/, "");
    return text.includes(":") && URL.canParse(`http://[${text}]/`);
  };
  const lookups = "lookup lookupService resolve resolve4 resolve6 resolveAny resolveCaa resolveCname resolveMx resolveNaptr resolveNs resolvePtr resolveSoa resolveSrv resolveTxt reverse getServers setServers setDefaultResultOrder getDefaultResultOrder Resolver";
  const dnsCodes = { ADDRCONFIG: 32, V4MAPPED: 8, ALL: 16, NODATA: "ENODATA", FORMERR: "EFORMERR", SERVFAIL: "ESERVFAIL", NOTFOUND: "ENOTFOUND", TIMEOUT: "ETIMEOUT", CANCELLED: "ECANCELLED" };
  const dnsPromises = { ...refusals("dns", noSockets, lookups), ...dnsCodes };
  const noV8 = "the engine is QuickJS";
  cloche.absent = {
    "cluster": { isMaster: true, isPrimary: true, isWorker: false, workers: {}, ...refusals("cluster", "there is one process", "fork setupPrimary setupMaster disconnect") },
    "dgram": refusals("dgram", noSockets, "createSocket Socket"),
    "dns": { ...refusals("dns", noSockets, lookups), ...dnsCodes, promises: dnsPromises },
    "dns/promises": dnsPromises,
    "http2": { constants: {}, sensitiveHeaders: Symbol("nodejs.http2.sensitiveHeaders"), ...refusals("http2", noSockets, "connect createServer createSecureServer getDefaultSettings getPackedSettings getUnpackedSettings performServerHandshake Http2ServerRequest Http2ServerResponse") },
    "inspector": { console: cloche.console, url: () => undefined, ...refusals("inspector", "there is no debugger", "open close waitForDebugger Session") },
    "net": {
      isIP: (text) => isIPv4(text) ? 4 : isIPv6(text) ? 6 : 0, isIPv4, isIPv6,
      ...refusals("net", noSockets, "connect createConnection createServer Socket Stream Server BlockList SocketAddress getDefaultAutoSelectFamily setDefaultAutoSelectFamily"),
    },
    "tls": {
      rootCertificates: [], DEFAULT_MIN_VERSION: "TLSv1.2", DEFAULT_MAX_VERSION: "TLSv1.3", DEFAULT_ECDH_CURVE: "auto", DEFAULT_CIPHERS: "",
      ...refusals("tls", noSockets, "connect createServer createSecureContext createSecurePair checkServerIdentity getCiphers TLSSocket Server SecureContext"),
    },
    "v8": refusals("v8", noV8, "getHeapStatistics getHeapSpaceStatistics getHeapCodeStatistics getHeapSnapshot writeHeapSnapshot setFlagsFromString setHeapSnapshotNearHeapLimit serialize deserialize takeCoverage stopCoverage cachedDataVersionTag Serializer Deserializer DefaultSerializer DefaultDeserializer"),
    "vm": { constants: { __proto__: null }, ...refusals("vm", "scripts are what it runs", "measureMemory Module SourceTextModule SyntheticModule") },
  };

  // ---- node:diagnostics_channel

  class Channel {
    #subscribers = [];
    constructor(name) { this.name = name; }
    get hasSubscribers() { return this.#subscribers.length > 0; }
    subscribe(f) { this.#subscribers = [...this.#subscribers, f]; }
    unsubscribe(f) {
      const left = this.#subscribers.filter((g) => g !== f);
      const found = left.length < this.#subscribers.length;
      this.#subscribers = left;
      return found;
    }
    publish(message) { for (const f of this.#subscribers) f(message, this.name); }
    bindStore() {}
    unbindStore() { return false; }
    runStores(context, f, self, ...args) {
      this.publish(context);
      return f.apply(self, args);
    }
  }
  const channels = new Map();
  const channel = (name) => {
    if (!channels.has(name)) channels.set(name, new Channel(name));
    return channels.get(name);
  };
  const tracingChannel = (given) => {
    const of = (name) => typeof given === "string" ? channel(`tracing:${given}:${name}`) : given[name];
    const [start, end, asyncStart, asyncEnd, error] = ["start", "end", "asyncStart", "asyncEnd", "error"].map(of);
    const traced = (f) => (context = {}, self, ...args) => start.runStores(context, () => {
      try {
        return f(context, self, args);
      } catch (failed) {
        context.error = failed;
        error.publish(context);
        throw failed;
      } finally {
        end.publish(context);
      }
    });
    return {
      start, end, asyncStart, asyncEnd, error,
      traceSync: (f, context, self, ...args) => traced((c) => c.result = f.apply(self, args))(context),
      tracePromise: (f, context, self, ...args) => traced((c) => Promise.resolve(f.apply(self, args)).then((value) => {
        c.result = value;
        asyncStart.publish(c);
        asyncEnd.publish(c);
        return value;
      }))(context),
    };
  };
  cloche.diagnosticsChannel = {
    Channel, channel, tracingChannel, hasSubscribers: (name) => channels.get(name)?.hasSubscribers ?? false,
    subscribe: (name, f) => channel(name).subscribe(f), unsubscribe: (name, f) => channel(name).unsubscribe(f),
  };
})
