// The base of Cloche's JavaScript guest, for QuickJS-NG 0.15 and later. Runs once, when the image is baked.
//
// Every file of this folder is one function over the object `cloche`, which they share and which no program
// can reach. The host puts its functions on it first (runtimes/js/hostcall.go): write, door, now, signal,
// exit, entropy, turn, file, encode, decode, hash, zone, compile, stdin, resolve, peek, collate, tool, bind, deflate, inflate, line, traced, cipher, gcmTag, stretch, mix, stringifyPlain, matches, parseDate, moduleFormat, evaluate, newRealm, inRealm; and engineVersion.
(function (cloche) {
  "use strict";

  // What programs may replace later is taken now.
  const { defineProperty, getOwnPropertyDescriptor } = Object;
  const { parse, stringify } = JSON;
  cloche.parse = parse;
  cloche.stringify = stringify;
  cloche.uncurry = (fn) => Function.prototype.call.bind(fn);
  const split = cloche.uncurry(String.prototype.split);

  // Defines globals, which programs may replace. Those that Node shows among the keys of its global object are enumerable.
  const shown = ["setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate", "queueMicrotask",
    "structuredClone", "atob", "btoa", "performance", "fetch", "crypto", "navigator"];
  cloche.globals = (props) => {
    for (const name of Object.keys(props)) {
      defineProperty(globalThis, name, { value: props[name], writable: true, configurable: true, enumerable: shown.includes(name) });
    }
  };
  for (const name of shown) if (Object.hasOwn(globalThis, name)) defineProperty(globalThis, name, { enumerable: true });

  // Keeps what Node's names stand for until a program names them (see nodenames.go).
  const nodeNames = { __proto__: null };
  cloche.nodeName = (name, descriptor) => { nodeNames[name] = descriptor; };
  cloche.reveal = (names) => {
    for (const name of split(names, " ")) {
      if (getOwnPropertyDescriptor(globalThis, name) === undefined) defineProperty(globalThis, name, nodeNames[name]);
    }
  };

  // Makes an accessor that computes its value once, at first use.
  cloche.lazy = (target, name, make, enumerable = false) => {
    defineProperty(target, name, {
      configurable: true,
      enumerable,
      get() {
        const value = make();
        defineProperty(target, name, { value, writable: true, configurable: true, enumerable });
        return value;
      },
      set(value) {
        defineProperty(target, name, { value, writable: true, configurable: true, enumerable });
      },
    });
  };

  // Gives the methods of a class the attributes that Node and browsers give theirs.
  cloche.enumerable = (proto, names) => {
    for (const name of names) {
      const d = getOwnPropertyDescriptor(proto, name);
      d.enumerable = true;
      defineProperty(proto, name, d);
    }
  };

  const errorClasses = { Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError };

  // Makes an error for the host.
  cloche.makeError = (json) => {
    const { name, message, code } = parse(json);
    const error = new (errorClasses[name] ?? Error)(message);
    if (code) error.code = code;
    return error;
  };

  // Makes an error as Node's own code throws them: with a code, shown beside the name in its stack.
  cloche.nodeError = (Class, code, message, props) => {
    const error = new Class(message);
    defineProperty(error, "code", { value: code, writable: true, configurable: true, enumerable: true });
    const at = error.stack.indexOf("\n    at ");
    defineProperty(error, "stack", {
      value: `${error.name} [${code}]: ${message}${at < 0 ? "" : error.stack.slice(at)}`, writable: true, configurable: true, enumerable: false,
    });
    return Object.assign(error, props);
  };

  // How Node's messages describe a value of the wrong type.
  cloche.received = (value) => {
    if (value == null) return `Received ${value}`;
    if (typeof value === "function") return value.name ? `Received function ${value.name}` : "Received function ";
    if (typeof value === "object") {
      const name = value.constructor?.name;
      return name ? `Received an instance of ${name}` : `Received ${cloche.inspect(value, { depth: -1 })}`;
    }
    let shown = cloche.inspect(value);
    if (shown.length > 28) shown = shown.slice(0, 25) + "...";
    return `Received type ${typeof value} (${shown})`;
  };

  cloche.wrongType = (name, expected, value) =>
    cloche.nodeError(TypeError, "ERR_INVALID_ARG_TYPE",
      `The ${name.includes(" ") ? name : `"${name}" argument`} must be ${expected}. ${cloche.received(value)}`);

  // A method or module that this sandbox does not have.
  cloche.unavailable = (what, why) =>
    cloche.nodeError(Error, "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM", `${what} is not available in this sandbox: ${why}`);

  // Those functions and classes of a module that cannot be, by name. Each says so when it is called.
  cloche.refusals = (module, why, names) => Object.fromEntries(names.split(" ").map((name) => {
    const refuse = () => { throw cloche.unavailable(`${module}.${name}`, why); };
    return [name, /^[A-Z]/.test(name) ? { [name]: class { constructor() { refuse(); } } }[name] : { [name]() { refuse(); } }[name]];
  }));

  // What the host knows of the running script: {name, file, dir}.
  cloche.script = () => parse(cloche.turn());

  cloche.settings = { args: [], env: {} };
  cloche.onBegin = [];

  // Begins a turn: inputs become globals, arguments and environment replace or join those of before.
  cloche.begin = (json) => {
    const settings = parse(json);
    const { inputs, args, env } = settings;
    if (args) cloche.settings.args = args;
    if (env) Object.assign(cloche.settings.env, env);
    for (const name of Object.keys(inputs ?? {})) {
      defineProperty(globalThis, name, { value: inputs[name], writable: true, configurable: true, enumerable: true });
    }
    for (const f of cloche.onBegin) f(settings);
  };
})
