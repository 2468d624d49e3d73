print(len(open(__file__).read()), open(__file__, "rb").read(10), sum(1 for line in open(__file__)))
