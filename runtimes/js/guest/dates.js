// Dates given as text, as Node reads them: ISO 8601 is the interpreter's; all else is taken as numbers, words and signs in whatever
// order they come, and what makes no date of them is no date.
(function (cloche) {
  "use strict";

  const { uncurry } = cloche;
  const { defineProperty } = Object;
  const { construct } = Reflect;
  const NativeDate = Date;
  const { parse: nativeParse, UTC } = NativeDate;
  const exec = uncurry(RegExp.prototype.exec);
  const indexOf = uncurry(String.prototype.indexOf);
  const lower = uncurry(String.prototype.toLowerCase);
  const slice = uncurry(String.prototype.slice);
  const { hasOwn } = Object;

  const month = "(?:0[1-9]|1[0-2])", monthDay = "(?:0[1-9]|[12]\\d|3[01])", clock = "\\d\\d:\\d\\d(?::\\d\\d(?:\\.\\d+)?)?";
  const iso = new RegExp(`^(?:\\d{4}|[+-]\\d{6})(?:-${month}(?:-${monthDay})?)?(?:T${clock}(?:Z|[+-]\\d\\d:\\d\\d)?)?$`);
  const nearlyISO = new RegExp(`^(\\d{4}-${month}-${monthDay})[Tt](${clock})(?:([Zz])|([+-]\\d\\d):?(\\d\\d))?$`);
  const isoAndMore = /^\d{4}-\d\d-\d\d(?:-|[Tt]\d\d:)/;
  const token = /(\d+)|([^\0-@\s]+)|(\s+)|([^])/y;
  const months = "jan feb mar apr may jun jul aug sep oct nov dec";
  const zones = { ut: 0, utc: 0, gmt: 0, z: 0, est: -5, edt: -4, cst: -6, cdt: -5, mst: -7, mdt: -6, pst: -8, pdt: -7 };
  const between = (n, low, high) => low <= n && n <= high;

  function tokens(text) {
    const list = [];
    let depth = 0; // of parentheses, which hold remarks
    token.lastIndex = 0;
    for (let m; (m = exec(token, text)) !== null;) {
      const [all, digits, word, , sign] = m;
      if (sign === "(" && depth++ === 0) list[list.length] = { all };
      else if (sign === ")" && depth > 0) depth--;
      else if (depth === 0) list[list.length] = { all, word, sign, number: digits === undefined ? undefined : +digits };
    }
    return list;
  }

  function parse(text) {
    if (exec(iso, text) !== null) return nativeParse(text);
    const m = exec(nearlyISO, text);
    if (m !== null) return nativeParse(`${m[1]}T${m[2]}${m[3] === undefined ? m[4] === undefined ? "" : `${m[4]}:${m[5]}` : "Z"}`);
    if (exec(isoAndMore, text) !== null) return NaN;
    const list = tokens(text), end = { all: "" };
    const day = [], time = [];
    let named, half, sign, hours, minutes; // half of the day: 0 or 12 hours; the rest is of the zone
    let numbers = false;
    const at = (i) => list[i] ?? end;
    const expected = (n) => time.length === 1 || time.length === 2 ? n < 60 : time.length === 3 && n < 1000;
    const finish = (n) => {
      time[time.length] = n;
      while (time.length < 4) time[time.length] = 0;
    };
    for (let i = 0; i < list.length; i++) {
      const { all, word, sign: mark, number } = list[i];
      if (number !== undefined) {
        numbers = true;
        if (at(i + 1).sign === ":") {
          if (time.length > (at(i + 2).sign === ":" ? 0 : 3)) return NaN;
          time[time.length] = number;
          i++;
          if (at(i + 1).sign === ":") {
            time[time.length] = 0;
            i++;
          } else if (at(i + 1).sign === ".") i++;
        } else if (at(i + 1).sign === "." && expected(number)) {
          time[time.length] = number;
          const fraction = at(i += 2);
          if (fraction.number === undefined) return NaN;
          finish(+slice(`${fraction.all}00`, 0, 3));
        } else {
          if (at(i + 1).sign === ".") i++;
          if (hours !== undefined && minutes === undefined && number < 60) minutes = number;
          else if (expected(number)) {
            finish(number);
            const next = at(i + 1);
            if (next !== end && exec(/^(?:\s+|[zZ]|[+-])$/, next.all) === null) return NaN;
          } else {
            if (day.length === 3) return NaN;
            day[day.length] = number;
            if (at(i + 1).sign === "-") i++;
          }
        }
      } else if (word !== undefined) {
        const name = lower(word);
        const found = word.length < 3 ? -1 : indexOf(months, slice(name, 0, 3));
        if ((name === "am" || name === "pm") && time.length > 0) half = name === "am" ? 0 : 12;
        else if (found >= 0 && found % 4 === 0) {
          named = found / 4 + 1;
          if (at(i + 1).sign === "-") i++;
        } else if (hasOwn(zones, name) && numbers) {
          sign = zones[name] < 0 ? -1 : 1;
          hours = sign * zones[name];
          minutes = 0;
        } else if (numbers || at(i + 1).number !== undefined) return NaN;
      } else if ((mark === "+" || mark === "-") && (hours === 0 && minutes === 0 || time.length > 0)) {
        sign = mark === "+" ? 1 : -1;
        const offset = at(i + 1).number === undefined ? end : list[++i];
        const n = offset.number ?? 0, length = offset.all.length;
        numbers = true;
        if (at(i + 1).sign === ":") [hours, minutes] = [n, undefined];
        else if (between(length, 1, 2)) [hours, minutes] = [n, 0];
        else if (between(length, 3, 4)) [hours, minutes] = [Math.trunc(n / 100), n % 100];
        else return NaN;
      } else if ((mark === "+" || mark === "-" || mark === ")") && numbers) return NaN;
    }

    if (day.length === 0) return NaN;
    while (day.length < 3) day[day.length] = 1;
    const isDay = (n) => between(n, 1, 31);
    const [first, second] = day;
    let year, monthOfYear = named, dayOfMonth;
    if (named !== undefined) [dayOfMonth, year] = isDay(first) ? [first, second] : [second, first];
    else if (isDay(first)) [monthOfYear, dayOfMonth, year] = day;
    else [year, monthOfYear, dayOfMonth] = day;
    if (between(year, 0, 49)) year += 2000;
    else if (between(year, 50, 99)) year += 1900;
    if (!between(monthOfYear, 1, 12) || !isDay(dayOfMonth)) return NaN;

    while (time.length < 4) time[time.length] = 0;
    let [hour, minute, seconds, ms] = time;
    if (half !== undefined) {
      if (hour > 12) return NaN;
      hour = hour % 12 + half;
    }
    const midnight = hour === 24 && minute === 0 && seconds === 0 && ms === 0;
    if (!midnight && !(hour < 24 && minute < 60 && seconds < 60)) return NaN;
    if (sign === undefined) return +new NativeDate(year, monthOfYear - 1, dayOfMonth, hour, minute, seconds, ms);
    return UTC(year, monthOfYear - 1, dayOfMonth, hour, minute, seconds, ms) - sign * ((hours ?? 0) * 60 + (minutes ?? 0)) * 60_000;
  }

  function TheDate(...args) {
    if (new.target === undefined) return NativeDate();
    if (args.length === 1 && typeof args[0] === "string") args[0] = parse(args[0]);
    return new.target === TheDate ? new NativeDate(...args) : construct(NativeDate, args, new.target);
  }
  for (const [name, value] of Object.entries({ name: "Date", length: 7 })) defineProperty(TheDate, name, { value, configurable: true });
  defineProperty(TheDate, "prototype", { value: NativeDate.prototype, writable: false });
  const hidden = (target, name, value) => defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
  hidden(TheDate, "now", NativeDate.now);
  hidden(TheDate, "parse", { parse(text) { return parse(`${text}`); } }.parse);
  hidden(TheDate, "UTC", UTC);
  hidden(NativeDate.prototype, "constructor", TheDate);
  hidden(globalThis, "Date", TheDate);
})
