// node:assert.
(function (cloche) {
  "use strict";

  const { inspect, deepEqual } = cloche;

  class AssertionError extends Error {
    constructor(options) {
      const { message, actual, expected, operator } = options;
      const told = message == null || operator === "deepStrictEqual" || operator === "strictEqual";
      super(told ? describe(actual, expected, operator, message) : `${message}`);
      this.generatedMessage = message == null || !!options.generated;
      this.code = "ERR_ASSERTION";
      this.actual = actual;
      this.expected = expected;
      this.operator = operator;
      if (options.stackStartFn) Error.captureStackTrace(this, options.stackStartFn);
      const { frames } = cloche.splitStack(this.stack, "");
      Object.defineProperty(this, "stack", { value: `${this}${frames && `\n${frames}`}`, writable: true, configurable: true });
    }
    get name() { return "AssertionError"; }
    toString() { return `${this.name} [${this.code}]: ${this.message}`; }
  }
  Object.defineProperty(AssertionError.prototype, "name", { value: "AssertionError", writable: true, configurable: true });

  const operators = {
    deepStrictEqual: "Expected values to be strictly deep-equal:",
    strictEqual: "Expected values to be strictly equal:",
    deepEqual: "Expected values to be loosely deep-equal:",
    notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
    notStrictEqual: 'Expected "actual" to be strictly unequal to:',
    notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
  };

  const show = (v) => inspect(v, { compact: false, customInspect: false, depth: 1000, maxArrayLength: Infinity, sorted: true, getters: true });

  const isObject = (v) => typeof v === "object" && v !== null;

  function describe(actual, expected, operator, message) {
    const head = message ?? operators[operator];
    if (head === undefined) {
      return operator === "==" || operator === "!=" ? `${inspect(actual)} ${operator} ${inspect(expected)}` : `${operator ?? "Failed"}`;
    }
    if (operator.startsWith("not")) return `${head}${inspectShort(expected)}`;
    const a = show(actual).split("\n");
    const b = show(expected).split("\n");
    if (operator === "deepEqual") return `${head}\n\n${a.join("\n")}\n\nshould loosely deep-equal\n\n${b.join("\n")}`;
    const marks = "+ actual - expected";
    const alike = operator === "strictEqual" && (isObject(actual) && isObject(expected) || typeof actual === "function" && typeof expected === "function");
    const single = a.length === 1 && b.length === 1 && a[0] !== b[0];
    const mark = single && !alike ? pointer(a[0], b[0]) : "";
    if (single && !(isObject(actual) && isObject(expected))) {
      const short = a[0].length + b[0].length <= 12 && !isObject(actual) && !isObject(expected) && (actual !== 0 || expected !== 0);
      return short ? `${head}\n\n${a[0]} !== ${b[0]}\n` : `${head}\n${marks}\n\n+ ${a[0]}\n- ${b[0]}${mark}`;
    }
    if (a.join("\n") === b.join("\n")) {
      const text = a.length > 50 ? `${a.slice(0, 50).join("\n")}\n...}` : a.join("\n");
      return `Values have same structure but are not reference-equal:\n\n${text}\n`;
    }
    const { text, skipped } = difference(a, b, isObject(actual));
    return `${message ?? (alike ? 'Expected "actual" to be reference-equal to "expected":' : head)}\n${marks}${skipped ? " ... Lines skipped" : ""}\n\n${text}${mark}`;
  }
  const inspectShort = (v) => {
    const text = show(v);
    return text.includes("\n") ? `\n\n${text}\n` : ` ${text}`;
  };
  // A mark below the first character that differs, unless it is one of the first.
  function pointer(a, b) {
    const n = a.length + b.length;
    if (n <= 12 || n >= 80) return "";
    let i = 0;
    while (i < a.length && a[i] === b[i]) i++;
    return i >= 3 ? `\n${" ".repeat(i + 2)}^` : "";
  }

  // The lines of a and b, those of only one marked, by their longest common subsequence. In a long stretch that they share
  // the middle is left out. Lines of objects may differ by a comma.
  function difference(a, b, commas) {
    const cap = 500;
    a = a.slice(0, cap);
    b = b.slice(0, cap);
    const same = commas ? (x, y) => x === y || `${x},` === y || x === `${y},` : (x, y) => x === y;
    const lengths = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
    for (let i = a.length - 1; i >= 0; i--) {
      for (let j = b.length - 1; j >= 0; j--) {
        lengths[i][j] = same(a[i], b[j]) ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
      }
    }
    const out = [];
    let shared = [];
    let skipped = false;
    const flush = (last) => {
      const [head, tail] = last ? [1, 3] : [2, 2];
      if (shared.length > head + tail + (last ? 0 : 1)) {
        skipped = true;
        shared = [...shared.slice(0, head), "...", ...shared.slice(-tail)];
      }
      out.push(...shared);
      shared = [];
    };
    for (let i = 0, j = 0; i < a.length || j < b.length;) {
      if (i < a.length && j < b.length && same(a[i], b[j])) {
        shared.push(`  ${a[i].length < b[j].length ? b[j] : a[i]}`);
        i++;
        j++;
        continue;
      }
      flush(false);
      if (j >= b.length || i < a.length && lengths[i + 1][j] >= lengths[i][j + 1]) out.push(`+ ${a[i++]}`);
      else out.push(`- ${b[j++]}`);
    }
    flush(true);
    return { text: out.join("\n"), skipped };
  }

  function fail(options) {
    if (options.message instanceof Error) throw options.message;
    throw new AssertionError(options);
  }

  // The call of assert that failed, as it stands in the running script; undefined where that cannot be told.
  function callText() {
    const at = {};
    Error.captureStackTrace(at, ok);
    const m = /^ {4}at (?:.*\()?([^()\s]+):(\d+):(\d+)\)?$/m.exec(at.stack);
    if (m === null) return undefined;
    const [, file] = m;
    const lines = [];
    let place = m[3] - 1; // of what is called, or of the last call or function among the arguments
    for (let n = Math.max(1, m[2] - 10); n <= +m[2] + 20; n++) {
      const line = cloche.line(file, n);
      if (line === null) {
        if (n > m[2]) break;
        if (n === +m[2]) return undefined;
        lines.length = 0;
        place = m[3] - 1;
        continue;
      }
      if (n < m[2]) place += line.length + 1;
      lines.push(line);
    }
    const text = lines.join("\n");
    let start = -1;
    let end = -1;
    for (const call of text.matchAll(/(?<![\w$.])(?:[A-Za-z_$][\w$]*\.)*(?:assert\w*|ok|strict)\(/g)) {
      if (call.index > place) break;
      const to = closing(text, call.index + call[0].length - 1);
      if (to >= place) [start, end] = [call.index, to];
    }
    if (start < 0) return undefined;
    const column = start - text.lastIndexOf("\n", start) - 1;
    const [head, ...tail] = text.slice(start, end + 1).split("\n");
    return [head, ...tail.map((line) => `  ${line.replace(new RegExp(`^[ \\t]{0,${column}}`), "")}`)].join("\n");
  }

  // Where the parenthesis at a place of a text closes; -1: not in the text.
  function closing(text, at) {
    const open = []; // brackets and templates
    const literal = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\/\/.*|\/\*[^]*?\*\//y;
    const pattern = /\/(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\//y;
    for (let i = at; i < text.length; i++) {
      const c = text[i];
      if (open.at(-1) === "`") {
        if (c === "`") open.pop();
        else if (c === "\\") i++;
        else if (c === "$" && text[i + 1] === "{") open.push(text[++i]);
      } else if (c === "`" || c === "(" || c === "[" || c === "{") {
        open.push(c);
      } else if (c === ")" || c === "]" || c === "}") {
        open.pop();
        if (open.length === 0) return i;
      } else {
        const skip = c === "/" && /[(,=:[!&|?{};+*%<>~^-]\s*$/.test(text.slice(at, i)) && text[i + 1] !== "/" && text[i + 1] !== "*" ? pattern : literal;
        skip.lastIndex = i;
        if (skip.test(text)) i = skip.lastIndex - 1;
      }
    }
    return -1;
  }

  function ok(value, ...rest) {
    if (value) return;
    let [message] = rest;
    const generated = message === undefined;
    if (generated) {
      const text = arguments.length === 0 ? undefined : callText();
      message = arguments.length === 0 ? "No value argument passed to `assert.ok()`" : `The expression evaluated to a falsy value${text === undefined ? "" : `:\n\n  ${text}\n`}`;
    }
    fail({ actual: value, expected: true, message, operator: "==", generated, stackStartFn: ok });
  }
  function assert(...args) { ok(...args); }

  // eslint-disable-next-line eqeqeq
  const loose = (a, b) => a == b || a !== a && b !== b;

  const checks = {
    equal: [loose, "=="],
    notEqual: [(a, b) => !loose(a, b), "!="],
    strictEqual: [Object.is, "strictEqual"],
    notStrictEqual: [(a, b) => !Object.is(a, b), "notStrictEqual"],
    deepEqual: [(a, b) => deepEqual(a, b, false), "deepEqual"],
    notDeepEqual: [(a, b) => !deepEqual(a, b, false), "notDeepEqual"],
    deepStrictEqual: [(a, b) => deepEqual(a, b, true), "deepStrictEqual"],
    notDeepStrictEqual: [(a, b) => !deepEqual(a, b, true), "notDeepStrictEqual"],
  };
  for (const [name, [test, operator]] of Object.entries(checks)) {
    assert[name] = {
      [name](actual, expected, message) {
        if (arguments.length < 2) throw cloche.nodeError(TypeError, "ERR_MISSING_ARGS", 'The "actual" and "expected" arguments must be specified');
        if (!test(actual, expected)) fail({ actual, expected, message, operator, stackStartFn: assert[name] });
      },
    }[name];
  }

  // Whether an error is as expected: a class, a pattern, a validator, or an object of properties.
  function matches(error, expected, message, fn) {
    if (expected === undefined) return;
    if (typeof expected === "function") {
      if (expected.prototype !== undefined && error instanceof expected) return;
      if (Error.isPrototypeOf(expected) || expected === Error) {
        fail({
          actual: error, expected, operator: fn.name, stackStartFn: fn,
          message: message ?? `The error is expected to be an instance of "${expected.name}". Received "${error?.constructor?.name ?? typeof error}"\n\nError message:\n\n${error?.message}`,
          generated: message === undefined,
        });
      }
      const answer = expected.call({}, error);
      if (answer === true) return;
      const caught = error instanceof Error ? `\n\nCaught error:\n\n${error}` : "";
      fail({
        actual: error, expected, operator: fn.name, stackStartFn: fn, generated: message === undefined,
        message: message ?? `The ${expected.name ? `"${expected.name}" ` : ""}validation function is expected to return "true". Received ${inspect(answer)}${caught}`,
      });
    }
    if (expected instanceof RegExp) {
      if (expected.test(`${error}`)) return;
      fail({ actual: error, expected, operator: fn.name, stackStartFn: fn, message: message ?? `The input did not match the regular expression ${expected}. Input:\n\n${inspect(`${error}`)}\n`, generated: message === undefined });
    }
    const keys = Object.keys(expected);
    if (expected instanceof Error) keys.push("name", "message");
    for (const key of keys) {
      const same = typeof error?.[key] === "string" && expected[key] instanceof RegExp ? expected[key].test(error[key])
        : error != null && key in Object(error) && deepEqual(error[key], expected[key], true);
      if (!same) fail({ actual: error, expected, operator: fn.name, stackStartFn: fn, message: message ?? describe(pick(error, keys), pick(expected, keys), "deepStrictEqual"), generated: message === undefined });
    }
  }
  class Comparison {}
  const pick = (o, keys) => Object.assign(new Comparison(), Object.fromEntries(keys.filter((k) => o != null && k in Object(o)).map((k) => [k, o[k]])));

  function expectThrow(fn, thrown, error, expected, message) {
    if (typeof expected === "string") [message, expected] = [expected, undefined];
    if (!thrown) {
      const kind = fn.name === "rejects" ? "rejection" : "exception";
      fail({
        actual: undefined, expected, operator: fn.name, stackStartFn: fn,
        message: `Missing expected ${kind}${expected?.name ? ` (${expected.name})` : ""}${message ? `: ${message}` : "."}`,
      });
    }
    matches(error, expected, message, fn);
  }
  function unwanted(fn, error, expected, message) {
    if (typeof expected === "string") [message, expected] = [expected, undefined];
    if (expected !== undefined && !(error instanceof expected)) throw error;
    const kind = fn.name === "doesNotReject" ? "rejection" : "exception";
    fail({ actual: error, expected, operator: fn.name, stackStartFn: fn, message: `Got unwanted ${kind}${message ? `: ${message}` : "."}\nActual message: "${error?.message}"` });
  }
  const promiseOf = async (p) => typeof p === "function" ? p() : p;

  Object.assign(assert, {
    ok,
    AssertionError,
    fail(message) { fail({ message: message ?? "Failed", operator: "fail", stackStartFn: assert.fail, generated: message === undefined }); },
    throws(fn, expected, message) {
      if (typeof fn !== "function") throw cloche.wrongType("fn", "of type function", fn);
      let error;
      let thrown = false;
      try {
        fn();
      } catch (e) {
        error = e;
        thrown = true;
      }
      expectThrow(assert.throws, thrown, error, expected, message);
    },
    doesNotThrow(fn, expected, message) {
      try {
        fn();
      } catch (error) {
        unwanted(assert.doesNotThrow, error, expected, message);
      }
    },
    async rejects(p, expected, message) {
      let error;
      let thrown = false;
      try {
        await promiseOf(p);
      } catch (e) {
        error = e;
        thrown = true;
      }
      expectThrow(assert.rejects, thrown, error, expected, message);
    },
    async doesNotReject(p, expected, message) {
      try {
        await promiseOf(p);
      } catch (error) {
        unwanted(assert.doesNotReject, error, expected, message);
      }
    },
    match(text, pattern, message) {
      if (typeof text !== "string" || !pattern.test(text)) {
        fail({ actual: text, expected: pattern, message: message ?? `The input did not match the regular expression ${pattern}. Input:\n\n${inspect(text)}\n`, operator: "match", stackStartFn: assert.match, generated: message === undefined });
      }
    },
    doesNotMatch(text, pattern, message) {
      if (typeof text === "string" && pattern.test(text)) {
        fail({ actual: text, expected: pattern, message: message ?? `The input was expected to not match the regular expression ${pattern}. Input:\n\n${inspect(text)}\n`, operator: "doesNotMatch", stackStartFn: assert.doesNotMatch, generated: message === undefined });
      }
    },
    ifError(value) {
      if (value != null) fail({ actual: value, expected: null, operator: "ifError", message: `ifError got unwanted exception: ${value?.message ?? inspect(value)}`, stackStartFn: assert.ifError });
    },
  });

  function strict(...args) { ok(...args); }
  Object.assign(strict, assert, {
    equal: assert.strictEqual, notEqual: assert.notStrictEqual, deepEqual: assert.deepStrictEqual, notDeepEqual: assert.notDeepStrictEqual,
  });
  strict.strict = strict;
  assert.strict = strict;
  cloche.assert = assert;
})
