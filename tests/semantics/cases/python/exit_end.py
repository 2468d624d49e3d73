print("the end")
