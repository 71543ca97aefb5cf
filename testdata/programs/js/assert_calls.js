// The words of failed assertions that have none of their own: the call itself, as the program has it.
const assert = require('assert'), { ok, strict } = assert;
const check = (f) => { try { f(); console.log('passed'); } catch (e) { console.log(e.name, e.generatedMessage, JSON.stringify(e.message)); } };
const list = [1, 2], o = { n: 0, f: (x) => x, s: ')' };
check(() => assert(list.length > 5));
check(() => assert.ok(o.f(0)));
check(() => assert(o.f(list.map((x) => x * 0)[0])));
check(() => ok(list.includes(3) && 'never'));
check(() => strict(o.n === 1));
check(() => strict.ok(false));
check(() => assert(o.s === '(' || o.s === "((" || o.s === `(${o.s === '('}`));
check(() => assert(/\)[/)]/.test(o.s)));
check(() => assert(10 / 2 === 4 && 6 / 3));
check(() => assert(!o.s, 'given'));
check(() => assert());
check(() => assert(0, undefined));
check(() => assert.equal(o.f(1), 2));
check(() => {
  assert(
    list.every((x) => {
      return x > 1; // not (
    }) /* nor ( */,
  );
});
check(() => {
    const y = 5; assert(y
      > 6);
});
function positive(n) { assert(n > 0); return n; }
check(() => positive(-1)); check(() => positive(positive(1) - 1));
check(() => assert(null)); check(() => { if (list) assert(o.n); });
check(() => assert(new Set(list).has(9)));
check(() => assert(((a) => a)(0)));
check(() => assert.strictEqual(1, 1) || assert(undefined ?? o.n));
check(() => assert(`${list.map((x) => `${x})`)}` === ''));
console.assert(false, 'console');
