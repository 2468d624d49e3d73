import argparse

parser = argparse.ArgumentParser(description="A program.")
parser.add_argument("name", help="whose it is")
parser.add_argument("--count", type=int, default=1)
print(parser.format_help())
parser.parse_args()
