// Goofspiel over referee/1. Both bots bid a card for each prize; the higher bid takes it, equal bids take nothing.
// A fault, or a card that the bot does not hold, bids its lowest card.

const { createHash } = require("crypto");
const fs = require("fs");

const tables = new Map();

// The shuffle of protocols/referee.md: the last card of the list moves to the place of the drawn card.
function shuffled(key, label, cards) {
  const list = [...cards];
  const drawn = [];
  for (let block = 0; list.length > 0; block++) {
    const index = Buffer.alloc(4);
    index.writeUInt32BE(block);
    const digest = createHash("sha256").update(key).update(label).update(index).digest();
    for (let word = 0; word < 4 && list.length > 0; word++) {
      const at = Number(digest.readBigUInt64BE(8 * word) % BigInt(list.length));
      drawn.push(list[at]);
      const last = list.pop();
      if (at < list.length) list[at] = last;
    }
  }
  return drawn;
}

// Add the next prize with its questions to a reply, or the scores.
function goOn(number, table, reply) {
  const { hands, points, prizes } = table;
  if (prizes.length === 0) {
    tables.delete(number);
    return { ...reply, over: { scores: points } };
  }
  const [prize] = prizes;
  reply.tell.push({ event: "board", cards: [prize] });
  const ask = [0, 1].map((seat) => ({
    seat,
    view: {
      prize,
      your_points: points[seat],
      opponent_points: points[1 - seat],
      your_cards: hands[seat],
      opponent_cards: hands[1 - seat],
    },
  }));
  return { ...reply, ask };
}

function open(message) {
  const cards = Array.from({ length: message.rules.cards }, (_, index) => index + 1);
  const prizes = shuffled(Buffer.from(message.luck, "hex"), "shuffle", cards);
  const table = { hands: [cards, cards], points: [0, 0], prizes };
  tables.set(message.open, table);
  const tell = [0, 1].map((seat) => ({ event: "deal", seat, cards }));
  return goOn(message.open, table, { table: message.open, tell });
}

function answer(message) {
  const table = tables.get(message.table);
  const illegal = [];
  const bids = message.answers.map(({ seat, move = "" }) => {
    const hand = table.hands[seat];
    const [verb, card] = move.split(" ");
    if (verb === "HIGH") return hand[hand.length - 1];
    if (verb === "BID") {
      if (hand.includes(Number(card))) return Number(card);
      illegal.push(seat);
    }
    return hand[0];
  });
  const tell = bids.map((card, seat) => ({ event: "play", seat, cards: [card] }));
  tell.push({ event: "discard", cards: bids });
  table.hands = table.hands.map((hand, seat) => hand.filter((card) => card !== bids[seat]));
  const prize = table.prizes.shift();
  if (bids[0] !== bids[1]) {
    const taker = bids[0] > bids[1] ? 0 : 1;
    table.points[taker] += prize;
    tell.push({ event: "take", seat: taker, cards: [prize] });
    tell.push({ event: "score", seat: taker, points: table.points[taker] });
  }
  const reply = illegal.length > 0 ? { table: message.table, illegal, tell } : { table: message.table, tell };
  return goOn(message.table, table, reply);
}

function handle(message) {
  if ("protocol" in message) return { protocol: "referee/1" };
  if ("open" in message) return open(message);
  if ("drop" in message) {
    tables.delete(message.drop);
    return undefined;
  }
  return answer(message);
}

// Read what is available, handle every complete line, and write all replies at once.
let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  const replies = lines.map((line) => handle(JSON.parse(line))).filter((reply) => reply !== undefined);
  let output = Buffer.from(replies.map((reply) => JSON.stringify(reply) + "\n").join(""));
  while (output.length > 0) {
    try {
      output = output.subarray(fs.writeSync(1, output));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
});
