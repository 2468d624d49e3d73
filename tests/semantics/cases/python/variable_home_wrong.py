print("never printed")
