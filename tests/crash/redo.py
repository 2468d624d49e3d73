"""The redo log of the state, read as docs/formats/redo-log.md has it."""

import os
import struct
import zlib


def play(connection, path):
    """Does what the log has, if it comes after what the database has."""
    batch = connection.execute("SELECT value FROM meta WHERE name = 'batch'").fetchone()
    if batch is None or not os.path.exists(path):
        return
    with open(path, "rb") as file:
        data = file.read()
    if len(data) < 24 or data[:8] != b"coveredo" or struct.unpack_from("<Q", data, 8)[0] != int(batch[0]):
        return
    connection.execute("PRAGMA foreign_keys=ON")
    for record in records(data):
        for sql, values in statements(record):
            connection.execute(sql, values)


def records(data):
    own = data[16:24]
    at = 24
    while at + 8 <= len(data):
        size, checksum = struct.unpack_from("<II", data, at)
        record = data[at + 8:at + 8 + size]
        if size == 0 or len(record) != size or zlib.crc32(own + record) != checksum:
            return
        yield record
        at += 8 + size


def statements(record):
    at = 0
    while at < len(record):
        sql, at = text(record, at)
        count = record[at]
        at += 1
        values = []
        for _ in range(count):
            kind = record[at:at + 1]
            at += 1
            if kind == b"t":
                value, at = text(record, at)
            else:
                value = struct.unpack_from("<q", record, at)[0]
                at += 8
            values.append(value)
        yield sql, values


def text(record, at):
    size = struct.unpack_from("<I", record, at)[0]
    return record[at + 4:at + 4 + size].decode(), at + 4 + size
