# Asks a model at every question, though its budget is used up. Verdict: budget.
import os
import socket
import sys

BODY = b'{"model": "small", "messages": []}'
REQUEST = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)

for question in sys.stdin:
    with socket.socket(socket.AF_UNIX) as relay:
        relay.connect(os.environ["CROUPIER_MODEL_URL"].removeprefix("unix:"))
        relay.sendall(REQUEST)
        relay.recv(4096)
    print("S", flush=True)
