print(“quoted”)
