print(list({f"word {i}" for i in range(40)}))
