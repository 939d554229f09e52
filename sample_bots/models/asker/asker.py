#!/usr/bin/env python3
"""Ask a language model for every move. The bot has no network: croupier passes its requests on (docs/models.md)."""

import http.client
import json
import os
import socket
import sys
import urllib.parse
from pathlib import Path

OTHERWISE = os.environ["OTHERWISE"]  # the move if croupier or the model refuses a request; bot.toml names it
PROMPT = Path("prompt.txt").read_text()


class Relay(http.client.HTTPConnection):
    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(os.environ["CROUPIER_MODEL_URL"].removeprefix("unix:"))


def ask(prompt: str) -> str:
    relay = Relay("relay")
    body = {"model": "small", "messages": [{"role": "user", "content": prompt}]}
    relay.request("POST", "/v1/chat/completions", json.dumps(body))
    reply = relay.getresponse()
    answer = json.loads(reply.read())
    if reply.status == 200:
        return answer["choices"][0]["message"]["content"]
    print(answer["error"]["message"], file=sys.stderr)
    global may_ask
    may_ask = reply.status != 429  # the budget is used up: to ask again at a later question of this table is a fault
    return ""


may_ask = True
for question in sys.stdin:
    prompt = PROMPT + urllib.parse.unquote(question)  # in a text of a question, %20 is a blank
    answer = ask(prompt).strip() if may_ask else ""
    print((answer or OTHERWISE).splitlines()[-1], flush=True)
