print("never printed")
pattern = "\d+"
