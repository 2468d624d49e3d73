total = 0
while True:
    total += int(input())
    print(total)
