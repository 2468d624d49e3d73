class Bad:
    def __del__(self):
        raise ArithmeticError("late")


kept = Bad()
print("end")
