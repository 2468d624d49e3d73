try:
    with open("large", "wb") as file:
        file.write(bytes(32 << 20))
except OSError as error:
    print(error)
