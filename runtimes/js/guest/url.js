// URL and URLSearchParams after the WHATWG URL Standard.
(function (cloche) {
  "use strict";

  const custom = Symbol.for("nodejs.util.inspect.custom");
  const { special, hex, escape, unescape, parseHost } = cloche.urlText;

  const set = (chars, base = "") => new Set(base + chars);
  const fragmentSet = set(" \"<>`");
  const querySet = set(" \"#<>");
  const specialQuerySet = set("'", " \"#<>");
  const pathSet = set("?`{}", " \"#<>");
  const userSet = set("/:;=@[\\]^|", "?`{} \"#<>");

  // ---- the parser

  const single = (s) => s === "." || s.toLowerCase() === "%2e";
  const double = (s) => /^(\.|%2e)(\.|%2e)$/i.test(s);
  const driveLetter = /^[A-Za-z][:|]$/;

  const blank = () => ({ scheme: "", username: "", password: "", host: null, port: "", path: [], opaque: false, query: null, fragment: null });

  function shorten(url) {
    if (url.scheme === "file:" && url.path.length === 1 && /^[A-Za-z]:$/.test(url.path[0])) return;
    url.path.pop();
  }

  function parsePath(url, text) {
    const isSpecial = url.scheme in special;
    const parts = text.split(isSpecial ? /[/\\]/ : "/");
    parts.forEach((part, i) => {
      const last = i === parts.length - 1;
      if (double(part)) {
        shorten(url);
        if (last) url.path.push("");
      } else if (single(part)) {
        if (last) url.path.push("");
      } else {
        if (url.scheme === "file:" && url.path.length === 0 && driveLetter.test(part)) part = part[0] + ":";
        url.path.push(escape(part, pathSet));
      }
    });
  }

  function parseAuthority(url, text) {
    const isSpecial = url.scheme in special;
    const at = text.lastIndexOf("@");
    if (at >= 0) {
      const user = text.slice(0, at);
      const colon = user.indexOf(":");
      url.username = escape(colon < 0 ? user : user.slice(0, colon), userSet);
      url.password = colon < 0 ? "" : escape(user.slice(colon + 1), userSet);
      text = text.slice(at + 1);
      if (text === "") return false;
    }
    const m = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s.exec(text);
    if (m === null) return false;
    if (m[1] === "" && (isSpecial || m[2] !== undefined || at >= 0)) return false;
    url.host = m[1] === "" ? "" : parseHost(m[1], isSpecial);
    if (url.host === null) return false;
    return m[2] === undefined || setPort(url, m[2]);
  }

  function setPort(url, text) {
    if (!/^[0-9]*$/.test(text) || +text > 65535) return false;
    url.port = text === "" || special[url.scheme] === `${+text}` ? "" : `${+text}`;
    return true;
  }

  // Parses text against a parsed base; null when it is no URL.
  function parse(text, base) {
    text = text.replace(/^[\x00-\x20]+|[\x00-\x20]+$/g, "").replace(/[\t\n\r]/g, "");
    const url = blank();
    const hash = text.indexOf("#");
    if (hash >= 0) {
      url.fragment = escape(text.slice(hash + 1), fragmentSet);
      text = text.slice(0, hash);
    }
    const m = /^([A-Za-z][A-Za-z0-9+\-.]*):/.exec(text);
    let rest = text;
    if (m !== null) {
      url.scheme = m[0].toLowerCase();
      rest = text.slice(m[0].length);
    } else if (base === undefined) {
      return null;
    }
    const mark = rest.indexOf("?");
    const takeQuery = () => {
      if (mark < 0) return;
      url.query = escape(rest.slice(mark + 1), url.scheme in special ? specialQuerySet : querySet);
      rest = rest.slice(0, mark);
    };

    const inherit = (query) => {
      url.username = base.username;
      url.password = base.password;
      url.host = base.host;
      url.port = base.port;
      url.path = [...base.path];
      if (query && url.query === null) url.query = base.query;
    };

    if (m === null) { // relative
      if (base.opaque) {
        if (rest !== "") return null;
        return { ...base, path: base.path, fragment: url.fragment };
      }
      url.scheme = base.scheme;
      takeQuery();
      const isSpecial = url.scheme in special;
      const slash = isSpecial ? /^[/\\]/ : /^\//;
      if (url.scheme === "file:") return parseFile(url, rest, base, inherit);
      if ((isSpecial ? /^[/\\]{2}/ : /^\/\//).test(rest)) return parseNet(url, rest.slice(2));
      if (slash.test(rest)) {
        inherit(false);
        url.path = [];
        parsePath(url, rest.slice(1));
        return url;
      }
      inherit(rest === "");
      if (rest !== "") {
        shorten(url);
        parsePath(url, rest);
      }
      return url;
    }
    takeQuery();
    if (url.scheme === "file:") return parseFile(url, rest, base?.scheme === "file:" ? base : undefined, inherit);
    if (url.scheme in special) {
      if (base !== undefined && base.scheme === url.scheme && !/^[/\\]/.test(rest)) {
        inherit(rest === "");
        if (rest !== "") {
          shorten(url);
          parsePath(url, rest);
        }
        return url;
      }
      return parseNet(url, rest.replace(/^[/\\]+/, ""));
    }
    if (rest.startsWith("//")) return parseNet(url, rest.slice(2));
    if (rest.startsWith("/")) {
      parsePath(url, rest.slice(1));
      return url;
    }
    url.opaque = true;
    url.path = escape(rest, new Set());
    return url;
  }

  function parseNet(url, rest) {
    const isSpecial = url.scheme in special;
    const end = rest.search(isSpecial ? /[/\\]/ : /\//);
    const authority = end < 0 ? rest : rest.slice(0, end);
    if (!parseAuthority(url, authority)) return null;
    if (end >= 0) parsePath(url, rest.slice(end + 1));
    else if (isSpecial) url.path = [""];
    return url;
  }

  function parseFile(url, rest, base, inherit) {
    url.host = "";
    if (/^[/\\]{2}/.test(rest)) {
      rest = rest.slice(2);
      const end = rest.search(/[/\\]/);
      let host = end < 0 ? rest : rest.slice(0, end);
      if (driveLetter.test(host)) {
        parsePath(url, rest);
        return url;
      }
      if (host !== "") {
        host = parseHost(host, true);
        if (host === null) return null;
        url.host = host === "localhost" ? "" : host;
      }
      parsePath(url, end < 0 ? "" : rest.slice(end + 1));
      return url;
    }
    if (/^[/\\]/.test(rest)) {
      if (base !== undefined) url.host = base.host;
      parsePath(url, rest.slice(1));
      return url;
    }
    if (base !== undefined) {
      inherit(rest === "");
      if (rest !== "") {
        shorten(url);
        parsePath(url, rest);
      }
      return url;
    }
    parsePath(url, rest);
    return url;
  }

  const pathText = (url) => url.opaque ? url.path : url.path.map((p) => `/${p}`).join("");

  function serialize(url, withFragment = true) {
    let out = url.scheme;
    if (url.host !== null) {
      out += "//";
      if (url.username !== "" || url.password !== "") {
        out += url.username + (url.password !== "" ? `:${url.password}` : "") + "@";
      }
      out += url.host + (url.port !== "" ? `:${url.port}` : "");
    } else if (!url.opaque && url.path.length > 1 && url.path[0] === "") {
      out += "/.";
    }
    out += pathText(url);
    if (url.query !== null) out += `?${url.query}`;
    if (withFragment && url.fragment !== null) out += `#${url.fragment}`;
    return out;
  }

  // ---- URLSearchParams

  const plainChars = /^[A-Za-z0-9*\-._]$/;
  function formEscape(text) {
    let out = "";
    for (const c of text.toWellFormed()) {
      if (plainChars.test(c)) out += c;
      else if (c === " ") out += "+";
      else for (const b of new Uint8Array(cloche.encode("utf8", c))) out += hex(b);
    }
    return out;
  }
  const formParse = (text) => text.split("&").filter((s) => s !== "").map((pair) => {
    const i = pair.indexOf("=");
    const decode = (s) => unescape(s.replaceAll("+", " "));
    return i < 0 ? [decode(pair), ""] : [decode(pair.slice(0, i)), decode(pair.slice(i + 1))];
  });

  // What goes through the list of parameters, as it is by then.
  class Items {
    #list;
    #pick;
    #at = 0;
    constructor(list, pick) {
      this.#list = list;
      this.#pick = pick;
    }
    next() {
      const list = this.#list();
      return this.#at < list.length ? { value: this.#pick(list[this.#at++]), done: false } : { value: undefined, done: true };
    }
    [custom](depth, options, inspect) {
      if (depth < 0) return options.stylize("[Object]", "special");
      return `URLSearchParams Iterator { ${this.#list().slice(this.#at).map((item) => inspect(this.#pick(item), options)).join(", ")} }`;
    }
  }
  Object.setPrototypeOf(Items.prototype, Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())));
  Object.defineProperty(Items.prototype, Symbol.toStringTag, { value: "URLSearchParams Iterator", configurable: true });

  let attach; // links the parameters of a URL to it
  class URLSearchParams {
    #list = [];
    #changed = undefined;
    constructor(init = undefined) {
      if (init === undefined || init === null) return;
      if (typeof init === "object" || typeof init === "function") {
        const iterator = init[Symbol.iterator];
        if (iterator === undefined || iterator === null) {
          for (const key of Reflect.ownKeys(init)) {
            if (typeof key === "string" && Object.prototype.propertyIsEnumerable.call(init, key)) this.#list.push([key, `${init[key]}`]);
          }
          return;
        }
        if (typeof iterator !== "function") throw cloche.nodeError(TypeError, "ERR_ARG_NOT_ITERABLE", "Query pairs must be iterable");
        for (const pair of init) {
          const list = typeof pair === "object" && pair !== null && typeof pair[Symbol.iterator] === "function" ? [...pair] : [];
          if (list.length !== 2) throw cloche.nodeError(TypeError, "ERR_INVALID_TUPLE", "Each query pair must be an iterable [name, value] tuple");
          this.#list.push(list.map((s) => `${s}`));
        }
        return;
      }
      const text = `${init}`;
      this.#list = formParse(text.startsWith("?") ? text.slice(1) : text);
    }
    static {
      attach = (params, list, changed) => {
        params.#list = list;
        params.#changed = changed;
      };
    }
    get size() { return this.#list.length; }
    append(name, value) {
      this.#list.push([`${name}`, `${value}`]);
      this.#changed?.(this);
    }
    delete(name, value) {
      this.#list = this.#list.filter(([n, v]) => n !== `${name}` || value !== undefined && v !== `${value}`);
      this.#changed?.(this);
    }
    get(name) { return this.#list.find(([n]) => n === `${name}`)?.[1] ?? null; }
    getAll(name) { return this.#list.filter(([n]) => n === `${name}`).map(([, v]) => v); }
    has(name, value) { return this.#list.some(([n, v]) => n === `${name}` && (value === undefined || v === `${value}`)); }
    set(name, value) {
      const i = this.#list.findIndex(([n]) => n === `${name}`);
      if (i < 0) this.#list.push([`${name}`, `${value}`]);
      else {
        this.#list[i][1] = `${value}`;
        this.#list = this.#list.filter(([n], j) => j <= i || n !== `${name}`);
      }
      this.#changed?.(this);
    }
    sort() {
      this.#list.sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0);
      this.#changed?.(this);
    }
    forEach(fn, self) { for (const [n, v] of this.#list) fn.call(self, v, n, this); }
    entries() { return new Items(() => this.#list, (item) => [...item]); }
    keys() { return new Items(() => this.#list, (item) => item[0]); }
    values() { return new Items(() => this.#list, (item) => item[1]); }
    [Symbol.iterator]() { return this.entries(); }
    toString() { return this.#list.map(([n, v]) => `${formEscape(n)}=${formEscape(v)}`).join("&"); }
    get [Symbol.toStringTag]() { return "URLSearchParams"; }
    [custom](depth, options, inspect) {
      if (depth < 0) return options.stylize("[Object]", "special");
      if (this.#list.length === 0) return "URLSearchParams {}";
      return `URLSearchParams { ${this.#list.map(([n, v]) => `${inspect(n, options)} => ${inspect(v, options)}`).join(", ")} }`;
    }
  }
  cloche.enumerable(URLSearchParams.prototype, ["append", "delete", "get", "getAll", "has", "set", "sort", "forEach", "entries", "keys", "values", "toString", "size"]);

  // ---- URL

  function invalid(input, base) {
    return cloche.nodeError(TypeError, "ERR_INVALID_URL", "Invalid URL", base === undefined ? { input } : { input, base });
  }

  const blobs = new Map(); // what URL.createObjectURL named
  cloche.blobOf = (url) => blobs.get(url);

  class URL {
    #url;
    #params;
    constructor(input, base = undefined) {
      if (arguments.length === 0) throw cloche.nodeError(TypeError, "ERR_MISSING_ARGS", 'The "url" argument must be specified');
      input = `${input}`;
      let parsedBase;
      if (base !== undefined) {
        base = `${base}`;
        parsedBase = parse(base);
        if (parsedBase === null) throw invalid(input, base);
      }
      this.#url = parse(input, parsedBase);
      if (this.#url === null) throw invalid(input, base);
    }
    static canParse(input, base) { return URL.parse(input, base) !== null; }
    static parse(input, base) {
      try {
        return new URL(input, base);
      } catch {
        return null;
      }
    }
    static createObjectURL(blob) {
      if (!(blob instanceof Blob)) throw cloche.wrongType("obj", "an instance of Blob", blob);
      const url = `blob:nodedata:${cloche.cryptoModule.randomUUID()}`;
      blobs.set(url, blob);
      return url;
    }
    static revokeObjectURL(url) { blobs.delete(`${url}`); }
    get href() { return serialize(this.#url); }
    set href(text) {
      const url = parse(`${text}`);
      if (url === null) throw invalid(`${text}`);
      this.#url = url;
      this.#refresh();
    }
    get origin() {
      if (this.#url.scheme === "blob:") {
        const inner = parse(this.pathname);
        if (inner !== null && (inner.scheme === "http:" || inner.scheme === "https:")) return new URL(this.pathname).origin;
      }
      return this.#url.scheme in special && this.#url.scheme !== "file:" ? `${this.protocol}//${this.host}` : "null";
    }
    get protocol() { return this.#url.scheme; }
    set protocol(text) {
      const m = /^([A-Za-z][A-Za-z0-9+\-.]*):?/.exec(`${text}`);
      if (m === null) return;
      const scheme = m[1].toLowerCase() + ":";
      if (scheme in special !== this.#url.scheme in special || scheme === "file:" && this.#url.port !== "") return;
      this.#url.scheme = scheme;
      if (this.#url.port === special[scheme]) this.#url.port = "";
    }
    get username() { return this.#url.username; }
    set username(text) { if (this.#url.host) this.#url.username = escape(`${text}`, userSet); }
    get password() { return this.#url.password; }
    set password(text) { if (this.#url.host) this.#url.password = escape(`${text}`, userSet); }
    get host() { return this.#url.host === null ? "" : this.#url.host + (this.#url.port === "" ? "" : `:${this.#url.port}`); }
    set host(text) {
      if (this.#url.opaque) return;
      const m = /^(\[[^\]]*\]|[^:/?#\\]*)(?::([0-9]*))?/.exec(`${text}`);
      const host = parseHost(m[1], this.#url.scheme in special);
      if (host === null) return;
      this.#url.host = host;
      if (m[2]) setPort(this.#url, m[2]);
    }
    get hostname() { return this.#url.host ?? ""; }
    set hostname(text) {
      if (this.#url.opaque || /^[^[]*:/.test(`${text}`)) return;
      const host = parseHost(/^(\[[^\]]*\]|[^:/?#\\]*)/.exec(`${text}`)[0], this.#url.scheme in special);
      if (host !== null) this.#url.host = host;
    }
    get port() { return this.#url.port; }
    set port(text) {
      const digits = /^[0-9]*/.exec(`${text}`)[0];
      if (this.#url.host && (digits !== "" || `${text}` === "")) setPort(this.#url, digits);
    }
    get pathname() { return pathText(this.#url); }
    set pathname(text) {
      if (this.#url.opaque) return;
      this.#url.path = [];
      parsePath(this.#url, `${text}`.replace(/^[/\\]/, "").replace(/[?#]/g, (c) => hex(c.charCodeAt(0))));
    }
    get search() { return this.#url.query ? `?${this.#url.query}` : ""; }
    set search(text) {
      text = `${text}`.replace(/^\?/, "");
      this.#url.query = text === "" ? null : escape(text, this.#url.scheme in special ? specialQuerySet : querySet);
      this.#refresh();
    }
    get searchParams() {
      if (this.#params === undefined) {
        this.#params = new URLSearchParams();
        this.#refresh();
      }
      return this.#params;
    }
    #refresh() {
      if (this.#params === undefined) return;
      attach(this.#params, formParse(this.#url.query ?? ""), (params) => {
        const text = params.toString();
        this.#url.query = text === "" ? null : text;
      });
    }
    get hash() { return this.#url.fragment ? `#${this.#url.fragment}` : ""; }
    set hash(text) {
      text = `${text}`.replace(/^#/, "");
      this.#url.fragment = text === "" ? null : escape(text, fragmentSet);
    }
    toString() { return this.href; }
    toJSON() { return this.href; }
    get [Symbol.toStringTag]() { return "URL"; }
    [custom](depth, options, inspect) {
      if (depth < 0) return this;
      const { href, origin, protocol, username, password, host, hostname, port, pathname, search, searchParams, hash } = this;
      return `URL ${inspect({ href, origin, protocol, username, password, host, hostname, port, pathname, search, searchParams, hash }, options)}`;
    }
  }
  cloche.enumerable(URL.prototype, ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname",
    "search", "searchParams", "hash", "toString", "toJSON"]);

  cloche.globals({ URL, URLSearchParams });
})
