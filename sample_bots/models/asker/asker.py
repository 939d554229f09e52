#!/usr/bin/env python3
"""Ask a language model for every move. The bot has no network: croupier passes its requests on (docs/models.md)."""

import http.client
import json
import os
import socket
import sys

PROMPT = """You play Pazaak: get close to 20, not above it. A question has the fields wins_one, wins_two, player_one, your_hand,
opponent_hand, your_side_deck and three more. Answer END for another card, or STAND. The question: """


class Relay(http.client.HTTPConnection):
    """A connection to the Unix socket that CROUPIER_MODEL_URL names."""

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(os.environ["CROUPIER_MODEL_URL"].removeprefix("unix:"))


def ask(prompt: str) -> str:
    """Return what the model says; "" if croupier or the model refuses the request."""
    body = json.dumps({"model": "small", "messages": [{"role": "user", "content": prompt}]})
    relay = Relay("relay")
    relay.request("POST", "/v1/chat/completions", body)
    reply = relay.getresponse()
    answer = json.loads(reply.read())
    if reply.status == 200:
        return answer["choices"][0]["message"]["content"]
    print(answer["error"]["message"], file=sys.stderr)
    return ""


for question in sys.stdin:
    print("END" if "END" in ask(PROMPT + question) else "STAND", flush=True)
