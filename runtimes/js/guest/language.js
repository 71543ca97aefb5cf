// Where the interpreter's own objects of the language differ from what programs see elsewhere.
(function (cloche) {
  "use strict";

  const { uncurry } = cloche;
  const { defineProperty, getPrototypeOf, setPrototypeOf } = Object;
  const hidden = (target, name, value) => defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
  const then = uncurry(Promise.prototype.then);

  // The interpreter makes the AggregateError of Promise.any without a message.
  hidden(Promise, "any", {
    any(iterable) {
      const C = this;
      const errors = [];
      let left = 1; // and one for the loop
      return new C((resolve, reject) => {
        const done = () => { if (--left === 0) reject(new AggregateError(errors, "All promises were rejected")); };
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
})
