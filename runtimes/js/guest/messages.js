// The engine's own error messages in the words of Node, which programs and their readers know, with the name of what could not
// be called. Those that cannot be told apart, or that need a value that is not known here, stay as they are.
(function (cloche) {
  "use strict";

  const { uncurry } = cloche;
  const { defineProperty } = Object;
  const exec = uncurry(RegExp.prototype.exec);
  const slice = uncurry(String.prototype.slice);
  const startsWith = uncurry(String.prototype.startsWith);
  const endsWith = uncurry(String.prototype.endsWith);
  const { line, site } = cloche;

  // Messages that say the same in other words: of what a program writes, and of what only functions of the engine throw.
  const anywhere = {
    __proto__: null,
    "cannot convert symbol to string": "Cannot convert a Symbol value to a string",
    "cannot convert symbol to number": "Cannot convert a Symbol value to a number",
    "bigint argument with unary +": "Cannot convert a BigInt value to a number",
    "this is not initialized": "Must call super constructor in derived class before accessing 'this' or returning from derived constructor",
    "invalid 'instanceof' right operand": "Right-hand side of 'instanceof' is not callable",
    "invalid 'in' operand": "Cannot use 'in' operator to search for a key in a value that is no object",
    "invalid brand on object": "Receiver must be an instance of the class that declares the private method",
    "toPrimitive": "Cannot convert object to primitive value",
    "invalid string length": "Invalid string length",
    "invalid array length": "Invalid array length",
    "BigInt division by zero": "Division by zero",
    "BigInt negative exponent": "Exponent must be non-negative",
    "revoked proxy": "Cannot perform an operation on a proxy that has been revoked",
    "iterator must return an object": "Result of the Symbol.iterator method is not an object",
    "circular prototype chain": "Cyclic __proto__ value",
    "cannot convert to bigint": "Cannot convert value to a BigInt",
    "break must be inside loop or switch": "Illegal break statement",
    "continue must be inside loop": "Illegal continue statement: no surrounding iteration statement",
    "missing initializer for variable": "Missing initializer in const declaration",
    "invalid assignment left-hand side": "Invalid left-hand side in assignment",
    "function name expected": "Function statements require a function name",
    "expecting catch or finally": "Missing catch or finally after try",
  };
  const ofFunctions = {
    __proto__: null,
    "not a function": (name) => name === "sort" ? "The comparison function must be either a function or undefined" : name === "Promise" ? "Promise resolver is not a function" : `argument of ${name} is not a function`,
    "not an object": (name) => name === "Map" || name === "WeakMap" || name === "fromEntries" ? "Iterator value is not an entry object" : `${name} called on non-object`,
    "object is not extensible": () => "Cannot add property, object is not extensible",
    "invalid BigInt literal": () => "Cannot convert value to a BigInt",
    "invalid array index": () => "Invalid typed array length",
    "out of bound": () => "Offset is outside the bounds of the DataView",
    "invalid value used as WeakMap key": () => "Invalid value used as weak map key",
    "circular reference": () => "Converting circular structure to JSON",
    "BigInt are forbidden in JSON.stringify": () => "Do not know how to serialize a BigInt",
    "empty array": () => "Reduce of empty array with no initial value",
    "invalid repeat count": () => "Invalid count value",
    "cannot convert to BigInt: not an integer": () => "The number cannot be converted to a BigInt because it is not an integer",
    "cannot convert BigInt to number": () => "Cannot convert a BigInt value to a number",
    "expecting hex digit": () => "URI malformed",
    "expecting %": () => "URI malformed",
    "expecting surrogate pair": () => "URI malformed",
    "invalid character": () => "URI malformed",
    "malformed UTF-8": () => "URI malformed",
    "bad normalization form": () => "The normalization form should be one of NFC, NFD, NFKC, NFKD.",
    "invalid value used as WeakSet key": () => "Invalid value used in weak set",
    "invalid target": (name) => `${name}: invalid target`,
    "must be called with new": (name) => name === "Promise" ? "Promise constructor cannot be invoked without 'new'" : `Constructor ${name} requires 'new'`,
    "invalid code point": () => "Invalid code point",
    "regexp must have the 'g' flag": (name) => `String.prototype.${name} called with a non-global RegExp argument`,
    "invalid number of digits": (name) => `${name}() ${name === "toPrecision" ? "" : "digits "}argument must be between ${name === "toPrecision" ? 1 : 0} and 100`,
  };
  for (const [said, meant] of Object.entries({
    "expecting ')'": "Unterminated group",
    "extraneous characters at the end": "Unmatched ')'",
    "unexpected end": "Unterminated character class, or \\ at end of pattern",
    "nothing to repeat": "Nothing to repeat",
    "invalid repetition count": "numbers out of order in {} quantifier, or one that is not complete",
    "duplicate group name": "Duplicate capture group name",
    "invalid group name": "Invalid capture group name",
    "group name not defined": "Invalid named capture referenced",
    "invalid class range": "Range out of order in character class",
    "unknown unicode property name": "Invalid property name",
    "invalid escape sequence in regular expression": "Invalid escape",
    "back reference out of range in regular expression": "Invalid escape",
    "invalid group": "Invalid group",
  })) ofFunctions[said] = () => `Invalid regular expression: ${meant}`;
  ofFunctions["invalid regular expression flags"] = () => "Invalid flags supplied to RegExp constructor";

  const ofExpressions = {
    __proto__: null,
    "not a function": notCalled,
    "value is not iterable": notIterable,
    "Cannot convert undefined or null to object": notTakenApart,
    "parent class must be constructor": (of) => `Class extends value ${only(parents, of)?.replace(/^/, "of ") ?? ""} is not a constructor or null`.replace("  ", " "),
    "expecting ';'": notEnded,
    "class constructors must be invoked with 'new'": (of) => `Class constructor ${site.name(of) ?? ""} cannot be invoked without 'new'`.replace("  ", " "),
    "object is not extensible": (of) => `Cannot add property${property(of)}, object is not extensible`,
    "no setter for property": (of) => `Cannot set property${property(of)} of an object which has only a getter`,
    "proxy: cannot set property": (of) => `'set' on proxy: trap returned falsish${property(of).replace(/^ (.*)/, " for property '$1'")}`,
    "could not delete property": (of) => `Cannot delete property${property(of)} of an object`,
    "cannot convert BigInt to number": () => "Cannot mix BigInt and other types, use explicit conversions",
    "invalid redefinition of lexical identifier": declared,
    "invalid redefinition of global identifier": declared,
    "invalid redefinition of parameter name": declared,
  };

  const inExpression = "unexpected token in expression: '";
  const unexported = /^Could not find export '([^]*)' in module '([^]*)'$/;
  const hiddenField = /^private class field '(#[^']+)' does not exist$/;
  const readOnly = /^'([^]*)' is read-only$/;
  const unborn = /^([^ ]+) is not initialized$/;

  // What a message becomes, or undefined. The first frame is that of the engine's function, or of the program's that did it.
  function better(message, of) {
    if (startsWith(message, "cannot read property '")) return ofNothing(slice(message, 22), "read", "reading");
    if (startsWith(message, "cannot set property '")) return ofNothing(slice(message, 21), "set", "setting");
    if (startsWith(message, "Could not find export '")) {
      const [, name, file] = exec(unexported, message);
      return `The requested module '${file}' does not provide an export named '${name}'`;
    }
    const known = anywhere[message];
    if (known !== undefined || of === undefined) return known;
    if (startsWith(message, "invalid array index: ")) return `Invalid index : ${slice(message, 21)}`;
    if (site.native(of)) return ofFunctions[message]?.(site.name(of));
    const said = ofExpressions[message];
    if (said !== undefined) return said(of);
    if (startsWith(message, inExpression)) return message.length === inExpression.length + 1 ? "Unexpected end of input" : `Unexpected token ${slice(message, inExpression.length - 1)}`;
    let m = exec(hiddenField, message);
    if (m !== null) return `Cannot access private member ${m[1]} of an object whose class did not declare it`;
    m = exec(readOnly, message);
    if (m !== null) return constant(m[1], of) ?? `Cannot assign to read only property '${m[1]}' of object`;
    m = exec(unborn, message);
    return m === null ? undefined : `Cannot access '${m[1]}' before initialization`;
  }

  // "x' of undefined", which is what is left of a message.
  function ofNothing(left, verb, doing) {
    const nothing = endsWith(left, "' of null") ? "null" : "undefined";
    const name = slice(left, 0, -(nothing.length + 5));
    if (name === "Symbol.iterator") return `${nothing} is not iterable (cannot read property Symbol(Symbol.iterator))`;
    return `Cannot ${verb} properties of ${nothing} (${doing} '${name}')`;
  }

  // The place of such an error is the last name of what was called ("list" in o.list(1)), but after new the first one.
  const beginning = /(?:new\s+)?(?:[\w$]+\??\.)*$/;
  const rest = /^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*|\[(?:[\w$.]*|'[^'\\]*'|"[^"\\]*")\])*/;
  const thrown = /(Error|Exception|^super)\b/; // such words in an error of the program's own
  const value = /[)\]}'"`]\??\.$/;

  function named(of, say) {
    const text = line(`${site.file(of)}`, site.line(of));
    if (text === null) return undefined;
    const at = site.column(of) - 1;
    const name = exec(rest, slice(text, at))?.[0];
    if (name === undefined || exec(thrown, name) !== null) return undefined;
    const before = exec(beginning, slice(text, 0, at))[0];
    const made = exec(/^new\s+/, before)?.[0] ?? "";
    const chain = slice(before, made.length);
    const nameless = chain === "" && exec(value, slice(text, 0, at)) !== null;
    return say((nameless ? "(intermediate value)." : chain) + name, made !== "");
  }

  // A call with calls, closures or objects of classes among its arguments has the place of the last of them. So what that is in the
  // arguments of may be meant as well: all are told of, but those that are known to be functions.
  function notCalled(of) {
    let first = null;
    const list = [];
    const add = (name, made, known) => {
      const said = `${name} is not a ${made ? "constructor" : "function"}`;
      first ??= said;
      if (known !== true) list[list.length] = { said, known };
    };
    const file = `${site.file(of)}`, number = site.line(of);
    let text = line(file, number), begin = site.column(of) - 1;
    named(of, (name, made) => {
      const after = text[begin + exec(rest, slice(text, begin))[0].length];
      if (made || name !== "async" && (after === "(" || after === "`" || after === "?" || after === undefined)) add(name, made, isFunction(name));
      else first = `${name} is not a function`;
    });
    if (first === null) return undefined;
    const lines = 5; // of a call, before the place
    for (let n = 1, before; n <= lines && number > n && (before = line(file, number - n)) !== null; n++) {
      text = `${before}\n${text}`;
      begin += before.length + 1;
    }
    for (let at = begin; (at = opening(text, at)) >= 0;) {
      const m = exec(callee, slice(text, 0, at));
      if (m === null || exec(keyword, m[2]) !== null) continue;
      const ofValue = m[1] === undefined && exec(/(?:^|[^.])\.$/, slice(text, 0, m.index)) !== null;
      add(ofValue ? `(intermediate value).${m[2]}` : m[2], m[1] !== undefined, ofValue ? undefined : isFunction(m[2]));
    }
    if (list.length === 0) return undefined;
    for (let i = 0; i < list.length; i++) if (list[i].known === false) return list[i].said;
    return list.length === 1 ? list[0].said : `${list[0].said}, or ${list[1].said}`;
  }

  const callee = /(new\s+)?([A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*|(?:\?\.)?\[(?:[\w$.]*|'[^'\\]*'|"[^"\\]*")\])*)(?:\?\.)?$/;
  const keyword = /^(?:if|while|for|switch|catch|with|return|typeof|await|void|in|of|case|yield|delete|function|throw|else|do|new|async|super|import)$/;

  // Where the parenthesis is that a place of a text lies in; -1: none, or a function or statement begins between them.
  function opening(text, at) {
    for (let depth = 0, i = at - 1; i >= 0; i--) {
      const c = text[i];
      if (c === ")" || c === "]" || c === "}") depth++;
      else if (c === "(" || c === "[" || c === "{") {
        if (depth > 0) depth--;
        else if (c === "(") return i;
        else if (c === "{" && exec(/[(,=:[?&|]\s*$/, slice(text, 0, i)) === null) return -1;
      } else if (depth === 0 && (c === ";" || c === ">" && text[i - 1] === "=")) return -1;
    }
    return -1;
  }

  // Whether a name or chain of names that begins in the global scope is a function; undefined when nobody can tell.
  const evaluate = globalThis.eval;
  const { getOwnPropertyDescriptor, getPrototypeOf } = Object;
  const split = uncurry(String.prototype.split);
  function isFunction(chain) {
    const names = split(chain, ".");
    const global = getOwnPropertyDescriptor(globalThis, names[0]);
    if (global !== undefined && !("value" in global)) return undefined; // no getter may run
    let of;
    try {
      of = exec(/^(?:[A-Za-z_$][\w$]*)$/, names[0]) === null || exec(keyword, names[0]) !== null || names[0] === "this" ? undefined : evaluate(names[0]);
    } catch {
      return undefined; // it may be a variable of a function
    }
    if (of === undefined && names.length > 1) return undefined;
    for (let i = 1; i < names.length; i++) {
      let found;
      if (of === undefined || of === null) return undefined;
      for (let at = Object(of), n = 0; at !== null && found === undefined; at = getPrototypeOf(at), n++) {
        if (n > 10 || cloche.peek(2, at) !== undefined) return undefined; // no trap of a proxy may run
        found = getOwnPropertyDescriptor(at, names[i]);
      }
      if (found !== undefined && !("value" in found)) return undefined;
      of = found?.value;
    }
    return typeof of === "function" || (names.length === 1 && of === undefined ? undefined : false);
  }

  // The last name at the place, after a space; nothing when there is none.
  function property(of) {
    const name = named(of, (chain) => exec(/\.([\w$]+)$/, chain)?.[1]);
    return name === undefined ? "" : ` ${name}`;
  }

  // What is taken item by item, or apart, has no place of its own: it is named when there is only one on the line, or the place is in it.
  const items = /(?:\bof\s+|\.\.\.|\]\s*=\s*|\byield\s*\*\s*)([A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*)(?![\w$.]|\s*\()/;
  const parents = /\bextends\s+([A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*)(?![\w$.]|\s*\()/;
  const fields = /\{\s*([A-Za-z_$][\w$]*)\s*[,:=}]/;
  function only(pattern, of) {
    const text = line(`${site.file(of)}`, site.line(of));
    if (text === null) return undefined;
    const place = site.column(of) - 1;
    let name;
    let count = 0;
    for (let from = 0, m; (m = exec(pattern, slice(text, from))) !== null; count++) {
      const begin = from;
      from += m.index + m[0].length;
      name = m[1];
      if (place >= begin + m.index && place < from) return name;
    }
    return count === 1 ? name : undefined;
  }
  function notIterable(of) { return `${only(items, of) ?? "value"} is not iterable`; }
  function notTakenApart(of) {
    const name = only(fields, of);
    return `Cannot destructure ${name === undefined ? "" : `property '${name}' of `}a value that is undefined or null`;
  }

  // The place is the name when it is a variable's; before that of a property there is a dot or the object.
  function constant(name, of) {
    const text = line(`${site.file(of)}`, site.line(of));
    if (text === null) return undefined;
    const at = site.column(of) - 1;
    return exec(rest, slice(text, at))?.[0] === name && text[at - 1] !== "." ? "Assignment to constant variable." : undefined;
  }

  // The place is that of what follows where a statement could end.
  const token = /^(?:(\d)|(['"`])|([\p{L}_$][\p{L}\p{N}_$]*)|=>|[=!]==?|&&|\|\||\?\?|\*\*|\+\+|--|[<>]=|\S)/u;
  function notEnded(of) {
    const text = line(`${site.file(of)}`, site.line(of));
    const at = site.column(of) - 1;
    const m = text === null ? null : exec(token, slice(text, at));
    if (m === null) return undefined;
    if (exec(/(?:^|[^\w$.])await\s+$/, slice(text, 0, at)) !== null) return "await is only valid in async functions and the top level bodies of modules";
    if (m[1] !== undefined) return "Unexpected number";
    if (m[2] !== undefined) return m[2] === "`" ? "Unexpected template string" : "Unexpected string";
    return m[3] !== undefined && exec(reserved, m[3]) === null ? `Unexpected identifier '${m[3]}'` : `Unexpected token '${m[0]}'`;
  }
  const reserved = /^(?:break|case|catch|class|const|continue|debugger|default|delete|do|else|export|extends|finally|for|function|if|import|in|instanceof|new|null|return|super|switch|this|throw|true|false|try|typeof|var|void|while|with|enum)$/;

  // The place is after the name, when it follows there.
  function declared(of) {
    const text = line(`${site.file(of)}`, site.line(of));
    const name = text === null ? undefined : exec(/([A-Za-z_$][\w$]*)\s*$/, slice(text, 0, site.column(of) - 1))?.[1];
    return name === undefined || exec(keyword, name) !== null ? undefined : `Identifier '${name}' has already been declared`;
  }

  // Gives a new error of the engine's its message, whose words are told from a program's by being exactly the engine's.
  let place; // where the parser of JSON was when it made the last error: line and column
  cloche.reword = (error, sites) => {
    if (sites.length > 0 && site.file(sites[0]) === "<input>") place = { line: site.line(sites[0]), column: site.column(sites[0]) };
    const { message } = error;
    if (typeof message !== "string" || message.length > 300) return;
    const said = better(message, sites[0]);
    if (said !== undefined) error.message = said;
  };

  // ---- JSON.parse: what was wrong where, as Node says it

  const nativeParse = JSON.parse;
  const indexOf = uncurry(String.prototype.indexOf);
  const { fromCodePoint } = String;
  const codePointAt = uncurry(String.prototype.codePointAt);
  const unexpected = /^(?:unexpected token: '([^]*)'|Unexpected token '\\[ux]([0-9a-f]+)' in JSON)$/;
  const noName = "Expected property name or '}'";
  const ascii = /^[\0-\x7f]*$/;
  const literals = ["true", "false", "null"];
  const special = ["undefined", "NaN", "Infinity", "[object Object]"];

  // The index in text of the place that the parser gave, which counts columns in bytes of UTF-8.
  function offset(text) {
    let at = 0;
    for (let n = place.line; n > 1; n--) at = indexOf(text, "\n", at) + 1;
    let bytes = place.column - 1;
    if (exec(ascii, slice(text, at, at + bytes)) !== null) return at + bytes;
    while (bytes > 0 && at < text.length) {
      const code = codePointAt(text, at);
      bytes -= code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
      at += code > 0xffff ? 2 : 1;
    }
    return at;
  }

  function around(text, at) {
    if (text.length < 21) return `"${text}"`;
    const from = Math.max(0, at - 10);
    const to = Math.min(text.length, at + 10);
    return `${from > 0 ? "..." : ""}"${slice(text, from, to)}"${to < text.length ? "..." : ""}`;
  }

  function explained(message, text) {
    if (message === "unexpected data at the end") return `Unexpected non-whitespace character after JSON at position ${offset(text)}`;
    if (startsWith(message, noName) && exec(/,\s*$/, slice(text, 0, offset(text))) !== null) return `Expected double-quoted property name${slice(message, noName.length)}`;
    if (exec(unexpected, message) === null) return message;
    for (const known of special) if (text === known) return `"${text}" is not valid JSON`;
    let at = offset(text);
    for (const literal of literals) { // of which the parser read the letters that are right
      let n = 0;
      while (n < literal.length && text[at + n] === literal[n]) n++;
      at += n;
      if (n > 0) break;
    }
    const code = codePointAt(text, at);
    if (code === undefined) return "Unexpected end of JSON input";
    const letter = fromCodePoint(code);
    if (letter === '"') return `Unexpected string in JSON at position ${at}`;
    if (exec(/[0-9-]/, letter) !== null) return `Unexpected number in JSON at position ${at}`;
    return `Unexpected token '${letter}', ${around(text, at)} is not valid JSON`;
  }

  JSON.parse = {
    parse(text, reviver) {
      text = `${text}`;
      place = undefined;
      try {
        return nativeParse(text, reviver);
      } catch (error) {
        if (place !== undefined && cloche.is.error(error)) {
          const message = explained(error.message, text);
          if (message !== error.message) defineProperty(error, "message", { value: message, writable: true, configurable: true, enumerable: false });
        }
        throw error;
      }
    },
  }.parse;
})
