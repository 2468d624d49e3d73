import os
import secrets
import tempfile
import uuid

print(uuid.uuid4(), secrets.token_hex(), os.urandom(8), tempfile.mktemp())
