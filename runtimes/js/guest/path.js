// node:path and node:os.
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
      return extensionOf(path.basename(p));
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
    format: (o) => formatted(o, "/"),
    toNamespacedPath: (p) => p,
    matchesGlob(p, pattern) { return globRegExp(pattern).test(p); },
  };

  function extensionOf(base) {
    const at = base.lastIndexOf(".");
    return at <= 0 || base === ".." ? "" : base.slice(at);
  }

  function formatted(o, sep) {
    if (typeof o !== "object" || o === null) throw cloche.wrongType("pathObject", "of type object", o);
    const ext = o.ext ? (o.ext[0] === "." ? o.ext : `.${o.ext}`) : "";
    const base = o.base || `${o.name ?? ""}${ext}`;
    const dir = o.dir || o.root;
    if (!dir) return base;
    return dir === o.root ? `${dir}${base}` : `${dir}${sep}${base}`;
  }

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

  // ---- path.win32

  const isSlash = (c) => c === "/" || c === "\\";

  // What a path begins with: device is "C:", "\\server\share" or "", root all up to the names.
  function rootOf(p) {
    const share = /^[\\/]{2}([^\\/]+)[\\/]+([^\\/]+)[\\/]?/.exec(p);
    if (share !== null) return { device: `\\\\${share[1]}\\${share[2]}`, absolute: true, root: share[0], share: true };
    const [root, device = "", slash] = /^([A-Za-z]:)?([\\/]?)/.exec(p);
    return { device, absolute: slash !== "", root, share: false };
  }
  const namesOf = (p, absolute) => normalizeParts(p.replaceAll("\\", "/"), absolute).replaceAll("/", "\\");
  // Where the last name of a path begins and ends.
  function lastName(p, from) {
    let end = p.length;
    while (end > from && isSlash(p[end - 1])) end--;
    let start = end;
    while (start > from && !isSlash(p[start - 1])) start--;
    return [start, end];
  }
  const driveLength = (p) => /^[A-Za-z]:/.test(p) ? 2 : 0;

  const win32 = {
    sep: "\\",
    delimiter: ";",
    normalize(p) {
      check(p);
      if (p === "") return ".";
      const { device, absolute, root } = rootOf(p);
      let names = namesOf(p.slice(root.length), absolute);
      if (names === "" && !absolute) names = ".";
      if (names !== "" && p.length > root.length && isSlash(p.at(-1))) names += "\\";
      if (!absolute && device === "" && (driveLength(names) > 0 || /:(?:[\\/]|$)/.test(p))) return `.\\${names}`;
      return `${device}${absolute ? "\\" : ""}${names}`;
    },
    join(...parts) {
      parts.forEach((p) => check(p));
      parts = parts.filter((p) => p !== "");
      if (parts.length === 0) return ".";
      const joined = parts.join("\\");
      return win32.normalize(/^[\\/]{2}[^\\/]/.test(parts[0]) ? joined : joined.replace(/^[\\/]{2,}/, "\\"));
    },
    resolve(...parts) {
      let device = "", tail = "", absolute = false;
      for (let i = parts.length - 1; i >= -1 && !(absolute && device !== ""); i--) {
        const p = i >= 0 ? parts[i] : cloche.script().dir;
        check(p, `paths[${i}]`);
        if (p === "") continue;
        const at = rootOf(p);
        if (at.device !== "") {
          if (device !== "" && device.toLowerCase() !== at.device.toLowerCase()) continue;
          device ||= at.device;
        }
        if (absolute) continue;
        tail = `${p.slice(at.root.length)}\\${tail}`;
        absolute = at.absolute;
      }
      tail = namesOf(tail, absolute);
      return absolute ? `${device}\\${tail}` : `${device}${tail}` || ".";
    },
    isAbsolute(p) {
      check(p);
      return isSlash(p[0]) || driveLength(p) > 0 && isSlash(p[2]);
    },
    relative(from, to) {
      check(from, "from");
      check(to, "to");
      [from, to] = [win32.resolve(from), win32.resolve(to)];
      const a = from.split("\\").filter(Boolean);
      const b = to.split("\\").filter(Boolean);
      let i = 0;
      while (i < a.length && i < b.length && a[i].toLowerCase() === b[i].toLowerCase()) i++;
      if (i === 0 && (a.length > 0 && b.length > 0 || rootOf(from).device !== rootOf(to).device)) return to;
      return [...a.slice(i).map(() => ".."), ...b.slice(i)].join("\\");
    },
    dirname(p) {
      check(p);
      if (p === "") return ".";
      const { root } = rootOf(p);
      if (root === p) return p;
      const [start] = lastName(p, root.length);
      return start > root.length ? p.slice(0, start - 1) : root || ".";
    },
    basename(p, suffix) {
      check(p);
      if (suffix !== undefined) check(suffix, "suffix");
      const base = p.slice(...lastName(p, driveLength(p)));
      if (suffix === undefined || suffix === "") return base;
      if (p === suffix) return "";
      return base !== suffix && base.endsWith(suffix) ? base.slice(0, -suffix.length) : base;
    },
    extname(p) {
      return extensionOf(win32.basename(p));
    },
    parse(p) {
      check(p);
      const { root } = rootOf(p);
      const [start, end] = lastName(p, root.length);
      const base = p.slice(start, end);
      const ext = extensionOf(base);
      const dir = start > root.length ? p.slice(0, start - 1) : root;
      return { root, dir, base, ext, name: ext === "" ? base : base.slice(0, -ext.length) };
    },
    format: (o) => formatted(o, "\\"),
    toNamespacedPath(p) {
      if (typeof p !== "string" || p === "") return p;
      const full = win32.resolve(p);
      if (full.length <= 2) return p;
      if (/^\\\\[^?.]/.test(full)) return `\\\\?\\UNC\\${full.slice(2)}`;
      return /^[A-Za-z]:\\/.test(full) ? `\\\\?\\${full}` : full;
    },
    matchesGlob(p, pattern) { return globRegExp(pattern.replaceAll("\\", "/")).test(p.replaceAll("\\", "/")); },
  };
  for (const p of [path, win32]) {
    p.posix = path;
    p.win32 = win32;
    Object.defineProperty(p, "_makeLong", { value: p.toNamespacedPath, enumerable: true, writable: true, configurable: true });
  }
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
    homedir: () => cloche.process.env.HOME ?? cloche.script().dir,
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
