// node:util and node:async_hooks.
(function (cloche) {
  "use strict";

  const { is, inspect, span } = cloche;
  const { hasOwn, getPrototypeOf, defineProperty } = Object;
  const kPromisify = Symbol.for("nodejs.util.promisify.custom");
  const toString = cloche.uncurry(Object.prototype.toString);
  const tagged = (tag) => (v) => toString(v) === `[object ${tag}]`;
  const longView = 1 << 16; // bytes: of what is longer, other properties are not compared, since that would take seconds
  const viewOf = (name) => (v) => ArrayBuffer.isView(v) && v[Symbol.toStringTag] === name;
  const objects = (test) => (v) => typeof v === "object" && v !== null && test(v);

  const types = {
    isAnyArrayBuffer: objects((v) => is.arrayBuffer(v) || is.sharedArrayBuffer(v)),
    isArrayBuffer: objects(is.arrayBuffer),
    isArrayBufferView: ArrayBuffer.isView,
    isArgumentsObject: objects(tagged("Arguments")),
    isAsyncFunction: (v) => typeof v === "function" && (tagged("AsyncFunction")(v) || tagged("AsyncGeneratorFunction")(v)),
    isBoxedPrimitive: objects((v) => ["Number", "String", "Boolean", "BigInt", "Symbol"].some((t) => tagged(t)(v))),
    isBooleanObject: objects(tagged("Boolean")),
    isNumberObject: objects(tagged("Number")),
    isStringObject: objects(tagged("String")),
    isSymbolObject: objects(tagged("Symbol")),
    isBigIntObject: objects(tagged("BigInt")),
    isDataView: objects(is.dataView),
    isDate: objects(is.date),
    isGeneratorFunction: (v) => typeof v === "function" && (tagged("GeneratorFunction")(v) || tagged("AsyncGeneratorFunction")(v)),
    isGeneratorObject: objects(tagged("Generator")),
    isMap: objects(is.map),
    isMapIterator: objects(tagged("Map Iterator")),
    isModuleNamespaceObject: objects(tagged("Module")),
    isNativeError: objects(is.nativeError),
    isPromise: objects(is.promise),
    isProxy: (v) => (typeof v === "object" && v !== null || typeof v === "function") && is.proxy(v),
    isRegExp: objects(is.regexp),
    isSet: objects(is.set),
    isSetIterator: objects(tagged("Set Iterator")),
    isSharedArrayBuffer: objects(is.sharedArrayBuffer),
    isTypedArray: objects(is.typedArray),
    isWeakMap: objects(is.weakMap),
    isWeakSet: objects(is.weakSet),
    isExternal: () => false,
  };
  for (const name of ["Uint8Array", "Uint8ClampedArray", "Uint16Array", "Uint32Array", "Int8Array", "Int16Array", "Int32Array",
    "Float32Array", "Float64Array", "BigInt64Array", "BigUint64Array"]) types[`is${name}`] = viewOf(name);

  // ---- deep equality, as assert.deepEqual and deepStrictEqual define it

  function deepEqual(a, b, strict, seen = new Map()) {
    if (a === b) return a !== 0 || !strict || Object.is(a, b);
    if (strict ? typeof a !== "object" : a === null || typeof a !== "object") {
      if (typeof a === "number" && a !== a && b !== b) return true;
      return strict ? false : (b === null || typeof b !== "object") && typeof a !== "function" && a == b; // eslint-disable-line eqeqeq
    }
    if (typeof b !== "object" || a === null || b === null) return false;
    if (strict && getPrototypeOf(a) !== getPrototypeOf(b)) return false;
    const tagA = toString(a);
    if (tagA !== toString(b)) return false;
    if (Array.isArray(a) !== Array.isArray(b)) return false;
    if (Array.isArray(a) && a.length !== b.length) return false;
    if (is.date(a) !== is.date(b) || is.regexp(a) !== is.regexp(b) || is.error(a) !== is.error(b)) return false;
    if (is.date(a)) {
      if (a.getTime() !== b.getTime() && !(Number.isNaN(a.getTime()) && Number.isNaN(b.getTime()))) return false;
    } else if (is.regexp(a)) {
      if (a.source !== b.source || a.flags !== b.flags || a.lastIndex !== b.lastIndex) return false;
    } else if (is.error(a)) {
      if (a.message !== b.message || a.name !== b.name) return false;
      if (hasOwn(a, "cause") !== hasOwn(b, "cause") || hasOwn(a, "cause") && !deepEqual(a.cause, b.cause, strict, seen)) return false;
    } else if (ArrayBuffer.isView(a)) {
      if (!ArrayBuffer.isView(b) || a.byteLength !== b.byteLength) return false;
      const x = new Uint8Array(...span(a));
      const y = new Uint8Array(...span(b));
      if (!strict && is.typedArray(a) && /^\[object Float/.test(tagA)) {
        for (let i = 0; i < a.length; i++) if (a[i] !== b[i] && (a[i] === a[i] || b[i] === b[i])) return false;
      } else {
        if (!cloche.sameBytes(x, y)) return false;
      }
      return x.length > longView || sameKeys(a, b, strict, seen, (key) => !/^\d+$/.test(key));
    } else if (is.arrayBuffer(a)) {
      if (!is.arrayBuffer(b) || !deepEqual(new Uint8Array(a), new Uint8Array(b), true)) return false;
    } else if (types.isBoxedPrimitive(a)) {
      if (!types.isBoxedPrimitive(b) || !Object.is(a.valueOf(), b.valueOf())) return false;
    } else if (is.weakMap(a) || is.weakSet(a) || is.promise(a)) {
      return false;
    }
    const partners = seen.get(a);
    if (partners?.has(b)) return true;
    if (partners) partners.add(b);
    else seen.set(a, new Set([b]));
    const equal = contents(a, b, strict, seen) && sameKeys(a, b, strict, seen, () => true);
    seen.get(a).delete(b);
    return equal;
  }

  function contents(a, b, strict, seen) {
    if (is.set(a) !== is.set(b) || is.map(a) !== is.map(b)) return false;
    if (is.set(a)) {
      if (a.size !== b.size) return false;
      const left = new Set([...b].filter((v) => !a.has(v)));
      for (const v of a) {
        if (b.has(v)) continue;
        if (strict && (typeof v !== "object" || v === null)) return false;
        const match = [...left].find((w) => deepEqual(v, w, strict, seen));
        if (match === undefined && !left.has(undefined)) return false;
        left.delete(match);
      }
      return left.size === 0;
    }
    if (is.map(a)) {
      if (a.size !== b.size) return false;
      const left = new Map([...b].filter(([k]) => !a.has(k)));
      for (const [k, v] of a) {
        if (b.has(k)) {
          if (!deepEqual(v, b.get(k), strict, seen)) return false;
          continue;
        }
        if (strict && (typeof k !== "object" || k === null)) return false;
        const match = [...left].find(([l, w]) => deepEqual(k, l, strict, seen) && deepEqual(v, w, strict, seen));
        if (match === undefined) return false;
        left.delete(match[0]);
      }
      return left.size === 0;
    }
    return true;
  }

  function sameKeys(a, b, strict, seen, filter) {
    const keys = Object.keys(a).filter(filter);
    if (keys.length !== Object.keys(b).filter(filter).length) return false;
    for (const key of keys) if (!hasOwn(b, key) || !deepEqual(a[key], b[key], strict, seen)) return false;
    if (strict) {
      const symbols = (o) => Object.getOwnPropertySymbols(o).filter((s) => Object.prototype.propertyIsEnumerable.call(o, s));
      const list = symbols(a);
      if (list.length !== symbols(b).length) return false;
      for (const s of list) if (!hasOwn(b, s) || !deepEqual(a[s], b[s], strict, seen)) return false;
    }
    return true;
  }
  cloche.deepEqual = deepEqual;

  // ---- callbacks and promises

  function promisify(fn) {
    if (typeof fn !== "function") throw cloche.wrongType("original", "of type function", fn);
    if (fn[kPromisify]) return fn[kPromisify];
    const out = function (...args) {
      return new Promise((resolve, reject) => {
        fn.call(this, ...args, (error, value) => error ? reject(error) : resolve(value));
      });
    };
    Object.setPrototypeOf(out, getPrototypeOf(fn));
    return Object.defineProperties(out, Object.getOwnPropertyDescriptors(fn));
  }
  promisify.custom = kPromisify;
  defineProperty(cloche.timers.setTimeout, kPromisify, { value: cloche.timersPromises.setTimeout });
  defineProperty(cloche.timers.setImmediate, kPromisify, { value: cloche.timersPromises.setImmediate });

  function callbackify(fn) {
    return function (...args) {
      const done = args.pop();
      fn.apply(this, args).then((value) => cloche.nextTick(done, null, value), (reason) => cloche.nextTick(done, reason || cloche.nodeError(Error, "ERR_FALSY_VALUE_REJECTION", "Promise was rejected with falsy value", { reason })));
    };
  }

  const warned = new Set();
  function deprecate(fn, message, code) {
    return function (...args) {
      if (!warned.has(code ?? fn)) {
        warned.add(code ?? fn);
        cloche.process.emitWarning(message, "DeprecationWarning", code);
      }
      return new.target ? Reflect.construct(fn, args, new.target) : fn.apply(this, args);
    };
  }

  function inherits(Class, Super) {
    defineProperty(Class, "super_", { value: Super, writable: true, configurable: true });
    Object.setPrototypeOf(Class.prototype, Super.prototype);
  }

  // ---- util.parseArgs

  // One token for each thing that the arguments say.
  function tokensOf(args, options) {
    const named = (name) => Object.hasOwn(options, name) ? options[name] : undefined;
    const takes = (name) => named(name)?.type === "string";
    const long = (letter) => Object.keys(options).find((name) => options[name].short === letter) ?? letter;
    const tokens = [];
    const left = [...args];
    let index = -1;
    let split = 0; // how many of those left were one argument
    while (left.length > 0) {
      const arg = left.shift();
      if (split > 0) split--;
      else index++;
      const option = (name, rawName, value, inlineValue) => tokens.push({ kind: "option", name, rawName, index, value, inlineValue });
      const valued = (name) => {
        const value = takes(name) && left[0] != null ? left.shift() : undefined;
        option(name, arg, value, value === undefined ? undefined : false);
        if (value !== undefined) index++;
      };
      if (arg === "--") {
        tokens.push({ kind: "option-terminator", index });
        for (const value of left) tokens.push({ kind: "positional", index: ++index, value });
        break;
      }
      if (/^-[^-]$/s.test(arg)) {
        valued(long(arg[1]));
      } else if (/^-[^-]/s.test(arg)) {
        if (takes(long(arg[1]))) {
          option(long(arg[1]), arg.slice(0, 2), arg.slice(2), true);
          continue;
        }
        const letters = [];
        for (let i = 1; i < arg.length; i++) {
          const rest = takes(long(arg[i]));
          letters.push(`-${rest ? arg.slice(i) : arg[i]}`);
          if (rest) break;
        }
        left.unshift(...letters);
        split = letters.length;
      } else if (arg.startsWith("--")) {
        const at = arg.indexOf("=", 3);
        if (at < 0) valued(arg.slice(2));
        else option(arg.slice(2, at), arg.slice(0, at), arg.slice(at + 1), true);
      } else {
        tokens.push({ kind: "positional", index, value: arg });
      }
    }
    return tokens;
  }

  function parseArgs({ args = cloche.process.argv.slice(2), options = {}, strict = true, allowPositionals = !strict, allowNegative = false, tokens: wanted = false } = {}) {
    for (const [name, o] of Object.entries(options)) {
      if (o.type !== "string" && o.type !== "boolean") throw cloche.wrongType(`"options.${name}.type" property`, "('string|boolean')", o.type);
      if (o.short !== undefined && `${o.short}`.length !== 1) {
        throw cloche.nodeError(TypeError, "ERR_INVALID_ARG_VALUE", `The property 'options.${name}.short' must be a single character. Received ${inspect(o.short)}`);
      }
    }
    const values = Object.create(null);
    const positionals = [];
    const bad = (message) => cloche.nodeError(TypeError, "ERR_PARSE_ARGS_INVALID_OPTION_VALUE", message);
    const check = ({ name, rawName, value, inlineValue }) => {
      const known = (n) => Object.hasOwn(options, n);
      if (!known(name) && allowNegative && name.startsWith("no-") && options[name.slice(3)]?.type === "boolean") name = name.slice(3);
      if (!known(name)) {
        throw cloche.nodeError(TypeError, "ERR_PARSE_ARGS_UNKNOWN_OPTION", `Unknown option '${rawName}'${allowPositionals
          ? `. To specify a positional argument starting with a '-', place it at the end of the command after '--', as in '-- ${JSON.stringify(rawName)}` : ""}`);
      }
      const { type, short } = options[name];
      const both = `${short ? `-${short}, ` : ""}--${name}`;
      if (type === "string" && value === undefined) throw bad(`Option '${both} <value>' argument missing`);
      if (type === "boolean" && value !== undefined) throw bad(`Option '${both}' does not take an argument`);
      if (inlineValue === false && value.length > 1 && value[0] === "-") {
        throw bad(`Option '${rawName}' argument is ambiguous.\nDid you forget to specify the option argument for '${rawName}'?\n`
          + `To specify an option argument starting with a dash use ${rawName.startsWith("--") ? `'${rawName}=-XYZ'` : `'--${name}=-XYZ' or '${rawName}-XYZ'`}.`);
      }
    };
    const tokens = tokensOf(args, options);
    for (const token of tokens) {
      if (token.kind === "option") {
        if (strict) check(token);
        let { value } = token;
        if (allowNegative && value === undefined && token.name.startsWith("no-")) {
          token.name = token.name.slice(3);
          value = false;
        }
        value ??= true;
        const { name } = token;
        if (options[name]?.multiple) (values[name] ??= []).push(value);
        else if (name !== "__proto__") values[name] = value;
      } else if (token.kind === "positional") {
        if (!allowPositionals) throw cloche.nodeError(TypeError, "ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL", `Unexpected argument '${token.value}'. This command does not take positional arguments`);
        positionals.push(token.value);
      }
    }
    for (const [name, o] of Object.entries(options)) if (o.default !== undefined && values[name] === undefined) values[name] = o.default;
    return { values, positionals, ...wanted ? { tokens } : {} };
  }

  const isOld = {
    isArray: Array.isArray,
    isBoolean: (v) => typeof v === "boolean",
    isBuffer: (v) => cloche.Buffer.isBuffer(v),
    isDate: types.isDate,
    isError: types.isNativeError,
    isFunction: (v) => typeof v === "function",
    isNull: (v) => v === null,
    isNullOrUndefined: (v) => v == null,
    isNumber: (v) => typeof v === "number",
    isObject: (v) => v !== null && typeof v === "object",
    isPrimitive: (v) => v === null || typeof v !== "object" && typeof v !== "function",
    isRegExp: types.isRegExp,
    isString: (v) => typeof v === "string",
    isSymbol: (v) => typeof v === "symbol",
    isUndefined: (v) => v === undefined,
  };

  cloche.util = {
    inspect,
    format: cloche.format,
    formatWithOptions: cloche.formatWithOptions,
    types,
    promisify,
    callbackify,
    deprecate,
    inherits,
    isDeepStrictEqual: (a, b) => deepEqual(a, b, true),
    stripVTControlCharacters: (text) => text.replace(/\u001b\[[0-9;]*[A-Za-z]|\u001b\][^\u0007]*\u0007/g, ""),
    toUSVString: (text) => `${text}`.toWellFormed(),
    debuglog: () => Object.assign(() => {}, { enabled: false }),
    debug: () => Object.assign(() => {}, { enabled: false }),
    styleText(format, text, { validateStream = true, stream = cloche.process.stdout } = {}) {
      if (typeof text !== "string") throw cloche.wrongType("text", "of type string", text);
      const codes = [format].flat().map((name) => {
        const c = inspect.colors[name];
        if (!c) throw cloche.nodeError(TypeError, "ERR_INVALID_ARG_VALUE", `The argument 'format' must be one of: ${Object.keys(inspect.colors).map((n) => `'${n}'`).join(", ")}. Received ${inspect(name)}`);
        return c;
      });
      if (validateStream) { // it may be a file or a pipe, as the output is here
        const wish = cloche.process.env.FORCE_COLOR;
        if (wish === undefined ? !stream?.isTTY : !["", "1", "true", "2", "3"].includes(wish)) return text;
      }
      return codes.reduceRight((out, c) => `\u001b[${c[0]}m${out}\u001b[${c[1]}m`, text);
    },
    parseArgs,
    parseEnv: (text) => Object.fromEntries(text.split("\n").map((l) => /^\s*(?:export\s+)?([\w.]+)\s*=\s*(.*?)\s*$/.exec(l)).filter(Boolean)
      .map(([, k, v]) => [k, v.replace(/^(["'`])(.*)\1$/s, "$2")])),
    getSystemErrorName: (n) => Object.keys(cloche.errno).find((k) => cloche.errno[k] === -n),
    aborted: (signal) => new Promise((resolve) => signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve(), { once: true })),
    TextEncoder,
    TextDecoder,
    ...isOld,
  };

  // ---- node:async_hooks. The interpreter says nowhere which call goes on after an await, so that the stores are lost there:
  // to ask for one is an error then. Callbacks of promises, timers and ticks carry their stores with them.

  const root = { stores: new Map(), whole: true };
  const lost = { stores: new Map(), whole: false }; // whole: who has no store here has none
  let current = root;
  let left = false; // whether a store was set: all that comes after that job may be another's

  function within(context, fn, self, args) {
    const before = current;
    current = context;
    try {
      return Reflect.apply(fn, self, args);
    } finally {
      current = before;
    }
  }

  function carry(fn) {
    if (typeof fn !== "function") return fn;
    const context = current;
    return function (...args) { return within(context, fn, this, args); };
  }

  const queue = queueMicrotask;
  const { then } = Promise.prototype;

  function enter(storage, store) {
    if (!left) {
      left = true;
      queue(() => { current = lost; });
      cloche.carry = carry;
      const replace = (on, name, value) => defineProperty(on, name, { value, writable: true, enumerable: on === globalThis, configurable: true });
      replace(globalThis, "queueMicrotask", { queueMicrotask(fn) { queue(carry(fn)); } }.queueMicrotask);
      replace(Promise.prototype, "then", { then(done, failed) { return Reflect.apply(then, this, [carry(done), carry(failed)]); } }.then);
    }
    return { stores: new Map(current.stores).set(storage, store), whole: current.whole };
  }

  const unknown = (what) => cloche.unavailable(`AsyncLocalStorage.${what}() after an await`,
    "the interpreter does not say which call goes on there; read the store before the first await, or pass it on as an argument");

  class AsyncLocalStorage {
    #used = false;
    #options;
    constructor(options = {}) { this.#options = options; }
    get name() { return this.#options.name ?? ""; }
    run(store, fn, ...args) {
      this.#used = true;
      return within(enter(this, store), fn, undefined, args);
    }
    exit(fn, ...args) { return this.run(undefined, fn, ...args); }
    getStore() {
      if (this.#used) {
        if (current.stores.has(this)) return current.stores.get(this);
        if (!current.whole) throw unknown("getStore");
      }
      return this.#options.defaultValue;
    }
    enterWith(store) {
      if (current === lost) throw unknown("enterWith");
      this.#used = true;
      current = enter(this, store);
    }
    disable() { this.#used = false; }
    static bind(fn) { return carry(fn); }
    static snapshot() {
      const context = current;
      return (fn, ...args) => within(context, fn, undefined, args);
    }
  }
  cloche.asyncHooks = {
    AsyncLocalStorage,
    AsyncResource: class AsyncResource {
      #context = current;
      constructor(type) { this.type = type; }
      runInAsyncScope(fn, self, ...args) { return within(this.#context, fn, self, args); }
      bind(fn) { return (...args) => this.runInAsyncScope(fn, undefined, ...args); }
      emitDestroy() { return this; }
      static bind(fn) { return carry(fn); }
    },
    createHook: () => ({ enable() { return this; }, disable() { return this; } }),
    executionAsyncId: () => 1,
    triggerAsyncId: () => 0,
  };
})
