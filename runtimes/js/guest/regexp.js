// Methods of patterns that look for all matches in a text. The interpreter makes an array of each match, and splits as ECMA-262 writes it
// down: it tries the pattern at each character. In a long text the host looks for the matches (op matches), as long as nobody can
// tell: nothing of RegExp was replaced. What it does not know or takes too long with is the interpreter's work.
(function (cloche) {
  "use strict";

  const { uncurry, matches } = cloche;
  const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Object;
  const { ownKeys, apply } = Reflect;
  const hidden = (name, value) => defineProperty(prototype, name, { value, writable: true, configurable: true, enumerable: false });
  const { prototype } = RegExp;
  const TheRegExp = RegExp;
  const nativeExec = prototype.exec;
  const exec = uncurry(nativeExec);
  const slice = uncurry(String.prototype.slice);
  const split = uncurry(String.prototype.split);
  const [join, shift, indexOf] = ["join", "shift", "indexOf"].map((name) => uncurry(Array.prototype[name]));

  const flagsOf = getOwnPropertyDescriptor(prototype, "flags").get;
  const speciesOf = getOwnPropertyDescriptor(TheRegExp, Symbol.species).get;
  const untouched = (pattern) => cloche.is.regexp(pattern) && getPrototypeOf(pattern) === prototype && ownKeys(pattern).length === 1 && // lastIndex
    getOwnPropertyDescriptor(prototype, "exec")?.value === nativeExec && getOwnPropertyDescriptor(prototype, "flags")?.get === flagsOf &&
    getOwnPropertyDescriptor(prototype, "constructor")?.value === TheRegExp && getOwnPropertyDescriptor(TheRegExp, Symbol.species)?.get === speciesOf;

  const long = 256; // characters: a shorter text is searched sooner than it takes to be sure
  const isLong = (string) => typeof string === "string" && string.length >= long;

  // What is found comes in one text: a character that parts what follows, the one that stands for groups that captured nothing, if there are any, the number
  // of captures, and the texts that the form has (regexp.go).
  const [formSplit, formMatched, formReplaced, formCalls, formEach] = [0, 1, 2, 3, 4];
  const absentAt = 1, capturesAt = 2, first = 3;
  const find = (pattern, text, form) => {
    const found = matches(pattern, text, form);
    return found === null ? null : split(found, found[0]);
  };

  const fill = (list) => { // what is absent
    const absent = list[absentAt];
    if (absent === "") return;
    for (let i = first; (i = indexOf(list, absent, i)) !== -1;) list[i] = undefined;
  };

  const nativeMatch = uncurry(prototype[Symbol.match]);
  hidden(Symbol.match, {
    [Symbol.match](string) {
      if (!isLong(string) || !untouched(this)) return nativeMatch(this, string);
      const text = slice(string, 0); // in one piece
      const list = find(this, text, formMatched);
      if (list === null) return nativeMatch(this, text);
      this.lastIndex = 0;
      return list.length === first ? null : behead(list);
    },
  }[Symbol.match]);

  const behead = (list) => { // in place: a slice of it would be of the class that the program says
    for (let i = 0; i < first; i++) shift(list);
    return list;
  };

  const captured = (list, at, captures) => {
    switch (captures) {
    case 1: return [list[at]];
    case 2: return [list[at], list[at + 1]];
    case 3: return [list[at], list[at + 1], list[at + 2]];
    case 4: return [list[at], list[at + 1], list[at + 2], list[at + 3]];
    }
    const some = [list[at], list[at + 1], list[at + 2], list[at + 3], list[at + 4]];
    for (let i = 5; i < captures; i++) some[i] = list[at + i];
    return some;
  };

  const call = (by, list, at, captures, text) => {
    const match = list[at + 2], start = +list[at + 1];
    switch (captures) {
    case 1: return by(match, start, text);
    case 2: return by(match, list[at + 3], start, text);
    case 3: return by(match, list[at + 3], list[at + 4], start, text);
    }
    const args = captured(list, at + 2, captures);
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
      const list = find(this, text, formCalls);
      if (list === null) return nativeReplace(this, text, by);
      this.lastIndex = 0;
      fill(list);
      const parts = [], captures = +list[capturesAt], last = list.length - 1;
      let n = 0;
      for (let i = first; i < last; i += captures + 2) {
        parts[n++] = list[i];
        parts[n++] = `${call(by, list, i, captures, text)}`;
      }
      parts[n] = list[last];
      return join(parts, "");
    },
  }[Symbol.replace]);

  const nativeMatchAll = uncurry(prototype[Symbol.matchAll]);
  const iterators = getPrototypeOf(/./[Symbol.matchAll](""));
  const nativeNext = uncurry(iterators.next);
  // What an iterator has still to give is a private member of it, which is found sooner than in a WeakMap.
  class State extends function (iterator) { return iterator; } {
    #state;
    constructor(iterator, state) {
      super(iterator);
      this.#state = state;
    }
    static of(iterator) { return typeof iterator === "object" && iterator !== null && #state in iterator ? iterator.#state : undefined; }
  }
  hidden(Symbol.matchAll, {
    [Symbol.matchAll](string) {
      const iterator = nativeMatchAll(this, string);
      if (!isLong(string) || !untouched(this) || this.lastIndex !== 0) return iterator;
      const text = slice(string, 0);
      const list = find(this, text, formEach);
      if (list === null) return iterator;
      fill(list);
      new State(iterator, { list, text, captures: +list[capturesAt], at: first });
      return iterator;
    },
  }[Symbol.matchAll]);
  defineProperty(iterators, "next", {
    value: {
      next() {
        const state = State.of(this);
        if (state === undefined) return nativeNext(this);
        const { list, at } = state;
        if (at === list.length) return { value: undefined, done: true };
        state.at = at + 1 + state.captures;
        const match = captured(list, at + 1, state.captures);
        match.index = +list[at];
        match.input = state.text;
        match.groups = undefined;
        return { value: match, done: false };
      },
    }.next,
  });

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
      if (typeof string !== "string" || string.length < short || !untouched(this)) return nativeSplit(this, string, limit);
      const text = slice(string, 0);
      const most = limit === undefined ? 2 ** 32 - 1 : limit >>> 0;
      if (most === 0) return [];
      const list = text.length < long ? null : find(this, text, formSplit);
      if (list === null) return this.unicode || this.unicodeSets ? nativeSplit(this, text, most) : splitInTurn(this, text, most);
      fill(list);
      behead(list);
      if (list.length > most) list.length = most;
      return list;
    },
  }[Symbol.split]);
})
