"""A JSON-RPC server of Python's standard library: getBalance and getHealth over the ledger that the harness gives it."""

import argparse
import json
import pathlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--listen", default="127.0.0.1:0")
options.add_argument("--ledger", type=pathlib.Path, required=True)
given = options.parse_args()

chain = json.loads((given.ledger / "chain.json").read_text())
context = {"apiVersion": chain["api_version"], "slot": chain["rooted"][-1][1]}
accounts = [json.loads(file.read_text()) for file in (given.ledger / "accounts").iterdir()]
balances = {known["pubkey"]: known["account"]["lamports"] for known in accounts}

methods = {
    "getHealth": lambda params: "ok",
    "getBalance": lambda params: {"context": context, "value": balances.get(params[0], 0)},
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # Connections are kept,
    wbufsize = -1  # head and body leave together,
    disable_nagle_algorithm = True  # and at once.

    def do_POST(self):
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = {"jsonrpc": "2.0", "id": call["id"]}
        if call["method"] in methods:
            answer["result"] = methods[call["method"]](call.get("params"))
        else:
            answer["error"] = {"code": -32601, "message": "Method not found"}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 1024


host, port = given.listen.rsplit(":", 1)
server = Server((host, int(port)), Handler)
# The ready line: from now on it answers.
print(json.dumps({"addr": "%s:%d" % server.server_address}), flush=True)
server.serve_forever()
