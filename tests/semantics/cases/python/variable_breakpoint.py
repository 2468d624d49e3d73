breakpoint()
print("not stopped")
