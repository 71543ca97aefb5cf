// Scripts in contexts of their own.
const vm = require("vm");
const show = (f) => {
  try {
    console.log(f());
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
};

show(() => vm.runInNewContext("a + b * 2", { a: 1, b: 20 }));
show(() => vm.runInNewContext("typeof process + typeof require + typeof setTimeout + typeof globalThis + typeof Map"));
const box = { x: 2, log: (...given) => console.log("log:", ...given), list: [3, 1, 2] };
console.log(vm.isContext(box), vm.createContext(box) === box, vm.isContext(box));
show(() => vm.runInContext("x += 40; var y = 17; function f(n) { return n * y; } z = 'global'; list.sort(); log(x, z); f(2)", box));
console.log(box.x, box.y, box.z, typeof box.f, box.f(3), box.list);
box.y = 100;
box.later = "new";
show(() => vm.runInContext("y += 1; [y, later, f(1), typeof x, Object.keys(globalThis).includes('x')].join()", box));
show(() => vm.runInContext("delete globalThis.later; 'later' in globalThis", box));
console.log(box.y, "later" in box);
show(() => vm.runInContext("let kept = 5; const c = 6; kept + c", box));
show(() => vm.runInContext("kept++; kept * c", box));
show(() => "kept" in box);
show(() => vm.runInContext("this.made = { deep: [1] }; made", box));
show(() => box.made.deep);
show(() => vm.runInContext("nope", box));
show(() => vm.runInContext("throw new RangeError('from inside')", box));
show(() => { try { vm.runInContext("let (", box); } catch (error) { return error.name; } });
show(() => { try { vm.runInContext("throw new Error('x')", box); } catch (error) { return [error instanceof Error, error.constructor.name, error.stack.split("\n").some((line) => line.includes("evalmachine.<anonymous>:1"))]; } });
show(() => vm.runInContext("[1] instanceof Array", box));
show(() => vm.runInContext("[1]", box) instanceof Array);
show(() => Array.isArray(vm.runInContext("[1]", box)));
show(() => JSON.stringify(vm.runInContext("({ a: [1, { b: 2 }], d: new Date(0) })", box)));
show(() => vm.runInNewContext("for (let i = 0; i < 1000; i++); 'in time'", {}, { timeout: 5000 }));
show(() => vm.runInContext("x", {}));
show(() => vm.runInContext("x", 5));

globalThis.shared = 1;
show(() => vm.runInThisContext("shared += 1; var made = shared * 10; made"));
console.log(shared, made);
const script = new vm.Script("n = (typeof n === 'undefined' ? 0 : n) + 1", { filename: "count.js" });
const [one, two] = [vm.createContext({}), vm.createContext({ n: 10 })];
script.runInContext(one);
script.runInContext(one);
script.runInContext(two);
console.log(one.n, two.n, script.runInNewContext({ n: 5 }), script instanceof vm.Script);
show(() => new vm.Script("let ("));
show(() => vm.compileFunction("return a + b", ["a", "b"])(1, 2));
show(() => vm.compileFunction("return a + x", ["a"], { parsingContext: box })(1));
const events = [];
vm.runInNewContext("done.then(() => tell('then')); tell('first')", { done: Promise.resolve(), tell: (e) => events.push(e) });
vm.runInNewContext("(async () => { await 0; tell('async'); return 7; })()", { tell: (e) => events.push(e) }).then((n) => console.log(events, n));
show(() => vm.runInNewContext("eval('1 + q')", { q: 2 }) + vm.runInNewContext("new Function('return q')()", { q: 3 }));
const frozen = vm.createContext(Object.freeze({ v: 1 }));
show(() => vm.runInContext("v = 2; v", frozen));
show(() => vm.runInNewContext("Array = 5; Array", {}));
show(() => vm.runInNewContext("new Intl.NumberFormat('en-US').format(1234.5)"));
