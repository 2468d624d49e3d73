import asyncio


async def fails():
    raise ValueError("nobody asks")


async def main():
    task = asyncio.create_task(fails(), name="the-task")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    del task


asyncio.run(main())
print("end")
