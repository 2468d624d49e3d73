import io
import sys

for stream in (sys.stdin, sys.stdout, sys.stderr):
    print(stream, stream.encoding, stream.errors, stream.line_buffering, stream.write_through, stream.newlines,
          stream.isatty(), stream.fileno(), type(stream.buffer).__name__, stream.mode)
print(sys.stdout is sys.__stdout__, io.DEFAULT_BUFFER_SIZE)
