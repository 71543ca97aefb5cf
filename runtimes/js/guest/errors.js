// Error.prototype.stack as Node shows it, and what the host is told of an uncaught error.
(function (cloche) {
  "use strict";

  const { uncurry } = cloche;
  const { defineProperty, getOwnPropertyDescriptor, hasOwn, getPrototypeOf } = Object;

  // QuickJS keeps the frames of an error as text, without name and message, or whatever Error.prepareStackTrace makes of them:
  //     "    at f (main.js:2:9)\n    at map (native)\n    at <eval> (main.js:4:3)\n"
  const native = getOwnPropertyDescriptor(Error.prototype, "stack");
  const nativeStack = uncurry(native.get);
  cloche.rawStack = nativeStack;

  // The host makes it keep the frames themselves, and their text is written when somebody reads it.
  const isArray = Array.isArray;
  const asText = (stack) => {
    if (Own.is(stack)) return Own.value(stack);
    if (!isArray(stack)) return stack;
    let text = "";
    for (let i = 0; i < stack.length; i++) text += lineOf(stack[i]);
    return text;
  };

  // What a program's own Error.prepareStackTrace made.
  class Own {
    #value;
    constructor(value) { this.#value = value; }
    static is(v) { return typeof v === "object" && v !== null && #value in v; }
    static value(own) { return own.#value; }
  }

  let site; // the methods of a frame
  function lineOf(of) {
    const name = site.name(of) || "<anonymous>";
    if (site.native(of)) return `    at ${name} (native)\n`;
    const place = `${site.file(of)}:${site.line(of)}:${site.column(of)}`;
    return site.fn(of) === null ? `    at ${place}\n` : `    at ${name} (${place})\n`;
  }

  const hook = getOwnPropertyDescriptor(Error, "prepareStackTrace");
  const TheError = Error;
  const { apply } = Reflect;
  const setHook = uncurry(hook.set);
  setHook(TheError, (error, sites) => {
    const proto = getPrototypeOf(sites[0]);
    const method = (name) => uncurry(proto[name]);
    site = {
      name: method("getFunctionName"), native: method("isNative"), file: method("getFileName"), line: method("getLineNumber"),
      column: method("getColumnNumber"), fn: method("getFunction"),
    };
    cloche.site = site;
    // What V8's frames have besides, for a program's own Error.prepareStackTrace.
    for (const [name, fn] of Object.entries({
      getThis: () => undefined, getTypeName: () => null, getMethodName: () => null, getEvalOrigin: () => undefined,
      getScriptNameOrSourceURL() { return this.getFileName(); }, getPromiseIndex: () => null, getScriptHash: () => "",
      getEnclosingLineNumber() { return this.getLineNumber(); }, getEnclosingColumnNumber() { return this.getColumnNumber(); }, getPosition: () => 0,
      isEval: () => false, isToplevel: () => true, isConstructor: () => false, isAsync: () => false, isPromiseAll: () => false,
      toString() { return lineOf(this).slice(7, -1); },
    })) {
      if (!hasOwn(proto, name)) defineProperty(proto, name, { value: fn, writable: true, configurable: true });
    }
  });
  new Error();

  // While the image is made frames are text.
  setHook(TheError, undefined);
  cloche.startTracing = () => setHook(TheError, cloche.traced);
  let own; // what the program has set
  defineProperty(Error, "prepareStackTrace", {
    configurable: true,
    enumerable: false,
    get: { prepareStackTrace() { return own; } }.prepareStackTrace,
    set: {
      prepareStackTrace(value) {
        own = value;
        setHook(TheError, typeof value !== "function" ? cloche.traced : (error, sites) => {
          cloche.traced(error, sites);
          return new Own(apply(value, TheError, [error, sites]));
        });
      },
    }.prepareStackTrace,
  });
  cloche.forgetHook = () => setHook(TheError, undefined); // for a stopped program, whose frames are read as text

  const readFrames = (error) => asText(nativeStack(error));
  const nativeCapture = Error.captureStackTrace;
  const errorText = uncurry(Error.prototype.toString);

  // The program's own frames, as Node writes them.
  function frames(raw) {
    const out = [];
    for (const line of raw.split("\n")) {
      if (line === "" || line.includes("cloche:") || line.includes("<input>") || line.endsWith("(missing)")) continue;
      let text = line.replace(/\?v=\d+(?=:\d+)/, ""); // see moduleName
      if (text.endsWith(" (native)")) {
        if (text.length === 17 && text[7] <= "!") continue; // a function of the host, whose name is its op
        if (out.length === 0 && /^ {4}at (\w+|<anonymous>) \(native\)$/.test(text) && text.includes("<anonymous>")) continue;
        text = text.slice(0, -"(native)".length) + "(<anonymous>)";
      } else if (text.startsWith("    at <eval> (") || text.startsWith("    at <anonymous> (")) {
        text = "    at " + text.slice(text.indexOf("(") + 1, -1);
      }
      out.push(text);
    }
    return out;
  }

  function header(error) {
    try {
      return errorText(error);
    } catch {
      return "Error";
    }
  }

  const isRaw = (stack) => stack === "" || stack.startsWith("    at ");

  // The frames of an error's own constructors say nothing of where it was made.
  function compose(error, raw) {
    const list = frames(raw);
    try {
      const begins = []; // of their frames, of which that of the class itself is the last
      for (let proto = getPrototypeOf(error); proto !== null && proto !== Error.prototype; proto = getPrototypeOf(proto)) {
        const name = getOwnPropertyDescriptor(proto, "constructor")?.value?.name;
        if (name) begins.push(`    at ${name} (`);
      }
      let at = 0;
      while (begins.length > 0 && at < list.length) {
        const i = begins.findLastIndex((begin) => list[at].startsWith(begin));
        if (i < 0) break;
        begins.length = i;
        at++;
      }
      if (at < list.length) list.splice(0, at);
    } catch { /* a proxy */ }
    return [header(error), ...list].join("\n");
  }

  defineProperty(Error.prototype, "stack", {
    configurable: true,
    enumerable: false,
    get: {
      get stack() {
        const stack = readFrames(this);
        return typeof stack === "string" && isRaw(stack) ? compose(this, stack) : stack;
      },
    }.__lookupGetter__("stack"),
    set: { // an own property in V8, whatever the value
      set stack(value) {
        if (!Reflect.defineProperty(this, "stack", { value, writable: true, configurable: true, enumerable: false })) {
          throw new TypeError("Cannot assign to read only property 'stack' of object");
        }
      },
    }.__lookupSetter__("stack"),
  });

  // JSON.stringify(error, Object.getOwnPropertyNames(error)) is how many programs write an error down.
  const ownNames = Object.getOwnPropertyNames;
  Object.getOwnPropertyNames = {
    getOwnPropertyNames(target) {
      const names = ownNames(target);
      if (cloche.is.error(target) && !hasOwn(target, "stack")) names.unshift("stack");
      return names;
    },
  }.getOwnPropertyNames;

  Error.captureStackTrace = {
    captureStackTrace(target, above) {
      if (typeof target !== "object" && typeof target !== "function" || target === null) {
        throw cloche.wrongType("target", "an object", target);
      }
      const at = {};
      if (typeof above === "function") nativeCapture(at, above);
      else nativeCapture(at, captureStackTrace);
      const raw = asText(at.stack);
      defineProperty(target, "stack", {
        value: typeof raw === "string" ? compose(target, raw) : raw, writable: true, configurable: true, enumerable: false,
      });
    },
  }.captureStackTrace;
  const { captureStackTrace } = Error;

  // The engine's DOMException has a stack of its own, which is raw.
  const NativeException = globalThis.DOMException;
  function DOMException(message = "", options = "Error") {
    if (new.target === undefined) throw new TypeError("Class constructor DOMException cannot be invoked without 'new'");
    const named = typeof options === "object" && options !== null;
    const name = named ? options.name : options;
    const error = Reflect.construct(NativeException, name === undefined ? [message] : [message, name], new.target);
    if (named && hasOwn(options, "cause")) defineProperty(error, "cause", { value: options.cause, writable: true, configurable: true, enumerable: false });
    const at = {};
    nativeCapture(at, DOMException);
    defineProperty(error, "stack", { value: compose(error, `${asText(at.stack) ?? ""}`), writable: true, configurable: true, enumerable: false });
    return error;
  }
  for (const key of Reflect.ownKeys(NativeException)) {
    if (key === "name" || key === "prototype") continue;
    defineProperty(DOMException, key, getOwnPropertyDescriptor(NativeException, key));
  }
  defineProperty(DOMException, "prototype", { value: NativeException.prototype, writable: false, enumerable: false });
  defineProperty(NativeException.prototype, "constructor", { value: DOMException, writable: true, configurable: true, enumerable: false });
  defineProperty(globalThis, "DOMException", { value: DOMException, writable: true, configurable: true, enumerable: false });

  // Splits the text of a stack into what comes before its frames and the frames.
  cloche.splitStack = (stack, fallback) => {
    const at = stack.search(/(^|\n) {4}at /);
    if (at < 0) return { head: stack === "" ? fallback : stack, frames: "" };
    const head = stack.slice(0, at);
    return { head: head === "" ? fallback : head, frames: stack.slice(stack[at] === "\n" ? at + 1 : at).replace(/\n+$/, "") };
  };

  const place = /\(?([^()\s]+):(\d+):(\d+)\)?$/;

  function framesOf(stack) {
    const out = [];
    for (const line of stack.split("\n")) {
      if (!line.startsWith("    at ")) continue;
      const m = place.exec(line);
      if (m !== null && m[1] !== "<anonymous>") out.push({ file: m[1], line: +m[2], col: +m[3] });
    }
    return out;
  }

  const clip = (text) => text.length > 50000 ? text.slice(0, 50000) + "..." : text;

  const property = (error, key) => {
    try {
      const value = error[key];
      return typeof value === "string" ? value : undefined;
    } catch {
      return undefined;
    }
  };

  // Tells the host what was thrown (errors.go, report).
  cloche.describe = (thrown) => {
    const report = { name: "Error", message: "", text: "", frames: [], error: false, code: "", memory: false };
    if (typeof thrown !== "object" || thrown === null || !cloche.is.error(thrown) && property(thrown, "stack") === undefined) {
      const shown = show(thrown);
      report.name = typeof thrown === "object" && thrown !== null ? className(thrown) : typeof thrown;
      report.message = clip(typeof thrown === "string" ? thrown : shown);
      report.text = clip(shown);
      return cloche.stringify(report);
    }
    const stack = property(thrown, "stack") ?? "";
    report.error = true;
    report.name = property(thrown, "name") || className(thrown);
    if (report.name === "Error" && className(thrown) !== "Object") report.name = className(thrown);
    report.message = clip(property(thrown, "message") ?? "");
    report.code = property(thrown, "code") ?? "";
    report.memory = report.name === "InternalError" && report.message === "out of memory";
    report.frames = framesOf(stack);
    report.text = clip(report.memory ? "InternalError: out of memory" : show(thrown));
    return cloche.stringify(report);
  };

  function className(value) {
    try {
      const name = value.constructor?.name;
      return typeof name === "string" && name !== "" ? name : "Object";
    } catch {
      return "Object";
    }
  }

  function show(value) {
    try {
      return cloche.inspect(value, { depth: 5 });
    } catch {
      return header(value);
    }
  }

  // ---- the value of the last expression

  // Whether JSON says all of a value: plain objects and arrays of texts, finite numbers, booleans and null.
  function natural(value, depth, budget) {
    switch (typeof value) {
      case "string": return true;
      case "number": return Number.isFinite(value);
      case "boolean": return true;
      case "object": break;
      default: return false;
    }
    if (value === null) return true;
    if (depth > 50 || cloche.is.proxy(value)) return false;
    if (Array.isArray(value)) {
      if ((budget.left -= value.length + 1) < 0) return false;
      for (let i = 0; i < value.length; i++) {
        const d = getOwnPropertyDescriptor(value, i);
        if (d === undefined || !hasOwn(d, "value") || !natural(d.value, depth + 1, budget)) return false;
      }
      return typeof value.toJSON !== "function";
    }
    const proto = getPrototypeOf(value);
    if (proto !== Object.prototype && proto !== null || typeof value.toJSON === "function") return false;
    const keys = Reflect.ownKeys(value);
    if ((budget.left -= keys.length + 1) < 0) return false;
    for (const key of keys) {
      const d = getOwnPropertyDescriptor(value, key);
      if (typeof key !== "string" || !hasOwn(d, "value") || !d.enumerable || !natural(d.value, depth + 1, budget)) return false;
    }
    return true;
  }

  const maxJSON = 1 << 20; // characters: a larger value is a file, not a result

  // The header of a display frame (package hostfuncs) for a value.
  cloche.show = (value, main) => {
    const data = { "text/plain": cloche.inspect(value) };
    if (natural(value, 0, { left: 200000 }) && !(typeof value === "object" && value !== null && hasOwn(value, "$bytes"))) {
      const json = cloche.stringify(value);
      if (json.length <= maxJSON) {
        return `{"main":${main},"data":${cloche.stringify(data).slice(0, -1)},"application/json":${json}}}`;
      }
    }
    return `{"main":${main},"data":${cloche.stringify(data)}}`;
  };
})
