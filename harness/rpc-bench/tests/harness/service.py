"""A service of a test: JSON-RPC over TLS for whoever has a fresh token, and lines on a Unix socket.

service.py HOST:PORT CERTIFICATE_AND_KEY [--ipc=PATH]; the secret of its tokens is OWN_SECRET of the environment
"""
import base64
import hashlib
import hmac
import json
import os
import socketserver
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

(host, port), certificate, secret = sys.argv[1].rsplit(":", 1), sys.argv[2], bytes.fromhex(os.environ["OWN_SECRET"])
ipc = next((arg.removeprefix("--ipc=") for arg in sys.argv[3:]), None)


def answer(text):
    call = json.loads(text)
    return json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": "0xc8"})


def is_fresh(header):
    if not header:
        return False
    head, claims, signature = header.removeprefix("Bearer ").split(".")
    decoded = [base64.urlsafe_b64decode(part + "==") for part in (claims, signature)]
    signed = hmac.new(secret, f"{head}.{claims}".encode(), hashlib.sha256).digest()
    return signed == decoded[1] and abs(json.loads(decoded[0])["iat"] - time.time()) < 60


class Http(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        allowed = is_fresh(self.headers.get("authorization"))
        text = (answer(body) if allowed else "no token").encode()
        self.send_response(200 if allowed else 401)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class Lines(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write((answer(line) + "\n").encode())


class Encrypted(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def finish_request(self, request, client):
        # The handshake is done here, in the connection's own thread.
        super().finish_request(context.wrap_socket(request, server_side=True), client)

    def handle_error(self, *_):
        # Whoever only connects, or does not trust the certificate.
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate)
if ipc:
    lines = socketserver.ThreadingUnixStreamServer(ipc, Lines)
    lines.daemon_threads = True
    threading.Thread(target=lines.serve_forever, daemon=True).start()
Encrypted((host, int(port)), Http).serve_forever()
