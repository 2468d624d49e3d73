name = input("your name? ")
