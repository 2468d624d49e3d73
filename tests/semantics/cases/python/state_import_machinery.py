import sys

print(sys.meta_path)
print(sys.path_hooks)
for path, finder in sorted(sys.path_importer_cache.items()):
    if path.startswith("/.cove/"):  # what draws figures
        continue
    print(path, finder)
