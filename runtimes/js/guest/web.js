// Smaller globals of the web: performance, structured data of navigator. Crypto, URL and fetch have their own files.
(function (cloche) {
  "use strict";

  const custom = Symbol.for("nodejs.util.inspect.custom");

  class PerformanceEntry {
    constructor(name, entryType, startTime, duration, detail) {
      Object.assign(this, { name, entryType, startTime, duration, detail });
    }
    toJSON() { return { ...this }; }
  }

  class Performance extends EventTarget {
    #entries = [];
    get timeOrigin() { return Date.now() - cloche.now(); }
    now() { return cloche.now(); }
    mark(name, options) {
      const entry = new PerformanceEntry(`${name}`, "mark", options?.startTime ?? cloche.now(), 0, options?.detail ?? null);
      this.#entries.push(entry);
      return entry;
    }
    measure(name, start, end) {
      if (typeof start === "object" && start !== null) ({ start, end } = start);
      const at = (mark, missing) => {
        if (mark === undefined) return missing;
        if (typeof mark === "number") return mark;
        const found = this.#entries.findLast((e) => e.entryType === "mark" && e.name === mark);
        if (!found) throw new DOMException(`The "${mark}" performance mark has not been set`, "SyntaxError");
        return found.startTime;
      };
      const from = at(start, 0);
      const entry = new PerformanceEntry(`${name}`, "measure", from, at(end, cloche.now()) - from, null);
      this.#entries.push(entry);
      return entry;
    }
    getEntries() { return [...this.#entries].sort((a, b) => a.startTime - b.startTime); }
    getEntriesByName(name, type) { return this.getEntries().filter((e) => e.name === name && (type === undefined || e.entryType === type)); }
    getEntriesByType(type) { return this.getEntries().filter((e) => e.entryType === type); }
    clearMarks(name) { this.#clear("mark", name); }
    clearMeasures(name) { this.#clear("measure", name); }
    #clear(type, name) {
      this.#entries = this.#entries.filter((e) => e.entryType !== type || name !== undefined && e.name !== name);
    }
    eventLoopUtilization() { return { idle: 0, active: 0, utilization: 0 }; }
    timerify(fn) { return fn; }
    toJSON() { return { timeOrigin: this.timeOrigin }; }
    get [Symbol.toStringTag]() { return "Performance"; }
    [custom](depth, options, inspect) { return `Performance ${inspect({ timeOrigin: this.timeOrigin }, options)}`; }
  }

  // A class whose every use says why it is not here.
  cloche.refusedClass = (name, why) => {
    const refused = { [name]: function () { throw cloche.unavailable(name, why); } }[name];
    return refused;
  };
  cloche.noWorker = cloche.refusedClass("Worker", "there are no threads");

  cloche.globals({
    performance: new Performance(),
    Performance,
    PerformanceEntry,
    navigator: { hardwareConcurrency: 1, language: "en-US", languages: ["en-US"], platform: "linux", userAgent: "Cloche" },
  });
  cloche.nodeName("global", { value: globalThis, writable: true, configurable: true, enumerable: true });
  Object.defineProperty(globalThis, Symbol.toStringTag, { value: "global", writable: false, enumerable: false, configurable: true });
})
