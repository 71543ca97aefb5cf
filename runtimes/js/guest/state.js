// What a session's names are after a turn, for whoever cannot see them. The driver calls card() with the object that
// holds top-level let, const and class; var, function and plain assignments are the global object's.
(function (cloche) {
  "use strict";

  const most = 100; // names in each list of a card
  const short = 64; // characters of text that are compared, and of a preview

  const { keys, getOwnPropertyNames, getOwnPropertyDescriptor, getPrototypeOf, is } = Object;
  const { isArray } = Array;
  const { stringify } = cloche;
  const Ref = WeakRef;
  const deref = cloche.uncurry(WeakRef.prototype.deref);
  const slice = cloche.uncurry(String.prototype.slice);
  const sizes = new Map([Map, Set].map(({ prototype }) => [prototype, cloche.uncurry(getOwnPropertyDescriptor(prototype, "size").get)]));
  sizes.get = Map.prototype.get; // whatever the program makes of Map's own
  const TheError = Error;
  const prepares = getOwnPropertyDescriptor(Error, "prepareStackTrace");
  const errorsPrepare = cloche.uncurry(prepares.get), setErrorsPrepare = cloche.uncurry(prepares.set);
  const view = getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), "length").get;
  const lengthOf = cloche.uncurry(view);
  const tagOf = cloche.uncurry(getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get);

  let known = { __proto__: null }; // by name: what the last card was made from
  let count = 0;
  const given = { __proto__: null }; // the global object's own from the start
  cloche.remember = () => { for (const name of keys(globalThis)) given[name] = true; };

  const over = (list) => (list.length > most ? list.length - most : 0);
  const isObject = (v) => (typeof v === "object" && v !== null) || typeof v === "function";

  // What changes when a value is changed in place, as far as it is found at once.
  const inside = (v) => {
    if (typeof v === "function") return 0;
    if (isArray(v)) return v.length;
    const tag = tagOf(v);
    if (tag !== undefined) return lengthOf(v);
    const size = sizes.get(getPrototypeOf(v));
    if (size !== undefined) try { return size(v); } catch {} // made with that prototype, and no Map or Set
    return keys(v).length;
  };

  const kindOf = (v) => {
    if (v === null) return "null";
    if (typeof v !== "object") return typeof v;
    if (isArray(v)) return "Array";
    const proto = getPrototypeOf(v);
    if (proto === null) return "Object";
    const made = getOwnPropertyDescriptor(proto, "constructor")?.value;
    const name = typeof made === "function" ? getOwnPropertyDescriptor(made, "name")?.value : undefined;
    return typeof name === "string" && name !== "" ? slice(name, 0, short) : "Object";
  };

  const word = (v) => {
    switch (typeof v) {
      case "string": return stringify(v.length > short ? slice(v, 0, short) + "…" : v);
      case "bigint": { const t = `${v}`; return (t.length > short ? slice(t, 0, short) + "…" : t) + "n"; }
      case "symbol": case "function": case "object": return v === null ? "null" : undefined;
      default: return is(v, -0) ? "-0" : `${v}`;
    }
  };

  const words = (list, n) => {
    const out = [];
    for (let i = 0; i < list.length && i < 4; i++) {
      const w = word(list[i]);
      if (w === undefined) return undefined;
      out.push(w);
    }
    return out.join(", ") + (n > 4 ? ", …" : "");
  };

  const preview = (v) => {
    if (typeof v === "function") return `${slice(getOwnPropertyDescriptor(v, "name")?.value ?? "", 0, short)}(${v.length})`;
    if (!isObject(v)) return word(v);
    const tag = tagOf(v);
    if (isArray(v) || tag !== undefined) {
      const w = words(v, tag !== undefined ? lengthOf(v) : v.length);
      return w === undefined ? undefined : `[${w}]`;
    }
    const own = keys(v);
    return own.length === 0 ? undefined : `{${slice(own.slice(0, 8).join(", "), 0, 2 * short)}${own.length > 8 ? ", …" : ""}}`;
  };

  const tell = (name, v) => {
    const told = { name: slice(name, 0, most), type: kindOf(v) };
    if (typeof v === "string") told.length = v.length;
    else if (typeof v === "object" && v !== null) {
      const n = inside(v);
      if (isArray(v) || tagOf(v) !== undefined || told.type === "Map" || told.type === "Set") told.length = n;
    }
    const text = preview(v);
    if (text !== undefined) told.preview = slice(text, 0, 2 * short);
    return told;
  };

  // The card as JSON, or "" when nothing changed. Errors on the way there are none of the program's business: its
  // Error.prepareStackTrace is not asked.
  cloche.card = (lexicals) => {
    const prepare = errorsPrepare(TheError);
    if (prepare === undefined) return card(lexicals);
    setErrorsPrepare(TheError, undefined);
    try {
      return card(lexicals);
    } finally {
      setErrorsPrepare(TheError, prepare);
    }
  };
  const card = (lexicals) => {
    const added = [], changed = [], removed = [];
    let seen = 0;
    const look = (scope, name) => {
      let v;
      try { v = scope[name]; } catch { return; } // declared, and never reached
      seen++;
      const old = known[name];
      if (!isObject(v)) {
        const mark = typeof v === "string" && v.length > short ? slice(v, 0, short) + v.length : v;
        if (old === undefined) added.push(tell(name, v));
        else if (old.ref === undefined && is(old.mark, mark)) return;
        else changed.push(tell(name, v));
        known[name] = { mark, ref: undefined };
        return;
      }
      const mark = inside(v);
      if (old === undefined) added.push(tell(name, v));
      else if (old.ref !== undefined && deref(old.ref) === v && old.mark === mark) return;
      else changed.push(tell(name, v));
      known[name] = { mark, ref: new Ref(v) };
    };
    for (const name of getOwnPropertyNames(lexicals)) look(lexicals, name);
    for (const name of keys(globalThis)) if (given[name] === undefined) look(globalThis, name);
    if (seen !== count + added.length) {
      const names = { __proto__: null };
      for (const name of getOwnPropertyNames(lexicals)) names[name] = true;
      for (const name of keys(globalThis)) names[name] = true;
      for (const name in known) if (names[name] === undefined) { removed.push(slice(name, 0, most)); delete known[name]; }
    }
    count = seen;
    if (added.length + changed.length + removed.length === 0) return "";
    const more = over(added) + over(changed) + over(removed);
    return stringify({ added: added.slice(0, most), changed: changed.slice(0, most), removed: removed.slice(0, most), more });
  };
})
