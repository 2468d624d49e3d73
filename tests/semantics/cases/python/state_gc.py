import gc

print(gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.garbage, gc.callbacks)
print([generation["uncollectable"] for generation in gc.get_stats()])
gc.collect()
print(gc.collect())


class Node:
    pass


for i in range(10):
    node = Node()
    node.self = node
del node
print(gc.collect() >= 10)
