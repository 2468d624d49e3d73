import importlib

NAMES = """abc argparse array ast asyncio base64 binascii bisect bz2 calendar cmath cmd codecs collections colorsys configparser
contextlib copy csv ctypes curses dataclasses datetime dbm decimal difflib dis doctest email enum errno fcntl filecmp fnmatch
fractions ftplib functools getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http imaplib inspect io ipaddress
itertools json keyword locale logging lzma mailbox marshal math mimetypes mmap multiprocessing netrc numbers operator optparse os
pathlib pdb pickle pickletools platform plistlib pprint profile pty pwd py_compile queue quopri random re readline reprlib resource
rlcompleter sched secrets select selectors shelve shlex shutil signal site smtplib socket socketserver sqlite3 ssl stat statistics
string struct subprocess symtable sysconfig syslog tarfile tempfile termios textwrap threading timeit token tokenize tomllib trace
traceback tracemalloc tty types typing unicodedata unittest urllib.request uuid venv warnings wave weakref webbrowser wsgiref xml
xml.etree.ElementTree xmlrpc zipapp zipfile zipimport zlib zoneinfo""".split()
for name in NAMES:
    try:
        module = importlib.import_module(name)
        print(name, getattr(module, "__file__", None))
    except ImportError as error:
        print(name, error)
