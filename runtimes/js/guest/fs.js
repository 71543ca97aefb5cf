// node:fs and node:fs/promises over the sandbox's files. A descriptor is a path with a position, kept here: the host
// opens a file only for the length of one call (files.go), so that nothing stays open in a session or a snapshot.
(function (cloche) {
  "use strict";

  const { EventEmitter, Buffer, file } = cloche;

  // ---- errors

  const reasons = {
    EACCES: "permission denied", EBADF: "bad file descriptor", EBUSY: "resource busy or locked", EDQUOT: "disk quota exceeded",
    EEXIST: "file already exists", EFBIG: "file too large", EINVAL: "invalid argument", EIO: "i/o error",
    EISDIR: "illegal operation on a directory", ELOOP: "too many symbolic links encountered", EMFILE: "too many open files",
    ENAMETOOLONG: "name too long", ENOENT: "no such file or directory", ENOSPC: "no space left on device",
    ENOSYS: "function not implemented", ENOTDIR: "not a directory", ENOTEMPTY: "directory not empty", ENOTSUP: "operation not supported",
    EPERM: "operation not permitted", EROFS: "read-only file system", EXDEV: "cross-device link not permitted",
  };

  function fsError(code, syscall, path, dest) {
    let message = `${code}: ${reasons[code] ?? "unknown error"}, ${syscall}`;
    if (path !== undefined) message += ` '${path}'`;
    if (dest !== undefined) message += ` -> '${dest}'`;
    const error = new Error(message);
    error.errno = -(cloche.errno[code] ?? 5);
    error.code = code;
    error.syscall = syscall;
    if (path !== undefined) error.path = path;
    if (dest !== undefined) error.dest = dest;
    return error;
  }

  // Asks the host; an answer that begins with "!" is the errno's name.
  function call(syscall, verb, path, ...args) {
    const answer = file(verb, path, ...args);
    if (typeof answer !== "string") return answer;
    if (answer[0] === "=") return answer.slice(1);
    if (verb === "symlink") throw fsError(answer.slice(1), syscall, args[0], path);
    throw fsError(answer.slice(1), syscall, path, verb === "rename" || verb === "link" ? args[0] : undefined);
  }

  // ---- arguments

  function toPath(value, name = "path") {
    if (value instanceof URL) value = cloche.urlModule.fileURLToPath(value);
    else if (value instanceof Uint8Array) value = Buffer.from(value).toString();
    if (typeof value !== "string") throw cloche.wrongType(name, "of type string or an instance of Buffer or URL", value);
    if (value.includes("\0")) {
      throw cloche.nodeError(TypeError, "ERR_INVALID_ARG_VALUE", `The argument '${name}' must be a string, Uint8Array, or URL without null bytes. Received ${cloche.inspect(value)}`);
    }
    return value;
  }

  function optionsOf(options, defaults) {
    if (options === undefined || options === null || typeof options === "function") return defaults;
    if (typeof options === "string") options = { encoding: options };
    if (typeof options !== "object") throw cloche.wrongType("options", "of type string or an instance of Object", options);
    if (options.encoding != null && options.encoding !== "buffer" && cloche.encodingName(options.encoding) === undefined) {
      throw cloche.nodeError(TypeError, "ERR_INVALID_ARG_VALUE", `The argument 'encoding' is invalid encoding. Received ${cloche.inspect(options.encoding)}`);
    }
    options.signal?.throwIfAborted();
    return { ...defaults, ...options };
  }

  function bytesOf(data, encoding = "utf8") {
    if (typeof data === "string") return Buffer.from(data, encoding);
    if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    throw cloche.wrongType("data", "of type string or an instance of Buffer, TypedArray, or DataView", data);
  }

  // ---- descriptors

  const open = new Map(); // number -> {path, pos, flags, stream}: stream is the number of the standard stream that it is
  let nextFd = 3;
  const streams = new Map([["/dev/stdin", 0], ["/dev/stdout", 1], ["/dev/stderr", 2]]);
  const streamOf = (fd) => fd >= 0 && fd <= 2 ? fd : open.get(fd)?.stream;

  const flagNames = {
    r: "r", rs: "r", sr: "r", "r+": "rw", "rs+": "rw", "sr+": "rw",
    w: "wct", wx: "wctx", xw: "wctx", "w+": "rwct", "wx+": "rwctx", "xw+": "rwctx",
    a: "wca", ax: "wcax", xa: "wcax", as: "wca", "a+": "rwca", "ax+": "rwcax", "xa+": "rwcax", "as+": "rwca",
  };

  const O = { O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024 };

  // Flags as letters: r w (access), c create, t truncate, x exclusive, a append.
  function flagsOf(flags) {
    if (typeof flags === "number") {
      const access = flags & 3;
      return (access !== O.O_WRONLY ? "r" : "") + (access !== O.O_RDONLY ? "w" : "") + (flags & O.O_CREAT ? "c" : "") +
        (flags & O.O_EXCL ? "x" : "") + (flags & O.O_TRUNC ? "t" : "") + (flags & O.O_APPEND ? "a" : "");
    }
    const known = flagNames[flags];
    if (known === undefined) throw cloche.nodeError(TypeError, "ERR_INVALID_ARG_VALUE", `The argument 'flags' is invalid. Received ${cloche.inspect(flags)}`);
    return known;
  }

  const noBytes = new Uint8Array(0);
  const writeAt = (syscall, path, flags, at, bytes) => call(syscall, "write", path, flags, at, bytes.buffer, bytes.byteOffset, bytes.byteLength);

  function openSync(path, flags = "r") {
    path = toPath(path);
    const letters = flagsOf(flags ?? "r");
    if (letters.includes("w")) writeAt("open", path, letters.replace(/[rwa]/g, ""), 0, noBytes);
    else statSync(path, undefined, "open");
    const stream = streams.get(path);
    if (stream !== undefined && !letters.includes(stream === 0 ? "r" : "w")) throw fsError("EACCES", "open", path);
    const fd = nextFd++;
    open.set(fd, { path, pos: 0, flags: letters, stream });
    return fd;
  }

  function descriptor(fd, syscall) {
    if (typeof fd !== "number") throw cloche.wrongType("fd", "of type number", fd);
    const d = open.get(fd);
    if (d === undefined) throw fsError("EBADF", syscall);
    return d;
  }

  function closeSync(fd) {
    if (fd >= 0 && fd <= 2) return;
    descriptor(fd, "close");
    open.delete(fd);
  }

  function readSync(fd, buffer, offset, length, position) {
    if (typeof offset === "object" && offset !== null) ({ offset, length, position } = offset);
    offset ??= 0;
    length ??= buffer.byteLength - offset;
    const target = new Uint8Array(buffer.buffer, buffer.byteOffset + offset, length);
    let bytes;
    if (streamOf(fd) === 0) {
      bytes = new Uint8Array(cloche.stdin(length));
    } else {
      const d = descriptor(fd, "read");
      if (!d.flags.includes("r")) throw fsError("EBADF", "read");
      const moves = position === undefined || position === null || position === -1;
      bytes = new Uint8Array(call("read", "read", d.path, moves ? d.pos : Number(position), length));
      if (moves) d.pos += bytes.length;
    }
    target.set(bytes);
    return bytes.length;
  }

  function writeSync(fd, data, offset, length, position) {
    let bytes;
    if (typeof data === "string") {
      bytes = Buffer.from(data, typeof length === "string" ? length : "utf8");
      position = typeof offset === "number" ? offset : null;
    } else {
      if (typeof offset === "object" && offset !== null) ({ offset, length, position } = offset);
      bytes = bytesOf(data).subarray(offset ?? 0, length === undefined || length === null ? undefined : (offset ?? 0) + length);
    }
    const stream = streamOf(fd);
    if (stream === 1 || stream === 2) {
      cloche.write(stream, bytes.buffer, bytes.byteOffset, bytes.byteLength);
      return bytes.length;
    }
    const d = descriptor(fd, "write");
    if (!d.flags.includes("w")) throw fsError("EBADF", "write");
    if (d.flags.includes("a")) {
      writeAt("write", d.path, "", -1, bytes);
      return bytes.length;
    }
    const moves = typeof position !== "number";
    writeAt("write", d.path, "", moves ? d.pos : position, bytes);
    if (moves) d.pos += bytes.length;
    return bytes.length;
  }

  // ---- stat

  const S = { S_IFMT: 0o170000, S_IFREG: 0o100000, S_IFDIR: 0o040000, S_IFCHR: 0o020000, S_IFLNK: 0o120000, S_IFIFO: 0o010000, S_IFSOCK: 0o140000, S_IFBLK: 0o060000 };

  class Stats {
    constructor(raw, big) {
      const number = big ? (n) => BigInt(Math.trunc(n)) : (n) => n;
      this.dev = number(1);
      this.mode = number(raw.mode);
      this.nlink = number(raw.nlink);
      this.uid = number(1000);
      this.gid = number(1000);
      this.rdev = number(0);
      this.blksize = number(4096);
      this.ino = number(raw.ino);
      this.size = number(raw.size);
      this.blocks = number(Math.ceil(raw.size / 512));
      const { atimeMs, mtimeMs, ctimeMs } = raw;
      for (const [key, ms] of Object.entries({ atimeMs, mtimeMs, ctimeMs, birthtimeMs: ctimeMs })) this[key] = number(ms);
      if (big) for (const key of ["atime", "mtime", "ctime", "birthtime"]) this[`${key}Ns`] = this[`${key}Ms`] * 1000000n;
      for (const [key, ms] of Object.entries({ atime: atimeMs, mtime: mtimeMs, ctime: ctimeMs, birthtime: ctimeMs })) this[key] = new Date(ms);
    }
    #is(type) { return (Number(this.mode) & S.S_IFMT) === type; }
    isFile() { return this.#is(S.S_IFREG); }
    isDirectory() { return this.#is(S.S_IFDIR); }
    isSymbolicLink() { return this.#is(S.S_IFLNK); }
    isCharacterDevice() { return this.#is(S.S_IFCHR); }
    isBlockDevice() { return this.#is(S.S_IFBLK); }
    isFIFO() { return this.#is(S.S_IFIFO); }
    isSocket() { return this.#is(S.S_IFSOCK); }
  }

  class Dirent {
    #mode;
    constructor(name, parent, mode) {
      this.name = name;
      this.parentPath = parent;
      this.path = parent;
      this.#mode = mode;
    }
    #is(type) { return (this.#mode & S.S_IFMT) === type; }
    isFile() { return this.#is(S.S_IFREG); }
    isDirectory() { return this.#is(S.S_IFDIR); }
    isSymbolicLink() { return this.#is(S.S_IFLNK); }
    isCharacterDevice() { return this.#is(S.S_IFCHR); }
    isBlockDevice() { return false; }
    isFIFO() { return false; }
    isSocket() { return false; }
  }

  const statOf = (verb) => (path, options, syscall = verb) => {
    path = toPath(path);
    try {
      return new Stats(cloche.parse(call(syscall, verb, path)), options?.bigint);
    } catch (error) {
      if (options?.throwIfNoEntry === false && (error.code === "ENOENT" || error.code === "ENOTDIR")) return undefined;
      throw error;
    }
  };
  const statSync = statOf("stat");
  const lstatSync = statOf("lstat");
  const fstatSync = (fd, options) => statSync(descriptor(fd, "fstat").path, options, "fstat");

  function existsSync(path) {
    try {
      statSync(path);
      return true;
    } catch {
      return false;
    }
  }

  // ---- whole files

  function readFileSync(path, options) {
    const { encoding, flag } = optionsOf(options, { encoding: null, flag: "r" });
    let bytes;
    if ((streams.get(path) ?? streamOf(path)) === 0) {
      bytes = cloche.readStdin();
    } else if (Number.isInteger(path)) {
      const d = descriptor(path, "read");
      bytes = Buffer.from(call("read", "read", d.path, d.pos, -1));
      d.pos += bytes.length;
    } else {
      path = toPath(path);
      if (flagsOf(flag).includes("c") && !existsSync(path)) closeSync(openSync(path, flag));
      try {
        bytes = Buffer.from(call("open", "read", path, 0, -1));
      } catch (error) {
        if (error.code === "EISDIR") throw fsError("EISDIR", "read");
        throw error;
      }
    }
    return encoding === null || encoding === undefined || encoding === "buffer" ? bytes : bytes.toString(encoding);
  }

  function writeFileSync(path, data, options) {
    const { encoding, flag } = optionsOf(options, { encoding: "utf8", flag: "w" });
    const bytes = bytesOf(data, encoding ?? "utf8");
    path = streams.get(path) ?? path;
    if (typeof path === "number") {
      writeSync(path, bytes);
      return;
    }
    path = toPath(path);
    const letters = flagsOf(flag);
    writeAt("open", path, letters.replace(/[rwa]/g, ""), letters.includes("a") ? -1 : 0, bytes);
  }

  function appendFileSync(path, data, options) {
    writeFileSync(path, data, { flag: "a", ...optionsOf(options, {}) });
  }

  function copyFileSync(from, to, mode = 0) {
    from = toPath(from, "src");
    to = toPath(to, "dest");
    let bytes;
    try {
      bytes = new Uint8Array(call("copyfile", "read", from, 0, -1));
      writeAt("copyfile", to, mode & 1 ? "ctx" : "ct", 0, bytes);
    } catch (error) {
      throw error.code ? fsError(error.code, "copyfile", from, to) : error;
    }
  }

  function truncateSync(path, length = 0) {
    call("truncate", "truncate", typeof path === "number" ? descriptor(path, "ftruncate").path : toPath(path), length);
  }

  // ---- folders

  function mkdirSync(path, options) {
    path = toPath(path);
    if (typeof options !== "object" || options === null || !options.recursive) {
      call("mkdir", "mkdir", path);
      return undefined;
    }
    const full = cloche.path.resolve(path);
    let first;
    let at = "";
    for (const part of full.split("/").filter(Boolean)) {
      at += `/${part}`;
      try {
        call("mkdir", "mkdir", at);
        first ??= at;
      } catch (error) {
        if (error.code !== "EEXIST" && !(error.code === "EROFS" && existsSync(at))) throw fsError(error.code, "mkdir", path);
        if (!statSync(at).isDirectory()) throw fsError(at === full ? "EEXIST" : "ENOTDIR", "mkdir", path);
      }
    }
    return first;
  }

  function readdirSync(path, options) {
    const { withFileTypes, recursive, encoding } = optionsOf(options, {});
    path = toPath(path);
    const list = (dir) => cloche.parse(call("scandir", "readdir", dir));
    const out = [];
    const walk = (dir, prefix) => {
      for (const [name, mode] of list(dir)) {
        out.push(withFileTypes ? new Dirent(name, dir, mode) : encoding === "buffer" ? Buffer.from(prefix + name) : prefix + name);
        if (recursive && (mode & S.S_IFMT) === S.S_IFDIR) walk(`${dir.replace(/\/$/, "")}/${name}`, `${prefix}${name}/`);
      }
    };
    walk(path, "");
    return out;
  }

  function rmdirSync(path, options) {
    if (options?.recursive) return rmSync(path, { recursive: true });
    call("rmdir", "rmdir", toPath(path));
  }
  function unlinkSync(path) { call("unlink", "unlink", toPath(path)); }

  function rmSync(path, options) {
    path = toPath(path);
    const stat = lstatSync(path, { throwIfNoEntry: false }, "lstat");
    if (stat === undefined) {
      if (options?.force) return;
      throw fsError("ENOENT", "lstat", path);
    }
    if (!stat.isDirectory()) return unlinkSync(path);
    if (!options?.recursive) {
      throw cloche.nodeError(Error, "ERR_FS_EISDIR", `Path is a directory: rm returned EISDIR (is a directory) ${path}`, { errno: 21, syscall: "rm", path });
    }
    for (const d of readdirSync(path, { withFileTypes: true })) rmSync(`${path}/${d.name}`, options);
    call("rmdir", "rmdir", path);
  }

  function mkdtempSync(prefix, options) {
    prefix = toPath(prefix, "prefix");
    const chars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    for (let tries = 0; ; tries++) {
      const path = prefix + Array.from(new Uint8Array(cloche.entropy(6)), (b) => chars[b % chars.length]).join("");
      try {
        call("mkdtemp", "mkdir", path);
        return options?.encoding === "buffer" ? Buffer.from(path) : path;
      } catch (error) {
        if (error.code !== "EEXIST" || tries > 10) throw error.code ? fsError(error.code, "mkdtemp", `${prefix}XXXXXX`) : error;
      }
    }
  }

  function cpSync(from, to, options) {
    from = toPath(from, "src");
    to = toPath(to, "dest");
    if (options?.filter && !options.filter(from, to)) return;
    if (options?.dereference || !lstatSync(from).isSymbolicLink()) {
      const source = realpathSync(from), target = realDestination(to);
      const refuse = (why) => { throw cloche.nodeError(Error, "ERR_FS_CP_EINVAL", `Invalid src or dest: cp returned EINVAL (${why}) ${to}`); };
      if (source === target) refuse("src and dest cannot be the same");
      if (`${target}/`.startsWith(`${source}/`.replace("//", "/")) && statSync(from).isDirectory()) refuse(`cannot copy ${from} to a subdirectory of self ${to}`);
    }
    copyAll(from, to, options);
  }

  // realDestination is where a file that is made under the name would be.
  function realDestination(name) {
    const { resolve, dirname, basename, join } = cloche.path;
    name = resolve(name);
    try {
      return realpathSync(name);
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
      return join(realDestination(dirname(name)), basename(name));
    }
  }

  function copyAll(from, to, options) {
    const stat = (options?.dereference ? statSync : lstatSync)(from);
    if (stat.isSymbolicLink()) {
      const target = readlinkSync(from);
      rmSync(to, { force: true });
      return symlinkSync(options?.verbatimSymlinks ? target : cloche.path.resolve(cloche.path.dirname(from), target), to);
    }
    if (!stat.isDirectory()) {
      if (existsSync(to)) {
        if (options?.errorOnExist && options.force === false) throw cloche.nodeError(Error, "ERR_FS_CP_EEXIST", `Target already exists: cp returned EEXIST (${to} already exists) ${to}`);
        if (options?.force === false) return;
      }
      mkdirSync(cloche.path.dirname(cloche.path.resolve(to)), { recursive: true });
      return copyFileSync(from, to);
    }
    if (!options?.recursive) {
      throw cloche.nodeError(Error, "ERR_FS_EISDIR", `Recursive option not enabled, cannot copy a directory: cp returned EISDIR (${from} is a directory (not copied)) ${from}`);
    }
    mkdirSync(to, { recursive: true });
    for (const name of readdirSync(from)) {
      const [source, target] = [`${from}/${name}`, `${to}/${name}`];
      if (!options.filter || options.filter(source, target)) copyAll(source, target, options);
    }
  }

  function opendirSync(path) {
    const entries = readdirSync(path, { withFileTypes: true });
    return {
      path,
      readSync: () => entries.shift() ?? null,
      read: async () => entries.shift() ?? null,
      closeSync() {},
      async close() {},
      async *[Symbol.asyncIterator]() { while (entries.length > 0) yield entries.shift(); },
    };
  }

  function globSync(pattern, options) {
    const root = options?.cwd === undefined ? cloche.script().dir : toPath(options.cwd);
    const re = [pattern].flat().map((p) => cloche.globRegExp(p));
    return readdirSync(root, { recursive: true }).filter((name) => re.some((r) => r.test(name)) && !options?.exclude?.(name));
  }

  // ---- names and links

  function renameSync(from, to) { call("rename", "rename", toPath(from, "oldPath"), toPath(to, "newPath")); }
  function linkSync(from, to) { call("link", "link", toPath(from, "existingPath"), toPath(to, "newPath")); }
  function symlinkSync(target, path) { call("symlink", "symlink", toPath(path), toPath(target, "target")); }
  function readlinkSync(path) { return call("readlink", "readlink", toPath(path)); }
  function realpathSync(path) { return call("realpath", "realpath", toPath(path)); }
  realpathSync.native = realpathSync;

  function accessSync(path, mode = 0) {
    statSync(path, undefined, "access");
  }
  const seconds = (t) => t instanceof Date ? t.getTime() : typeof t === "number" ? t * 1000 : +t * 1000;
  function utimesSync(path, atime, mtime) { call("utime", "utimes", toPath(path), seconds(atime), seconds(mtime)); }
  function futimesSync(fd, atime, mtime) { utimesSync(descriptor(fd, "futime").path, atime, mtime); }
  function chmodSync(path) { statSync(path, undefined, "chmod"); } // files here have no permissions to change
  function chownSync(path) { statSync(path, undefined, "chown"); }
  function fsyncSync(fd) { descriptor(fd, "fsync"); }
  function readvSync(fd, buffers, position) {
    let n = 0;
    for (const b of buffers) n += readSync(fd, b, 0, b.byteLength, typeof position === "number" ? position + n : position);
    return n;
  }
  function writevSync(fd, buffers, position) {
    let n = 0;
    for (const b of buffers) n += writeSync(fd, b, 0, b.byteLength, typeof position === "number" ? position + n : position);
    return n;
  }

  const sync = {
    openSync, closeSync, readSync, writeSync, readvSync, writevSync, statSync, lstatSync, fstatSync, readFileSync, writeFileSync, appendFileSync,
    copyFileSync, truncateSync, ftruncateSync: truncateSync, mkdirSync, readdirSync, rmdirSync, unlinkSync, rmSync, mkdtempSync, cpSync,
    opendirSync, globSync, renameSync, linkSync, symlinkSync, readlinkSync, realpathSync, accessSync, utimesSync, futimesSync, lutimesSync: utimesSync,
    chmodSync, fchmodSync: fsyncSync, lchmodSync: chmodSync, chownSync, fchownSync: fsyncSync, lchownSync: chownSync, fsyncSync, fdatasyncSync: fsyncSync,
  };

  // ---- callbacks and promises

  const fs = { ...sync, existsSync };
  const promises = {};
  for (const [name, fn] of Object.entries(sync)) {
    const short = name.slice(0, -4);
    const isStat = /^[lf]?stat$/.test(short);
    fs[short] = {
      [short](...args) {
        const done = args.pop();
        if (typeof done !== "function") throw cloche.wrongType("cb", "of type function", done);
        if (isStat) args = args.slice(0, 2);
        let outcome;
        try {
          const value = fn(...args);
          outcome = value === undefined ? [null] : short === "read" || short === "write" ? [null, value, args[1]] : [null, value];
        } catch (error) {
          if (error.code === undefined || error.code.startsWith("ERR_")) throw error;
          outcome = [error];
        }
        cloche.timers.setImmediate(done, ...outcome);
      },
    }[short];
    promises[short] = { async [short](...args) { return isStat ? fn(args[0], args[1]) : fn(...args); } }[short];
  }
  fs.exists = (path, done) => { cloche.timers.setImmediate(done, existsSync(path)); };

  class FileHandle extends EventEmitter {
    constructor(fd) {
      super();
      this.fd = fd;
    }
    async read(buffer, ...rest) {
      if (buffer === undefined || !ArrayBuffer.isView(buffer)) {
        const options = buffer ?? {};
        buffer = options.buffer ?? Buffer.alloc(16384);
        rest = [options.offset, options.length, options.position];
      }
      return { bytesRead: readSync(this.fd, buffer, ...rest), buffer };
    }
    async write(data, ...rest) { return { bytesWritten: writeSync(this.fd, data, ...rest), buffer: data }; }
    async readFile(options) { return readFileSync(this.fd, options); }
    async writeFile(data, options) { writeFileSync(this.fd, data, options); } // from where it stands
    async appendFile(data, options) { return this.writeFile(data, options); }
    async stat(options) { return fstatSync(this.fd, options); }
    async truncate(length) { truncateSync(this.fd, length); }
    async sync() {}
    async datasync() {}
    async utimes(atime, mtime) { futimesSync(this.fd, atime, mtime); }
    async close() {
      if (this.fd < 0) return;
      closeSync(this.fd);
      this.fd = -1;
      this.emit("close");
    }
    async *readLines(options) { yield* lines(await this.readFile({ encoding: "utf8", ...options })); }
    createReadStream(options) { return createReadStream(undefined, { ...options, fd: this.fd }); }
    createWriteStream(options) { return createWriteStream(undefined, { ...options, fd: this.fd }); }
    async [Symbol.asyncDispose]() { await this.close(); }
  }
  function* lines(text) {
    const all = text.split(/\r?\n/);
    if (all.at(-1) === "") all.pop();
    yield* all;
  }
  Object.assign(promises, {
    open: async (path, flags, mode) => new FileHandle(openSync(path, flags, mode)),
    constants: undefined,
    async *glob(pattern, options) { yield* globSync(pattern, options); },
    async writeFile(path, data, options) {
      if (path instanceof FileHandle) return path.writeFile(data, options);
      if (typeof data === "object" && !ArrayBuffer.isView(data) && data !== null) {
        const parts = [];
        for await (const part of data) parts.push(bytesOf(part));
        data = Buffer.concat(parts);
      }
      writeFileSync(path, data, options);
    },
    async readFile(path, options) { return path instanceof FileHandle ? path.readFile(options) : readFileSync(path, options); },
    async appendFile(path, data, options) { return path instanceof FileHandle ? path.appendFile(data, options) : appendFileSync(path, data, options); },
  });
  for (const name of ["close", "read", "write", "fstat", "exists", "fsync", "fdatasync", "ftruncate", "futimes", "fchmod", "fchown", "readv", "writev"]) delete promises[name];

  // ---- streams (stream.js has the classes)

  // target is what a stream reads or writes: a standard stream, or the file at a path.
  function target(path, fd, syscall) {
    if (fd === undefined || fd === null) return { path: toPath(path), stream: streams.get(path) };
    fd = fd.fd ?? fd;
    const stream = streamOf(fd);
    return stream === undefined ? descriptor(fd, syscall) : { stream };
  }

  // What makes a stream one that reads a file.
  function readFrom(stream, path, options) {
    options = typeof options === "string" ? { encoding: options } : options ?? {};
    const fd = options.fd ?? undefined;
    if (fd === undefined) toPath(path);
    let at = options.start ?? 0;
    const end = options.end ?? Infinity;
    const highWaterMark = options.highWaterMark ?? 65536;
    cloche.stream.Readable.call(stream, {
      encoding: options.encoding, highWaterMark, signal: options.signal, autoDestroy: options.autoClose,
      read(size) { // later, so that what comes of one chunk is done before the next
        cloche.nextTick(() => {
          if (stream.destroyed) return;
          try {
            const want = Math.min(size, highWaterMark, end - at + 1);
            const from = target(path, fd, "read");
            const bytes = want <= 0 ? noBytes : Buffer.from(from.stream === 0 ? cloche.stdin(want) : call(at === 0 ? "open" : "read", "read", from.path, at, want));
            at += bytes.length;
            stream.bytesRead += bytes.length;
            stream.push(bytes.length === 0 ? null : bytes);
          } catch (error) {
            stream.destroy(error);
          }
        });
      },
    });
    stream.path = path;
    stream.bytesRead = 0;
    cloche.nextTick(() => {
      try {
        if (fd === undefined) statSync(path, undefined, "open");
      } catch (error) {
        return stream.destroy(error);
      }
      stream.emit("open", fd ?? 3);
      stream.emit("ready");
    });
  }

  function writeTo(stream, path, options) {
    options = typeof options === "string" ? { encoding: options } : options ?? {};
    const letters = flagsOf(options.flags ?? "w");
    let at = letters.includes("a") ? -1 : options.start ?? 0;
    let failure;
    const to = target(path, options.fd, "write");
    try {
      if (options.fd === undefined) writeAt("open", to.path, letters.replace(/[rwa]/g, ""), 0, noBytes);
    } catch (error) {
      failure = error;
    }
    cloche.stream.Writable.call(stream, {
      decodeStrings: true, defaultEncoding: options.encoding, highWaterMark: options.highWaterMark, signal: options.signal,
      write(chunk, encoding, done) {
        try {
          if (failure) throw failure;
          if (to.stream === undefined) writeAt("write", to.path, "", at, chunk);
          else writeSync(to.stream, chunk);
          if (at >= 0) at += chunk.length;
          stream.bytesWritten += chunk.length;
          done();
        } catch (error) {
          done(error);
        }
      },
    });
    stream.path = path;
    stream.bytesWritten = 0;
    cloche.nextTick(() => {
      if (failure) return stream.destroy(failure);
      stream.emit("open", 3);
      stream.emit("ready");
    });
  }
  cloche.fileStreams = { readFrom, writeTo };
  const createReadStream = (path, options) => new fs.ReadStream(path, options);
  const createWriteStream = (path, options) => new fs.WriteStream(path, options);

  const constants = {
    F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1, COPYFILE_EXCL: 1, COPYFILE_FICLONE: 2, COPYFILE_FICLONE_FORCE: 4, ...O, ...S,
  };
  const noWatch = () => { throw cloche.unavailable("fs.watch", "nothing but this program changes its files"); };
  Object.assign(fs, {
    promises, constants, F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1, Stats, Dirent, createReadStream, createWriteStream,
    watch: noWatch, watchFile: noWatch, unwatchFile() {},
  });
  promises.constants = constants;
  promises.watch = noWatch;
  cloche.fs = fs;
})
