// Paths of Windows, which programs take apart anywhere.
const { win32 } = require("path");
const paths = ["", ".", "..", "a", "a\\b", "a/b/", "\\a\\..\\b", "C:", "C:\\", "c:/", "C:a.txt", "C:\\dir\\file.tar.gz", "C:\\dir\\..\\..\\x", "\\\\srv\\share", "\\\\srv\\share\\", "//srv/share/a/..\\b",
  "\\\\\\srv\\a", "\\\\srv", "a\\..\\C:\\x", "./C:x", ".hidden", "x.", "a\\.b.c\\", "\\", "//", "D:\\é\\ü.txt", "a:b:c", "..\\..\\x\\", "C:.", "C:..\\up"];
for (const p of paths) {
  console.log(JSON.stringify([p, win32.normalize(p), win32.isAbsolute(p), win32.dirname(p), win32.basename(p), win32.extname(p), win32.parse(p), win32.format(win32.parse(p))]));
}
for (const parts of [["a", "b"], ["C:", "x"], ["C:\\", "..", "y"], ["\\\\srv", "share", "f"], ["\\", "\\a"], ["//", "a"], ["", "a"], [""], ["a", "", "..", ".."], ["\\\\srv\\share", "..", "z"]]) {
  console.log("join", JSON.stringify([parts, win32.join(...parts)]));
}
for (const parts of [["C:\\a", "b"], ["C:\\a", "\\b"], ["C:\\a", "C:b"], ["\\\\srv\\share\\x", "..\\y"], ["c:\\a", "C:..\\b"], ["C:\\", "D:\\", "e"]]) {
  console.log("resolve", JSON.stringify([parts, win32.resolve(...parts)]));
}
for (const [from, to] of [["C:\\a\\b", "C:\\a\\c"], ["C:\\A\\b", "c:\\a\\b\\d"], ["C:\\a", "D:\\a"], ["C:\\a\\b", "C:\\"], ["\\\\s\\h\\a", "\\\\s\\h\\b\\c"], ["C:\\a", "C:\\a"]]) {
  console.log("relative", JSON.stringify([from, to, win32.relative(from, to)]));
}
console.log(win32.basename("C:\\x\\y.html", ".html"), win32.basename("y.html", "y.html"), win32.toNamespacedPath("C:\\x"), win32.toNamespacedPath("\\\\s\\h\\x"), win32.sep, win32.delimiter);
console.log(win32.posix === require("path"), require("path").win32 === win32, win32.win32 === win32, require("path/win32") === win32);
try { win32.join("a", 5); } catch (error) { console.log(error.code); }
