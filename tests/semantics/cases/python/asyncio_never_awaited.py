async def work():
    pass


work()
print("end")
