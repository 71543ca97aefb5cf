// node:vm. A context is a global object of the interpreter's own beside the program's, with the language and nothing else: what the object that was given
// for it has is seen there by accessors, and what a script declares is given back to that object when the script has run.
(function (cloche) {
  "use strict";

  const { defineProperty, getOwnPropertyDescriptor, hasOwn } = Object;
  const contexts = new WeakMap(); // object -> {realm, global, own: names of the language, fixed: names that scripts declared for good}
  const what = { run: 0, compile: 1, global: 2 };

  const isObject = (value) => typeof value === "object" && value !== null || typeof value === "function";
  function contextOf(object) {
    if (!isObject(object)) throw cloche.wrongType("object", "of type object", object);
    const context = contexts.get(object);
    if (context === undefined) throw cloche.wrongType("contextifiedObject", "an vm.Context", object);
    return context;
  }

  function createContext(object = {}) {
    if (!isObject(object)) throw cloche.wrongType("contextObject", "of type object", object);
    if (contexts.has(object)) return object;
    const realm = cloche.newRealm();
    const global = cloche.inRealm(realm, what.global);
    for (const name of ["InternalError", "DOMException", "queueMicrotask", "performance", "navigator", "structuredClone", "atob", "btoa"]) delete global[name]; // Node's have none
    defineProperty(global.Math, "random", getOwnPropertyDescriptor(Math, "random")); // whose state is renewed in each sandbox
    defineProperty(global, "Intl", { value: Intl, writable: true, configurable: true });
    defineProperty(global.Error.prototype, "stack", getOwnPropertyDescriptor(Error.prototype, "stack"));
    contexts.set(object, { realm, global, own: new Set(Reflect.ownKeys(global)), fixed: new Set() });
    return object;
  }

  function show({ global, own, fixed }, object, key) {
    if (fixed.has(key)) {
      global[key] = object[key];
      return;
    }
    own.delete(key); // the object's own comes before the language's
    defineProperty(global, key, {
      get: () => object[key],
      set(value) { Reflect.set(object, key, value); },
      enumerable: true, configurable: true,
    });
  }
  const isShown = (d) => d?.get !== undefined;

  // Before a script runs the global object has what the object has, and afterwards the other way round.
  function enter(context, object) {
    for (const key of Reflect.ownKeys(context.global)) {
      if (!context.own.has(key) && !context.fixed.has(key) && !hasOwn(object, key)) delete context.global[key];
    }
    for (const key of Reflect.ownKeys(object)) {
      if (!isShown(getOwnPropertyDescriptor(context.global, key))) show(context, object, key);
    }
  }
  function leave(context, object) {
    for (const key of Reflect.ownKeys(context.global)) {
      const d = getOwnPropertyDescriptor(context.global, key);
      if (context.own.has(key) || isShown(d)) continue;
      object[key] = d.value;
      if (d.configurable) show(context, object, key);
      else context.fixed.add(key);
    }
    for (const key of Reflect.ownKeys(object)) {
      if (!context.own.has(key) && !hasOwn(context.global, key)) delete object[key]; // the script did so
    }
  }

  const optionsOf = (options) => typeof options === "string" ? { filename: options } : options ?? {};
  function check(code, options) {
    if (options.timeout !== undefined) cloche.checkCount("options.timeout", options.timeout, 1, 2 ** 31 - 1);
    for (const name of ["cachedData", "importModuleDynamically", "microtaskMode", "contextExtensions"]) {
      if (options[name] !== undefined) throw cloche.unavailable(`vm's option ${name}`, "scripts are compiled anew, import nothing, and share the jobs of the program");
    }
    return `${code}`;
  }
  const go = (realm, code, { filename = "evalmachine.<anonymous>", lineOffset = 0, timeout = 0 }, mode = what.run) =>
    cloche.inRealm(realm, mode, code, `${filename}`, lineOffset + 1, timeout);

  function runInContext(code, object, options) {
    options = optionsOf(options);
    code = check(code, options);
    const context = contextOf(object);
    enter(context, object);
    try {
      return go(context.realm, code, options);
    } finally {
      leave(context, object);
    }
  }
  function runInThisContext(code, options) {
    options = optionsOf(options);
    return go(0, check(code, options), options);
  }
  const runInNewContext = (code, object, options) => runInContext(code, createContext(object), options);

  class Script {
    #code; #options;
    constructor(code, options) {
      this.#options = optionsOf(options);
      this.#code = check(code, this.#options);
      go(0, this.#code, this.#options, what.compile);
    }
    #with(options) { return { ...this.#options, ...options }; }
    runInContext(object, options) { return runInContext(this.#code, object, this.#with(options)); }
    runInNewContext(object, options) { return runInNewContext(this.#code, object, this.#with(options)); }
    runInThisContext(options) { return runInThisContext(this.#code, this.#with(options)); }
    createCachedData() { throw cloche.unavailable("Script.createCachedData", "scripts are compiled anew"); }
  }

  function compileFunction(code, params = [], options = {}) {
    if (typeof code !== "string") throw cloche.wrongType("code", "of type string", code);
    const { parsingContext } = options;
    check(code, options);
    const source = `(function (${params.join(",")}) {${code}\n})`;
    return parsingContext === undefined ? go(0, source, { filename: "", ...options }) : runInContext(source, parsingContext, options);
  }

  Object.assign(cloche.absent.vm, {
    createContext, isContext(object) {
      if (!isObject(object)) throw cloche.wrongType("object", "of type object", object);
      return contexts.has(object);
    },
    runInContext, runInThisContext, runInNewContext, Script, createScript: (code, options) => new Script(code, options), compileFunction,
  });
})
