// structuredClone.
(function (cloche) {
  "use strict";

  const { is } = cloche;
  const { hasOwn } = Object;
  const errorClasses = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
  const views = Object.fromEntries([Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array,
    Float32Array, Float64Array, BigInt64Array, BigUint64Array].map((C) => [C.name, C]));
  if (typeof Float16Array !== "undefined") views.Float16Array = Float16Array;

  function refuse(value) {
    const shown = typeof value === "symbol" ? value.toString() : typeof value === "function" ? `${value}` : cloche.inspect(value, { depth: 0 });
    return new DOMException(`${shown} could not be cloned.`, "DataCloneError");
  }

  function clone(value, seen) {
    if (typeof value === "symbol" || typeof value === "function") throw refuse(value);
    if (typeof value !== "object" || value === null) return value;
    const known = seen.get(value);
    if (known !== undefined) return known;
    const keep = (copy) => {
      seen.set(value, copy);
      return copy;
    };
    if (is.proxy(value)) throw refuse(value);
    if (is.date(value)) return keep(new Date(value.getTime()));
    if (is.regexp(value)) return keep(new RegExp(value.source, value.flags));
    if (is.arrayBuffer(value)) return keep(value.slice(0));
    if (is.sharedArrayBuffer(value)) return keep(value);
    if (ArrayBuffer.isView(value)) {
      const buffer = clone(value.buffer, seen);
      if (is.dataView(value)) return keep(new DataView(buffer, value.byteOffset, value.byteLength));
      return keep(new (views[value[Symbol.toStringTag]] ?? Uint8Array)(buffer, value.byteOffset, value.length));
    }
    if (is.map(value)) {
      const copy = keep(new Map());
      for (const [k, v] of [...value]) copy.set(clone(k, seen), clone(v, seen));
      return copy;
    }
    if (is.set(value)) {
      const copy = keep(new Set());
      for (const v of [...value]) copy.add(clone(v, seen));
      return copy;
    }
    if (is.error(value)) {
      const Class = hasOwn(errorClasses, value.name) ? errorClasses[value.name] : Error;
      const copy = keep(new Class(value.message));
      if (typeof value.stack === "string") copy.stack = value.stack;
      if (hasOwn(value, "cause")) {
        Object.defineProperty(copy, "cause", { value: clone(value.cause, seen), writable: true, configurable: true });
      }
      return copy;
    }
    if (value instanceof Number || value instanceof String || value instanceof Boolean) return keep(Object(value.valueOf()));
    const type = Object.prototype.toString.call(value);
    if (typeof value.valueOf() === "bigint" && type === "[object BigInt]") return keep(Object(value.valueOf()));
    if (is.promise(value) || is.weakMap(value) || is.weakSet(value) || is.weakRef(value) || type === "[object Symbol]") throw refuse(value);
    if (value instanceof Blob) return value;
    let copy;
    if (Array.isArray(value)) {
      copy = keep([]);
      copy.length = value.length;
    } else {
      copy = keep({});
    }
    for (const key of Object.keys(value)) {
      const inner = clone(value[key], seen);
      if (key === "__proto__") Object.defineProperty(copy, key, { value: inner, writable: true, enumerable: true, configurable: true });
      else copy[key] = inner;
    }
    return copy;
  }

  function structuredClone(value, options) {
    if (arguments.length === 0) throw cloche.nodeError(TypeError, "ERR_MISSING_ARGS", 'The "value" argument must be specified');
    const seen = new Map();
    const moved = [];
    for (const item of options?.transfer ?? []) {
      if (!is.arrayBuffer(item)) throw new DOMException("Value at index 0 is not a transferable object.", "DataCloneError");
      if (seen.has(item)) throw new DOMException("ArrayBuffer occurs in the transfer list more than once.", "DataCloneError");
      seen.set(item, item.slice(0));
      moved.push(item);
    }
    const copy = clone(value, seen);
    for (const item of moved) item.transfer?.();
    return copy;
  }

  cloche.globals({ structuredClone });
})
