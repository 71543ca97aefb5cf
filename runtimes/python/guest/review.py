"""Static review: names that a program may not use, found in its syntax tree before it runs.

It sees what is written out. What a program hides (by computing a name) it does not see, so it is advice to whoever
wrote the program, and no protection.
"""

import ast

_MOST = 20  # findings that are told


def findings(tree, denied):
    """(line, name) for each use of a denied name, in order of lines."""
    modules = {}  # names that imports bind, anywhere in the program, to what they mean
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for a in node.names:
                if a.asname:
                    modules[a.asname] = a.name
                else:
                    top = a.name.partition(".")[0]
                    modules[top] = top
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for a in node.names:
                modules[a.asname or a.name] = f"{node.module}.{a.name}"
    found = {}

    def use(name, node):
        name = name.removeprefix("builtins.")
        for d in denied:
            if name == d or name.startswith(d + "."):
                found.setdefault((node.lineno, d))
                return

    def use_all(module, node):
        for d in denied:
            if d.startswith(module + ".") or module == d or module.startswith(d + "."):
                found.setdefault((node.lineno, d))

    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for a in node.names:
                use(a.name, node)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for a in node.names:
                if a.name == "*":
                    use_all(node.module, node)
                else:
                    use(f"{node.module}.{a.name}", node)
        elif isinstance(node, (ast.Name, ast.Attribute)):
            if isinstance(node.ctx, ast.Load):
                name = _dotted(node, modules)
                if name:
                    use(name, node)
        elif isinstance(node, ast.Call):
            name = _dotted(node.func, modules)
            texts = [a.value if isinstance(a, ast.Constant) and isinstance(a.value, str) else None for a in node.args[:2]]
            if name in ("__import__", "builtins.__import__", "importlib.import_module") and texts and texts[0]:
                use(texts[0], node)
            elif name in ("getattr", "builtins.getattr") and len(texts) == 2 and texts[1]:
                of = _dotted(node.args[0], modules)
                if of:
                    use(f"{of}.{texts[1]}", node)
    return sorted(found)


def _dotted(node, modules):
    """The full name that a chain of attributes stands for, or None."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([modules.get(node.id, node.id), *reversed(parts)])


def refusal(tree, name, denied):
    """What the host is told of a program that uses denied names; None of one that does not."""
    found = findings(tree, denied)
    if not found:
        return None
    words = [f"line {line}: {what} is not allowed" for line, what in found[:_MOST]]
    if len(found) > _MOST:
        words.append(f"and {len(found) - _MOST} more")
    return {
        "exit_code": 1,
        "refused": True,
        "error": {
            "name": "Refused",
            "value": "; ".join(words),
            "traceback": "".join(f"{name}:{line}: {what} is not allowed\n" for line, what in found[:_MOST]),
            "line": found[0][0],
            "hint": "The policy does not let programs use " + ", ".join(dict.fromkeys(w for _, w in found)) + ": do without.",
        },
    }
