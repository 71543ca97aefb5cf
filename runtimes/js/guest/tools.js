// The global tools: functions of the host's, by name. Each takes one object of arguments, or the arguments in the order of
// its declaration, and gives a promise of the result. The host tells at the first use of tools which there are (op 0x17).
(function (cloche) {
  "use strict";

  const opTools = 0x17;
  const { parse, stringify } = cloche;
  const { Promise, Object, Error } = globalThis;
  const { defineProperty, getPrototypeOf, prototype: root } = Object;
  const codeAt = cloche.uncurry(String.prototype.charCodeAt);
  const rest = cloche.uncurry(String.prototype.slice);
  const resolved = Promise.resolve.bind(Promise);
  const rejected = Promise.reject.bind(Promise);
  const classes = { __proto__: null, TypeError, RangeError, SyntaxError, URIError };

  function failure(text, where) {
    const { name, message } = cloche.refusal(text);
    const error = new (classes[name] ?? Error)(message);
    if (!(name in classes)) defineProperty(error, "name", { value: name, writable: true, configurable: true, enumerable: false });
    if (where) Error.captureStackTrace(error, where);
    return error;
  }

  const made = { __proto__: null }; // by name: the function, and the names of its parameters

  function make({ name, description, parameters = [], declaration }) {
    const tool = cloche.bind(name);
    made[name] = { tool, names: parameters.map((p) => p.name) };
    defineProperty(tool, "name", { value: name.slice(name.indexOf(".") + 1), configurable: true });
    defineProperty(tool, "length", { value: parameters.length, configurable: true });
    defineProperty(tool, "toString", { value: () => `${declaration}`, configurable: true });
    defineProperty(tool, "description", { value: description ?? "", configurable: true, enumerable: true });
    defineProperty(tool, "declaration", { value: declaration, configurable: true, enumerable: true });
    return tool;
  }

  // The arguments of a call as one object.
  function named(name, given) {
    const first = given[0];
    if (given.length === 0 || given.length === 1 && first === undefined) return {};
    if (given.length === 1 && typeof first === "object" && first !== null) {
      const proto = getPrototypeOf(first);
      if (proto === root || proto === null) return first;
    }
    const { names } = made[name];
    if (given.length > names.length) {
      throw new TypeError(`${name} takes ${names.length} arguments (${names.join(", ")}), ${given.length} were given`);
    }
    const object = { __proto__: null };
    for (let i = 0; i < given.length; i++) object[names[i]] = given[i];
    return object;
  }

  // A call that the host did not make by itself (tools.go).
  cloche.callTool = (name, ...given) => {
    try {
      const text = stringify(named(name, given)) ?? "null"; // a toJSON may give anything
      return cloche.toolReply(name, cloche.tool(`{"async":true,"name":"${name}","arguments":${text}}`));
    } catch (error) {
      return rejected(error);
    }
  };

  // The promise of a reply: the id of a call that goes on, or text, 0 and the result or 1 and a refusal.
  cloche.toolReply = (name, reply) => {
    if (typeof reply !== "number") {
      if (codeAt(reply, 0) !== 48) return rejected(failure(rest(reply, 1), made[name].tool));
      return resolved(parse(rest(reply, 1)));
    }
    const call = {}; // its stack is the call's, not that of the answer's arrival
    Error.captureStackTrace(call, made[name].tool);
    return new Promise((resolve, reject) => {
      cloche.expect(reply, (frame) => {
        if (typeof frame === "string") {
          const error = failure(frame);
          defineProperty(error, "stack", { value: call.stack, writable: true, configurable: true, enumerable: false });
          return reject(error);
        }
        resolve(parse(cloche.decode("utf8", frame, 0, frame.byteLength)));
      });
    });
  };

  function declare() {
    const tools = {};
    // Not one of the tools, and not shown among them.
    defineProperty(tools, "search", {
      value(text) {
        const words = `${text}`.toLowerCase().split(/\s+/);
        return declared.filter((d) => words.every((w) => `${d.name} ${d.description ?? ""}`.toLowerCase().includes(w)))
          .map((d) => `${d.name}: ${(d.description ?? "").trim().split("\n")[0]}`);
      },
      writable: true, configurable: true, enumerable: false,
    });
    const reply = cloche.door(opTools, "{}", new ArrayBuffer(0), 0, 0);
    if (typeof reply === "string") throw failure(reply);
    const declared = parse(cloche.decode("utf8", reply, 0, reply.byteLength));
    for (const d of declared) {
      const dot = d.name.indexOf(".");
      if (dot < 0) defineProperty(tools, d.name, { value: make(d), writable: true, configurable: true, enumerable: true });
      else (tools[d.name.slice(0, dot)] ??= {})[d.name.slice(dot + 1)] = make(d);
    }
    return tools;
  }

  cloche.onBegin.push(({ tools }) => {
    if (tools && !Object.hasOwn(globalThis, "tools")) cloche.lazy(globalThis, "tools", declare);
  });
})
