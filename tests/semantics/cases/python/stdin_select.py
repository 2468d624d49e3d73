import os
import select

while select.select([0], [], [], 20)[0]:
    data = os.read(0, 100)
    if not data:
        break
    print(data)
print("end")
