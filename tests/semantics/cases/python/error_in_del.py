class Bad:
    def __del__(self):
        raise ArithmeticError("in __del__")


Bad()
print("goes on")
