import sys

print(hash("a"), hash("cove"), sys.flags.hash_randomization, list({f"word {i}" for i in range(20)}))
