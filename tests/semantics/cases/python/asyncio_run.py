import asyncio
import contextvars

name = contextvars.ContextVar("name", default="nobody")


async def work(n):
    name.set(f"task {n}")
    await asyncio.sleep(0)
    return name.get()


async def main():
    print(await asyncio.gather(*(work(n) for n in range(3))), name.get())
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work(7))
    print(task.result())
    try:
        async with asyncio.timeout(0.01):
            await asyncio.Event().wait()
    except TimeoutError as error:
        print(repr(error))
    process = await asyncio.create_subprocess_exec("echo", "child", stdout=asyncio.subprocess.PIPE)
    print(await process.communicate(), process.returncode)


asyncio.run(main())
print(contextvars.copy_context().get(name))
