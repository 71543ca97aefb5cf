// What the program has asked of the host and what goes on while it does something else: tools and fetches. The host waits for
// them when nothing else is left to do (loop.go), and settle hands the answers out.
(function (cloche) {
  "use strict";

  const opWait = 0x14;
  const opCancel = 0x15;
  const { parse, stringify } = cloche;
  const { Promise, Map, Uint8Array, DataView } = globalThis;
  const slice = cloche.uncurry(ArrayBuffer.prototype.slice);
  const get = cloche.uncurry(Map.prototype.get);
  const set = cloche.uncurry(Map.prototype.set);
  const remove = cloche.uncurry(Map.prototype.delete);
  const empty = new Uint8Array(0);

  let going = new Map(); // id -> the function that takes the frame

  function add(id, take) {
    set(going, id, take);
    if (going.size === 1) cloche.signal(6, 1);
  }

  function drop(id) {
    const take = get(going, id);
    if (take !== undefined && remove(going, id) && going.size === 0) cloche.signal(6, 0);
    return take;
  }

  // Asks the host for op; header has async: true. take gets the frame as an ArrayBuffer, or the text of a refusal, now or
  // later. Returns the id of a call that goes on, else 0.
  cloche.ask = (op, header, bytes, take) => {
    const reply = cloche.door(op, header, bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (typeof reply === "string") return void take(reply) ?? 0;
    const view = new DataView(reply);
    if (view.getUint8(0) === 1) return void take(opened(reply, 1, reply.byteLength)) ?? 0;
    const id = view.getUint32(1, true);
    add(id, take);
    return id;
  };

  // Whether the host is doing something for the program.
  cloche.going = () => going.size > 0;

  // A call that the host has started for us otherwise.
  cloche.expect = add;

  cloche.cancel = (id) => {
    drop(id);
    cloche.door(opCancel, stringify({ id }), empty.buffer, 0, 0);
  };

  // The frame in a part of a buffer: its bytes, or its text when it is a refusal.
  function opened(buffer, from, to) {
    if (new Uint8Array(buffer, from, 1)[0] === 0) return slice(buffer, from + 1, to);
    return cloche.decode("utf8", buffer, from + 1, to - from - 1);
  }

  // Waits at most that many milliseconds (negative: without a bound) and hands out what has come. Returns true if instead the
  // turn is suspended, which it may be.
  cloche.settle = (ms, suspend) => {
    const header = suspend ? '{"suspend":true}' : ms < 0 ? "{}" : stringify({ timeout_ms: Math.min(Math.ceil(ms), 2 ** 31) });
    const reply = cloche.door(opWait, header, empty.buffer, 0, 0);
    if (typeof reply === "string") {
      if (suspend && cloche.refusal(reply).name === "Suspended") return true;
      cloche.forget();
      return false;
    }
    const view = new DataView(reply);
    for (let at = 0; at + 8 <= reply.byteLength;) {
      const id = view.getUint32(at, true);
      const length = view.getUint32(at + 4, true);
      at += 8;
      drop(id)?.(opened(reply, at, at + length));
      at += length;
    }
    return false;
  };

  // Forgets what goes on: the turn is over.
  cloche.forget = () => {
    going = new Map();
    cloche.signal(6, 0);
  };

  // What a refusal says.
  cloche.refusal = (text) => {
    try {
      const { name, message } = parse(text);
      return { name: `${name ?? "Error"}`, message: `${message ?? "the host refused"}` };
    } catch {
      return { name: "Error", message: "the host refused" };
    }
  };
})
