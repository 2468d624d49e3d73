def run(code):
    exec(code, {"name": "inner"})


run("""
def f():
    raise ValueError(name)
f()
""")
