import sys

sys.stdout.write("no newline")
sys.stderr.write("none here ")
raise ValueError
