"""What reached the world, one JSON object in each line."""

import json


class Journal:
    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8", buffering=1)

    def write(self, kind, **fields):
        self.file.write(json.dumps({"kind": kind, **fields}) + "\n")
