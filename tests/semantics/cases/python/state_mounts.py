with open("/proc/self/mountinfo") as file:
    for line in file:
        words = line.split()
        print(words[4], words[5], words[words.index("-") + 1])
