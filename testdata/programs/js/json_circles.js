// What JSON.stringify says of objects that contain themselves.
const t = (...args) => { try { console.log('ok', JSON.stringify(...args)); } catch (e) { console.log(`${e.name}: ${e.message}`); } };
const a = { name: 'a', list: [] };
a.list.push({ x: 1 }, { back: a });
t(a);
t([a], null, 2);
class Node {
  constructor(v) { this.v = v; this.parent = null; this.children = []; }
  add(c) { c.parent = this; this.children.push(c); return this; }
}
t(new Node(1).add(new Node(2)), null, 2);
t({ tree: new Node(1).add(new Node(2).add(new Node(3))) });
const self = {}; self.self = self; t(self); t([self]);
const long = {}; long.a = { b: { c: { d: { e: long } } } }; t(long);
const list = []; list[0] = list; t(list);
const bare = Object.create(null); bare['odd key'] = bare; t(bare);
const twice = { one: a.list[0], two: a.list[0] }; t(twice);
t({ toJSON() { throw new RangeError('own'); } });
try { JSON.stringify(self); } catch (e) { console.log(e.stack.split('\n').slice(0, 3).join('\n')); }
