package js_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// regexpProgram compares what the host finds with what the interpreter does, which looks for the matches of a pattern that has a
// property of its own.
const regexpProgram = `
	let seed = %d;
	const random = (n) => (seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff) %% n;
	const pick = (list) => list[random(list.length)];
	const atoms = ["a", "b", "ab", "[ab]", "[^a]", "[a-cé-ü]", "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", ".", "\\b", "\\B", "^", "$", "é", "漢", "[\\u0100-\\uffff]", "x", "\\n", "-", "[^]", "(?:)", "[]"];
	const quantifiers = ["", "", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}?", "{2,}", "{0}"];
	const calm = ["", "", "", "?", "??", "{2}", "{1,2}?"];
	let groups = 0, loops = 0; // of loops there are two in a pattern, since many take for ever
	const times = () => {
		const q = pick(loops < 2 ? quantifiers : calm);
		if (/[*+]|,\}/.test(q)) loops++;
		return q;
	};
	const group = (begin, depth) => begin + either(depth + 1) + ")" + times();
	function term(depth) {
		switch (depth > 1 ? 9 : random(14)) {
		case 0: groups++; return group("(", depth);
		case 1: return group("(?:", depth);
		case 2: return "(?=" + either(depth + 1) + ")";
		case 3: return "(?!" + either(depth + 1) + ")";
		case 4: return "(?<=" + either(depth + 1) + ")";
		case 5: return "(?<!" + either(depth + 1) + ")";
		case 6: return groups > 0 ? "\\" + (1 + random(groups)) : "a";
		case 7: if (random(4) > 0) return "b"; groups++; return "(?<n" + groups + ">" + either(depth + 1) + ")";
		default: { const a = pick(atoms); return /^[$^]$|^\\[bB]$/.test(a) ? a : a + times(); }
		}
	}
	const either = (depth) => Array.from({ length: 1 + (random(4) === 0) }, () => Array.from({ length: 1 + random(3) }, () => term(depth)).join("")).join("|");
	const alphabets = ["ab", "abx 1\n", "aé-ü b", "a漢字b \u2028", "abcdefghij 0123456789\n", "a\u{1f600}b"];
	const text = (characters) => { const alphabet = [...characters]; return Array.from({ length: 256 + random(200) }, () => pick(alphabet)).join(""); };
	const told = (f) => { try { return f(); } catch (e) { return e.name + ": " + e.message; } };
	function all(re, s) {
		const calls = [];
		const list = told(() => [...s.matchAll(re)].map((m) => [m.index, m.input === s, m.length, [...m], { ...m.groups }, Object.keys(m).join()]));
		const state = () => re.lastIndex;
		return JSON.stringify([told(() => s.match(re)), state(), s.split(re), s.split(re, 3), s.split(re, 0), state(), list, state(),
			s.replace(re, "<$1$&$2$$$3$01$10$` + "`" + `'$'>".slice(0, random.cut)), state(), told(() => s.replaceAll(re, "-")),
			s.replace(re, (...args) => { calls.push(args.map((a) => a === s ? "text" : a)); return calls.length %% 5; }), calls, state()], (k, v) => v === undefined ? "absent" : v);
	}
	const slow = (re, s) => { // many patterns would take for ever
		const quick = (part) => { const begun = Date.now(); part.match(re); return Date.now() - begun <= 2; };
		for (let length = 8; length < s.length; length *= 1.5) {
			const part = s.slice(0, length);
			if (![1, 2, 3, 4].some(() => quick(part))) return true; // once is no proof on a busy machine
		}
	};
	// What begins with a repetition is not tried again where that has been, unless what follows can tell.
	const leading = ["a+b", "(a+)b\\1", "(a+)(x)?b", "(?:a+ )+b", "a+(?=b)", "(?<=b)a+x", "a+(?<!ba+)b", "\\w+$", "[ab]+?x", "(?=(a+))\\1b", "\\s+\\ba"];
	let checked = 0;
	for (let i = 0; i < %d; i++) {
		groups = loops = 0;
		const source = leading[i] ?? either(0), flags = i < leading.length ? "g" : pick(["g", "g", "g", "gm", "gs", "gu", "gi", "", "gv", "gd", "gy", "y"]);
		let re, touched;
		try { re = new RegExp(source, flags); touched = new RegExp(source, flags); } catch { continue; }
		touched.own = true;
		const s = text(i < leading.length ? "aabx " : pick(alphabets));
		if (slow(touched, s)) continue;
		const cut = [1, 5, 26, 30][i & 3];
		[random.cut, touched.lastIndex] = [cut, 0];
		const before = seed;
		const got = all(re, s);
		seed = before;
		const want = all(touched, s);
		if (got !== want) {
			let at = 0;
			while (got[at] === want[at]) at++;
			console.log("different:", String(re), JSON.stringify(s), "\n", got.slice(at - 50, at + 100), "\n", want.slice(at - 50, at + 100));
			break;
		}
		checked++;
	}
	checked > %d * 0.6`

func TestMatches(t *testing.T) {
	const patterns = 600
	r := run(t, fmt.Sprintf(regexpProgram, 1, patterns, patterns))
	if r.stdout != "" || r.main() != "true" {
		t.Errorf("%.2000s %s", r.stdout, r.main())
	}
}

// TestMatchesOfChanged: whatever a program replaced of RegExp is called.
func TestMatchesOfChanged(t *testing.T) {
	for _, c := range []struct{ change, want string }{
		{"", "2 2 x<>x<> true"},
		{"RegExp.prototype.exec = function () { return null; }", "null 0 text false"},
		{"re.exec = () => null", "null 2 text false"},
		{"class R extends RegExp { exec() { return null; } }; re = new R('b', 'g')", "null 0 text false"},
		{"Object.defineProperty(RegExp.prototype, 'flags', { get: () => '' })", "1 1 xbx<> false"},
		{"re = /b/gi", "2 2 x<>x<> true"},
		{"re = /(?<b>b)/g", "2 2 x<>x<> true"},
		{"re.lastIndex = 400", "2 1 x<>x<> true"},
	} {
		source := `const text = "a".repeat(300) + "b" + "a".repeat(300) + "b"; let re = /b/g;` + c.change + `;
			const short = (s) => s === text ? "text" : s.replaceAll("a".repeat(300), "x");
			let all; try { all = [...RegExp.prototype[Symbol.matchAll].call(re, text)].length } catch (e) { all = e.name }
			const list = RegExp.prototype[Symbol.match].call(re, text);
			const replaced = RegExp.prototype[Symbol.replace].call(re, text, "<>");
			console.log(list && list.length, all, replaced === text ? "text" : replaced.split("a".repeat(300)).join("x"), re.test(text));`
		if got := run(t, source).stdout; got != c.want+"\n" {
			t.Errorf("%s: got %s want %s", c.change, got, c.want)
		}
	}
}

// TestSplitWithLimit: a pattern splits as what it was before its limit became a number.
func TestSplitWithLimit(t *testing.T) {
	const source = `const re = /a/, replaced = { valueOf() { RegExp.prototype.exec = () => null; return 2; } };
		const list = (limit) => "xa".repeat(300).split(re, limit).join();
		console.log([list("2"), list({ valueOf() { re.compile("x"); return 2; } }), list(replaced).length].join(" "))`
	if got := run(t, source).stdout; got != "x,x x,x 600\n" {
		t.Errorf("got %q", got)
	}
}

// TestMatchesAreArrays: of whatever class a program says that arrays make of themselves. Of very many matches not all are looked for at once.
func TestMatchesAreArrays(t *testing.T) {
	got := run(t, `class Own extends Array {}
		Object.defineProperty(Array, Symbol.species, { get: () => Own });
		const text = "ab1,".repeat(200), five = [...text.matchAll(/(a)(b)(1)(,)(x)?(a)?/g)][0];
		let n = 0;
		for (const m of "a".repeat(3e6).matchAll(/a/g)) if (++n === 3) break;
		[text.match(/b/g), text.split(/,/), text.split(/,/, 2), five].map((list) => list.constructor.name + list.length).join() + n`).main()
	if got != "'Array200,Array201,Array2,Array73'" {
		t.Error(got)
	}
}

// TestHostWorkCostsFuel: what the host does in the interpreter's place is charged by its size.
func TestHostWorkCostsFuel(t *testing.T) {
	for _, work := range []string{
		`require("crypto").createHash("sha256").update(text).digest().length`, `btoa(text).length`, `require("zlib").gzipSync(text).length`,
		`text.match(/x/g)`, `text.split(/b/).length`, `text.replace(/b/g, "c").length`, `JSON.stringify(list).length`, `JSON.stringify({ text }).length`,
	} {
		cost := func(work string, n int) uint64 {
			return run(t, fmt.Sprintf("const text = 'abc '.repeat(%d), list = Array(%[1]d).fill(1.5); let n = 0; for (let i = 0; i < 4; i++) n += String(%s).length", n, work)).fuel
		}
		const small, large = 10_000, 80_000
		if got := cost(work, large) - cost("1", large); got < 4*(cost(work, small)-cost("1", small)) || got < 1_000_000 {
			t.Errorf("%s: %d fuel", work, got)
		}
	}
}

// TestComparingCostsFuel: by what is compared, also when only the end differs.
func TestComparingCostsFuel(t *testing.T) {
	cost := func(n int) uint64 {
		return run(t, fmt.Sprintf("const a = 'é'.repeat(%d); for (let i = 0; i < 100; i++) (a + i).localeCompare(a)", n)).fuel
	}
	const small, large = 100, 10_000
	if got := cost(large) - cost(small); got < 100*(large-small)*64 {
		t.Errorf("%d fuel", got)
	}
}

// TestReplacementCostsFuel: of what stands for each match every part is charged.
func TestReplacementCostsFuel(t *testing.T) {
	const matches, parts = 20_000, 500
	for _, part := range []string{"$1", "$&", "$$", "$"} {
		cost := func(parts int) uint64 {
			return run(t, fmt.Sprintf("'a'.repeat(%d).replace(/a*?()/g, %q.repeat(%d)).length", matches, part, parts)).fuel
		}
		if got := cost(parts) - cost(1); got < matches*parts {
			t.Errorf("%d times %d parts %q: %d fuel", matches, parts, part, got)
		}
	}
}

// TestLargeResultsAreNotTold: what the captures of one match hold together is bounded in the host, as results are.
func TestLargeResultsAreNotTold(t *testing.T) {
	const captures, length = 240, 1 << 18
	s := newSandbox(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := s.ok(fmt.Sprintf(`"a".repeat(%d).split(/^%sa/g).length`, length, strings.Repeat("(?=([^b]+)$)", captures)))
	runtime.ReadMemStats(&after)
	if got := r.main(); got != fmt.Sprint(2+captures) {
		t.Error(got)
	}
	if made := after.TotalAlloc - before.TotalAlloc; made > captures*length {
		t.Errorf("the host made %d MiB", made>>20)
	}
}

// TestSearchEnds: a pattern that takes for ever is given up by the host, and by the interpreter when its time is over.
func TestSearchEnds(t *testing.T) {
	for _, search := range []string{
		`("a".repeat(300)).match(/(a+)+b/g)`,
		`"a".repeat(1e6).match(/(?:(a)){60000}/g)`, // whose loop looks through all that the group captured
		`"a".repeat(3e5).match(/(a+)\1b/g)`,
		`"a".repeat(1e6).match(/` + strings.Repeat("(?=", 200) + `(?:(a)){50000}` + strings.Repeat(")", 200) + `ab/g)`,
		`"a".repeat(1e6).match(/(?:` + strings.Repeat("()", 250) + `a)*?b/g)`,
	} {
		s := newSandbox(t)
		s.timeout = 300 * time.Millisecond
		begun := time.Now()
		r := s.turn(search)
		if took := time.Since(begun); !r.Interrupted || took > time.Minute {
			t.Errorf("%.60s took %v: %+v", search, took, r.Outcome)
		}
	}
	if got := run(t, `[("a".repeat(16) + "c" + " ".repeat(300)).match(/(a+)+b/g), "x".repeat(1e6).match(/x*?$/g).length, (("x" + " ".repeat(1e5)).repeat(4) + "y").match(/\s+$/g), "\u0001\u0002\u0003".repeat(200).split(/\u0002/).length]`).main(); got != "[ null, 2, null, 201 ]" {
		t.Error(got)
	}
}
