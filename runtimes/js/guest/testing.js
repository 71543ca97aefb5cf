// node:test: tests run one after another, and are told in TAP, as Node does where it writes to no terminal.
(function (cloche) {
  "use strict";

  const { setImmediate, setTimeout, clearTimeout } = cloche.timers;
  const say = (depth, text) => cloche.write(1, text.replace(/^(?=.)/gm, "    ".repeat(depth)) + "\n");
  const hooks = ["before", "after", "beforeEach", "afterEach"];

  // A test, a suite (describe), or the root of all that a program asks for. told is how many of its own were told.
  class Test {
    constructor(parent, kind, name, options, fn) {
      Object.assign(this, { parent, kind, name, fn, options, skip: options.skip, todo: options.todo, told: 0, failed: 0, notes: [] });
      this.depth = parent === null ? -1 : parent.depth + 1;
      this.waiting = [];
      this.last = Promise.resolve();
      for (const hook of hooks) this[hook] = [];
    }
  }

  let root;
  let counts;
  function begin() {
    root = new Test(null, "root", "<root>", {}, undefined);
    counts = { tests: 0, suites: 0, pass: 0, fail: 0, cancelled: 0, skipped: 0, todo: 0 };
  }
  let current; // the suite whose body is running

  const done = (fn, self, t) => fn.length > 1
    ? new Promise((resolve, reject) => fn.call(self, t, (error) => error ? reject(error) : resolve()))
    : fn.call(self, t);

  // Adds a test to parent, which runs it after those that it has; the promise is kept when it was told.
  function add(parent, kind, args, extra) {
    const name = typeof args[0] === "string" ? args.shift() : undefined;
    const options = typeof args[0] === "object" && args[0] !== null ? args.shift() : {};
    const fn = args[0];
    const item = new Test(parent, kind, name ?? (fn?.name || "<anonymous>"), { ...options, ...extra }, fn);
    if (kind === "suite") {
      const outer = current;
      current = item;
      try {
        item.body = item.skip ? undefined : fn?.();
      } catch (error) {
        item.body = Promise.reject(error);
        item.body.catch(() => {});
      } finally {
        current = outer;
      }
    }
    if (parent.kind === "suite") {
      parent.waiting.push(item);
      return Promise.resolve();
    }
    if (parent === root && root.told === 0 && root.waiting.length === 0) setImmediate(finish);
    parent.waiting.push(item);
    return parent.last = parent.last.then(() => run(item)).finally(() => parent.waiting.splice(parent.waiting.indexOf(item), 1));
  }

  const chain = (item, hook) => [...(item.parent === null ? [] : chain(item.parent, hook)), ...item[hook]];

  async function run(item) {
    const from = performance.now();
    if (!root.headed) say(0, "TAP version 13");
    root.headed = true;
    say(item.depth, `# Subtest: ${item.name}`);
    let error;
    const t = context(item);
    try {
      if (item.skip) {
        // not run
      } else if (item.kind === "suite") {
        await item.body;
        for (const hook of item.before) await done(hook, t, t);
        for (const inner of item.waiting) await run(inner);
      } else {
        for (const hook of chain(item.parent, "beforeEach")) await done(hook, t, t);
        try {
          await limited(item, () => item.fn === undefined ? undefined : done(item.fn, t, t));
          await item.last;
        } finally {
          for (const hook of chain(item.parent, "afterEach")) await done(hook, t, t);
        }
      }
    } catch (thrown) {
      error = { type: "testCodeFailure", thrown };
    }
    try {
      if (!item.skip || item.told > 0) for (const hook of item.after) await done(hook, t, t);
    } catch (thrown) {
      error ??= { type: "hookFailed", thrown };
    }
    item.mock?.restoreAll();
    if (error === undefined && item.failed > 0) {
      error = { type: "subtestsFailed", thrown: { message: `${item.failed} subtest${item.failed > 1 ? "s" : ""} failed` } };
    }
    tell(item, error, performance.now() - from);
  }

  function limited(item, work) {
    const { timeout, signal } = item.options;
    if (!(timeout > 0 && timeout < Infinity) && signal === undefined) return work();
    return new Promise((resolve, reject) => {
      const timer = timeout > 0 && timeout < Infinity
        ? setTimeout(() => reject(new Error(`test timed out after ${timeout}ms`)), timeout) : undefined;
      signal?.addEventListener("abort", () => reject(signal.reason));
      Promise.resolve().then(work).then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }

  function tell(item, error, ms) {
    const { parent, depth } = item;
    parent.told++;
    if (item.told > 0) say(depth + 1, `1..${item.told}`);
    const marked = (word, why) => ` # ${word}${typeof why === "string" ? ` ${why}` : ""}`;
    const note = item.skip ? marked("SKIP", item.skip) : item.todo ? marked("TODO", item.todo) : "";
    say(depth, `${error ? "not ok" : "ok"} ${parent.told} - ${item.name.replace(/[\\#]/g, "\\$&")}${note}`);
    say(depth, `  ---\n  duration_ms: ${ms.toFixed(6)}${item.kind === "suite" ? "\n  type: 'suite'" : ""}${error ? details(error) : ""}\n  ...`);
    for (const text of item.notes) say(depth, `# ${text}`);
    if (item.kind === "suite") counts.suites++;
    else {
      counts.tests++;
      counts[item.skip ? "skipped" : item.todo ? "todo" : error ? "fail" : "pass"]++;
    }
    if (error && !item.todo) parent.failed++;
  }

  function details({ type, thrown }) {
    const is = typeof thrown === "object" && thrown !== null;
    const message = String(is ? thrown.message : thrown);
    let out = `\n  failureType: '${type}'\n  error: ${block(message)}\n  code: '${is && thrown.code ? thrown.code : "ERR_TEST_FAILURE"}'`;
    if (is && thrown.code === "ERR_ASSERTION") {
      out += `\n  name: '${thrown.name}'`;
      for (const key of ["expected", "actual"]) if (key in thrown) out += `\n  ${key}: ${block(cloche.inspect(thrown[key]))}`;
      out += `\n  operator: '${thrown.operator}'`;
    }
    const frames = is && typeof thrown.stack === "string" ? [...thrown.stack.matchAll(/^\s+at (.*)$/gm)].map((m) => m[1]).filter((frame) => !frame.endsWith("(<anonymous>)")) : [];
    return frames.length === 0 ? out : `${out}\n  stack: |-\n    ${frames.join("\n    ")}`;
  }

  const block = (text) => text.includes("\n") ? `|-\n    ${text.replaceAll("\n", "\n    ")}` : `'${text.replaceAll("'", "''")}'`;

  // Says how it went when nothing is left to run.
  async function finish() {
    for (let seen; seen !== root.last;) await (seen = root.last);
    for (const hook of root.after) await hook();
    say(0, `1..${root.told}`);
    for (const [name, n] of Object.entries(counts)) say(0, `# ${name} ${n}`);
    say(0, `# duration_ms ${(performance.now() - root.began).toFixed(6)}`);
    if (root.failed > 0) cloche.process.exitCode = 1;
    begin();
  }

  function context(item) {
    return {
      name: item.name,
      fullName: item.name,
      signal: item.options.signal ?? new AbortController().signal,
      assert: cloche.assert,
      diagnostic(text) { item.notes.push(`${text}`); },
      skip(why) { item.skip = why ?? true; },
      todo(why) { item.todo = why ?? true; },
      plan() {},
      test: (...args) => add(item, "test", args),
      get mock() { return item.mock ??= new MockTracker(); },
      ...Object.fromEntries(hooks.map((hook) => [hook, (fn) => { item[hook].push(fn); }])),
    };
  }

  // ---- mocks

  class MockFunctionContext {
    #fn; #once = new Map(); #restore;
    calls = [];
    constructor(fn, restore) {
      this.#fn = fn;
      this.#restore = restore;
      Object.defineProperty(this, "calls", { enumerable: false });
    }
    callCount() { return this.calls.length; }
    mockImplementation(fn) { this.#fn = fn; }
    mockImplementationOnce(fn, call = this.calls.length) { this.#once.set(call, fn); }
    resetCalls() { this.calls.length = 0; }
    restore() { this.#restore(this); }
    static next(c) { return c.#once.get(c.calls.length) ?? c.#fn; }
  }

  class MockTracker {
    #all = [];
    fn(original = () => undefined, implementation = original, options) {
      if (typeof implementation === "object") [implementation, options] = [original, implementation];
      return this.#track(original, implementation, options, (c) => c.mockImplementation(original));
    }
    #track(original, implementation, options, restore) {
      const c = new MockFunctionContext(implementation, restore);
      const times = options?.times ?? Infinity;
      this.#all.push(c);
      const record = (call, invoke) => {
        const fn = c.calls.length < times ? MockFunctionContext.next(c) : original;
        let result, error;
        try {
          return result = invoke(fn);
        } catch (thrown) {
          error = thrown;
          throw thrown;
        } finally {
          c.calls.push({ arguments: call.args, error, result, stack: new Error(), target: call.target, this: call.self });
        }
      };
      return new Proxy(original, {
        apply: (_, self, args) => record({ args, self, target: undefined }, (fn) => Reflect.apply(fn, self, args)),
        construct: (_, args, target) => record({ args, target }, (fn) => Reflect.construct(fn, args, target)),
        get: (fn, key, self) => key === "mock" ? c : Reflect.get(fn, key, self),
      });
    }
    method(object, name, implementation, options) {
      if (typeof implementation === "object") [implementation, options] = [undefined, implementation];
      let holder = object;
      while (holder !== null && !Object.hasOwn(holder, name)) holder = Object.getPrototypeOf(holder);
      const kind = options?.getter ? "get" : options?.setter ? "set" : "value";
      const before = holder === null ? undefined : Object.getOwnPropertyDescriptor(holder, name);
      const original = before?.[kind];
      if (typeof original !== "function") {
        throw cloche.nodeError(TypeError, "ERR_INVALID_ARG_VALUE", `The argument 'methodName' must be a method. ${cloche.received(original)}`);
      }
      const restore = () => {
        if (holder === object) Object.defineProperty(object, name, before);
        else delete object[name];
      };
      const fn = this.#track(original, implementation ?? original, options, restore);
      Object.defineProperty(object, name, { ...before, [kind]: fn, configurable: true });
      return fn;
    }
    getter(object, name, implementation, options) { return this.method(object, name, implementation, { ...options, getter: true }); }
    setter(object, name, implementation, options) { return this.method(object, name, implementation, { ...options, setter: true }); }
    reset() { this.restoreAll(); this.#all = []; }
    restoreAll() { for (const c of this.#all) c.restore(); }
    get timers() { throw cloche.unavailable("mock.timers", "use short timers"); }
  }

  // ---- what the module exports

  const parent = () => {
    root.began ??= performance.now();
    return current ?? root;
  };
  const maker = (kind) => {
    const make = (...args) => add(parent(), kind, args);
    make.skip = (...args) => add(parent(), kind, args, { skip: true });
    make.todo = (...args) => add(parent(), kind, args, { todo: true });
    make.only = make;
    return make;
  };
  begin();
  const test = maker("test");
  const it = maker("test");
  const suite = maker("suite");
  const hook = (name) => (fn) => { parent()[name].push(fn); };
  cloche.test = Object.assign(test, {
    test, it, describe: suite, suite, mock: new MockTracker(),
    ...Object.fromEntries(hooks.map((name) => [name, hook(name)])),
    run() { throw cloche.unavailable("test.run", "import the test files"); },
  });
  const { reset } = cloche;
  cloche.reset = () => {
    reset();
    begin();
  };
})
