import asyncio

print(asyncio.new_event_loop().get_debug())
