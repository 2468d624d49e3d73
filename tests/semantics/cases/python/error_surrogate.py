print("fine")
print("\ud800", flush=True)
