// Dates given as text are read by the host, as Node reads them.
(function (cloche) {
  "use strict";

  const { parseDate } = cloche;
  const { defineProperty, entries } = Object;
  const { construct } = Reflect;
  const NativeDate = Date;
  const { UTC } = NativeDate;

  const given = (value) => typeof value === "string" ? parseDate(value) : value;

  // Dates are made by the million: a call for each number of arguments takes half the time of a list of them.
  function TheDate(a, b, c) {
    if (new.target === undefined) return NativeDate();
    if (new.target === TheDate) {
      switch (arguments.length) {
      case 0: return new NativeDate();
      case 1: return new NativeDate(given(a));
      case 2: return new NativeDate(a, b);
      case 3: return new NativeDate(a, b, c);
      default: return construct(NativeDate, arguments);
      }
    }
    return construct(NativeDate, arguments.length === 1 ? [given(a)] : arguments, new.target);
  }
  for (const [name, value] of entries({ name: "Date", length: 7 })) defineProperty(TheDate, name, { value, configurable: true });
  defineProperty(TheDate, "prototype", { value: NativeDate.prototype, writable: false });
  const hidden = (target, name, value) => defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
  hidden(TheDate, "now", NativeDate.now);
  hidden(TheDate, "parse", { parse(text) { return parseDate(`${text}`); } }.parse);
  hidden(TheDate, "UTC", UTC);
  hidden(NativeDate.prototype, "constructor", TheDate);
  hidden(globalThis, "Date", TheDate);
})
