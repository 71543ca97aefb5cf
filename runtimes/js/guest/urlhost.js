// What URLs are made of, after the WHATWG URL Standard: percent-encoding, and hosts with the addresses and international names that they may be.
(function (cloche) {
  "use strict";

  function hex(byte) { return `%${byte.toString(16).toUpperCase().padStart(2, "0")}`; }

  function escape(text, chars) {
    if (/^[A-Za-z0-9\-._~!$&()*+,;=:@/%]*$/.test(text) && !hasAny(text, chars)) return text;
    let out = "";
    for (const c of text) {
      const p = c.codePointAt(0);
      if (p > 0x1f && p < 0x7f && !chars.has(c)) out += c;
      else for (const b of new Uint8Array(cloche.encode("utf8", c))) out += hex(b);
    }
    return out;
  }
  const hasAny = (text, chars) => {
    for (const c of text) if (chars.has(c)) return true;
    return false;
  };

  function unescapeBytes(text) {
    const bytes = new Uint8Array(cloche.encode("utf8", text));
    const out = new Uint8Array(bytes.length);
    let n = 0;
    for (let i = 0; i < bytes.length; i++) {
      if (bytes[i] === 37 && i + 2 < bytes.length) {
        const v = parseInt(String.fromCharCode(bytes[i + 1], bytes[i + 2]), 16);
        if (/^[0-9a-fA-F]{2}$/.test(String.fromCharCode(bytes[i + 1], bytes[i + 2]))) {
          out[n++] = v;
          i += 2;
          continue;
        }
      }
      out[n++] = bytes[i];
    }
    return cloche.decode("utf8", out.buffer, 0, n);
  }
  const unescape = (text) => text.includes("%") ? unescapeBytes(text) : text;

  // ---- hosts

  // RFC 3492: the digits that say where which characters were inserted.
  function punycode(label) {
    const points = [...label].map((c) => c.codePointAt(0));
    const basic = points.filter((p) => p < 128);
    let out = String.fromCharCode(...basic);
    let done = basic.length;
    if (done > 0) out += "-";
    let n = 128;
    let delta = 0;
    let bias = 72;
    const digit = (d) => String.fromCharCode(d < 26 ? d + 97 : d + 22);
    const adapt = (d, count, first) => {
      d = first ? Math.floor(d / 700) : d >> 1;
      d += Math.floor(d / count);
      let k = 0;
      for (; d > 455; k += 36) d = Math.floor(d / 35);
      return k + Math.floor(36 * d / (d + 38));
    };
    for (const start = done; done < points.length;) {
      const next = Math.min(...points.filter((p) => p >= n));
      delta += (next - n) * (done + 1);
      n = next;
      for (const p of points) {
        if (p < n) delta++;
        if (p !== n) continue;
        let q = delta;
        for (let k = 36; ; k += 36) {
          const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
          if (q < t) break;
          out += digit(t + (q - t) % (36 - t));
          q = Math.floor((q - t) / (36 - t));
        }
        out += digit(q);
        bias = adapt(delta, done + 1, done === start);
        delta = 0;
        done++;
      }
      delta++;
      n++;
    }
    return out;
  }

  function fromPunycode(label) {
    const at = label.lastIndexOf("-");
    const out = at > 0 ? [...label.slice(0, at)].map((c) => c.charCodeAt(0)) : [];
    let n = 128;
    let i = 0;
    let bias = 72;
    for (let p = at > 0 ? at + 1 : 0; p < label.length;) {
      const old = i;
      let w = 1;
      for (let k = 36; ; k += 36) {
        const c = label.charCodeAt(p++);
        const d = c >= 97 && c <= 122 ? c - 97 : c >= 48 && c <= 57 ? c - 22 : NaN;
        if (Number.isNaN(d)) return undefined;
        i += d * w;
        const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
        if (d < t) break;
        w *= 36 - t;
      }
      const count = out.length + 1;
      let d = old === 0 ? Math.floor(i / 700) : (i - old) >> 1;
      d += Math.floor(d / count);
      let k = 0;
      for (; d > 455; k += 36) d = Math.floor(d / 35);
      bias = k + Math.floor(36 * d / (d + 38));
      n += Math.floor(i / count);
      i %= count;
      if (n > 0x10ffff) return undefined;
      out.splice(i++, 0, n);
    }
    return String.fromCodePoint(...out);
  }

  cloche.punycode = { encode: punycode, decode: fromPunycode };

  function domainToASCII(domain) {
    const mapped = domain.normalize("NFKC").toLowerCase().normalize("NFC").replace(/[\u3002\uff0e\uff61]/g, ".").replace(/[\u00ad\u200b-\u200d\ufeff]/g, "");
    return mapped.split(".").map((label) => /^[\x00-\x7f]*$/.test(label) ? label : `xn--${punycode(label)}`).join(".");
  }
  const domainToUnicode = (domain) => domain.split(".").map((label) =>
    label.startsWith("xn--") ? fromPunycode(label.slice(4)) ?? label : label).join(".");

  const forbiddenHost = /[\x00\t\n\r #/:<>?@[\\\]^|]/;
  const forbiddenDomain = /[\x00-\x20"#%/:<>?@[\\\]^`{|}\x7f]/;

  function ipv4Number(part) {
    if (part === "") return NaN;
    if (/^0[xX][0-9a-fA-F]*$/.test(part)) return part.length === 2 ? 0 : parseInt(part.slice(2), 16);
    if (/^0[0-7]*$/.test(part)) return part === "0" ? 0 : parseInt(part, 8);
    return /^[0-9]+$/.test(part) ? parseInt(part, 10) : NaN;
  }

  // The address of a host that ends in a number; undefined when it does not, null when it is wrong.
  function ipv4(host) {
    const parts = host.split(".");
    if (parts.length > 1 && parts.at(-1) === "") parts.pop();
    const last = parts.at(-1);
    if (!/^[0-9]+$/.test(last) && !/^0[xX][0-9a-fA-F]*$/.test(last)) return undefined;
    if (parts.length > 4) return null;
    const numbers = parts.map(ipv4Number);
    if (numbers.some(Number.isNaN) || numbers.slice(0, -1).some((n) => n > 255)) return null;
    if (numbers.at(-1) >= 256 ** (5 - numbers.length)) return null;
    let address = numbers.at(-1);
    numbers.slice(0, -1).forEach((n, i) => { address += n * 256 ** (3 - i); });
    return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".");
  }

  function ipv6(text) {
    const halves = text.split("::");
    if (halves.length > 2) return null;
    const groups = (half) => {
      if (half === "") return [];
      const parts = half.split(":");
      const out = [];
      for (const [i, part] of parts.entries()) {
        if (part.includes(".") && i === parts.length - 1) {
          const b = part.split(".");
          if (b.length !== 4 || b.some((n) => !/^(0|[1-9][0-9]{0,2})$/.test(n) || +n > 255)) return null;
          out.push(b[0] * 256 + +b[1], b[2] * 256 + +b[3]);
        } else if (/^[0-9a-fA-F]{1,4}$/.test(part)) {
          out.push(parseInt(part, 16));
        } else {
          return null;
        }
      }
      return out;
    };
    const head = groups(halves[0]);
    const tail = halves.length === 2 ? groups(halves[1]) : [];
    if (head === null || tail === null) return null;
    const missing = 8 - head.length - tail.length;
    if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
    const all = [...head, ...new Array(halves.length === 2 ? missing : 0).fill(0), ...tail];
    let best = -1;
    let bestLength = 1;
    for (let i = 0; i < 8; i++) {
      let j = i;
      while (j < 8 && all[j] === 0) j++;
      if (j - i > bestLength) [best, bestLength] = [i, j - i];
      if (j > i) i = j;
    }
    const word = (list) => list.map((n) => n.toString(16)).join(":");
    return best < 0 ? `[${word(all)}]` : `[${word(all.slice(0, best))}::${word(all.slice(best + bestLength))}]`;
  }

  function parseHost(text, isSpecial) {
    if (text.startsWith("[")) return text.endsWith("]") ? ipv6(text.slice(1, -1)) : null;
    if (!isSpecial) return forbiddenHost.test(text) ? null : escape(text, new Set());
    const domain = domainToASCII(unescape(text));
    if (domain === "" || forbiddenDomain.test(domain)) return null;
    const address = ipv4(domain);
    return address === undefined ? domain : address;
  }

  // The schemes that the standard calls special, with their ports.
  const special = { "http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "ftp:": "21", "file:": "" };

  cloche.urlText = { special, hex, escape, unescape, parseHost, domainToUnicode };
})
