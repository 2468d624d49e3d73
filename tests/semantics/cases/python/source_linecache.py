import linecache

print(repr(linecache.getline(__file__, 1)), len(linecache.getlines(__file__)), sorted(linecache.cache) == [__file__])
