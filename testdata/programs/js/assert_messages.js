// What failed assertions say.
const assert = require('assert');
for (const f of [()=>assert.strictEqual(1,2,'msg'), ()=>assert.strictEqual('a','b','msg'), ()=>assert.deepStrictEqual([1],[2],'msg'), ()=>assert.equal(1,2,'msg'), ()=>assert.deepEqual({a:1},{a:2},'msg'), ()=>assert.notStrictEqual(1,1,'msg'), ()=>assert.strictEqual({a:1},{a:1},'msg'),()=>assert.strictEqual([1,2,3],[1,2,3]), ()=>assert.strictEqual('x'.repeat(100),'y'), ()=>assert.deepStrictEqual({a:1,b:[1,2,3],c:'x'},{a:1,b:[1,2,4],c:'x'}), ()=>assert.deepStrictEqual([1,2,3,4,5,6,7,8,9,10],[1,2,3,4,5,6,7,8,9,11]), ()=>assert.deepStrictEqual(new Map([[1,2]]),new Map([[1,3]])), ()=>assert.strictEqual(1,'1'), ()=>assert.deepStrictEqual([1,2],[1,2,3]), ()=>assert.deepStrictEqual('a', 'b'), ()=>assert.deepStrictEqual({a:undefined},{}), ()=>assert.strictEqual(undefined, null), ()=>assert.deepStrictEqual(-0,0), ()=>assert.strictEqual(new Date(0), new Date(0)), ()=>assert.deepStrictEqual({a:{b:{c:1}}},{a:{b:{c:2}}}), ()=>assert.deepStrictEqual([{id:1,n:'a'},{id:2,n:'b'}],[{id:1,n:'a'},{id:2,n:'c'}]), ()=>assert.throws(()=>{throw new Error('abc')}, /xyz/), ()=>assert.throws(()=>{throw new Error('abc')}, {message:'q'}), ()=>assert.throws(()=>{}, 'm'), ()=>assert.throws(()=>{}, TypeError), ()=>assert.throws(()=>{}, TypeError, 'mm'), ()=>assert.strictEqual('line1\nline2\nline3','line1\nlineX\nline3'), ()=>assert.equal('a','b'), ()=>assert.equal({},[]), ()=>assert.notEqual(1,1), ()=>assert.deepEqual([1,2],[1,3])]) try { f(); console.log('ok') } catch (x) { console.log(x.name, x.code, x.generatedMessage, '|', x.message) }

// Where one line differs from another, whatever it is of; and what of a message was generated.
let asked = 0;
for (const check of [
  () => assert.deepStrictEqual(new Date(0), new Date(1)), () => assert.deepStrictEqual(12345678901, 12345678902), () => assert.strictEqual({}, 1),
  () => assert.strictEqual("x".repeat(40), `${"x".repeat(39)}y`), () => assert.strictEqual(/abcdefgh/, /abcdefgi/), () => assert.deepStrictEqual(/abcdefgh/, /abcdefgi/),
  () => assert.throws(() => { throw new Error("x"); }, () => ++asked > 5), () => assert.throws(() => { throw 7; }, function valid() { return 0; }),
  () => assert.throws(() => { throw new TypeError("bad"); }, RangeError), () => assert.match("abc", /x/), () => assert.doesNotMatch("abc", /b/),
  () => assert.fail(), () => assert.fail("said"), () => assert.match("abc", /x/, "said"),
]) {
  try {
    check();
  } catch (error) {
    console.log(error.message, error.generatedMessage, asked);
  }
}
