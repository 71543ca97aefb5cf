// Values as text, in the format of Node 20's util.inspect and util.format.
(function (cloche) {
  "use strict";

  const custom = Symbol.for("nodejs.util.inspect.custom");
  const { hasOwn, getPrototypeOf, getOwnPropertyDescriptor, getOwnPropertySymbols } = Object;
  const { ownKeys } = Reflect;
  const { toStringTag } = Symbol;
  const { uncurry } = cloche;

  const propertyIsEnumerable = uncurry(Object.prototype.propertyIsEnumerable);
  const objectToString = uncurry(Object.prototype.toString);
  const functionToString = uncurry(Function.prototype.toString);
  const dateToISO = uncurry(Date.prototype.toISOString);
  const dateToString = uncurry(Date.prototype.toString);
  const dateTime = uncurry(Date.prototype.getTime);
  const regexpToString = uncurry(RegExp.prototype.toString);
  const getter = (proto, name) => uncurry(getOwnPropertyDescriptor(proto, name).get);
  const mapSize = getter(Map.prototype, "size");
  const setSize = getter(Set.prototype, "size");
  const mapEntries = uncurry(Map.prototype.entries);
  const setValues = uncurry(Set.prototype.values);
  const TypedArray = getPrototypeOf(Uint8Array);
  const typedTag = getter(TypedArray.prototype, Symbol.toStringTag);
  const typedLength = getter(TypedArray.prototype, "length");
  const mapNext = uncurry(getPrototypeOf(new Map().entries()).next);
  const setNext = uncurry(getPrototypeOf(new Set().values()).next);
  const unbox = {
    Number: uncurry(Number.prototype.valueOf), String: uncurry(String.prototype.valueOf),
    Boolean: uncurry(Boolean.prototype.valueOf), BigInt: uncurry(BigInt.prototype.valueOf),
    Symbol: uncurry(Symbol.prototype.valueOf),
  };

  // The interpreter's class of an object, which no program can fake. The numbers are learnt from samples.
  const classOf = (value) => cloche.peek(3, value);
  const kinds = [];
  const sample = (kind, value) => { kinds[classOf(value)] = kind; };
  sample("Object", {});
  sample("Array", []);
  sample("Error", new Error());
  sample("Number", Object(0));
  sample("String", Object(""));
  sample("Boolean", Object(false));
  sample("Symbol", Object(Symbol()));
  sample("BigInt", Object(0n));
  sample("Date", new Date(0));
  sample("RegExp", /x/);
  sample("Map", new Map());
  sample("Set", new Set());
  sample("MapIterator", new Map().values());
  sample("SetIterator", new Set().values());
  sample("WeakMap", new WeakMap());
  sample("WeakSet", new WeakSet());
  sample("WeakRef", new WeakRef({}));
  sample("Promise", Promise.resolve());
  sample("Proxy", new Proxy({}, {}));
  sample("ArrayBuffer", new ArrayBuffer(0));
  if (typeof SharedArrayBuffer !== "undefined") sample("SharedArrayBuffer", new SharedArrayBuffer(0));
  sample("DataView", new DataView(new ArrayBuffer(0)));
  sample("Arguments", (function () { return arguments; })());
  sample("Arguments", new Function("a", "return arguments")(0)); // sloppy ones are of another class
  for (const Class of [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array,
    Float64Array, BigInt64Array, BigUint64Array, globalThis.Float16Array]) if (Class) sample("TypedArray", new Class(0));
  const kindOf = (value) => kinds[classOf(value)];
  cloche.kindOf = kindOf;

  const isA = (kind) => (value) => kindOf(value) === kind;
  const is = {
    map: isA("Map"), set: isA("Set"), date: isA("Date"), regexp: isA("RegExp"), promise: isA("Promise"),
    arrayBuffer: isA("ArrayBuffer"), sharedArrayBuffer: isA("SharedArrayBuffer"), dataView: isA("DataView"),
    typedArray: isA("TypedArray"), weakMap: isA("WeakMap"), weakSet: isA("WeakSet"), weakRef: isA("WeakRef"),
    proxy: isA("Proxy"), nativeError: isA("Error"),
    error: (value) => kindOf(value) === "Error" || isInstance(value, Error),
  };
  cloche.is = is;

  const defaults = {
    showHidden: false, depth: 2, colors: false, customInspect: true, showProxy: false, maxArrayLength: 100,
    maxStringLength: 10000, breakLength: 80, compact: 3, sorted: false, getters: false, numericSeparator: false,
  };

  const styles = {
    special: "cyan", number: "yellow", bigint: "yellow", boolean: "yellow", undefined: "grey", null: "bold",
    string: "green", symbol: "green", date: "magenta", regexp: "red", module: "underline",
  };
  const colors = {
    bold: [1, 22], italic: [3, 23], underline: [4, 24], inverse: [7, 27], reset: [0, 0], dim: [2, 22], strikethrough: [9, 29],
    black: [30, 39], red: [31, 39], green: [32, 39], yellow: [33, 39], blue: [34, 39], magenta: [35, 39], cyan: [36, 39],
    white: [37, 39], gray: [90, 39], grey: [90, 39], bgRed: [41, 49], bgGreen: [42, 49], bgYellow: [43, 49], bgBlue: [44, 49],
  };

  const ansi = /\u001b\[[0-9;]*m/g;
  const stripColors = (s) => s.includes("\u001b") ? s.replace(ansi, "") : s;

  const plainStyle = (text) => text;
  const colorStyle = (text, kind) => {
    const color = colors[styles[kind]];
    return color ? `\u001b[${color[0]}m${text}\u001b[${color[1]}m` : text;
  };

  // The state of one inspection, as it begins: what is asked for, and where it is.
  const start = {
    __proto__: null,
    ...defaults,
    userOptions: undefined,
    stylize: plainStyle,
    seen: undefined, // the objects that contain the present one
    circular: undefined, // those that one of their own parts refers to, by number
    indent: 0,
    current: 0, // the depth of what was formatted last
    left: 1 << 21, // characters until only names are shown
  };

  function makeContext(options) {
    const ctx = { __proto__: start, seen: [] };
    if (options) {
      ctx.userOptions = options;
      for (const key of Object.keys(options)) if (hasOwn(defaults, key)) ctx[key] = options[key];
      if (ctx.maxArrayLength === null) ctx.maxArrayLength = Infinity;
      if (ctx.maxStringLength === null) ctx.maxStringLength = Infinity;
      if (ctx.depth === null) ctx.depth = Infinity;
    }
    if (ctx.colors) ctx.stylize = colorStyle;
    return ctx;
  }

  function inspect(value, options, ...old) {
    if (typeof options === "boolean" || old.length > 0) { // (value, showHidden, depth, colors)
      options = { showHidden: !!options, depth: old[0] === undefined ? 2 : old[0], colors: !!old[1] };
    }
    return format(makeContext(options), value, 0);
  }

  // ---- primitives

  const escapes = { "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", "\\": "\\\\" };
  const needsEscape = /[\x00-\x1f\x27\x5c\x7f-\x9f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
  const plainText = /^[\x20-\x26\x28-\x5b\x5d-\x7e]*$/;
  const needsEscapeAll = new RegExp(needsEscape.source, "g");

  function quote(text) {
    let q = "'";
    if (text.includes("'")) {
      if (!text.includes('"')) q = '"';
      else if (!text.includes("`") && !text.includes("${")) q = "`";
    }
    if (plainText.test(text) || !needsEscape.test(text)) return q + text + q;
    return q + text.replace(needsEscapeAll, (c) => {
      if (c === "'") return q === "'" ? "\\'" : c;
      if (escapes[c]) return escapes[c];
      const code = c.charCodeAt(0);
      return code < 0x100 ? `\\x${code.toString(16).toUpperCase().padStart(2, "0")}` : `\\u${code.toString(16)}`;
    }) + q;
  }

  function formatNumber(ctx, n, plain) {
    let text = Object.is(n, -0) ? "-0" : `${n}`;
    if (ctx.numericSeparator && Number.isFinite(n) && !text.includes("e")) {
      const [whole, fraction] = text.split(".");
      text = whole.replace(/\B(?=(\d{3})+$)/g, "_") + (fraction ? "." + fraction.replace(/(\d{3})(?=\d)/g, "$1_") : "");
    }
    return plain ? text : ctx.stylize(text, "number");
  }

  function formatPrimitive(ctx, value, typed) {
    switch (typeof value) {
      case "string": {
        let rest = "";
        if (value.length > ctx.maxStringLength) {
          const more = value.length - ctx.maxStringLength;
          value = value.slice(0, ctx.maxStringLength);
          rest = `... ${more} more character${more > 1 ? "s" : ""}`;
        }
        if (ctx.compact !== true && value.length > 16 && value.length > ctx.breakLength - ctx.indent - 4) {
          const lines = value.match(/[^\n]*\n|[^\n]+$/g) ?? [value];
          return lines.map((line) => ctx.stylize(quote(line), "string")).join(` +\n${" ".repeat(ctx.indent + 2)}`) + rest;
        }
        return ctx.stylize(quote(value), "string") + rest;
      }
      case "number": return formatNumber(ctx, value);
      case "bigint": return ctx.stylize(`${value}n`, "bigint");
      case "boolean": return ctx.stylize(`${value}`, "boolean");
      case "undefined": return ctx.stylize("undefined", "undefined");
      case "symbol": return ctx.stylize(symbolText(value), "symbol");
    }
    return ctx.stylize("null", "null");
  }

  const symbolToString = uncurry(Symbol.prototype.toString);
  const symbolText = (s) => symbolToString(s);

  // ---- objects

  function format(ctx, value, depth, typed) {
    if (typeof value !== "object" && typeof value !== "function" || value === null) return formatPrimitive(ctx, value, typed);
    const original = value;
    let class_ = kindOf(value);
    if (class_ === "Proxy") {
      if (ctx.showProxy) return formatProxy(ctx, value, depth);
      do {
        value = cloche.peek(2, value);
        if (value === null) return ctx.stylize("<Revoked Proxy>", "special");
        class_ = kindOf(value);
      } while (class_ === "Proxy");
    }
    if (ctx.customInspect) {
      const own = value[custom];
      if (typeof own === "function" && own !== inspect && !isPrototypeObject(value)) {
        const left = ctx.depth === Infinity ? Infinity : ctx.depth - depth;
        const options = { ...ctx.userOptions, depth: left, stylize: ctx.stylize };
        const result = own.call(original, left, options, inspect);
        if (result !== original) {
          if (typeof result !== "object" && typeof result !== "function" || result === null) {
            return typeof result === "string" ? result.replaceAll("\n", `\n${" ".repeat(ctx.indent)}`) : formatPrimitive(ctx, result);
          }
          return format(ctx, result, depth);
        }
      }
    }
    if (ctx.seen.length > 0 && ctx.seen.includes(value)) {
      ctx.circular ??= new Map();
      let index = ctx.circular.get(value);
      if (index === undefined) ctx.circular.set(value, index = ctx.circular.size + 1);
      return ctx.stylize(`[Circular *${index}]`, "special");
    }
    return formatObject(ctx, value, depth, class_, typed);
  }

  const isPrototypeObject = (value) =>
    hasOwn(value, "constructor") && typeof value.constructor === "function" && value.constructor.prototype === value;

  function formatProxy(ctx, proxy, depth) {
    if (depth > ctx.depth) return ctx.stylize("Proxy [Array]", "special");
    ctx.indent += 2;
    const text = format(ctx, cloche.peek(2, proxy), depth + 1);
    ctx.indent -= 2;
    return `Proxy [ ${text}, [handler] ]`;
  }

  const objectPrototype = Object.prototype;
  const arrayPrototype = Array.prototype;

  // The name of the class of an object, with what its prototype chain says about it; null without prototype.
  function constructorName(ctx, obj, depth) {
    const proto = getPrototypeOf(obj);
    if (proto === objectPrototype && objectPrototype.constructor === Object && !hasOwn(obj, "constructor")) return "Object";
    if (proto === arrayPrototype && arrayPrototype.constructor === Array && !hasOwn(obj, "constructor")) return "Array";
    let first;
    const start = obj;
    for (let steps = 0; obj !== null && steps < 1000; steps++) {
      const d = getOwnPropertyDescriptor(obj, "constructor");
      if (d !== undefined && typeof d.value === "function" && d.value.name !== "" && isInstance(start, d.value)) {
        return `${d.value.name}`;
      }
      obj = getPrototypeOf(obj);
      if (first === undefined) first = obj;
    }
    if (first === null) return null;
    const kind = objectToString(start).slice(8, -1);
    if (depth > ctx.depth) return `${kind} <Complex prototype>`;
    const parent = constructorName(ctx, first, depth + 1);
    if (parent === null) {
      return `${kind} <${inspect(first, { ...ctx.userOptions, customInspect: false, depth: -1 })}>`;
    }
    return `${kind} <${parent}>`;
  }

  function isInstance(obj, Class) {
    try {
      return obj instanceof Class;
    } catch {
      return false;
    }
  }

  function prefix(name, tag, fallback, size = "") {
    if (name === null) {
      return tag !== "" && fallback !== tag ? `[${fallback}${size}: null prototype] [${tag}] ` : `[${fallback}${size}: null prototype] `;
    }
    return tag !== "" && name !== tag ? `${name}${size} [${tag}] ` : `${name}${size} `;
  }

  function keysOf(ctx, value) {
    const symbols = getOwnPropertySymbols(value);
    let keys;
    if (ctx.showHidden) return [...Object.getOwnPropertyNames(value), ...symbols];
    try {
      keys = Object.keys(value);
    } catch { // a module whose bindings are not there yet
      keys = Object.getOwnPropertyNames(value);
    }
    return symbols.length === 0 ? keys : [...keys, ...symbols.filter((s) => propertyIsEnumerable(value, s))];
  }

  const isIndex = (key) => typeof key === "string" && /^(0|[1-9][0-9]{0,9})$/.test(key) && +key < 4294967295;
  // The keys that are no indexes. Indexes come first.
  function otherKeys(ctx, value) {
    const keys = keysOf(ctx, value);
    let i = keys.length;
    while (i > 0 && !isIndex(keys[i - 1])) i--;
    return i === 0 ? keys : keys.slice(i);
  }

  function formatObject(ctx, value, depth, class_, typed) {
    const name = constructorName(ctx, value, depth);
    let tag = "";
    try {
      tag = value[toStringTag];
    } catch { /* a getter of the program */ }
    if (typeof tag !== "string" || tag !== "" && (ctx.showHidden ? hasOwn : propertyIsEnumerable)(value, toStringTag)) tag = "";

    let base = "";
    let entries = () => [];
    let braces = ["{", "}"];
    let kind = "object";
    let keys;

    switch (class_) {
      case "Object": // the commonest first: the cases are compared in order
        if (name !== "Object" && isInstance(value, Error)) {
          keys = keysOf(ctx, value);
          base = formatError(ctx, value, name, tag, keys);
          keys = errorKeys(value, keys);
          if (keys.length === 0) return base;
          break;
        }
        keys = keysOf(ctx, value);
        if (name === "Object" && tag === "") {
          if (keys.length === 0) return "{}";
          break;
        }
        if (keys.length === 0) return `${prefix(name, tag, "Object")}{}`;
        braces[0] = `${prefix(name, tag, "Object")}{`;
        break;
      case "Array": {
        const lead = name !== "Array" || tag !== "" ? prefix(name, tag, "Array", `(${value.length})`) : "";
        keys = otherKeys(ctx, value);
        braces = [`${lead}[`, "]"];
        if (value.length === 0 && keys.length === 0) return `${braces[0]}]`;
        kind = "array";
        entries = formatArray;
        break;
      }
      case "Set":
      case "Map": {
        const size = class_ === "Set" ? setSize(value) : mapSize(value);
        const lead = prefix(name, tag, class_, `(${size})`);
        keys = keysOf(ctx, value);
        if (size === 0 && keys.length === 0) return `${lead}{}`;
        braces = [`${lead}{`, "}"];
        entries = class_ === "Set" ? formatSet : formatMap;
        break;
      }
      case "TypedArray": {
        const size = typedLength(value);
        const lead = prefix(name, tag, typedTag(value), `(${size})`);
        keys = otherKeys(ctx, value);
        braces = [`${lead}[`, "]"];
        if (size === 0 && keys.length === 0 && !ctx.showHidden) return `${braces[0]}]`;
        kind = "array";
        entries = formatTypedArray;
        break;
      }
      case "Arguments":
        keys = keysOf(ctx, value);
        if (keys.length === 0) return "[Arguments] {}";
        braces = ["[Arguments] {", "}"];
        break;
      case "RegExp": {
        keys = keysOf(ctx, value);
        base = regexpToString(name === null ? new RegExp(value) : value);
        const lead = prefix(name, tag, "RegExp");
        if (lead !== "RegExp ") base = lead + base;
        if (keys.length === 0 || depth > ctx.depth) return ctx.stylize(base, "regexp");
        break;
      }
      case "Date": {
        keys = keysOf(ctx, value);
        base = Number.isNaN(dateTime(value)) ? dateToString(value) : dateToISO(value);
        const lead = prefix(name, tag, "Date");
        if (lead !== "Date ") base = lead + base;
        if (keys.length === 0) return ctx.stylize(base, "date");
        break;
      }
      case "ArrayBuffer":
      case "SharedArrayBuffer": {
        keys = keysOf(ctx, value);
        const lead = prefix(name, tag, class_);
        if (class_ === "ArrayBuffer" && value.detached === true) entries = (ctx) => [ctx.stylize("(detached)", "special")];
        else if (typed === undefined) entries = formatArrayBuffer;
        else if (keys.length === 0) return `${lead}{ byteLength: ${formatNumber(ctx, value.byteLength)} }`;
        braces[0] = `${lead}{`;
        keys = ["byteLength", ...keys];
        break;
      }
      case "DataView":
        braces[0] = `${prefix(name, tag, "DataView")}{`;
        keys = ["byteLength", "byteOffset", "buffer", ...keysOf(ctx, value)];
        break;
      case "Promise":
        keys = keysOf(ctx, value);
        braces[0] = `${prefix(name, tag, "Promise")}{`;
        entries = formatPromise;
        break;
      case "MapIterator":
      case "SetIterator": {
        const pairs = cloche.peek(5, value) === 2;
        keys = keysOf(ctx, value);
        braces = [`[${class_ === "MapIterator" ? "Map" : "Set"} ${pairs ? "Entries" : "Iterator"}] {`, "}"];
        kind = pairs ? "array" : "object";
        entries = formatIterator;
        break;
      }
      case "WeakSet":
      case "WeakMap":
        keys = keysOf(ctx, value);
        braces[0] = `${prefix(name, tag, class_)}{`;
        entries = (ctx) => [ctx.stylize("<items unknown>", "special")];
        break;
      case "WeakRef":
        keys = keysOf(ctx, value);
        if (keys.length === 0) return `${prefix(name, tag, "WeakRef")}{}`;
        braces[0] = `${prefix(name, tag, "WeakRef")}{`;
        break;
      case "Number":
      case "String":
      case "Boolean":
      case "BigInt":
      case "Symbol":
        keys = class_ === "String" ? otherKeys(ctx, value) : keysOf(ctx, value);
        base = boxedBase(ctx, value, class_, name, tag);
        if (keys.length === 0) return base;
        break;
      default:
        keys = keysOf(ctx, value);
        if (typeof value === "function") {
          base = functionBase(value, name, tag);
          if (keys.length === 0) return ctx.stylize(base, "special");
        } else if (class_ === "Error" || isInstance(value, Error)) {
          base = formatError(ctx, value, name, tag, keys);
          keys = errorKeys(value, keys);
          if (keys.length === 0) return base;
        } else if (class_ === undefined && objectToString(value) === "[object Module]") {
          braces[0] = `${prefix(name, tag, "Module")}{`;
          entries = formatNamespace;
          keys = [];
        } else {
          if (keys.length === 0) return name === "Object" && tag === "" ? "{}" : `${prefix(name, tag, "Object")}{}`;
          if (name !== "Object" || tag !== "") braces[0] = `${prefix(name, tag, "Object")}{`;
        }
    }
    return finish(ctx, value, depth, base, braces, entries, keys, kind, name, tag);
  }

  function finish(ctx, value, depth, base, braces, entries, keys, kind, name, tag) {
    if (depth > ctx.depth) {
      const shown = prefix(name, tag, Array.isArray(value) ? "Array" : "Object").slice(0, -1);
      return ctx.stylize(`[${shown}]`, "special");
    }
    depth += 1;
    ctx.seen.push(value);
    ctx.current = depth;
    const indent = ctx.indent;
    let output;
    try {
      output = entries(ctx, value, depth);
      for (const key of keys) output.push(formatProperty(ctx, value, depth, key, "object"));
    } catch (error) {
      if (!(error instanceof RangeError) || !/call stack/.test(error.message)) throw error;
      ctx.indent = indent;
      ctx.seen.pop();
      return ctx.stylize(`[${name ?? "Object"}: Inspection interrupted prematurely. Maximum call stack size exceeded.]`, "special");
    }
    const index = ctx.circular?.get(value);
    if (index !== undefined) {
      const ref = ctx.stylize(`<ref *${index}>`, "special");
      if (ctx.compact !== true) base = base === "" ? ref : `${ref} ${base}`;
      else braces[0] = `${ref} ${braces[0]}`;
    }
    ctx.seen.pop();
    if (ctx.sorted) {
      const order = ctx.sorted === true ? undefined : ctx.sorted;
      if (kind === "object") output.sort(order);
      else if (keys.length > 1) output = [...output.slice(0, -keys.length), ...output.slice(-keys.length).sort(order)];
    }
    const text = combine(ctx, output, base, braces, kind, depth, value);
    ctx.left -= text.length;
    if (ctx.left < 0) ctx.depth = -1; // enormous: what is still inside is shown by name only
    return text;
  }

  function functionBase(value, name, tag) {
    const source = functionToString(value);
    if (source.startsWith("class") && source.endsWith("}")) {
      let text = `[class ${hasOwn(value, "name") && value.name !== "" ? value.name : "(anonymous)"}`;
      if (name !== "Function" && name !== null) text += ` [${name}]`;
      if (tag !== "" && name !== tag) text += ` [${tag}]`;
      if (name !== null) {
        const parent = getPrototypeOf(value).name;
        if (parent) text += ` extends ${parent}`;
      } else {
        text += " extends [null prototype]";
      }
      return `${text}]`;
    }
    let kind = "Function";
    const type = objectToString(value).slice(8, -1);
    if (type === "AsyncFunction" || type === "GeneratorFunction" || type === "AsyncGeneratorFunction") kind = type;
    let text = `[${kind}`;
    if (name === null) text += " (null prototype)";
    text += typeof value.name !== "string" || value.name === "" ? " (anonymous)" : `: ${value.name}`;
    text += "]";
    if (name !== kind && name !== null) text += ` ${name}`;
    if (tag !== "" && name !== tag) text += ` [${tag}]`;
    return text;
  }

  function boxedBase(ctx, value, type, name, tag) {
    let text = `[${type}`;
    if (type !== name) text += name === null ? " (null prototype)" : ` (${name})`;
    text += `: ${formatPrimitive({ ...ctx, stylize: (s) => s, compact: true }, unbox[type](value))}]`;
    if (tag !== "" && tag !== name) text += ` [${tag}]`;
    return ctx.stylize(text, type.toLowerCase());
  }

  // ---- errors

  // The text of an error: name and message, then the frames that belong to the program.
  function stackOf(error) {
    let stack;
    try {
      stack = error.stack;
    } catch { /* a getter of the program */ }
    if (typeof stack !== "string") return undefined;
    return stack;
  }

  const errorText = uncurry(Error.prototype.toString);

  function headline(error) {
    try {
      return errorText(error);
    } catch {
      return "Error";
    }
  }

  function formatError(ctx, error, name, tag, keys) {
    let stack = stackOf(error);
    let head = headline(error);
    let frames = "";
    if (stack !== undefined) {
      ({ head, frames } = cloche.splitStack(stack, head));
    }
    // The name of the class says more than a name that was never set.
    const own = typeof error.name === "string" ? error.name : "Error";
    if (name === null || own.endsWith("Error") && head.startsWith(own) && /^(:|\n|$)/.test(head.slice(own.length, own.length + 1))) {
      const lead = prefix(name, tag, own === "" ? "Error" : own).slice(0, -1);
      if (own !== lead) {
        head = lead.includes(own) ? lead + head.slice(own.length) : `${lead} [${own}]${head.slice(own.length)}`;
      }
    }
    let text = frames === "" ? `[${head}]` : `${head}\n${frames}`;
    if (ctx.indent !== 0) text = text.replaceAll("\n", `\n${" ".repeat(ctx.indent)}`);
    return text;
  }

  function errorKeys(error, keys) {
    const stack = stackOf(error) ?? headline(error);
    keys = keys.filter((key) => key !== "name" && key !== "message" && key !== "stack" ||
      typeof error[key] === "string" && !stack.includes(error[key]));
    if (hasOwn(error, "cause") && !keys.includes("cause")) keys.push("cause");
    if (Array.isArray(error.errors) && hasOwn(error, "errors") && !keys.includes("errors")) keys.push("errors");
    return keys;
  }

  // ---- contents

  const more = (n) => `... ${n} more item${n > 1 ? "s" : ""}`;

  function formatArray(ctx, value, depth) {
    const length = value.length;
    const limit = Math.min(Math.max(0, ctx.maxArrayLength), length);
    const output = [];
    let index = 0;
    while (index < length && output.length < limit) {
      if (hasOwn(value, index)) {
        output.push(formatProperty(ctx, value, depth, index, "array"));
        index++;
        continue;
      }
      let end = index + 1;
      if (length - index < 10000) {
        while (end < length && !hasOwn(value, end)) end++;
      } else { // a huge hole: find its end by the keys
        end = length;
        for (const key of Object.keys(value)) {
          if (!isIndex(key)) break;
          if (+key > index) {
            end = +key;
            break;
          }
        }
      }
      const n = end - index;
      output.push(ctx.stylize(`<${n} empty item${n > 1 ? "s" : ""}>`, "undefined"));
      index = end;
    }
    if (index < length) output.push(more(length - index));
    return output;
  }

  function formatTypedArray(ctx, value) {
    const length = typedLength(value);
    const limit = Math.min(Math.max(0, ctx.maxArrayLength), length);
    const output = [];
    const big = length > 0 && typeof value[0] === "bigint";
    for (let i = 0; i < limit; i++) {
      output.push(big ? ctx.stylize(`${value[i]}n`, "bigint") : formatNumber(ctx, value[i]));
    }
    if (length > limit) output.push(more(length - limit));
    if (ctx.showHidden) {
      ctx.indent += 2;
      for (const key of ["BYTES_PER_ELEMENT", "length", "byteLength", "byteOffset", "buffer"]) {
        output.push(`[${key}]: ${format(ctx, value[key], 0, true)}`);
      }
      ctx.indent -= 2;
    }
    return output;
  }

  function formatArrayBuffer(ctx, value) {
    const bytes = new Uint8Array(value);
    const limit = Math.min(Math.max(0, ctx.maxArrayLength), bytes.length);
    let text = "";
    for (let i = 0; i < limit; i++) text += (i > 0 ? " " : "") + bytes[i].toString(16).padStart(2, "0");
    const rest = bytes.length - limit;
    if (rest > 0) text += ` ... ${rest} more byte${rest > 1 ? "s" : ""}`;
    return [`${ctx.stylize("[Uint8Contents]", "special")}: <${text}>`];
  }

  function formatSet(ctx, value, depth) {
    const limit = Math.min(Math.max(0, ctx.maxArrayLength), setSize(value));
    const output = [];
    const it = setValues(value);
    ctx.indent += 2;
    for (let i = 0; i < limit; i++) output.push(format(ctx, setNext(it).value, depth));
    ctx.indent -= 2;
    if (setSize(value) > limit) output.push(more(setSize(value) - limit));
    return output;
  }

  function formatMap(ctx, value, depth) {
    const limit = Math.min(Math.max(0, ctx.maxArrayLength), mapSize(value));
    const output = [];
    const it = mapEntries(value);
    ctx.indent += 2;
    for (let i = 0; i < limit; i++) {
      const [k, v] = mapNext(it).value;
      output.push(`${format(ctx, k, depth)} => ${format(ctx, v, depth)}`);
    }
    ctx.indent -= 2;
    if (mapSize(value) > limit) output.push(more(mapSize(value) - limit));
    return output;
  }

  // What an iterator of a Map or Set has still to give, which it goes on to give.
  function formatIterator(ctx, value, depth) {
    const of = cloche.peek(4, value);
    if (of === undefined) return [];
    const what = cloche.peek(5, value); // 0 keys, 1 values, 2 both
    const isMap = kindOf(of) === "Map";
    const it = isMap ? mapEntries(of) : setValues(of);
    const size = isMap ? mapSize(of) : setSize(of);
    const past = cloche.peek(6, value);
    const output = [];
    ctx.indent += 2;
    for (let i = 0; i < size && output.length < ctx.maxArrayLength; i++) {
      const item = isMap ? mapNext(it).value : setNext(it).value;
      if (i < past) continue;
      const [key, held] = isMap ? item : [item, item];
      if (what === 2) output.push(`[ ${format(ctx, key, depth)}, ${format(ctx, held, depth)} ]`);
      else output.push(format(ctx, what === 0 ? key : held, depth));
    }
    ctx.indent -= 2;
    if (size - past > output.length) output.push(more(size - past - output.length));
    return output;
  }

  function formatPromise(ctx, value, depth) {
    const state = cloche.peek(0, value);
    if (state === 0) return [ctx.stylize("<pending>", "special")];
    ctx.indent += 2;
    const text = format(ctx, cloche.peek(1, value), depth);
    ctx.indent -= 2;
    return [state === 2 ? `${ctx.stylize("<rejected>", "special")} ${text}` : text];
  }

  function formatNamespace(ctx, value, depth) {
    return ownKeys(value).filter((key) => typeof key === "string").map((key) => {
      try {
        return formatProperty(ctx, value, depth, key, "object");
      } catch (error) {
        if (!(error instanceof ReferenceError)) throw error;
        return `${formatKey(ctx, key)}: ${ctx.stylize("<uninitialized>", "special")}`;
      }
    });
  }

  const identifier = /^[a-zA-Z_][a-zA-Z_0-9]*$/;
  const knownKeys = { __proto__: null }; // whether a key is an identifier: the same ones come again and again
  let keysKnown = 0;

  function formatKey(ctx, key, enumerable = true) {
    if (typeof key === "symbol") return `[${ctx.stylize(symbolText(key), "symbol")}]`;
    if (key === "__proto__") return "['__proto__']";
    if (!enumerable) return `[${key}]`;
    let plain = knownKeys[key];
    if (plain === undefined) {
      plain = identifier.test(key);
      if (keysKnown++ < 1000) knownKeys[key] = plain;
    }
    return plain ? key : ctx.stylize(quote(key), "string");
  }

  function formatProperty(ctx, value, depth, key, kind) {
    const d = getOwnPropertyDescriptor(value, key) ?? { value: value[key], enumerable: true };
    let text;
    if (d.value !== undefined || d.get === undefined && d.set === undefined) {
      ctx.indent += 2;
      text = format(ctx, d.value, depth);
      ctx.indent -= 2;
    } else if (d.get !== undefined) {
      const label = d.set !== undefined ? "Getter/Setter" : "Getter";
      if (ctx.getters && (ctx.getters === true || ctx.getters === "get" && d.set === undefined || ctx.getters === "set" && d.set !== undefined)) {
        let inner;
        try {
          ctx.indent += 2;
          inner = d.get.call(value);
          inner = typeof inner === "object" && inner !== null ? ` ${format(ctx, inner, depth)}` : `: ${formatPrimitive(ctx, inner)}`;
          text = inner.startsWith(":") ? ctx.stylize(`[${label}${inner}]`, "special") : `${ctx.stylize(`[${label}]`, "special")}${inner}`;
        } catch (error) {
          text = ctx.stylize(`[${label}: <Inspection threw (${error?.message})>]`, "special");
        } finally {
          ctx.indent -= 2;
        }
      } else {
        text = ctx.stylize(`[${label}]`, "special");
      }
    } else {
      text = ctx.stylize(d.set !== undefined ? "[Setter]" : "undefined", d.set !== undefined ? "special" : "undefined");
    }
    if (kind === "array") return text;
    return `${formatKey(ctx, key, d.enumerable)}: ${text}`;
  }

  // ---- layout

  function combine(ctx, output, base, braces, kind, depth, value) {
    const lead = base === "" ? "" : `${base} `;
    if (ctx.compact !== true) {
      if (typeof ctx.compact === "number" && ctx.compact >= 1) {
        const entries = output.length;
        if (kind === "array" && entries > 6) output = columns(ctx, output, value);
        if (ctx.current - depth < ctx.compact && entries === output.length) {
          const start = output.length + ctx.indent + braces[0].length + base.length + 10;
          if (fits(ctx, output, start, base)) {
            const joined = output.join(", ");
            if (!joined.includes("\n")) return `${lead}${braces[0]} ${joined} ${braces[1]}`;
          }
        }
      }
      const line = `\n${" ".repeat(ctx.indent)}`;
      return `${lead}${braces[0]}${line}  ${output.join(`,${line}  `)}${line}${braces[1]}`;
    }
    if (fits(ctx, output, 0, base)) return `${braces[0]}${base ? ` ${base}` : ""} ${output.join(", ")} ${braces[1]}`;
    const line = `\n${" ".repeat(ctx.indent)}`;
    const open = base === "" && braces[0].length === 1 ? " " : `${base ? ` ${base}` : ""}${line}  `;
    return `${braces[0]}${open}${output.join(`,${line}  `)} ${braces[1]}`;
  }

  function fits(ctx, output, start, base) {
    let total = output.length + start;
    if (total + output.length > ctx.breakLength) return false;
    for (let i = 0; i < output.length; i++) {
      total += ctx.colors ? stripColors(output[i]).length : output[i].length;
      if (total > ctx.breakLength) return false;
    }
    return base === "" || !base.includes("\n");
  }

  // The number of columns that text takes on a terminal.
  function width(text) {
    text = stripColors(text);
    if (/^[\x20-\x7e]*$/.test(text)) return text.length;
    text = text.normalize("NFC");
    let n = 0;
    for (const c of text) {
      const p = c.codePointAt(0);
      if (/\p{M}/u.test(c) || p === 0x200b || p === 0xfe0f || p < 32) continue;
      n += p >= 0x1100 && (p <= 0x115f || p >= 0x2e80 && p <= 0xa4cf || p >= 0xac00 && p <= 0xd7a3 || p >= 0xf900 && p <= 0xfaff ||
        p >= 0xfe30 && p <= 0xfe6f || p >= 0xff00 && p <= 0xff60 || p >= 0xffe0 && p <= 0xffe6 || p >= 0x1f300 && p <= 0x1faff ||
        p >= 0x20000 && p <= 0x3fffd) ? 2 : 1;
    }
    return n;
  }
  cloche.textWidth = width;

  // Lays out more than six elements of an array in aligned columns, about as wide as high.
  function columns(ctx, output, value) {
    let length = output.length;
    if (ctx.maxArrayLength < output.length) length--; // the last tells how many more there are
    const gap = 2;
    const widths = [];
    let total = 0;
    let widest = 0;
    for (let i = 0; i < length; i++) {
      const n = width(output[i]);
      widths.push(n);
      total += n + gap;
      if (n > widest) widest = n;
    }
    const cell = widest + gap;
    if (cell * 3 + ctx.indent >= ctx.breakLength || total / cell <= 5 && widest > 6) return output;
    const bias = Math.sqrt(cell - total / output.length);
    const biased = Math.max(cell - 3 - bias, 1);
    const count = Math.min(
      Math.round(Math.sqrt(2.5 * biased * length) / biased),
      Math.floor((ctx.breakLength - ctx.indent) / cell),
      ctx.compact * 4,
      15,
    );
    if (count <= 1) return output;
    const wide = [];
    for (let i = 0; i < count; i++) {
      let w = 0;
      for (let j = i; j < length; j += count) if (widths[j] > w) w = widths[j];
      wide.push(w + gap);
    }
    let right = true;
    if (value !== undefined) {
      for (let i = 0; i < output.length; i++) {
        if (typeof value[i] !== "number" && typeof value[i] !== "bigint") {
          right = false;
          break;
        }
      }
    }
    const rows = [];
    for (let i = 0; i < length; i += count) {
      const end = Math.min(i + count, length);
      let row = "";
      let j = i;
      for (; j < end - 1; j++) {
        const cellText = `${output[j]}, `;
        const width = wide[j - i] + output[j].length - widths[j];
        row += right ? cellText.padStart(width) : cellText.padEnd(width);
      }
      row += right ? output[j].padStart(wide[j - i] + output[j].length - widths[j] - gap) : output[j];
      rows.push(row);
    }
    if (length < output.length) rows.push(output[length]);
    return rows;
  }

  // ---- util.format

  function formatArgs(options, args) {
    let text = "";
    let used = 0;
    const first = args[0];
    if (typeof first === "string") {
      if (args.length === 1) return first;
      used = 1;
      if (first.includes("%")) {
        const at = (i) => args[i];
        let last = 0;
        for (let i = 0; i < first.length - 1; i++) {
          if (first.charCodeAt(i) !== 37) continue;
          const c = first[++i];
          if (c === "%") {
            text += first.slice(last, i);
            last = i + 1;
            continue;
          }
          if (used >= args.length) continue;
          let piece;
          const arg = at(used);
          switch (c) {
            case "s": piece = formatString(options, arg); break;
            case "j": piece = formatJSON(arg); break;
            case "d": piece = typeof arg === "bigint" ? `${arg}n` : typeof arg === "symbol" ? "NaN" : formatNumber(makeContext(options), Number(arg)); break;
            case "i": piece = typeof arg === "bigint" ? `${arg}n` : typeof arg === "symbol" ? "NaN" : formatNumber(makeContext(options), parseInt(arg)); break;
            case "f": piece = typeof arg === "symbol" ? "NaN" : formatNumber(makeContext(options), parseFloat(arg)); break;
            case "O": piece = inspect(arg, options); break;
            case "o": piece = inspect(arg, { ...options, showHidden: true, showProxy: true, depth: 4 }); break;
            case "c": piece = ""; break;
            default: continue;
          }
          text += first.slice(last, i - 1) + piece;
          last = i + 1;
          used++;
        }
        text += first.slice(last);
      } else {
        text = first;
      }
    }
    for (let i = used; i < args.length; i++) {
      if (i > 0) text += " ";
      text += typeof args[i] === "string" ? args[i] : inspect(args[i], options);
    }
    return text;
  }

  function formatString(options, arg) {
    switch (typeof arg) {
      case "string": return arg;
      case "number": return formatNumber(makeContext(options), arg);
      case "bigint": return `${arg}n`;
      case "object":
      case "function":
        if (arg !== null && hasOwnToString(arg)) return String(arg);
        return typeof arg === "function" ? functionToString(arg) : inspect(arg, { ...options, depth: 0, colors: false, compact: 3 });
    }
    return String(arg);
  }

  // Whether an object's text is of its own making: toString defined by itself or by a class of the program.
  function hasOwnToString(value) {
    if (is.proxy(value)) return false;
    if (typeof value === "function") return hasOwn(value, "toString");
    if (is.error(value) || is.date(value)) return !hasOwn(value, "stack") || is.date(value);
    let at = value;
    while (at !== null) {
      if (hasOwn(at, "toString") && typeof at.toString === "function") {
        return !builtinPrototypes.has(at);
      }
      at = getPrototypeOf(at);
    }
    return false;
  }

  const builtinPrototypes = new Set([Object, Array, Map, Set, Promise, RegExp, Function, TypedArray, Error]
    .map((Class) => Class.prototype));

  function formatJSON(value) {
    try {
      return cloche.stringify(value);
    } catch (error) {
      if (/circular/i.test(error?.message)) return "[Circular]";
      throw error;
    }
  }

  inspect.custom = custom;
  Object.defineProperty(inspect, "defaultOptions", {
    configurable: true,
    enumerable: true,
    get: () => defaults,
    set(options) {
      Object.assign(defaults, options);
      Object.assign(start, options);
    },
  });
  inspect.colors = colors;
  inspect.styles = styles;

  cloche.inspect = inspect;
  cloche.quote = quote;
  cloche.format = (...args) => formatArgs(undefined, args);
  cloche.formatWithOptions = (options, ...args) => formatArgs(options, args);
  cloche.stripColors = stripColors;
  cloche.formatArgs = formatArgs;
})
