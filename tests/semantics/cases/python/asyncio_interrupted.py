import asyncio
import os
import signal


async def main():
    try:
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGINT)
        await asyncio.sleep(30)
    finally:
        print("cleaned up")


asyncio.run(main())
