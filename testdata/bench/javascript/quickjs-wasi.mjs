// Runs a JavaScript file in the npm package quickjs-wasi and prints the value of its last expression:
//     node quickjs-wasi.mjs FOLDER-OF-THE-PACKAGE FILE
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const [folder, file] = process.argv.slice(2);
const { QuickJS } = await import(pathToFileURL(`${folder}/dist/index.js`));
const vm = await QuickJS.create(await readFile(`${folder}/quickjs.wasm`));
console.log(vm.evalCode(await readFile(file, "utf8"), file).toString());
