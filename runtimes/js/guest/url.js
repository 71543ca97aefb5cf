// URL and URLSearchParams after the WHATWG URL Standard, and node:url and node:querystring.
(function (cloche) {
  "use strict";

  const custom = Symbol.for("nodejs.util.inspect.custom");
  const special = { "http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "ftp:": "21", "file:": "" };

  // ---- percent-encoding

  const set = (chars, base = "") => new Set(base + chars);
  const fragmentSet = set(" \"<>`");
  const querySet = set(" \"#<>");
  const specialQuerySet = set("'", " \"#<>");
  const pathSet = set("?`{}", " \"#<>");
  const userSet = set("/:;=@[\\]^|", "?`{} \"#<>");

  function hex(byte) { return `%${byte.toString(16).toUpperCase().padStart(2, "0")}`; }

  function escape(text, chars) {
    if (/^[A-Za-z0-9\-._~!$&()*+,;=:@/%]*$/.test(text) && !hasAny(text, chars)) return text;
    let out = "";
    for (const c of text) {
      const p = c.codePointAt(0);
      if (p > 0x1f && p < 0x7f && !chars.has(c)) out += c;
      else for (const b of new Uint8Array(cloche.encode("utf8", c))) out += hex(b);
    }
    return out;
  }
  const hasAny = (text, chars) => {
    for (const c of text) if (chars.has(c)) return true;
    return false;
  };

  function unescapeBytes(text) {
    const bytes = new Uint8Array(cloche.encode("utf8", text));
    const out = new Uint8Array(bytes.length);
    let n = 0;
    for (let i = 0; i < bytes.length; i++) {
      if (bytes[i] === 37 && i + 2 < bytes.length) {
        const v = parseInt(String.fromCharCode(bytes[i + 1], bytes[i + 2]), 16);
        if (/^[0-9a-fA-F]{2}$/.test(String.fromCharCode(bytes[i + 1], bytes[i + 2]))) {
          out[n++] = v;
          i += 2;
          continue;
        }
      }
      out[n++] = bytes[i];
    }
    return cloche.decode("utf8", out.buffer, 0, n);
  }
  const unescape = (text) => text.includes("%") ? unescapeBytes(text) : text;

  // ---- hosts

  // RFC 3492: the digits that say where which characters were inserted.
  function punycode(label) {
    const points = [...label].map((c) => c.codePointAt(0));
    const basic = points.filter((p) => p < 128);
    let out = String.fromCharCode(...basic);
    let done = basic.length;
    if (done > 0) out += "-";
    let n = 128;
    let delta = 0;
    let bias = 72;
    const digit = (d) => String.fromCharCode(d < 26 ? d + 97 : d + 22);
    const adapt = (d, count, first) => {
      d = first ? Math.floor(d / 700) : d >> 1;
      d += Math.floor(d / count);
      let k = 0;
      for (; d > 455; k += 36) d = Math.floor(d / 35);
      return k + Math.floor(36 * d / (d + 38));
    };
    for (const start = done; done < points.length;) {
      const next = Math.min(...points.filter((p) => p >= n));
      delta += (next - n) * (done + 1);
      n = next;
      for (const p of points) {
        if (p < n) delta++;
        if (p !== n) continue;
        let q = delta;
        for (let k = 36; ; k += 36) {
          const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
          if (q < t) break;
          out += digit(t + (q - t) % (36 - t));
          q = Math.floor((q - t) / (36 - t));
        }
        out += digit(q);
        bias = adapt(delta, done + 1, done === start);
        delta = 0;
        done++;
      }
      delta++;
      n++;
    }
    return out;
  }

  function fromPunycode(label) {
    const at = label.lastIndexOf("-");
    const out = at > 0 ? [...label.slice(0, at)].map((c) => c.charCodeAt(0)) : [];
    let n = 128;
    let i = 0;
    let bias = 72;
    for (let p = at > 0 ? at + 1 : 0; p < label.length;) {
      const old = i;
      let w = 1;
      for (let k = 36; ; k += 36) {
        const c = label.charCodeAt(p++);
        const d = c >= 97 && c <= 122 ? c - 97 : c >= 48 && c <= 57 ? c - 22 : NaN;
        if (Number.isNaN(d)) return undefined;
        i += d * w;
        const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
        if (d < t) break;
        w *= 36 - t;
      }
      const count = out.length + 1;
      let d = old === 0 ? Math.floor(i / 700) : (i - old) >> 1;
      d += Math.floor(d / count);
      let k = 0;
      for (; d > 455; k += 36) d = Math.floor(d / 35);
      bias = k + Math.floor(36 * d / (d + 38));
      n += Math.floor(i / count);
      i %= count;
      if (n > 0x10ffff) return undefined;
      out.splice(i++, 0, n);
    }
    return String.fromCodePoint(...out);
  }

  function domainToASCII(domain) {
    const mapped = domain.normalize("NFKC").toLowerCase().normalize("NFC").replace(/[\u3002\uff0e\uff61]/g, ".").replace(/[\u00ad\u200b-\u200d\ufeff]/g, "");
    return mapped.split(".").map((label) => /^[\x00-\x7f]*$/.test(label) ? label : `xn--${punycode(label)}`).join(".");
  }
  const domainToUnicode = (domain) => domain.split(".").map((label) =>
    label.startsWith("xn--") ? fromPunycode(label.slice(4)) ?? label : label).join(".");

  const forbiddenHost = /[\x00\t\n\r #/:<>?@[\\\]^|]/;
  const forbiddenDomain = /[\x00-\x20"#%/:<>?@[\\\]^`{|}\x7f]/;

  function ipv4Number(part) {
    if (part === "") return NaN;
    if (/^0[xX][0-9a-fA-F]*$/.test(part)) return part.length === 2 ? 0 : parseInt(part.slice(2), 16);
    if (/^0[0-7]*$/.test(part)) return part === "0" ? 0 : parseInt(part, 8);
    return /^[0-9]+$/.test(part) ? parseInt(part, 10) : NaN;
  }

  // The address of a host that ends in a number; undefined when it does not, null when it is wrong.
  function ipv4(host) {
    const parts = host.split(".");
    if (parts.length > 1 && parts.at(-1) === "") parts.pop();
    const last = parts.at(-1);
    if (!/^[0-9]+$/.test(last) && !/^0[xX][0-9a-fA-F]*$/.test(last)) return undefined;
    if (parts.length > 4) return null;
    const numbers = parts.map(ipv4Number);
    if (numbers.some(Number.isNaN) || numbers.slice(0, -1).some((n) => n > 255)) return null;
    if (numbers.at(-1) >= 256 ** (5 - numbers.length)) return null;
    let address = numbers.at(-1);
    numbers.slice(0, -1).forEach((n, i) => { address += n * 256 ** (3 - i); });
    return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".");
  }

  function ipv6(text) {
    const halves = text.split("::");
    if (halves.length > 2) return null;
    const groups = (half) => {
      if (half === "") return [];
      const parts = half.split(":");
      const out = [];
      for (const [i, part] of parts.entries()) {
        if (part.includes(".") && i === parts.length - 1) {
          const b = part.split(".");
          if (b.length !== 4 || b.some((n) => !/^(0|[1-9][0-9]{0,2})$/.test(n) || +n > 255)) return null;
          out.push(b[0] * 256 + +b[1], b[2] * 256 + +b[3]);
        } else if (/^[0-9a-fA-F]{1,4}$/.test(part)) {
          out.push(parseInt(part, 16));
        } else {
          return null;
        }
      }
      return out;
    };
    const head = groups(halves[0]);
    const tail = halves.length === 2 ? groups(halves[1]) : [];
    if (head === null || tail === null) return null;
    const missing = 8 - head.length - tail.length;
    if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
    const all = [...head, ...new Array(halves.length === 2 ? missing : 0).fill(0), ...tail];
    let best = -1;
    let bestLength = 1;
    for (let i = 0; i < 8; i++) {
      let j = i;
      while (j < 8 && all[j] === 0) j++;
      if (j - i > bestLength) [best, bestLength] = [i, j - i];
      if (j > i) i = j;
    }
    const word = (list) => list.map((n) => n.toString(16)).join(":");
    return best < 0 ? `[${word(all)}]` : `[${word(all.slice(0, best))}::${word(all.slice(best + bestLength))}]`;
  }

  function parseHost(text, isSpecial) {
    if (text.startsWith("[")) return text.endsWith("]") ? ipv6(text.slice(1, -1)) : null;
    if (!isSpecial) return forbiddenHost.test(text) ? null : escape(text, new Set());
    const domain = domainToASCII(unescape(text));
    if (domain === "" || forbiddenDomain.test(domain)) return null;
    const address = ipv4(domain);
    return address === undefined ? domain : address;
  }

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
    *entries() { for (const [n, v] of this.#list) yield [n, v]; }
    *keys() { for (const [n] of this.#list) yield n; }
    *values() { for (const [, v] of this.#list) yield v; }
    [Symbol.iterator]() { return this.entries(); }
    toString() { return this.#list.map(([n, v]) => `${formEscape(n)}=${formEscape(v)}`).join("&"); }
    get [Symbol.toStringTag]() { return "URLSearchParams"; }
    [custom](depth, options, inspect) {
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
    get origin() { return this.#url.scheme in special && this.#url.scheme !== "file:" ? `${this.protocol}//${this.host}` : "null"; }
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
      const { href, origin, protocol, username, password, host, hostname, port, pathname, search, searchParams, hash } = this;
      return `URL ${inspect({ href, origin, protocol, username, password, host, hostname, port, pathname, search, searchParams, hash }, options)}`;
    }
  }
  cloche.enumerable(URL.prototype, ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname",
    "search", "searchParams", "hash", "toString", "toJSON"]);

  cloche.globals({ URL, URLSearchParams });

  // ---- node:url

  function fileURLToPath(url) {
    const u = typeof url === "string" ? new URL(url) : url;
    if (!(u instanceof URL)) throw cloche.wrongType("path", "of type string or an instance of URL", url);
    if (u.protocol !== "file:") throw cloche.nodeError(TypeError, "ERR_INVALID_URL_SCHEME", "The URL must be of scheme file");
    return decodeURIComponent(u.pathname);
  }
  function pathToFileURL(path) {
    const full = cloche.path.resolve(path) + (path.endsWith("/") && path.length > 1 ? "/" : "");
    return new URL(`file://${full.replace(/[%\\\n\r\t?#]/g, (c) => hex(c.charCodeAt(0)))}`);
  }

  // The old interface: an object of parts, all optional.
  function oldParse(text, parseQuery = false, slashesDenoteHost = false) {
    if (typeof text !== "string") throw cloche.wrongType("url", "of type string", text);
    const out = { protocol: null, slashes: null, auth: null, host: null, port: null, hostname: null, hash: null, search: null, query: null, pathname: null, path: null, href: "" };
    let rest = text.trim();
    const take = (re) => {
      const m = re.exec(rest);
      if (m !== null) rest = rest.slice(0, m.index) + rest.slice(m.index + m[0].length);
      return m;
    };
    const hash = take(/#.*$/s);
    if (hash) out.hash = hash[0];
    const search = take(/\?.*$/s);
    if (search) {
      out.search = search[0];
      out.query = search[0].slice(1);
    }
    const scheme = take(/^[A-Za-z][A-Za-z0-9+\-.]*:/);
    if (scheme) out.protocol = scheme[0].toLowerCase();
    const mail = out.protocol === "mailto:" && rest.includes("@");
    if (mail) rest = `//${rest}`;
    if (rest.startsWith("//") && (scheme || slashesDenoteHost)) {
      if (!mail) out.slashes = true;
      const m = take(/^\/\/([^/]*)/);
      let authority = m[1];
      const at = authority.lastIndexOf("@");
      if (at >= 0) {
        out.auth = decodeURIComponent(authority.slice(0, at));
        authority = authority.slice(at + 1);
      }
      const port = /:([0-9]+)$/.exec(authority);
      if (port) out.port = port[1];
      out.hostname = (port ? authority.slice(0, port.index) : authority).toLowerCase();
      out.host = out.hostname + (port ? `:${port[1]}` : "");
      if (rest === "" && out.protocol in special) rest = "/";
    }
    if (rest !== "") out.pathname = rest;
    if (out.pathname !== null || out.search !== null) out.path = (out.pathname ?? "") + (out.search ?? "");
    out.href = oldFormat(out);
    if (parseQuery) out.query = querystring.parse(out.query ?? "");
    return out;
  }
  function oldFormat(u, options) {
    if (u instanceof URL) {
      const c = new URL(u.href);
      if (options?.fragment === false) c.hash = "";
      if (options?.search === false) c.search = "";
      if (options?.auth === false) c.username = c.password = "";
      return c.href;
    }
    if (typeof u === "string") return oldParse(u).href;
    let { protocol = "", pathname = "", search, hash = "" } = u;
    if (protocol && !protocol.endsWith(":")) protocol += ":";
    let host = u.host ?? (u.hostname ? (u.hostname.includes(":") ? `[${u.hostname}]` : u.hostname) + (u.port ? `:${u.port}` : "") : "");
    if (u.auth && host) host = `${encodeURIComponent(u.auth).replace(/%3A/i, ":")}@${host}`;
    search ??= u.query && typeof u.query === "object" ? querystring.stringify(u.query) : "";
    if (search && search[0] !== "?") search = `?${search}`;
    if (hash && hash[0] !== "#") hash = `#${hash}`;
    const slashes = u.slashes || (protocol in special && host) ? "//" : "";
    if (slashes && pathname && pathname[0] !== "/") pathname = `/${pathname}`;
    return (protocol ?? "") + slashes + host + (pathname ?? "") + (search ?? "") + (hash ?? "");
  }

  const querystring = {
    parse(text, sep = "&", eq = "=", options) {
      const out = Object.create(null);
      const decode = options?.decodeURIComponent ?? ((s) => unescape(s));
      if (typeof text !== "string" || text === "") return out;
      for (const pair of text.split(sep).slice(0, options?.maxKeys === 0 ? undefined : options?.maxKeys ?? 1000)) {
        if (pair === "") continue;
        const i = pair.indexOf(eq);
        const key = decode((i < 0 ? pair : pair.slice(0, i)).replaceAll("+", " "));
        const value = i < 0 ? "" : decode(pair.slice(i + eq.length).replaceAll("+", " "));
        if (!(key in out)) out[key] = value;
        else if (Array.isArray(out[key])) out[key].push(value);
        else out[key] = [out[key], value];
      }
      return out;
    },
    stringify(obj, sep = "&", eq = "=", options) {
      const encode = options?.encodeURIComponent ?? querystring.escape;
      const text = (v) => typeof v === "string" ? v : typeof v === "number" && Number.isFinite(v) || typeof v === "bigint" || typeof v === "boolean" ? `${v}` : "";
      return Object.keys(obj ?? {}).flatMap((key) =>
        (Array.isArray(obj[key]) ? obj[key] : [obj[key]]).map((v) => encode(key) + eq + encode(text(v)))).join(sep);
    },
    escape: (text) => encodeURIComponent(text).replace(/[!'()*]/g, (c) => "!'()*".includes(c) ? c : hex(c.charCodeAt(0))),
    unescape: (text) => unescape(text),
  };
  querystring.encode = querystring.stringify;
  querystring.decode = querystring.parse;

  cloche.querystring = querystring;
  cloche.urlModule = {
    URL, URLSearchParams, fileURLToPath, pathToFileURL, domainToASCII: (d) => parseHost(d, true) ?? "", domainToUnicode,
    parse: oldParse, format: oldFormat,
    resolve(from, to) {
      const base = new URL(from, "resolve://");
      const url = new URL(to, base);
      return url.protocol === "resolve:" ? url.pathname + url.search + url.hash : url.href;
    },
    urlToHttpOptions: (u) => ({
      protocol: u.protocol, hostname: u.hostname.replace(/^\[|\]$/g, ""), hash: u.hash, search: u.search, pathname: u.pathname,
      path: u.pathname + u.search, href: u.href, ...(u.port ? { port: +u.port } : {}),
    }),
  };
})
