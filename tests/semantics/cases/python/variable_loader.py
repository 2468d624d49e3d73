print("started all the same")
