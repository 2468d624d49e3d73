if "nested" not in globals():
    nested = True
    exec(compile(open(__file__).read(), __file__, "exec"))
print(nested, __name__)
nested = "second"
