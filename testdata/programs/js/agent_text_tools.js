// Text: word counts, edit distance, templates, wrapping, slugs, a Markdown table.
const text = "The quick brown fox — the lazy dog; the end. Naïve café, 東京!";
const words = text.toLowerCase().match(/\p{L}+/gu);
console.log(Object.entries(words.reduce((c, w) => (c[w] = (c[w] || 0) + 1, c), Object.create(null))).sort(([a, x], [b, y]) => y - x || a.localeCompare(b)).slice(0, 4));
const distance = (a, b) => { const d = Array.from({ length: a.length + 1 }, (_, i) => [i, ...Array(b.length).fill(0)]); for (let j = 1; j <= b.length; j++) d[0][j] = j; for (let i = 1; i <= a.length; i++) for (let j = 1; j <= b.length; j++) d[i][j] = Math.min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] !== b[j - 1])); return d[a.length][b.length]; };
console.log(distance("kitten", "sitting"), distance("", "abc"));
const tag = (parts, ...values) => parts.raw.map((p, i) => p + (i < values.length ? `<${values[i]}>` : "")).join(""); console.log(tag`a\n${1}b${[2, 3]}`);
console.log("Crème Brûlée: à la carte!".normalize("NFD").replace(/\p{M}/gu, "").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, ""));
console.log("a long line of words that is to be wrapped".replace(/(?![^\n]{1,16}$)([^\n]{1,16})\s/g, "$1\n"));
const rows = [["name", "n"], ["Ada", 36], ["Grace", 85]]; const w = rows[0].map((_, i) => Math.max(...rows.map((r) => String(r[i]).length))); console.log(rows.flatMap((r, i) => { const l = "| " + r.map((c, k) => typeof c === "number" ? String(c).padStart(w[k]) : c.padEnd(w[k])).join(" | ") + " |"; return i ? [l] : [l, "|" + w.map((n) => "-".repeat(n + 2)).join("|") + "|"]; }).join("\n"));
console.log([..."👩‍🚀é"].length, "ﬁ".normalize("NFKC"), "I".toLowerCase(), "ÄÖ".localeCompare("äö", "de", { sensitivity: "base" }), "x".codePointAt(), String.raw`\u00e9`, "a,b;c".split(/[,;]/), "tEST".replace(/^./, (c) => c.toUpperCase()), "%s", escape("a b"));
