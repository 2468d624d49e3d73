print("done without it")
