// node:url and node:querystring.
(function (cloche) {
  "use strict";

  const { special, hex, unescape, parseHost, domainToUnicode } = cloche.urlText;

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
  class Url {
    parse(text, ...rest) { Object.assign(this, oldParse(text, ...rest)); }
    format() { return oldFormat(this); }
    resolve(to) { return cloche.urlModule.resolve(this.href, to); }
  }
  cloche.enumerable(Url.prototype, ["parse", "format", "resolve"]);
  function oldParse(text, parseQuery = false, slashesDenoteHost = false) {
    if (typeof text !== "string") throw cloche.wrongType("url", "of type string", text);
    const out = Object.assign(new Url(), { protocol: null, slashes: null, auth: null, host: null, port: null, hostname: null, hash: null, search: null, query: null, pathname: null, path: null, href: "" });
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
    Url, URL, URLSearchParams, fileURLToPath, pathToFileURL, domainToASCII: (d) => parseHost(d, true) ?? "", domainToUnicode,
    parse: oldParse, format: oldFormat,
    resolve(from, to) {
      const base = new URL(from, "resolve://");
      const url = new URL(to, base);
      return url.protocol === "resolve:" ? url.pathname + url.search + url.hash : url.href;
    },
    urlToHttpOptions: (u) => ({
      __proto__: null, ...u, protocol: u.protocol, hostname: u.hostname.replace(/^\[|\]$/g, ""), hash: u.hash, search: u.search, pathname: u.pathname,
      path: u.pathname + u.search, href: u.href, ...(u.port ? { port: +u.port } : {}),
      ...(u.username || u.password ? { auth: `${decodeURIComponent(u.username)}:${decodeURIComponent(u.password)}` } : {}),
    }),
  };
})
