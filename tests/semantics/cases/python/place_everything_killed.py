print("started anew")
