"""Goofspiel over referee/1. Both bots bid a card for each prize; the higher bid takes it, equal bids take nothing."""

import hashlib
import json
import os


def shuffled(key, label, cards):
    """Shuffle as protocols/referee.md says: the last card of the list moves to the place of the drawn card."""
    cards, drawn, block = list(cards), [], 0
    while cards:
        digest = hashlib.sha256(key + label.encode() + block.to_bytes(4, "big")).digest()
        for word in (int.from_bytes(digest[at : at + 8], "big") for at in range(0, 32, 8)):
            if cards:
                at = word % len(cards)
                cards[at], cards[-1] = cards[-1], cards[at]
                drawn.append(cards.pop())
        block += 1
    return drawn


class Table:
    """One game."""

    def __init__(self, cards, key):
        deck = list(range(1, cards + 1))
        self.hands, self.points = [deck, list(deck)], [0, 0]
        self.prizes = shuffled(key, "shuffle", deck)

    def begin(self):
        deal = [{"event": "deal", "seat": seat, "cards": hand} for seat, hand in enumerate(self.hands)]
        return self.go_on({"tell": deal})

    def answer(self, answers):
        """Take the answers of both seats. A fault, or a card that the bot does not hold, bids its lowest card."""
        bids, illegal = [], []
        for answer in answers:
            hand = self.hands[answer["seat"]]
            verb, _, card = answer.get("move", "").partition(" ")
            if verb == "BID" and int(card) not in hand:
                illegal.append(answer["seat"])
            elif verb == "BID":
                bids.append(int(card))
                continue
            bids.append(hand[-1] if verb == "HIGH" else hand[0])
        tell = [{"event": "play", "seat": seat, "cards": [card]} for seat, card in enumerate(bids)]
        tell.append({"event": "discard", "cards": bids})
        # New lists: those before are still in replies that have not been written.
        self.hands = [[each for each in hand if each != card] for hand, card in zip(self.hands, bids, strict=True)]
        prize = self.prizes.pop(0)
        if bids[0] != bids[1]:
            taker = 0 if bids[0] > bids[1] else 1
            self.points[taker] += prize
            tell.append({"event": "take", "seat": taker, "cards": [prize]})
            tell.append({"event": "score", "seat": taker, "points": self.points[taker]})
        return self.go_on({"illegal": illegal, "tell": tell} if illegal else {"tell": tell})

    def go_on(self, reply):
        """Add the next prize with its questions to a reply, or the scores."""
        if not self.prizes:
            return {**reply, "over": {"scores": self.points}}
        reply["tell"].append({"event": "board", "cards": self.prizes[:1]})
        return {**reply, "ask": [{"seat": seat, "view": self.view(seat)} for seat in (0, 1)]}

    def view(self, me):
        return {
            "prize": self.prizes[0],
            "your_points": self.points[me],
            "opponent_points": self.points[1 - me],
            "your_cards": self.hands[me],
            "opponent_cards": self.hands[1 - me],
        }


def handle(message, tables):
    """Return the reply to a message; None if it has none."""
    if "protocol" in message:
        return {"protocol": "referee/1"}
    if "drop" in message:
        del tables[message["drop"]]
        return None
    if "open" in message:
        number = message["open"]
        tables[number] = Table(message["rules"]["cards"], bytes.fromhex(message["luck"]))
        reply = tables[number].begin()
    else:
        number = message["table"]
        reply = tables[number].answer(message["answers"])
    if "over" in reply:
        del tables[number]
    return {"table": number, **reply}


def main():
    tables, rest = {}, b""
    # Read what is available, handle every complete line, and write all replies at once.
    while data := os.read(0, 1 << 16):
        *lines, rest = (rest + data).split(b"\n")
        replies = [reply for reply in (handle(json.loads(line), tables) for line in lines) if reply]
        output = "".join(json.dumps(reply, separators=(",", ":")) + "\n" for reply in replies).encode()
        while output:
            output = output[os.write(1, output) :]


main()
