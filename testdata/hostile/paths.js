// Attempts: to learn where on the host it runs, from stacks, call sites, module paths, errors of every host function and
//   what Node's modules tell of the machine.
// Stopped by: nothing of it is there: paths are the sandbox's, and the machine that Node's modules describe is none.
// run: status=ok,error timeout=60s
const fs = require("fs"), os = require("os"), path = require("path"), util = require("util");
const show = (f) => { try { console.log(util.inspect(f(), { depth: 4, showHidden: true, getters: true })); } catch (e) { console.log(e, e.stack, e.path, e.cause); } };
Error.stackTraceLimit = 1000;
for (const f of [
  () => new Error("x").stack, () => { Error.prepareStackTrace = (e, s) => s; return new Error("x").stack; }, () => process, () => process.env, () => process.versions, () => process.execPath, () => process.config, () => process.release,
  () => process.memoryUsage(), () => process.cwd(), () => process.binding("fs"), () => process.mainModule, () => require.main, () => require.cache, () => module, () => module.paths, () => require.resolve("fs"), () => require("./nothing"), () => require("/etc/passwd"),
  () => require("child_process").execSync("id"), () => os.hostname(), () => os.userInfo(), () => os.homedir(), () => os.tmpdir(), () => os.networkInterfaces(), () => os.cpus(), () => os.release(), () => os.version(), () => os.uptime(), () => os.type(),
  () => fs.readFileSync("/proc/self/maps"), () => fs.readFileSync("/proc/self/environ"), () => fs.readFileSync("/etc/passwd"), () => fs.readdirSync("/"), () => fs.realpathSync("."), () => fs.readlinkSync("/proc/self/exe"), () => fs.statSync("/"), () => fs.readFileSync("\0"),
  () => fs.openSync("/nowhere/x"), () => fs.writeFileSync("/x", "x"), () => fs.readFileSync("x".repeat(5000)), () => globalThis.scriptArgs, () => globalThis.std, () => fetch("http://127.0.0.1/"), () => new Worker("x"), () => eval("import.meta"), () => __filename + __dirname,
  () => process.env.HOSTILE_HOST_ENV ?? "none", () => process.getuid && process.getuid(), () => process.pid, () => process.title, () => process.argv, () => process.execArgv, () => process.report, () => process.dlopen({}, "x"), () => JSON.stringify(process.features),
]) show(f);
for (const name of ["/nothing", "/etc/passwd", "node:nothing", "https://x/y.js", "data:text/javascript,1"]) await import(name).catch((e) => console.log(e.message, e.stack));
console.log(Object.getOwnPropertyNames(globalThis).join());
