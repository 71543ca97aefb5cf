// Says what this interpreter offers, as one JSON object on standard output.
const { builtinModules } = await import("node:module");
console.log(JSON.stringify({
  version: "QuickJS-NG",
  modules: [...builtinModules].sort(),
  notes: [
    "ECMAScript 2023 and later, await at the top level, import and require of the modules named; nothing can be installed.",
    "TypeScript: types are taken off, not checked.",
    "No workers, processes or sockets.",
  ],
}));
