// Methods of patterns that look for all matches in a text. The interpreter makes an array of each match, and splits as ECMA-262 writes it
// down: it tries the pattern at each character. In a long text the host looks for the matches (op matches), as long as nobody can
// tell: nothing of RegExp was replaced. What it does not know or takes too long with is the interpreter's work.
(function (cloche) {
  "use strict";

  const { uncurry, matches } = cloche;
  const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Object;
  const { ownKeys, apply } = Reflect;
  const hidden = (name, value) => defineProperty(prototype, name, { value, writable: true, configurable: true, enumerable: false });
  const { Int32Array, RegExp: TheRegExp } = globalThis;
  const { prototype } = TheRegExp;
  const { species } = Symbol;
  const nativeExec = prototype.exec;
  const exec = uncurry(nativeExec);
  const slice = uncurry(String.prototype.slice);
  const join = uncurry(Array.prototype.join);

  const flagsOf = getOwnPropertyDescriptor(prototype, "flags").get;
  const speciesOf = getOwnPropertyDescriptor(TheRegExp, species).get;
  const untouched = (pattern) => cloche.is.regexp(pattern) && getPrototypeOf(pattern) === prototype && ownKeys(pattern).length === 1 && // lastIndex
    getOwnPropertyDescriptor(prototype, "exec")?.value === nativeExec && getOwnPropertyDescriptor(prototype, "flags")?.get === flagsOf &&
    getOwnPropertyDescriptor(prototype, "constructor")?.value === TheRegExp && getOwnPropertyDescriptor(TheRegExp, species)?.get === speciesOf;

  const long = 256; // characters: a shorter text is searched sooner than it takes to be sure
  const isLong = (string) => typeof string === "string" && string.length >= long;

  const [formSplit, formMatched, formReplaced, formCalls, formPlaces] = [0, 1, 2, 3, 4]; // regexp.go

  const nativeMatch = uncurry(prototype[Symbol.match]);
  hidden(Symbol.match, {
    [Symbol.match](string) {
      if (!isLong(string) || !untouched(this)) return nativeMatch(this, string);
      const text = slice(string, 0); // in one piece
      const list = matches(this, text, formMatched);
      if (list === null) return nativeMatch(this, text);
      this.lastIndex = 0;
      return list.length === 0 ? null : list;
    },
  }[Symbol.match]);

  const call = (by, list, at, captures, start, text) => {
    const args = [];
    for (let i = 0; i < captures; i++) args[i] = list[at + i];
    args[captures] = start;
    args[captures + 1] = text;
    return apply(by, undefined, args);
  };

  const nativeReplace = uncurry(prototype[Symbol.replace]);
  hidden(Symbol.replace, {
    [Symbol.replace](string, by) {
      const calls = typeof by === "function";
      if (!isLong(string) || !calls && typeof by !== "string" || !untouched(this)) return nativeReplace(this, string, by);
      const text = slice(string, 0);
      if (!calls) {
        const replaced = matches(this, text, formReplaced, by);
        if (replaced === null) return nativeReplace(this, text, by);
        this.lastIndex = 0;
        return replaced;
      }
      const list = matches(this, text, formCalls);
      if (list === null) return nativeReplace(this, text, by);
      this.lastIndex = 0;
      const captures = list[0], last = list.length - 1;
      let n = 0, start = 0;
      for (let i = 1; i < last; i += captures + 1) { // what was used makes room for the result
        const before = list[i], match = list[i + 1];
        start += before.length;
        const result = captures === 1 ? by(match, start, text) :
          captures === 2 ? by(match, list[i + 2], start, text) :
          captures === 3 ? by(match, list[i + 2], list[i + 3], start, text) : call(by, list, i + 1, captures, start, text);
        start += match.length;
        list[n++] = before;
        list[n++] = typeof result === "string" ? result : `${result}`;
      }
      list[n++] = list[last];
      list.length = n;
      return join(list, "");
    },
  }[Symbol.replace]);

  const nativeMatchAll = uncurry(prototype[Symbol.matchAll]);
  // An iterator of the interpreter's own takes its matches from whatever pattern the species of the one that is looked for makes: an
  // object whose exec knows where they begin.
  const iterate = (pattern, text, places) => {
    const sticky = new TheRegExp(pattern, `${pattern.flags}y`), { length } = places;
    let i = 0;
    const exec = () => {
      if (i === length) return null;
      sticky.lastIndex = places[i++];
      return sticky.exec(text);
    };
    const known = { __proto__: null, exec, lastIndex: 0 };
    return nativeMatchAll({ __proto__: null, flags: "g", lastIndex: 0, constructor: { [species]: function () { return known; } } }, text);
  };
  hidden(Symbol.matchAll, {
    [Symbol.matchAll](string) {
      if (!isLong(string) || !untouched(this) || this.lastIndex !== 0) return nativeMatchAll(this, string);
      const text = slice(string, 0);
      const places = matches(this, text, formPlaces);
      return places === null ? nativeMatchAll(this, text) : iterate(this, text, new Int32Array(places));
    },
  }[Symbol.matchAll]);

  // Splits a text by looking for one match after another.
  const splitInTurn = ({ source, ignoreCase, multiline, dotAll }, text, most) => {
    const pattern = new TheRegExp(source, `g${ignoreCase ? "i" : ""}${multiline ? "m" : ""}${dotAll ? "s" : ""}`);
    const parts = [];
    let from = 0; // of the part
    for (let match, n = 0; (match = exec(pattern, text)) !== null && match.index < text.length;) {
      const end = pattern.lastIndex;
      if (end === from) { // it is empty, and parts nothing
        pattern.lastIndex = match.index + 1;
        continue;
      }
      parts[n++] = slice(text, from, match.index);
      if (n === most) return parts;
      for (let i = 1; i < match.length; i++) {
        parts[n++] = match[i];
        if (n === most) return parts;
      }
      from = end;
    }
    parts[parts.length] = slice(text, from);
    return parts;
  };

  const short = 48; // characters, at each of which the interpreter tries the pattern sooner than it takes to be sure
  const nativeSplit = uncurry(prototype[Symbol.split]);
  hidden(Symbol.split, {
    [Symbol.split](string, limit) {
      // A limit that is to become a number may change the pattern by that, which does not count any more.
      if (typeof string !== "string" || string.length < short || limit !== undefined && typeof limit !== "number" || !untouched(this)) {
        return nativeSplit(this, string, limit);
      }
      const text = slice(string, 0);
      const most = limit === undefined ? 2 ** 32 - 1 : limit >>> 0;
      if (most === 0) return [];
      const list = text.length < long ? null : matches(this, text, formSplit);
      if (list === null) return this.unicode || this.unicodeSets ? nativeSplit(this, text, most) : splitInTurn(this, text, most);
      if (list.length > most) list.length = most;
      return list;
    },
  }[Symbol.split]);
})
