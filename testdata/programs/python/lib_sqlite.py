# SQLite in memory and on disk, by itself and through pandas.
import sqlite3

import pandas as pd

con = sqlite3.connect("shop.db")
con.execute("CREATE TABLE sales(id INTEGER PRIMARY KEY, item TEXT, qty INT)")
con.executemany("INSERT INTO sales(item, qty) VALUES (?, ?)", [("pear", 3), ("fig", 5), ("pear", 4)])
con.commit()
con.close()
con = sqlite3.connect("shop.db")
rows = pd.read_sql("SELECT item, SUM(qty) AS qty FROM sales GROUP BY item ORDER BY item", con)
assert rows.to_dict("records") == [{"item": "fig", "qty": 5}, {"item": "pear", "qty": 7}]
con.execute("PRAGMA journal_mode=WAL")
assert con.execute("SELECT count(*) FROM sales WHERE item LIKE 'p%'").fetchone() == (2,)
rows.to_sql("sums", con, index=False)
assert con.execute("SELECT max(qty) OVER () FROM sums").fetchone() == (7,)
assert con.execute("""SELECT json_extract('{"a": [1, 2]}', '$.a[1]')""").fetchone() == (2,)
con.close()
