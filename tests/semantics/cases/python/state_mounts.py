# Sorted: the order is that in which they were made, by more than one process at once.
with open("/proc/self/mountinfo") as file:
    lines = [line.split() for line in file]
for words in sorted(lines, key=lambda words: words[4]):
    print(words[4], words[5], words[words.index("-") + 1])
