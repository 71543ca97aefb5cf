// Where errors of a program's own classes were made: the frames of their constructors say nothing of that.
class Base extends Error { constructor(m, o) { super(m, o); this.name = this.constructor.name; } }
class Mid extends Base { constructor(m) { super('mid ' + m); } }
class Leaf extends Mid {}
class Same extends Base { constructor(m) { super(m, { cause: new Mid('inside') }); } }
function make(C) { return new C('x'); }
const show = (e) => console.log(e.stack.split('\n').slice(0, 2).map((l) => l.replace(/\(?[^ ]*:(\d+):\d+\)?$/, '$1')).join(' |'));
for (const C of [Base, Mid, Leaf, Same]) show(make(C));
class Holder {
  constructor() { this.error = new Leaf('held'); }
}
const here = () => new Leaf('here');
show(here());
console.log(make(Same).cause.stack.split('\n')[1].includes('Same'), new Holder().error.stack.split('\n')[1].includes('Holder'));
function Old(m) { this.message = m; Error.captureStackTrace(this, Old); }
Old.prototype = Object.create(Error.prototype, { constructor: { value: Old }, name: { value: 'Old' } });
show(make(Old));
process.on('uncaughtExceptionMonitor', (e, origin) => console.log('monitor', e.message, origin));
process.on('unhandledRejection', (r) => console.log('unhandled', r));
process.on('uncaughtException', (e) => console.log('caught', e.message));
Promise.reject(42);
setTimeout(() => { throw new Mid('late'); }, 1);
