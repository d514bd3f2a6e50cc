#!/usr/bin/env python3
import asyncio, json, sys

WORK = 200

async def serve(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.lower().split(b"\r\n")
            length = next(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:"))
            call = json.loads(await reader.readexactly(length))
            sum(range(WORK))
            answer = json.dumps({"jsonrpc": "2.0", "result": "pong", "id": call["id"]}).encode()
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(answer)
            writer.write(head + answer)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()

async def main():
    host, port = sys.argv[1].split(":")
    server = await asyncio.start_server(serve, host, int(port), backlog=1024)
    print(json.dumps({"addr": "%s:%d" % server.sockets[0].getsockname()}), flush=True)
    await server.serve_forever()

asyncio.run(main())
