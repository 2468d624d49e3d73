import dbm.dumb
import shelve
import sqlite3

connection = sqlite3.connect("data.db")
connection.execute("create table t (a integer, b text)")
connection.executemany("insert into t values (?, ?)", [(1, "é"), (2, None)])
connection.commit()
print(sqlite3.connect("data.db").execute("select * from t order by a desc").fetchall())
with shelve.Shelf(dbm.dumb.open("shelf")) as shelf:
    shelf["key"] = {"nested": [1]}
print(dict(shelve.Shelf(dbm.dumb.open("shelf"))))
