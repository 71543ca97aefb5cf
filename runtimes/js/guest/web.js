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

  class PerformanceMark extends PerformanceEntry {
    constructor(name, options) { super(`${name}`, "mark", options?.startTime ?? cloche.now(), 0, options?.detail ?? null); }
  }
  class PerformanceMeasure extends PerformanceEntry {}

  class PerformanceObserverEntryList {
    #entries;
    constructor(entries) { this.#entries = entries; }
    getEntries() { return [...this.#entries]; }
    getEntriesByName(name, type) { return this.#entries.filter((e) => e.name === name && (type === undefined || e.entryType === type)); }
    getEntriesByType(type) { return this.#entries.filter((e) => e.entryType === type); }
  }
  const observers = new Set();
  class PerformanceObserver {
    #told; #waiting = [];
    static supportedEntryTypes = ["mark", "measure"];
    constructor(told) {
      if (typeof told !== "function") throw cloche.wrongType("callback", "of type function", told);
      this.#told = told;
    }
    observe(options) {
      this.types = options?.entryTypes ?? [options?.type];
      observers.add(this);
    }
    disconnect() {
      observers.delete(this);
      this.#waiting = [];
    }
    takeRecords() { return this.#waiting.splice(0); }
    take(entry) {
      if (!this.types.includes(entry.entryType)) return;
      if (this.#waiting.push(entry) === 1) {
        cloche.timers.setImmediate(() => { if (this.#waiting.length > 0) this.#told(new PerformanceObserverEntryList(takeAll(this)), this); });
      }
    }
  }
  const take = cloche.uncurry(PerformanceObserver.prototype.take);
  const takeAll = cloche.uncurry(PerformanceObserver.prototype.takeRecords);
  delete PerformanceObserver.prototype.take;

  class Performance extends EventTarget {
    #entries = [];
    #keep(entry) {
      this.#entries.push(entry);
      for (const o of observers) take(o, entry);
      return entry;
    }
    get timeOrigin() { return Date.now() - cloche.now(); }
    now() { return cloche.now(); }
    mark(name, options) { return this.#keep(new PerformanceMark(name, options)); }
    measure(name, start, end) {
      let detail = null;
      if (typeof start === "object" && start !== null) ({ start, end, detail = null } = start);
      const at = (mark, missing) => {
        if (mark === undefined) return missing;
        if (typeof mark === "number") return mark;
        const found = this.#entries.findLast((e) => e.entryType === "mark" && e.name === mark);
        if (!found) throw new DOMException(`The "${mark}" performance mark has not been set`, "SyntaxError");
        return found.startTime;
      };
      const from = at(start, 0);
      return this.#keep(new PerformanceMeasure(`${name}`, "measure", from, at(end, cloche.now()) - from, detail));
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

  cloche.performanceClasses = { PerformanceMark, PerformanceMeasure, PerformanceObserver, PerformanceObserverEntryList };
  cloche.globals({
    performance: new Performance(),
    Performance,
    PerformanceEntry,
    navigator: { hardwareConcurrency: 1, language: "en-US", languages: ["en-US"], platform: "linux", userAgent: "Cloche" },
  });
  cloche.nodeName("global", { value: globalThis, writable: true, configurable: true, enumerable: true });
  Object.defineProperty(globalThis, Symbol.toStringTag, { value: "global", writable: false, enumerable: false, configurable: true });
})
