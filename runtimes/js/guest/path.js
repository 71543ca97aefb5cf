// node:path, for POSIX paths, and node:os.
(function (cloche) {
  "use strict";

  function check(path, name = "path") {
    if (typeof path !== "string") throw cloche.wrongType(name, "of type string", path);
  }

  // Resolves "." and ".." in a path; leading ".." stay when it is relative.
  function normalizeParts(path, absolute) {
    const out = [];
    for (const part of path.split("/")) {
      if (part === "" || part === ".") continue;
      if (part !== "..") out.push(part);
      else if (out.length > 0 && out.at(-1) !== "..") out.pop();
      else if (!absolute) out.push("..");
    }
    return out.join("/");
  }

  const path = {
    sep: "/",
    delimiter: ":",
    normalize(p) {
      check(p);
      if (p === "") return ".";
      const absolute = p[0] === "/";
      let out = normalizeParts(p, absolute);
      if (out === "" && !absolute) out = p.endsWith("/") ? "./" : ".";
      else if (out !== "" && p.endsWith("/")) out += "/";
      return absolute ? `/${out}` : out;
    },
    join(...parts) {
      parts.forEach((p) => check(p));
      const joined = parts.filter((p) => p !== "").join("/");
      return joined === "" ? "." : path.normalize(joined);
    },
    resolve(...parts) {
      let out = "";
      for (let i = parts.length - 1; i >= 0 && out[0] !== "/"; i--) {
        check(parts[i], `paths[${i}]`);
        if (parts[i] !== "") out = out === "" ? parts[i] : `${parts[i]}/${out}`;
      }
      if (out[0] !== "/") out = `${cloche.script().dir}/${out}`;
      return `/${normalizeParts(out, true)}`;
    },
    isAbsolute(p) {
      check(p);
      return p[0] === "/";
    },
    relative(from, to) {
      check(from, "from");
      check(to, "to");
      const a = path.resolve(from).split("/").filter(Boolean);
      const b = path.resolve(to).split("/").filter(Boolean);
      let i = 0;
      while (i < a.length && i < b.length && a[i] === b[i]) i++;
      return [...a.slice(i).map(() => ".."), ...b.slice(i)].join("/");
    },
    dirname(p) {
      check(p);
      if (p === "") return ".";
      const trimmed = p.replace(/(?!^)\/+$/, "");
      const at = trimmed.lastIndexOf("/");
      if (at < 0) return ".";
      return at === 0 ? "/" : trimmed.slice(0, at);
    },
    basename(p, suffix) {
      check(p);
      if (suffix !== undefined) check(suffix, "suffix");
      const trimmed = p.replace(/\/+$/, "");
      const base = trimmed.slice(trimmed.lastIndexOf("/") + 1);
      if (suffix !== undefined && p === suffix) return "";
      return suffix !== undefined && base !== suffix && base.endsWith(suffix) ? base.slice(0, base.length - suffix.length) : base;
    },
    extname(p) {
      const base = path.basename(p);
      const at = base.lastIndexOf(".");
      return at <= 0 || base === ".." ? "" : base.slice(at);
    },
    parse(p) {
      check(p);
      const root = p[0] === "/" ? "/" : "";
      const base = path.basename(p);
      const ext = path.extname(p);
      let dir = path.dirname(p);
      if (dir === "." && !p.startsWith("./")) dir = "";
      if (base === "" && root !== "") dir = "/";
      return { root, dir, base, ext, name: ext === "" ? base : base.slice(0, -ext.length) };
    },
    format(o) {
      if (typeof o !== "object" || o === null) throw cloche.wrongType("pathObject", "of type object", o);
      const ext = o.ext ? (o.ext[0] === "." ? o.ext : `.${o.ext}`) : "";
      const base = o.base || `${o.name ?? ""}${ext}`;
      const dir = o.dir || o.root;
      if (!dir) return base;
      return dir === o.root ? `${dir}${base}` : `${dir}/${base}`;
    },
    toNamespacedPath: (p) => p,
    matchesGlob(p, pattern) { return globRegExp(pattern).test(p); },
  };

  // A glob of *, **, ?, [...] and {a,b} as a regular expression.
  function globRegExp(pattern) {
    let out = "";
    for (let i = 0; i < pattern.length; i++) {
      const c = pattern[i];
      if (c === "*") {
        if (pattern[i + 1] === "*") {
          i++;
          if (pattern[i + 1] === "/") {
            i++;
            out += "(?:[^/]+/)*";
          } else {
            out += ".*";
          }
        } else {
          out += "[^/]*";
        }
      } else if (c === "?") out += "[^/]";
      else if (c === "{") out += "(?:";
      else if (c === "}") out += ")";
      else if (c === "," && out.includes("(?:")) out += "|";
      else if (c === "[") {
        const end = pattern.indexOf("]", i + 2);
        if (end < 0) out += "\\[";
        else {
          out += `[${pattern.slice(i + 1, end).replace(/^!/, "^").replaceAll("\\", "\\\\")}]`;
          i = end;
        }
      } else out += c.replace(/[.+^$()|\\\]]/, "\\$&");
    }
    return new RegExp(`^${out}$`, "s");
  }
  cloche.globRegExp = globRegExp;

  path.posix = path;
  path.win32 = new Proxy({}, {
    get(_, name) {
      if (typeof name === "symbol") return undefined;
      throw cloche.unavailable(`path.win32.${name}`, "paths here are POSIX");
    },
  });
  Object.defineProperty(path, "win32", { enumerable: false });
  cloche.path = path;

  // ---- node:os

  const errno = {
    E2BIG: 7, EACCES: 13, EAGAIN: 11, EBADF: 9, EBUSY: 16, EDQUOT: 122, EEXIST: 17, EFAULT: 14, EFBIG: 27, EILSEQ: 84, EINTR: 4,
    EINVAL: 22, EIO: 5, EISDIR: 21, ELOOP: 40, EMFILE: 24, EMLINK: 31, ENAMETOOLONG: 36, ENFILE: 23, ENOENT: 2, ENOMEM: 12,
    ENOSPC: 28, ENOSYS: 38, ENOTDIR: 20, ENOTEMPTY: 39, ENOTSUP: 95, EPERM: 1, EPIPE: 32, EROFS: 30, ETIMEDOUT: 110, EXDEV: 18,
  };
  cloche.os = {
    EOL: "\n",
    devNull: "/dev/null",
    arch: () => "wasm32",
    platform: () => "linux",
    type: () => "Linux",
    release: () => "0.0.0",
    version: () => "Cloche",
    machine: () => "wasm32",
    hostname: () => "sandbox",
    homedir: () => cloche.script().dir,
    tmpdir: () => "/tmp",
    endianness: () => "LE",
    uptime: () => cloche.now() / 1000,
    loadavg: () => [0, 0, 0],
    totalmem: () => 0,
    freemem: () => 0,
    cpus: () => [{ model: "wasm", speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }],
    availableParallelism: () => 1,
    networkInterfaces: () => ({}),
    userInfo: () => ({ uid: 1000, gid: 1000, username: "user", homedir: cloche.script().dir, shell: null }),
    constants: {
      errno,
      signals: { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGABRT: 6, SIGKILL: 9, SIGTERM: 15 },
      priority: { PRIORITY_LOW: 19, PRIORITY_NORMAL: 0, PRIORITY_HIGH: -14 },
    },
  };
  cloche.errno = errno;
})
