// The smaller parts of Node's modules: old modules that packages still use, and all the names that Node's modules export. A package
// whose import names one that is not there would not load, so those that cannot be here are there and say why when they are called.
(function (cloche) {
  "use strict";

  const { Buffer, refusals } = cloche;
  const { hasOwn } = Object;

  // Gives a module what it does not have yet.
  const add = (module, props) => {
    for (const key of Object.keys(props)) if (!hasOwn(module, key)) module[key] = props[key];
  };

  // ---- node:punycode, node:constants, and what is there by its name only

  const { encode, decode } = cloche.punycode;
  const labels = (text, map) => {
    const at = text.lastIndexOf("@") + 1; // of an address only what follows is a domain
    return text.slice(0, at) + text.slice(at).replace(/[\u3002\uff0e\uff61]/g, ".").split(".").map(map).join(".");
  };
  cloche.absent.punycode = {
    version: "2.1.0",
    ucs2: { decode: (text) => Array.from(text, (c) => c.codePointAt(0)), encode: (points) => String.fromCodePoint(...points) },
    decode(text) {
      const out = decode(text);
      if (out === undefined) throw new RangeError("Invalid input");
      return out;
    },
    encode,
    toASCII: (text) => labels(text, (label) => /[^\0-\x7f]/.test(label) ? `xn--${encode(label)}` : label),
    toUnicode: (text) => labels(text, (label) => label.startsWith("xn--") ? cloche.absent.punycode.decode(label.slice(4).toLowerCase()) : label),
  };
  const { os, fs } = cloche;
  Object.assign(cloche.absent, {
    "constants": { ...os.constants.errno, ...os.constants.priority, ...os.constants.signals, ...fs.constants, ...cloche.cryptoModule.constants },
    "domain": { active: null, ...refusals("domain", "use process.on(\"uncaughtException\") or catch errors where they are thrown", "create createDomain Domain") },
    "inspector/promises": cloche.absent.inspector,
    "repl": { builtinModules: [], REPL_MODE_SLOPPY: Symbol("repl-sloppy"), REPL_MODE_STRICT: Symbol("repl-strict"), ...refusals("repl", "there is nobody to talk to", "start writer REPLServer Recoverable isValidSyntax") },
    "sys": cloche.util,
    "trace_events": { getEnabledCategories: () => undefined, ...refusals("trace_events", "nothing is traced", "createTracing") },
  });

  // ---- what the modules have besides

  add(cloche.assert, refusals("assert", "it was taken out of Node; count calls with mock.fn of node:test", "CallTracker"));
  add(cloche.asyncHooks, { executionAsyncResource: () => ({}), asyncWrapProviders: Object.freeze({ __proto__: null, NONE: 0 }) });
  add(cloche.bufferModule, {
    transcode(source, from, to) {
      const text = Buffer.from(source.buffer, source.byteOffset, source.byteLength).toString(from);
      const most = { ascii: 0x7f, latin1: 0xff, binary: 0xff }[to];
      return Buffer.from(most === undefined ? text : Array.from(text, (c) => c.codePointAt(0) > most ? "?" : c).join(""), to);
    },
    resolveObjectURL: () => undefined,
  });
  add(cloche.childProcess, refusals("child_process", "programs cannot start processes here; do the work in JavaScript", "ChildProcess"));
  add(cloche.absent.cluster, { SCHED_NONE: 1, SCHED_RR: 2, schedulingPolicy: 2, settings: {}, ...refusals("cluster", "there is one process", "Worker") });
  add(cloche.console, { ...refusals("console", "print what belongs together in a group", "createTask"), context: () => cloche.console, clear() {} }); // there is no terminal to be cleared
  Object.assign(cloche.cryptoModule, { getFips: () => 0, setFips() {}, secureHeapUsed: () => ({ total: 0, used: 0, utilization: 0, min: 0 }) });
  add(cloche.cryptoModule, refusals("crypto", "it offers hashes, HMAC, AES, key derivation and random values only",
    "Certificate Cipher Cipheriv Decipher Decipheriv DiffieHellman DiffieHellmanGroup ECDH KeyObject Sign Verify X509Certificate checkPrime checkPrimeSync createDiffieHellmanGroup diffieHellman generateKey generateKeySync generatePrime generatePrimeSync getCipherInfo getCurves getDiffieHellman privateEncrypt publicDecrypt setEngine"));
  const dnsCodes = Object.fromEntries(["ADDRGETNETWORKPARAMS", "BADFAMILY", "BADFLAGS", "BADHINTS", "BADNAME", "BADQUERY", "BADRESP", "BADSTR", "CONNREFUSED", "DESTRUCTION", "EOF", "FILE",
    "LOADIPHLPAPI", "NOMEM", "NONAME", "NOTIMP", "NOTINITIALIZED", "REFUSED"].map((name) => [name, `E${name}`]));
  add(cloche.absent.dns, dnsCodes);
  add(cloche.absent["dns/promises"], dnsCodes);
  const { EventEmitter } = cloche;
  add(EventEmitter, {
    addAbortListener(signal, listener) {
      if (signal.aborted) queueMicrotask(() => listener());
      else signal.addEventListener("abort", listener, { once: true });
      return { [Symbol.dispose]() { signal.removeEventListener("abort", listener); } };
    },
    getMaxListeners: (emitter) => emitter.getMaxListeners?.() ?? EventEmitter.defaultMaxListeners,
    EventEmitterAsyncResource: class EventEmitterAsyncResource extends EventEmitter {
      #resource = new cloche.asyncHooks.AsyncResource(this.constructor.name);
      get asyncResource() { return this.#resource; }
      emit(...given) { return this.#resource.runInAsyncScope(super.emit, this, ...given); }
    },
    captureRejections: false, usingDomains: false, init() {},
  });
  add(fs, { ...refusals("fs", "read folders with fs.readdirSync or fs.opendirSync", "Dir"), ...refusals("fs", "nothing is told of the disk below", "statfs statfsSync"), openAsBlob: async (path, options) => new Blob([fs.readFileSync(path)], options) });
  fs.realpath.native = fs.realpath;
  add(fs.promises, { statfs: async () => fs.statfsSync() });
  add(cloche.absent.net, { getDefaultAutoSelectFamilyAttemptTimeout: () => 250, setDefaultAutoSelectFamilyAttemptTimeout() {} });
  add(cloche.absent.tls, { CLIENT_RENEG_LIMIT: 3, CLIENT_RENEG_WINDOW: 600, ...refusals("tls", "there are no sockets; use fetch or https.request", "convertALPNProtocols") });
  add(cloche.absent.inspector, { Network: {} });
  add(os, { getPriority: () => 0, setPriority() {} });
  const { process } = cloche;
  add(process, {
    getBuiltinModule: (name) => cloche.builtinModule(`${name}`),
    loadEnvFile(path = ".env") {
      for (const [key, value] of Object.entries(cloche.util.parseEnv(fs.readFileSync(path, "utf8")))) if (!hasOwn(process.env, key)) process.env[key] = value;
    },
    availableMemory: () => 0, constrainedMemory: () => 0, getActiveResourcesInfo: () => [], moduleLoadList: [], mainModule: undefined, domain: null, debugPort: 9229,
    hasUncaughtExceptionCaptureCallback: () => false, sourceMapsEnabled: false, setSourceMapsEnabled() {}, assert: cloche.assert, openStdin: () => process.stdin,
    ...refusals("process", "listen to \"uncaughtException\"", "setUncaughtExceptionCaptureCallback"), ...refusals("process", "the user is fixed", "initgroups setegid seteuid setgid setgroups setuid"),
  });
  add(cloche.querystring, { unescapeBuffer: (text) => Buffer.from(cloche.querystring.unescape(`${text}`)) });
  add(cloche.readline.promises, refusals("readline/promises", "there is no terminal to move on", "Readline"));
  const { timers } = cloche;
  add(timers, { enroll(item, ms) { item._idleTimeout = ms; }, unenroll(item) { clearTimeout(item._timer); }, active(item) { item._timer = setTimeout(() => item._onTimeout?.(), item._idleTimeout); } });
  const { urlModule } = cloche;
  class Url {
    parse(...given) { return Object.assign(this, urlModule.parse(...given)); }
    format() { return urlModule.format(this); }
    resolve(to) { return urlModule.resolve(this.format(), to); }
    resolveObject(to) { return urlModule.parse(this.resolve(to)); }
  }
  add(urlModule, { Url, resolveObject: (from, to) => urlModule.parse(urlModule.resolve(from, to)) });
  // ---- util's MIMEType

  class MIMEParams extends Map {
    toString() { return Array.from(this, ([k, v]) => `${k}=${token.test(v) ? v : `"${v.replace(/["\\]/g, "\\$&")}"`}`).join(";"); }
  }
  const token = /^[!#$%&'*+.^`|~\w-]+$/;
  class MIMEType {
    constructor(text) {
      const m = /^\s*([!#$%&'*+.^`|~\w-]+)\/([!#$%&'*+.^`|~\w-]+)\s*(?:;(.*))?$/s.exec(`${text}`);
      if (m === null) throw cloche.nodeError(TypeError, "ERR_INVALID_MIME_SYNTAX", `The MIME syntax for a type in "${text}" is invalid`);
      this.type = m[1].toLowerCase();
      this.subtype = m[2].toLowerCase();
      this.params = new MIMEParams();
      for (const [, name, quoted, plain] of (m[3] ?? "").matchAll(/\s*([^=;\s]+)=(?:"((?:[^"\\]|\\.)*)"|([^;]*))/g)) {
        if (!this.params.has(name.toLowerCase())) this.params.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, "$1") ?? plain.trim());
      }
    }
    get essence() { return `${this.type}/${this.subtype}`; }
    toString() { return this.params.size === 0 ? this.essence : `${this.essence};${this.params}`; }
    toJSON() { return this.toString(); }
  }

  const { util } = cloche;
  add(util, {
    getSystemErrorMap: () => new Map(Object.entries(cloche.errno).map(([name, n]) => [-n, [name, name]])),
    log(...given) { cloche.console.log(`${new Date().toLocaleTimeString("en-GB")} - ${util.format(...given)}`); },
    transferableAbortController: () => new AbortController(), transferableAbortSignal: (signal) => signal,
    MIMEType, MIMEParams,
  });
  add(util.types, { isCryptoKey: (v) => v instanceof CryptoKey, isKeyObject: () => false });
  add(cloche.zlib, {
    codes: { Z_OK: 0, Z_STREAM_END: 1, Z_NEED_DICT: 2, Z_ERRNO: -1, Z_STREAM_ERROR: -2, Z_DATA_ERROR: -3, Z_MEM_ERROR: -4, Z_BUF_ERROR: -5, Z_VERSION_ERROR: -6 },
    ...refusals("zlib", "use gzip or deflate", "BrotliCompress BrotliDecompress"),
  });
  const noHeap = { total_heap_size: 0, total_heap_size_executable: 0, total_physical_size: 0, total_available_size: 0, used_heap_size: 0, heap_size_limit: 0, malloced_memory: 0, peak_malloced_memory: 0, does_zap_garbage: 0, number_of_native_contexts: 1, number_of_detached_contexts: 0, total_global_handles_size: 0, used_global_handles_size: 0, external_memory: 0 };
  Object.assign(cloche.absent.v8, { getHeapStatistics: () => ({ ...noHeap }) });
  add(cloche.absent.v8, refusals("v8", "the engine is QuickJS", "GCProfiler promiseHooks queryObjects startupSnapshot"));

  // ---- node:tty, node:perf_hooks, node:worker_threads

  class WriteStream extends EventEmitter {
    constructor() {
      super();
      throw cloche.unavailable("tty.WriteStream", "there is no terminal");
    }
    hasColors() { return false; }
    getColorDepth() { return 1; }
  }
  cloche.tty = { isatty: () => false, WriteStream, ...refusals("tty", "there is no terminal", "ReadStream") };

  const { PerformanceMark, PerformanceMeasure, PerformanceObserver, PerformanceObserverEntryList } = cloche.performanceClasses;
  const { ReadableStreamBYOBRequest } = refusals("stream/web", "sources of bytes enqueue", "ReadableStreamBYOBRequest");
  add(cloche.webStreams, { ReadableStreamBYOBRequest });
  const noEntries = refusals("perf_hooks", "only marks and measures are kept", "PerformanceResourceTiming monitorEventLoopDelay createHistogram");
  cloche.perfHooks = {
    performance, Performance, PerformanceEntry, PerformanceMark, PerformanceMeasure, PerformanceObserver, PerformanceObserverEntryList, ...noEntries,
    constants: { NODE_PERFORMANCE_GC_MAJOR: 4, NODE_PERFORMANCE_GC_MINOR: 1, NODE_PERFORMANCE_GC_INCREMENTAL: 8, NODE_PERFORMANCE_GC_WEAKCB: 16 },
  };
  cloche.globals({ PerformanceMark, PerformanceMeasure, PerformanceObserver, PerformanceObserverEntryList, PerformanceResourceTiming: noEntries.PerformanceResourceTiming, ReadableStreamBYOBRequest });

  const shared = new Map();
  cloche.workerThreads = {
    isMainThread: true, parentPort: null, workerData: null, threadId: 0, resourceLimits: {}, SHARE_ENV: Symbol.for("nodejs.worker_threads.SHARE_ENV"),
    Worker: cloche.noWorker, MessageChannel, MessagePort, BroadcastChannel,
    getEnvironmentData: (key) => shared.get(key),
    setEnvironmentData(key, value) { value === undefined ? shared.delete(key) : shared.set(key, structuredClone(value)); },
    markAsUntransferable() {}, receiveMessageOnPort: cloche.receiveMessageOnPort,
    ...refusals("worker_threads", "there are no threads", "moveMessagePortToContext postMessageToThread"),
  };
})
