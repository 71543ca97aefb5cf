// What packages import from Node's modules by name is there, whether it can be used or not: a package that names one that is missing would not load.
const wanted = {
  "assert": "AssertionError deepStrictEqual rejects strict CallTracker", "async_hooks": "AsyncLocalStorage AsyncResource createHook executionAsyncId executionAsyncResource",
  "buffer": "Blob Buffer File SlowBuffer atob btoa constants isAscii isUtf8 kMaxLength kStringMaxLength resolveObjectURL transcode", "child_process": "ChildProcess exec execFile execSync fork spawn spawnSync",
  "cluster": "SCHED_NONE SCHED_RR Worker fork isMaster isPrimary isWorker schedulingPolicy settings workers", "console": "Console assert clear error group groupEnd log table time timeEnd warn",
  "constants": "E2BIG ENOENT O_RDONLY O_WRONLY SIGINT SIGTERM S_IFDIR S_IFMT F_OK R_OK", "crypto": "Certificate Cipher Cipheriv Decipher DiffieHellman ECDH Hash Hmac KeyObject Sign Verify X509Certificate createHash createSign generateKeyPairSync getCurves getFips randomUUID webcrypto",
  "diagnostics_channel": "Channel channel hasSubscribers subscribe tracingChannel unsubscribe", "dns": "ADDRCONFIG BADNAME NOTFOUND Resolver lookup promises resolve4", "domain": "Domain create createDomain",
  "events": "EventEmitter EventEmitterAsyncResource addAbortListener captureRejectionSymbol defaultMaxListeners errorMonitor getEventListeners getMaxListeners on once setMaxListeners",
  "fs": "Dir Dirent ReadStream Stats WriteStream constants createReadStream createWriteStream openAsBlob promises statfs", "fs/promises": "access constants open readFile statfs", "http": "Agent ClientRequest IncomingMessage METHODS OutgoingMessage STATUS_CODES Server ServerResponse createServer get globalAgent maxHeaderSize request",
  "inspector/promises": "Session", "module": "Module SourceMap builtinModules createRequire findSourceMap isBuiltin register syncBuiltinESMExports", "net": "BlockList Server Socket connect createServer isIP isIPv4 isIPv6", "os": "EOL constants cpus getPriority homedir platform setPriority tmpdir",
  "path": "basename delimiter posix sep win32", "path/win32": "basename delimiter join posix sep win32", "perf_hooks": "Performance PerformanceEntry PerformanceMark PerformanceMeasure PerformanceObserver PerformanceObserverEntryList PerformanceResourceTiming constants createHistogram monitorEventLoopDelay performance",
  "process": "argv cwd env exit getBuiltinModule hrtime loadEnvFile nextTick platform version versions", "punycode": "decode encode toASCII toUnicode ucs2 version", "readline": "Interface clearLine createInterface cursorTo emitKeypressEvents moveCursor promises", "repl": "REPLServer Recoverable start",
  "stream": "Duplex PassThrough Readable Stream Transform Writable addAbortSignal compose destroy duplexPair finished getDefaultHighWaterMark isDisturbed isErrored isReadable isWritable pipeline promises setDefaultHighWaterMark",
  "stream/web": "ReadableStream ReadableStreamBYOBRequest TextDecoderStream TransformStream WritableStream", "sys": "format inspect", "timers": "active enroll promises setInterval setTimeout unenroll", "tls": "CLIENT_RENEG_LIMIT TLSSocket connect createSecureContext rootCertificates",
  "trace_events": "createTracing getEnabledCategories", "tty": "ReadStream WriteStream isatty", "url": "URL URLSearchParams Url fileURLToPath format parse pathToFileURL resolve resolveObject", "util": "MIMEParams MIMEType TextDecoder TextEncoder aborted callbackify debuglog deprecate getSystemErrorMap inherits inspect log parseArgs parseEnv promisify styleText transferableAbortController types",
  "util/types": "isCryptoKey isDate isKeyObject isPromise", "v8": "DefaultDeserializer GCProfiler Serializer deserialize getHeapStatistics serialize", "vm": "Script createContext createScript isContext runInContext runInNewContext runInThisContext",
  "worker_threads": "BroadcastChannel MessageChannel MessagePort SHARE_ENV Worker getEnvironmentData isMainThread markAsUntransferable parentPort receiveMessageOnPort resourceLimits setEnvironmentData threadId workerData", "zlib": "BrotliCompress BrotliDecompress Deflate Gunzip codes constants crc32 createGzip gzipSync",
};
for (const [module, names] of Object.entries(wanted)) {
  const keys = Object.keys(require(module));
  const missing = names.split(" ").filter((name) => !keys.includes(name));
  if (missing.length > 0) console.log(`${module}: ${missing.join(" ")}`);
}
for (const name of ["BroadcastChannel", "MessageEvent", "PerformanceMark", "PerformanceMeasure", "PerformanceObserver", "PerformanceObserverEntryList", "PerformanceResourceTiming"]) {
  if (typeof globalThis[name] !== "function") console.log(`global ${name}`);
}
console.log("that is all");
