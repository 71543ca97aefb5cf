// Where the interpreter's own objects of the language differ from what programs see elsewhere.
(function (cloche) {
  "use strict";

  const { uncurry } = cloche;
  const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf } = Object;
  const hidden = (target, name, value) => defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
  const then = uncurry(Promise.prototype.then);
  const slice = uncurry(String.prototype.slice);

  // The interpreter makes the AggregateError of Promise.any without a message.
  hidden(Promise, "any", {
    any(iterable) {
      const C = this;
      const errors = [];
      let left = 1; // and one for the loop
      return new C((resolve, reject) => {
        const done = () => { if (--left === 0) reject(new AggregateError(errors, "All promises were rejected")); };
        try { // C need not catch what its executor throws
          const take = C.resolve;
          if (typeof take !== "function") throw new TypeError("Promise resolve or reject function is not callable");
          let count = 0;
          for (const item of iterable) {
            const at = count++;
            let called = false;
            left++;
            errors[at] = undefined;
            take.call(C, item).then(resolve, (error) => {
              if (called) return;
              called = true;
              errors[at] = error;
              done();
            });
          }
          done();
        } catch (error) {
          reject(error);
        }
      });
    },
  }.any);

  const toISOString = uncurry(Date.prototype.toISOString);
  const time = uncurry(Date.prototype.getTime);
  hidden(Date.prototype, "toISOString", {
    toISOString() {
      if (Number.isNaN(time(this))) throw new RangeError("Invalid time value");
      return toISOString(this);
    },
  }.toISOString);

  // What a WeakRef is made of lives to the end of the job (ECMA-262, AddToKeptObjects).
  const NativeWeakRef = WeakRef;
  const resolved = Promise.resolve();
  let kept = [];
  const drop = () => { kept = []; };
  function KeptWeakRef(target) {
    if (new.target === undefined) throw new TypeError("Constructor WeakRef requires 'new'");
    const ref = Reflect.construct(NativeWeakRef, [target], new.target);
    kept[kept.length] = target;
    if (kept.length === 1) then(resolved, drop);
    return ref;
  }
  defineProperty(KeptWeakRef, "name", { value: "WeakRef", configurable: true });
  defineProperty(KeptWeakRef, "prototype", { value: NativeWeakRef.prototype, writable: false });
  hidden(NativeWeakRef.prototype, "constructor", KeptWeakRef);
  setPrototypeOf(KeptWeakRef, getPrototypeOf(NativeWeakRef));
  hidden(globalThis, "WeakRef", KeptWeakRef);

  // Plain data the host writes, from where they lie in memory; what could run code of the program is left to the interpreter.
  const { stringify } = JSON;
  const { stringifyPlain } = cloche;
  const { max, min } = Math;
  const repeat = uncurry(String.prototype.repeat);
  hidden(JSON, "stringify", {
    stringify(value, replacer, space) {
      if (typeof value === "object" && value !== null && (replacer === undefined || replacer === null)) {
        const gap = typeof space === "number" ? repeat(" ", max(0, min(space, 10))) : typeof space === "string" ? slice(space, 0, 10) : undefined;
        if (gap !== undefined || space === undefined || space === null) {
          const text = stringifyPlain(value, gap);
          if (text !== null) return text;
        }
      }
      try {
        return stringify(value, replacer, space);
      } catch (error) {
        if (cloche.is.error(error) && error.message === circular && typeof replacer !== "function" && !isArray(replacer)) {
          const round = circle(value, [], { left: 100000 });
          if (typeof round === "string") defineProperty(error, "message", { value: circular + round, writable: true, configurable: true, enumerable: false });
        }
        throw error;
      }
    },
  }.stringify);

  // The first way round that JSON.stringify meets in an object, in V8's words; undefined: there is none that can be told without
  // running code of the program. Way are the objects around this one, each with the key that leads to the next.
  const circular = "Converting circular structure to JSON";
  const { isArray } = Array;
  function circle(object, way, budget) {
    if (cloche.is.proxy(object) || way.length > 1000) return undefined;
    for (const key of Object.keys(object)) {
      if (--budget.left < 0) return undefined;
      const { value } = getOwnPropertyDescriptor(object, key);
      if (typeof value !== "object" || value === null) continue;
      const here = [...way, { object, key: isArray(object) ? `index ${key}` : `property '${key}'` }];
      const start = here.findIndex((step) => step.object === value);
      if (start >= 0) return told(here.slice(start));
      const round = typeof value.toJSON === "function" ? undefined : circle(value, here, budget);
      if (round !== undefined) return round;
    }
    return undefined;
  }

  function told(steps) {
    const of = (object) => `object with constructor '${object.constructor?.name || "Object"}'`;
    const lines = [`--> starting at ${of(steps[0].object)}`];
    for (let i = 1; i < steps.length; i++) {
      if (i <= 2 || i === steps.length - 1) lines.push(`|     ${steps[i - 1].key} -> ${of(steps[i].object)}`);
      else if (i === 3) lines.push("|     ...");
    }
    return ["", ...lines, `--- ${steps.at(-1).key} closes the circle`].join("\n    ");
  }
})
