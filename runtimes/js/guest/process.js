// The global process. Its environment holds what the sandbox was given and nothing of the host's.
(function (cloche) {
  "use strict";

  const { EventEmitter, settings } = cloche;
  const custom = Symbol.for("nodejs.util.inspect.custom");

  class Process extends EventEmitter {}
  Object.defineProperty(Process, "name", { value: "process" });
  const process = new Process();

  // The end of the program is the host's to know, so that it is told of listeners.
  const atEnd = ["exit", "beforeExit", "uncaughtException", "unhandledRejection", "uncaughtExceptionMonitor"];
  for (const name of ["on", "addListener", "once", "prependListener", "prependOnceListener"]) {
    const method = EventEmitter.prototype[name];
    Object.defineProperty(process, name, {
      value(event, fn) {
        if (atEnd.includes(event)) cloche.signal(3, 0);
        return method.call(this, event, fn);
      },
      writable: true, configurable: true,
    });
  }

  cloche.idle = (code) => { process.emit("beforeExit", code); };

  cloche.exiting = (code) => {
    try {
      process.emit("exit", code);
    } finally {
      for (const event of atEnd) process.removeAllListeners(event);
    }
  };

  cloche.fatal = (error, origin, promise) => {
    if (origin === "unhandledRejection" && process.listenerCount("unhandledRejection") > 0) {
      process.emit("unhandledRejection", error, promise);
      return true;
    }
    process.emit("uncaughtExceptionMonitor", error, origin);
    if (process.listenerCount("uncaughtException") === 0) return false;
    process.emit("uncaughtException", error, origin);
    return true;
  };

  // The exit code is the turn's, and the host's to keep.
  const exitCode = () => cloche.script().exitCode;

  function exit(code) {
    if (code !== undefined) process.exitCode = code;
    cloche.exit(exitCode() ?? 0);
  }

  // A writable stream over standard output or error.
  function stream(fd) {
    const s = new EventEmitter();
    return Object.assign(s, {
      fd, writable: true, columns: undefined, writableLength: 0,
      write(chunk, encoding, done) {
        if (typeof encoding === "function") done = encoding;
        if (typeof chunk === "string") cloche.write(fd, chunk);
        else if (ArrayBuffer.isView(chunk)) cloche.write(fd, chunk.buffer, chunk.byteOffset, chunk.byteLength);
        else if (chunk === null) throw cloche.nodeError(TypeError, "ERR_STREAM_NULL_VALUES", "May not write null values to stream");
        else throw cloche.wrongType("chunk", "of type string or an instance of Buffer, TypedArray, or DataView", chunk);
        if (typeof done === "function") cloche.nextTick(done);
        return true;
      },
      end(chunk, encoding, done) {
        if (chunk !== undefined && typeof chunk !== "function") this.write(chunk, encoding);
        const last = [chunk, encoding, done].find((f) => typeof f === "function");
        if (last) cloche.nextTick(last);
        return this;
      },
      cork() {}, uncork() {}, getColorDepth: () => 1, hasColors: () => false, getWindowSize: () => [80, 24],
      clearLine() { return true; }, cursorTo() { return true; }, moveCursor() { return true; },
    });
  }

  // Standard input: events, async iteration, or all at once by fs.readFileSync(0).
  cloche.readStdin = () => {
    const parts = [];
    for (;;) {
      const part = new Uint8Array(cloche.stdin(65536));
      if (part.length === 0) break;
      parts.push(part);
    }
    return Buffer.concat(parts);
  };
  function stdin() {
    const s = new cloche.stream.Readable({
      highWaterMark: 65536,
      read(size) { // later, so that what comes of one chunk is done before the next
        cloche.nextTick(() => {
          if (s.destroyed) return;
          const bytes = Buffer.from(cloche.stdin(size));
          s.push(bytes.length === 0 ? null : bytes);
        });
      },
    });
    return Object.assign(s, { fd: 0, ref() { return this; }, unref() { return this; }, setRawMode() { return this; } });
  }

  const hrtime = (previous) => {
    const ns = hrtime.bigint();
    const now = [Number(ns / 1000000000n), Number(ns % 1000000000n)];
    if (previous === undefined) return now;
    let s = now[0] - previous[0];
    let n = now[1] - previous[1];
    if (n < 0) {
      s--;
      n += 1e9;
    }
    return [s, n];
  };
  hrtime.bigint = () => BigInt(Math.round(cloche.now() * 1e6));

  let argv; // of the script that argvOf names, made at first use
  let argvOf;
  let env;
  cloche.onBegin.push(() => {
    argvOf = undefined;
    env = undefined;
  });
  let input;
  const accessors = {
    stdin: { // anew when it was read to its end: another turn has another one
      get: () => input === undefined || input.closed ? input = stdin() : input,
      set(value) { input = value; },
    },
    argv: {
      get() {
        const { file } = cloche.script();
        if (argvOf !== file) {
          argvOf = file;
          argv = ["/usr/local/bin/node", file, ...settings.args];
        }
        return argv;
      },
      set(value) {
        argvOf = cloche.script().file;
        argv = value;
      },
    },
    // As in Node every value is text.
    env: {
      get: () => env ??= new Proxy({ HOME: cloche.script().dir, LOGNAME: "user", TMPDIR: "/tmp", USER: "user", ...settings.env }, { // as in Python
        set(target, key, value) {
          target[key] = typeof key === "symbol" ? value : `${value}`;
          return true;
        },
        defineProperty(target, key, d) {
          if ("value" in d) d.value = `${d.value}`;
          return Reflect.defineProperty(target, key, d);
        },
      }),
      set: (value) => { env = value; },
    },
    exitCode: {
      get: exitCode,
      set(code) {
        if (code !== undefined && code !== null && !Number.isInteger(typeof code === "string" && code !== "" ? +code : code)) {
          throw cloche.wrongType("code", "of type number", code);
        }
        cloche.signal(4, code == null ? -1 : +code & 255);
      },
    },
    title: { get: () => "node", set() {} },
  };
  for (const name of Object.keys(accessors)) {
    Object.defineProperty(process, name, { ...accessors[name], enumerable: true, configurable: true });
  }

  const refuse = (name, why) => () => { throw cloche.unavailable(`process.${name}`, why); };

  Object.assign(process, {
    exit,
    reallyExit: exit,
    abort: () => cloche.exit(134),
    nextTick: cloche.nextTick,
    hrtime,
    uptime: () => cloche.now() / 1000,
    cwd: () => cloche.script().dir,
    chdir: refuse("chdir", "the working directory is fixed; use absolute paths"),
    kill: refuse("kill", "there are no other processes"),
    dlopen: refuse("dlopen", "native modules cannot be loaded"),
    binding: refuse("binding", "there is no Node inside"),
    umask: () => 0o22,
    memoryUsage: Object.assign(() => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }), { rss: () => 0 }),
    cpuUsage: () => ({ user: Math.round(cloche.now() * 1000), system: 0 }),
    resourceUsage: () => ({ userCPUTime: Math.round(cloche.now() * 1000), systemCPUTime: 0, maxRSS: 0 }),
    emitWarning(warning, type, code) {
      const options = typeof type === "object" && type !== null ? type : { type, code };
      if (!(warning instanceof Error)) {
        if (typeof warning !== "string") throw cloche.wrongType("warning", "of type string or an instance of Error", warning);
        warning = new Error(warning);
        warning.name = String(options.type || "Warning");
        if (options.code !== undefined) warning.code = options.code;
        if (options.detail !== undefined) warning.detail = options.detail;
      }
      if (warning.name === "DeprecationWarning" && process.noDeprecation) return;
      cloche.nextTick(() => {
        const detail = typeof warning.detail === "string" ? `\n${warning.detail}` : "";
        cloche.console.error(`(node:1) ${warning.code ? `[${warning.code}] ` : ""}${warning.toString()}${detail}`);
        process.emit("warning", warning);
      });
    },
    getuid: () => 1000, geteuid: () => 1000, getgid: () => 1000, getegid: () => 1000, getgroups: () => [1000],
    platform: "linux",
    arch: "wasm32",
    pid: 1,
    ppid: 0,
    execPath: "/usr/local/bin/node",
    execArgv: [],
    argv0: "node",
    exiting: false,
    version: "v20.0.0",
    versions: { node: "20.0.0", quickjs: cloche.engineVersion, cloche: "1" },
    release: { name: "node" },
    config: { variables: {}, target_defaults: {} },
    features: { inspector: false, ipv6: false, tls: false },
    allowedNodeEnvironmentFlags: new Set(),
    report: undefined,
  });
  cloche.lazy(process, "stdout", () => stream(1), true);
  cloche.lazy(process, "stderr", () => stream(2), true);
  Object.defineProperty(process, Symbol.toStringTag, { value: "process", configurable: true });

  cloche.process = process;
  cloche.nodeName("process", { value: process, writable: true, configurable: true, enumerable: false });
})
