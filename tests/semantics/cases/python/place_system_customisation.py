print("the program")
