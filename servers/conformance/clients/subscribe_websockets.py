"""Calls and subscribes through `websockets`: python subscribe_websockets.py HTTP WEBSOCKET prints one JSON object.

This client knows no JSON-RPC, so the messages are written here; calls are in flight together and matched by id.
"""

import asyncio
import json
import sys

import websockets

SLOTS = 5


async def main(url):
    async with websockets.connect(url) as socket:
        waiting, slots = {}, []

        def call(number, method, params):
            waiting[number] = asyncio.get_running_loop().create_future()
            return socket.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))

        async def read():
            async for text in socket:
                message = json.loads(text)
                if "id" in message:
                    waiting[message["id"]].set_result(message)
                elif message["method"] == "slotNotification":
                    slots.append(message["params"])

        reading = asyncio.create_task(read())
        await call(1, "getHealth", [])
        await call(2, "getBlocks", [5, 10])
        await call(3, "slotSubscribe", [])
        health, blocks, subscribed = [(await waiting[number])["result"] for number in (1, 2, 3)]
        while len(slots) < SLOTS:
            await asyncio.sleep(0.01)
        await (await socket.ping())
        await call(4, "slotUnsubscribe", [subscribed])
        ended = (await waiting[4])["result"]
        reading.cancel()
        assert all(slot["subscription"] == subscribed for slot in slots)
        return {"health": health, "blocks": blocks, "slots": [slot["result"] for slot in slots[:SLOTS]], "ended": ended}


print(json.dumps(asyncio.run(main(sys.argv[2]))))
