// require, the node: modules, and what import statements of a main script come to.
(function (cloche) {
  "use strict";

  const { defineProperty, hasOwn } = Object;

  // The node: modules by name. Those of the other files are on `cloche`.
  const timersModule = { ...cloche.timers, promises: cloche.timersPromises };
  const nodeModules = {
    ...cloche.absent,
    "assert": cloche.assert,
    "assert/strict": cloche.assert.strict,
    "async_hooks": cloche.asyncHooks,
    "buffer": cloche.bufferModule,
    "child_process": cloche.childProcess,
    "console": cloche.console,
    "crypto": cloche.cryptoModule,
    "diagnostics_channel": cloche.diagnosticsChannel,
    "events": cloche.EventEmitter,
    "fs": cloche.fs,
    "fs/promises": cloche.fs.promises,
    "http": cloche.http,
    "https": cloche.https,
    "os": cloche.os,
    "path": cloche.path,
    "path/posix": cloche.path,
    "path/win32": cloche.path.win32,
    "perf_hooks": cloche.perfHooks,
    "process": cloche.process,
    "querystring": cloche.querystring,
    "readline": cloche.readline,
    "readline/promises": cloche.readline.promises,
    "stream": cloche.stream,
    "stream/consumers": cloche.streamConsumers,
    "stream/promises": cloche.stream.promises,
    "stream/web": cloche.webStreams,
    "string_decoder": { StringDecoder: cloche.StringDecoder },
    "test": cloche.test,
    "timers": timersModule,
    "timers/promises": cloche.timersPromises,
    "tty": cloche.tty,
    "url": cloche.urlModule,
    "util": cloche.util,
    "util/types": cloche.util.types,
    "zlib": cloche.zlib,
    "worker_threads": cloche.workerThreads,
  };
  const plainName = (name) => name.startsWith("node:") ? name.slice(5) : name;
  const has = (name) => hasOwn(nodeModules, plainName(name));
  cloche.builtinModule = (name) => has(name) ? nodeModules[plainName(name)] : undefined;

  // The source of a node: module for import, run once while the image is made.
  const reserved = /^(default|arguments|eval|await|break|case|catch|class|const|continue|debugger|delete|do|else|enum|export|extends|false|finally|for|function|if|implements|import|in|instanceof|interface|let|new|null|package|private|protected|public|return|static|super|switch|this|throw|true|try|typeof|var|void|while|with|yield)$/;
  const exportable = (object) => Object.keys(object).filter((key) => /^[A-Za-z_$][\w$]*$/.test(key) && !reserved.test(key));
  cloche.moduleSource = (name) => {
    const value = nodeModules[name];
    globalThis.__clocheModule = value;
    const names = exportable(value);
    const locals = names.map((key, i) => `let e${i} = m[${cloche.stringify(key)}];\nexport { e${i} as ${key} };`);
    // What a turn may have otherwise than the image: process.argv and its like.
    const changing = names.map((key, i) => Object.getOwnPropertyDescriptor(value, key).get && `e${i} = m[${cloche.stringify(key)}];`).filter(Boolean);
    globalThis.__clocheRefresh = (f) => { refreshing.push(f); };
    const refresh = changing.length > 0 ? `globalThis.__clocheRefresh(() => { ${changing.join(" ")} });\n` : "";
    return `const m = globalThis.__clocheModule;\n${refresh}delete globalThis.__clocheModule;\ndelete globalThis.__clocheRefresh;\nexport default m;\n${locals.join("\n")}\n`;
  };
  const refreshing = [];

  cloche.jsonModule = (text, file) => {
    try {
      cloche.parse(text);
    } catch (error) {
      throw new SyntaxError(`${file}: ${error.message}`);
    }
    return `export default JSON.parse(${cloche.stringify(text)});`;
  };

  // A CommonJS file as an ES module: it runs when it is loaded, and its exports are named as they are then.
  const isObject = (value) => typeof value === "object" && value !== null || typeof value === "function";
  const loaded = new Map(); // file -> exports, until the module has taken them
  let running = 0; // CommonJS files that run while they are loaded as ES modules
  cloche.commonModule = (file) => {
    let exports;
    running++;
    try {
      exports = requireFile(file, undefined, "commonjs");
    } finally {
      running--;
    }
    loaded.set(file, exports);
    const names = isObject(exports) ? exportable(exports) : [];
    const take = Symbol.for("cloche.take");
    defineProperty(globalThis, take, { value: (name) => loaded.get(name), configurable: true, writable: true });
    const locals = names.map((key, i) => `const e${i} = m[${cloche.stringify(key)}]; export { e${i} as ${key} };`);
    return `const m = globalThis[Symbol.for("cloche.take")](${cloche.stringify(file)}); export default m; ${locals.join(" ")}`;
  };

  // ---- require

  const cache = Object.create(null);
  let mainModule;

  class Module {
    constructor(id, parent) {
      this.id = id;
      this.path = cloche.path.dirname(id);
      this.exports = {};
      this.filename = id;
      this.loaded = false;
      this.children = [];
      defineProperty(this, "parent", { value: parent, configurable: true, writable: true });
      this.paths = [];
      parent?.children.push(this);
    }
    require(name) { return makeRequire(this.filename, this)(name); }
    _compile(source, file) {
      const fn = cloche.compile(Module.wrap(source.replace(/^#!.*/, "")), file);
      return fn.call(this.exports, this.exports, makeRequire(file, this), this, file, this.path);
    }
    // On one line, so that the file's lines keep their numbers.
    static wrap(source) { return `(function (exports, require, module, __filename, __dirname) {${source}\n})`; }
  }

  function readSource(file) {
    const text = cloche.fs.readFileSync(file, "utf8");
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  }

  function evaluated(file) {
    let space;
    defineProperty(globalThis, Symbol.for("cloche.give"), { value: (m) => { space = m; }, configurable: true }); // stays: one that awaits calls it late
    try {
      cloche.evaluate(file);
    } catch (error) {
      if (error?.code === "ERR_REQUIRE_ESM" && running > 0 && !early.has(error)) early.set(error, file);
      throw error;
    }
    return space;
  }

  // A CommonJS file that is loaded as an ES module cannot require one meanwhile. That one is required first, then, and the loading
  // begins again; nothing but such files has run by then. What prepared gives does so, or throws the error of the attempt.
  const early = new WeakMap(); // error -> the file that was required too early
  function prepared() {
    const before = new Set(versions.keys());
    const tried = new Set();
    return (error) => {
      // What was loaded for nothing is loaded afresh the next time: the engine keeps failures for ever.
      for (const [file, v] of versions) if (!before.has(file)) v.stamp = "";
      const file = early.get(error);
      if (file === undefined || running > 0 || tried.has(file)) throw error;
      tried.add(file);
      requireFile(file);
      for (const known of versions.keys()) before.add(known);
    };
  }

  // What require gives for an ES module: its namespace, marked for programs that were compiled from ES modules.
  function requireModule(file) {
    let space;
    const again = prepared();
    for (let done = false; !done;) {
      try {
        space = evaluated(file);
        done = true;
      } catch (error) {
        again(error);
      }
    }
    if (hasOwn(space, "module.exports")) return space["module.exports"];
    if (!hasOwn(space, "default") || hasOwn(space, "__esModule")) return space;
    const marked = { __proto__: null };
    for (const key of Object.keys(space)) defineProperty(marked, key, { get: () => space[key], enumerable: true });
    defineProperty(marked, "__esModule", { value: true, enumerable: true });
    return defineProperty(marked, Symbol.toStringTag, { value: "Module" });
  }

  // format is the file's, if it is known.
  function requireFile(file, parent, format) {
    const known = cache[file];
    if (known !== undefined) return known.exports;
    const module = new Module(file, parent);
    cache[file] = module;
    try {
      format ??= cloche.moduleFormat(file);
      if (format === "module") {
        module.exports = requireModule(file);
      } else if (format === "json") {
        try {
          module.exports = cloche.parse(readSource(file));
        } catch (error) {
          error.message = `${file}: ${error.message}`;
          throw error;
        }
      } else {
        module._compile(readSource(file), file);
      }
      module.loaded = true;
    } catch (error) {
      delete cache[file];
      throw error;
    }
    return module.exports;
  }

  function resolve(from, name) {
    if (typeof name !== "string") throw cloche.wrongType("id", "of type string", name);
    if (name === "") throw cloche.nodeError(TypeError, "ERR_INVALID_ARG_VALUE", "The argument 'id' must be a non-empty string. Received ''");
    const answer = cloche.resolve(from, name, "require");
    if (answer[0] === "=") return answer.slice(1);
    const [, code, message] = /^!(\S+) ([^]*)$/.exec(answer);
    const error = new Error(code === "MODULE_NOT_FOUND" ? message.replace(" imported from ", "\nRequire stack:\n- ") : message);
    error.code = code;
    if (code === "MODULE_NOT_FOUND") error.requireStack = [from || cloche.script().file];
    throw error;
  }

  function makeRequire(from, module) {
    const require = (name) => {
      const file = resolve(from, name);
      return file.startsWith("node:") ? nodeModules[file.slice(5)] : requireFile(file, from === "" ? mainModule ??= mainOf() : module);
    };
    require.resolve = (name) => {
      const file = resolve(from, name);
      return file.startsWith("node:") && !name.startsWith("node:") ? name : file;
    };
    require.resolve.paths = () => [];
    require.cache = cache;
    defineProperty(require, "main", { get: () => mainModule ??= mainOf(), configurable: true, enumerable: true });
    return require;
  }

  // node:module is the class.
  const fileOf = (from) => from instanceof Module ? from.filename : "";
  const refuseMaps = cloche.refusals("module", "there are no source maps", "SourceMap");
  const refuseHooks = cloche.refusals("module", "files are loaded by the host", "register runMain");
  nodeModules.module = Object.assign(Module, {
    Module, createRequire: (from) => makeRequire(`${from}`.replace(/^file:\/\//, "")), isBuiltin: (name) => has(name),
    _cache: cache, _extensions: { __proto__: null }, globalPaths: [], findSourceMap() {}, syncBuiltinESMExports() {}, ...refuseMaps, ...refuseHooks,
    _load: (name, parent) => makeRequire(fileOf(parent), parent)(name), _resolveFilename: (name, parent) => makeRequire(fileOf(parent)).resolve(name),
    _nodeModulePaths(folder) {
      const names = cloche.path.resolve(folder).split("/");
      return names.map((_, i) => `${names.slice(0, names.length - i).join("/")}/node_modules`).filter((p) => !p.endsWith("/node_modules/node_modules"));
    },
  });
  Module.builtinModules = Object.keys(nodeModules);
  cloche.absent.repl.builtinModules = Module.builtinModules;

  function mainOf() {
    const main = new Module(cloche.script().file, null);
    main.id = ".";
    main.exports = mainExports;
    return main;
  }

  // The main script sees what a CommonJS file sees, as globals.
  const mainExports = {};
  cloche.nodeName("require", { value: makeRequire(""), writable: true, configurable: true, enumerable: false });
  for (const [name, make] of Object.entries({
    module: () => mainModule ??= mainOf(),
    exports: () => mainExports,
    __filename: () => cloche.script().file,
    __dirname: () => cloche.path.dirname(cloche.script().file),
    _importMeta: () => importMeta(),
  })) {
    cloche.nodeName(name, {
      configurable: true, enumerable: false,
      get: make,
      set(value) { defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false }); },
    });
  }

  function importMeta() {
    const { file, dir } = cloche.script();
    return {
      __proto__: null, dirname: dir, filename: file, main: true, url: `file://${file}`,
      resolve: (name) => {
        const answer = cloche.resolve(file, name, "import");
        if (answer[0] !== "=") throw Object.assign(new Error(answer.slice(answer.indexOf(" ") + 1)), { code: "ERR_MODULE_NOT_FOUND" });
        const found = answer.slice(1);
        return found.startsWith("node:") ? found : `file://${found}`;
      },
    };
  }

  // ---- import statements of a main script

  // The files that were imported, as they were then. A changed one gets a new name, and with it a new module.
  const versions = new Map(); // file -> {stamp, n}
  cloche.moduleName = (file, stamp) => {
    for (const f of refreshing) f();
    const v = versions.get(file);
    if (v === undefined) {
      versions.set(file, { stamp, n: 1 });
      return file;
    }
    if (v.stamp !== stamp) {
      v.stamp = stamp;
      v.n++;
    }
    return v.n === 1 ? file : `${file}?v=${v.n}`;
  };

  // Loads the modules in order, then binds the names as globals: a session's later turns see them too. A binding of a
  // file's export is live, as the language has it.
  cloche.link = async (json) => {
    for (const f of refreshing) f();
    const decls = cloche.parse(json);
    const base = cloche.script().file;
    const spaces = [];
    for (const [i, { spec }] of decls.entries()) {
      cloche.signal(5, i + 1);
      const answer = cloche.resolve(base, spec, "import");
      if (answer[0] === "=") {
        const again = prepared();
        while (spaces.length === i) {
          try {
            spaces.push(await spaceOf(answer.slice(1)));
          } catch (error) {
            again(error);
          }
        }
        continue;
      }
      const [, code, message] = /^!(\S+) ([^]*)$/.exec(answer);
      const error = new Error(message);
      error.code = code;
      throw error;
    }
    decls.forEach(({ spec, names }, i) => {
      const space = spaces[i];
      cloche.signal(5, i + 1);
      const fixed = has(spec);
      for (const { imported, local } of names ?? []) {
        if (imported === "*") {
          bind(local, { value: space, writable: false });
        } else if (!(imported in space)) {
          throw new SyntaxError(`The requested module '${spec}' does not provide an export named '${imported}'`);
        } else if (fixed) {
          bind(local, { value: space[imported], writable: false });
        } else {
          bind(local, {
            get: () => space[imported],
            set() { throw new TypeError("Assignment to constant variable."); },
          });
        }
      }
    });
    cloche.signal(5, 0);
  };

  const stamps = new Map(); // of the CommonJS files that main scripts imported
  // What an import in the main script gives. A CommonJS file is run as if it were required, and so may require ES modules.
  const spaceOf = (file) => {
    if (file.startsWith("node:") || cloche.moduleFormat(file) !== "commonjs") return import(file);
    const { ino, size, mtimeMs } = cloche.fs.statSync(file);
    const stamp = `${ino} ${size} ${mtimeMs}`;
    if (stamps.has(file) && stamps.get(file) !== stamp) delete cache[file]; // it has changed
    stamps.set(file, stamp);
    const exports = requireFile(file, undefined, "commonjs");
    return defineProperty({ __proto__: null, ...isObject(exports) ? exports : {}, default: exports }, Symbol.toStringTag, { value: "Module" });
  };

  const bind = (name, d) => defineProperty(globalThis, name, { ...d, configurable: true, enumerable: true });
})
