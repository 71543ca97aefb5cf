"""sqlite3: types, transactions, and a database that is a file."""

import os
import sqlite3

from answers import show

c = sqlite3.connect("a.db")
show("create", lambda: c.execute("create table t (id integer primary key, name text, x real, b blob)").rowcount)
show("insert", lambda: c.execute("insert into t (name, x, b) values (?, ?, ?)", ("ä", 1.5, b"\0\xff")).lastrowid)
show("insert named", lambda: c.execute("insert into t (name) values (:n)", {"n": "named"}).lastrowid)
show("insert many", lambda: c.executemany("insert into t (name, x) values (?, ?)", ((f"n{i}", i / 2) for i in range(100))).rowcount)
show("select", lambda: c.execute("select * from t limit 2").fetchall())
show("iterate", lambda: sum(r[0] for r in c.execute("select x from t where x is not null")))
show("fetchone at end", lambda: c.execute("select 1 where 0").fetchone())
show("description", lambda: [d[0] for d in c.execute("select id, name as n from t").description])
show("types", lambda: c.execute("select typeof(?), typeof(?), typeof(?), typeof(?), typeof(?)", (None, 1, 1.0, "a", b"a")).fetchone())
show("big number", lambda: c.execute("select ?", (2**63 - 1,)).fetchone())
show("too big number", lambda: c.execute("select ?", (2**63,)))
show("wrong type", lambda: c.execute("select ?", (object,)))
show("missing parameter", lambda: c.execute("select ?, ?", (1,)))
show("syntax", lambda: c.execute("selec 1"))
show("no table", lambda: c.execute("select * from none"))
show("unique", lambda: [c.execute("create unique index u on t (name)"), c.execute("insert into t (name) values ('n1')")])
show("in_transaction", lambda: c.in_transaction)
show("rollback", lambda: (c.rollback(), c.execute("select count(*) from sqlite_master").fetchone()))
c.execute("create table if not exists t (id integer primary key, name text, x real)")
c.execute("insert into t (name) values ('kept')")
show("commit", c.commit)


def transaction(fail):
    try:
        with c:
            c.execute("insert into t (name) values ('in transaction')")
            if fail:
                raise ValueError("no")
    except ValueError:
        pass
    return c.execute("select count(*) from t").fetchone()[0]


before = c.execute("select count(*) from t").fetchone()[0]
show("with", lambda: transaction(False) - before)
show("with failing", lambda: transaction(True) - before)
show("other connection", lambda: [(d.execute("select name from t").fetchall(), d.close()) for d in [sqlite3.connect("a.db")]])
show("row", lambda: [setattr(c, "row_factory", sqlite3.Row), [(r["name"], r.keys(), len(r)) for r in c.execute("select id, name from t where name = 'kept'")], setattr(c, "row_factory", None)][1])
show("function", lambda: (c.create_function("twice", 1, lambda x: x * 2), c.execute("select twice(21)").fetchone())[-1])
show("failing function", lambda: (c.create_function("bad", 0, lambda: 1 / 0), c.execute("select bad()").fetchone()))


class Longest:
    def __init__(self):
        self.best = ""

    def step(self, value):
        self.best = max(self.best, value, key=len)

    def finalize(self):
        return self.best


show("aggregate", lambda: (c.create_aggregate("longest", 1, Longest), c.execute("select longest(name) from t").fetchone())[-1])
show("collation", lambda: (c.create_collation("rev", lambda a, b: (a < b) - (a > b)), c.execute("select name from t order by name collate rev").fetchall())[-1])
show("script", lambda: (c.executescript("create table s (v); insert into s values (1); insert into s values (2);"), c.execute("select sum(v) from s").fetchone())[-1])
show("window", lambda: c.execute("select v, sum(v) over (order by v) from s").fetchall())
show("cte", lambda: c.execute("with recursive n(i) as (select 1 union all select i + 1 from n where i < 5) select group_concat(i) from n").fetchone())
show("json", lambda: c.execute("""select json_extract('{"a": [1, 2]}', '$.a[1]')""").fetchone())
show("upsert", lambda: (c.execute("create table k (k primary key, v)"), [c.execute("insert into k values ('a', 1) on conflict (k) do update set v = v + 1") for _ in range(3)], c.execute("select * from k").fetchall())[-1])
show("returning", lambda: c.execute("insert into k values ('b', 5) returning v").fetchone())
show("fts", lambda: (c.execute("create virtual table f using fts5(body)"), c.execute("insert into f values ('the quick fox')"), c.execute("select * from f where f match 'quick'").fetchall())[-1])
show("dates", lambda: c.execute("select date('2024-02-28', '+2 days'), strftime('%Y', '2024-01-01')").fetchone())
show("foreign keys", lambda: (c.commit(), c.execute("pragma foreign_keys = on"), c.executescript("create table p (id primary key); create table ch (p references p);"), c.execute("insert into ch values (9)")))
show("dump", lambda: sum(1 for _ in c.iterdump()) > 5)
show("backup", lambda: [(c.commit(), c.backup(m), m.execute("select count(*) from s").fetchone()) for m in [sqlite3.connect(":memory:")]])
show("vacuum", lambda: (c.commit(), c.execute("vacuum").rowcount))
show("journal", lambda: c.execute("pragma journal_mode").fetchone())
show("integrity", lambda: c.execute("pragma integrity_check").fetchone())
show("attach", lambda: (c.commit(), c.execute("attach 'b.db' as b"), c.execute("create table b.x as select * from s"), c.commit(), c.execute("detach b"), os.path.getsize("b.db") > 0)[-1])
show("memory size", lambda: (c.execute("create table big (b)"), c.executemany("insert into big values (?)", [(bytes(1000),)] * 500), c.commit(), os.path.getsize("a.db") > 500_000)[-1])
show("blob", lambda: [(b.write(b"xyz"), b.seek(0), b.read(3)) for b in [c.blobopen("big", "b", 1)]])
other = sqlite3.connect("a.db", isolation_level=None)
show("locked", lambda: [(d.execute("begin immediate"), c.execute("pragma busy_timeout = 20"), c.execute("insert into s values (3)")) for d in [other]])
other.close()
show("close", c.close)
show("closed", lambda: c.execute("select 1"))
show("read only", lambda: sqlite3.connect("file:a.db?mode=ro", uri=True).execute("create table no (x)"))
show("not a database", lambda: (open("text", "w").write("text " * 100), sqlite3.connect("text").execute("select * from x")))
show("nowhere", sqlite3.connect, "no/where.db")
show("folder", sqlite3.connect, ".")
show("temporary", lambda: [(t.execute("create table x (y)").rowcount, t.execute("select count(*) from x").fetchone()) for t in [sqlite3.connect("")]])
show("adapters", lambda: [(m.execute("select ? as x", (__import__("decimal").Decimal("1.5"),)).fetchone()) for m in [(sqlite3.register_adapter(__import__("decimal").Decimal, str), sqlite3.connect(":memory:"))[1]]])
show("left behind", lambda: [n for n in os.listdir() if "journal" in n])
