// The console. log, info and debug go to standard output, warn, error, trace and assert to standard error.
(function (cloche) {
  "use strict";

  const { write, textWidth: width } = cloche;

  class Console {
    #indent = "";
    #counts = new Map();
    #timers = new Map();
    #out;
    #err;

    constructor(out = (text) => write(1, text), err = (text) => write(2, text)) {
      if (typeof out === "object" && out !== null) { // {stdout, stderr} or two streams
        const { stdout = out, stderr = stdout } = out;
        this.#out = (text) => stdout.write(text);
        this.#err = (text) => (typeof err === "object" && err !== null ? err : stderr).write(text);
      } else {
        this.#out = out;
        this.#err = err;
      }
      for (const name of Object.getOwnPropertyNames(Console.prototype)) { // the methods work without their object
        if (name !== "constructor") {
          Object.defineProperty(this, name, { value: this[name].bind(this), writable: true, configurable: true, enumerable: true });
          Object.defineProperty(this[name], "name", { value: name, configurable: true });
        }
      }
    }

    #line(to, args) {
      let text = args.length === 1 && typeof args[0] === "string" ? args[0] : cloche.formatArgs(undefined, args);
      if (this.#indent !== "") text = this.#indent + text.replaceAll("\n", `\n${this.#indent}`);
      to(text + "\n");
    }

    log(...args) { this.#line(this.#out, args); }
    info(...args) { this.#line(this.#out, args); }
    debug(...args) { this.#line(this.#out, args); }
    warn(...args) { this.#line(this.#err, args); }
    error(...args) { this.#line(this.#err, args); }
    dir(value, options) { this.#line(this.#out, [cloche.inspect(value, { customInspect: false, ...options })]); }
    dirxml(...args) { this.#line(this.#out, args); }

    trace(...args) {
      const error = { name: "Trace", message: cloche.format(...args), toString() { return this.message ? `Trace: ${this.message}` : "Trace"; } };
      Error.captureStackTrace(error, this.trace);
      const at = error.stack.indexOf("\n");
      this.#line(this.#err, [error.toString() + (at < 0 ? "" : error.stack.slice(at))]);
    }

    assert(condition, ...args) {
      if (condition) return;
      if (typeof args[0] === "string") args[0] = `Assertion failed: ${args[0]}`;
      else args.unshift(args.length > 0 ? "Assertion failed:" : "Assertion failed");
      this.#line(this.#err, args);
    }

    count(label = "default") {
      label = `${label}`;
      const n = (this.#counts.get(label) ?? 0) + 1;
      this.#counts.set(label, n);
      this.#line(this.#out, [`${label}: ${n}`]);
    }

    profile() {}
    profileEnd() {}
    timeStamp() {}
    countReset(label = "default") {
      label = `${label}`;
      if (!this.#counts.delete(label)) this.#line(this.#err, [`Warning: Count for '${label}' does not exist`]);
    }

    group(...args) {
      if (args.length > 0) this.#line(this.#out, args);
      this.#indent += "  ";
    }
    groupCollapsed(...args) { this.group(...args); }
    groupEnd() { this.#indent = this.#indent.slice(2); }

    time(label = "default") {
      label = `${label}`;
      if (this.#timers.has(label)) this.#line(this.#err, [`Warning: Label '${label}' already exists for console.time()`]);
      else this.#timers.set(label, cloche.now());
    }
    timeEnd(label = "default") {
      if (this.#elapsed(`${label}`, [], "timeEnd")) this.#timers.delete(`${label}`);
    }
    timeLog(label = "default", ...args) { this.#elapsed(`${label}`, args, "timeLog"); }

    #elapsed(label, args, method) {
      const start = this.#timers.get(label);
      if (start === undefined) {
        this.#line(this.#err, [`Warning: No such label '${label}' for console.${method}()`]);
        return false;
      }
      this.#line(this.#out, [`${label}: ${duration(cloche.now() - start)}`, ...args]);
      return true;
    }

    table(data, columns) {
      if (data === null || typeof data !== "object") return this.log(data);
      const text = tableText(data, columns);
      this.#line(this.#out, [text]);
    }
  }

  function duration(ms) {
    if (ms < 1000) return `${+ms.toFixed(3)}ms`;
    if (ms < 60000) return `${(ms / 1000).toFixed(3)}s`;
    const s = Math.floor(ms / 1000);
    const pad = (n) => String(n).padStart(2, "0");
    if (ms < 3600000) return `${Math.floor(s / 60)}:${pad(s % 60)}.${String(Math.floor(ms % 1000)).padStart(3, "0")} (m:ss.mmm)`;
    return `${Math.floor(s / 3600)}:${pad(Math.floor(s / 60) % 60)}:${pad(s % 60)} (h:mm:ss)`;
  }

  // ---- console.table

  const isObject = (v) => typeof v === "object" && v !== null || typeof v === "function";

  function cell(value) {
    const depth = value !== null && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length > 2 ? -1 : 0;
    return cloche.inspect(value, { maxArrayLength: 3, breakLength: Infinity, depth });
  }

  function tableText(data, wanted) {
    const isMap = cloche.is.map(data);
    const isSet = cloche.is.set(data);
    const rows = []; // [index, value]
    let indexName = "(index)";
    if (isMap) {
      indexName = "(iteration index)";
      let i = 0;
      const keys = [];
      const values = [];
      for (const [k, v] of data) {
        keys.push(cell(k));
        values.push(cell(v));
        rows.push(`${i++}`);
      }
      return render([indexName, "Key", "Values"], [rows, keys, values]);
    }
    if (cloche.kindOf(data) === "MapIterator" && cloche.peek(5, data) === 2) return tableText(new Map(data), wanted);
    if (isSet || cloche.kindOf(data) === "SetIterator" || cloche.kindOf(data) === "MapIterator") {
      indexName = "(iteration index)";
      const values = [...data].map(cell);
      return render([indexName, "Values"], [values.map((_, i) => `${i}`), values]);
    }
    const columns = { __proto__: null }; // name -> cells by row; numbers come first, as in an object
    const valueColumn = [];
    let hasValues = false;
    const indexes = Object.keys(data);
    indexes.forEach((index, i) => {
      const item = data[index];
      const plain = !isObject(item) || typeof item === "function";
      if (plain) {
        hasValues = true;
        valueColumn[i] = cell(item);
        return;
      }
      for (const key of wanted ?? Object.keys(item)) {
        columns[key] ??= [];
        if (Object.hasOwn(item, key)) columns[key][i] = cell(item[key]);
      }
    });
    if (wanted) for (const key of wanted) columns[key] ??= [];
    const heads = [indexName, ...Object.keys(columns)];
    const cells = [indexes, ...Object.values(columns)];
    if (hasValues) {
      heads.push("Values");
      cells.push(valueColumn);
    }
    return render(heads, cells);
  }

  function render(heads, columns) {
    const rows = Math.max(0, ...columns.map((c) => c.length));
    const widths = heads.map((head, i) => {
      let w = width(head);
      for (let r = 0; r < rows; r++) w = Math.max(w, width(columns[i][r] ?? ""));
      return w + 2;
    });
    const pad = (text, i) => ` ${text}${" ".repeat(widths[i] - width(text) - 1)}`;
    const rule = (left, middle, right) => left + widths.map((w) => "─".repeat(w)).join(middle) + right;
    const line = (cells) => `│${cells.map(pad).join("│")}│`;
    const out = [rule("┌", "┬", "┐"), line(heads), rule("├", "┼", "┤")];
    for (let r = 0; r < rows; r++) out.push(line(columns.map((c) => c[r] ?? "")));
    out.push(rule("└", "┴", "┘"));
    return out.join("\n");
  }

  cloche.Console = Console;
  const console = new Console();
  Object.defineProperty(console, Symbol.toStringTag, { value: "console", configurable: true });
  Object.defineProperty(console, "Console", { value: Console, writable: true, configurable: true, enumerable: true });
  cloche.console = console;
  cloche.globals({ console });
})
