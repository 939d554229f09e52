"use strict";
// The general table: draws every game without a file of its own here, from the events of docs/adding-a-game.md, "Pictures".
casino.register("", ({ bubble, chip, el, playing }) => {
const MOST = 60; // cards drawn in one place
const CARD = /^(10|[2-9TJQKA])([cdhs])$/i;
const CLEARS = ["take", "discard"];
const FACTS = {
  deal: ["seat", "cards"], pass: ["seat", "to", "cards"], play: ["seat", "cards"], board: ["cards"], take: ["seat", "cards"], discard: [],
  score: ["seat", "points"], chips: ["seat", "chips"], bet: ["seat", "chips"], say: ["seat", "text"], turn: ["seat"], state: ["text"],
};

const listed = (cards) => Array.isArray(cards) ? cards : [cards];
const isCard = (card) => Number.isFinite(card) || (typeof card === "string" && card !== "" && card.length <= 200);
const FITS = {
  seat: (seat, seats) => Number.isInteger(seat) && seat >= 0 && seat < seats, to: (seat, seats) => FITS.seat(seat, seats),
  cards: (cards) => listed(cards).every(isCard), points: Number.isFinite, chips: Number.isFinite, text: (text) => typeof text === "string",
};

// Returns whether an event is one that this table draws. Dropped files are not validated by croupier, so look at the facts.
function drawn(ev, table) {
  if (!Object.hasOwn(FACTS, ev.ev)) return false;
  const facts = ev.ev === "discard" ? ["seat", "cards"].filter((fact) => ev[fact] !== undefined && ev[fact] !== null) : FACTS[ev.ev];
  return facts.every((fact) => FITS[fact](ev[fact], table.bots.length));
}

// Removes cards from the first of several lists that has each. A card that is in none may be one that lies face down.
function remove(cards, lists) {
  for (const card of cards) {
    const from = lists.find((list) => list.includes(card)) ?? lists.find((list) => list.includes("?"));
    if (from) from.splice(from.includes(card) ? from.indexOf(card) : from.indexOf("?"), 1);
  }
}

function change(state, ev) {
  const { players } = state, player = players[ev.seat], cards = ev.cards === undefined || ev.cards === null ? null : listed(ev.cards);
  switch (ev.ev) {
    case "deal": player.held.push(...cards); break;
    case "pass": remove(cards, [player.held]); players[ev.to].held.push(...cards); break;
    case "play": remove(cards, [player.held]); player.played.push(...cards); break;
    case "board": state.board = cards; break;
    case "take": remove(cards, [...players.map((each) => each.played), state.board]); player.taken += cards.length; break;
    case "discard":
      if (cards && player) remove(cards, [player.held, player.played]);
      else if (cards) remove(cards, [...players.map((each) => each.played), state.board, ...players.map((each) => each.held)]);
      else {
        for (const each of player ? [player] : players) Object.assign(each, { held: [], played: [] });
        if (!player) { state.board = []; for (const each of players) each.taken = 0; }
      }
      break;
    case "score": player.points = ev.points; break;
    case "chips": player.chips = ev.chips; break;
    case "bet": player.bet = ev.chips; break;
    case "say": player.says = ev.text; break;
    case "turn": state.actor = ev.seat; break;
    case "state": state.text = ev.text; break;
  }
}

// A state as it is, in letters that let it fill the table.
function drawing(text) {
  const lines = text.trimEnd().split("\n"), columns = Math.max(8, ...lines.map((line) => line.length));
  const pre = el("pre.drawing", { role: "region", "aria-label": "the state of the game", tabindex: 0 }, text);
  pre.style.setProperty("--columns", columns);
  pre.style.setProperty("--rows", Math.max(3, lines.length));
  return pre;
}

// Words.

const SEATS = ["seat", "seats", "winner", "winners", "out"];
const name = (table, seat) => table.bots.indexOf(table.bots[seat]) === table.bots.lastIndexOf(table.bots[seat]) ? table.bots[seat] : `${table.bots[seat]} (seat ${seat + 1})`;

// Returns an event of the game's own as its name and its facts.
function inWords({ ev, ...facts }, table) {
  const word = (value) => typeof value === "string" ? value : JSON.stringify(value);
  const told = Object.entries(facts).map(([fact, value]) => {
    const values = listed(value).map((each) => SEATS.includes(fact) && table.bots[each] !== undefined ? name(table, each) : word(each));
    return `${fact === "seat" ? "" : `${fact} `}${values.join(" ") || "nothing"}`;
  });
  return [ev, told.join(", ")].filter(Boolean).join(": ");
}

// Returns a drawn event as a sentence, as the bot at seat `seen` may know it; -1 knows everything.
function sentence(ev, table, seen) {
  const open = seen < 0 || seen === ev.seat || seen === ev.to;
  const cards = ev.cards === undefined || ev.cards === null ? null : listed(ev.cards), who = FACTS[ev.ev] && ev.seat >= 0 ? name(table, ev.seat) : "";
  const what = cards && (open || !["deal", "pass"].includes(ev.ev) ? cards.join(" ") || "nothing" : `${cards.length} ${cards.length === 1 ? "card" : "cards"}`);
  switch (ev.ev) {
    case "deal": return `${who} gets ${what}.`;
    case "pass": return `${who} passes ${what} to ${name(table, ev.to)}.`;
    case "play": return `${who} plays ${what}.`;
    case "board": return `On the table: ${what}.`;
    case "take": return `${who} takes ${what}.`;
    case "discard": return who ? `${who} discards ${cards && open ? what : cards ? `${cards.length} cards` : "everything"}.` : cards ? `Discarded: ${what}.` : "The table is cleared.";
    case "score": return `${who} has ${ev.points} points.`;
    case "chips": return `${who} has ${ev.chips} chips.`;
    case "bet": return `${who} has bet ${ev.chips}.`;
    case "say": return `${who}: “${ev.text}”`;
    case "turn": return `It is the turn of ${who}.`;
    default: return "";
  }
}

function answered(ev, events, table, seen) {
  const shown = events.slice(events.indexOf(ev)).some((next) => next.seat === ev.seat && next.ev !== "turn" && drawn(next, table) && sentence(next, table, seen));
  const failed = ev.illegal || ev.a.startsWith("(");
  if (shown && (!failed || (seen >= 0 && seen !== ev.seat))) return "";
  if (seen >= 0 && seen !== ev.seat) return `${name(table, ev.seat)} answers.`;
  return `${name(table, ev.seat)} answers ${ev.a}${ev.illegal ? ", which is not allowed here" : ""}.`;
}

// Drawings.

function face(card, fresh) {
  const found = CARD.exec(card);
  if (found) return playing((found[1] === "10" ? "T" : found[1].toUpperCase()) + found[2].toLowerCase(), fresh, false);
  return card === "?" ? playing("?", fresh, false) : el(`span.word${fresh ? ".fresh" : ""}`, { role: "img", "aria-label": `card ${card}` }, String(card));
}

function pile(cards, label, before = null) {
  const known = [...(before || [])];
  const faces = cards.slice(0, MOST).map((card) => {
    const old = known.indexOf(card);
    if (old >= 0) known.splice(old, 1);
    return face(card, before !== null && old < 0);
  });
  const made = el(".hand.overlapping", { role: "group", "aria-label": label }, faces, cards.length > MOST ? el("span.word", {}, `+${cards.length - MOST}`) : null);
  made.style.setProperty("--n", Math.max(2, Math.min(cards.length, MOST)));
  return made;
}

return {
  unit: (table) => table.events.some((ev) => ev.ev === "deal" && drawn(ev, table)) ? "deal" : "question",
  hidesAnswers: true, // a bot's answer can be a secret, for example where several choose at the same time
  opens(ev, last, events, table) {
    if (ev.ev === "answer") return false;
    if (!drawn(ev, table)) return ["ask", "table.end"].includes(ev.ev) || last !== "answer";
    if (CLEARS.includes(ev.ev)) return !CLEARS.includes(last);
    if (["deal", "board"].includes(ev.ev)) return !["deal", "board", "discard"].includes(last);
    return ev.ev === "state" && events.some((each) => each.ev === "state");
  },
  start: (table) => ({ hand: 0, actor: -1, said: null, told: [], text: null, board: [], deals: table.events.some((ev) => ev.ev === "deal" && drawn(ev, table)),
    players: table.bots.map(() => ({ held: [], played: [], taken: 0, points: null, chips: null, bet: 0, says: "", asked: "", answered: "" })) }),
  begin(state) {
    state.told = [];
    for (const player of state.players) player.says = "";
  },
  // Returns whether the event begins a unit: cards are dealt while nobody holds any.
  apply(state, ev, table) {
    const player = state.players[ev.seat];
    const first = ev.ev === "deal" && drawn(ev, table) && state.players.every((each) => !each.held.length);
    if (first || (ev.ev === "ask" && !state.deals)) state.hand += 1;
    if (drawn(ev, table)) change(state, ev);
    else if (ev.ev === "ask") {
      state.actor = ev.seat;
      Object.assign(player, { asked: ev.q.join(" "), answered: "" });
    } else if (ev.ev === "answer") player.answered = ev.a;
    else if (ev.ev === "table.end") Object.assign(state, { over: ev.scores, actor: -1 });
    else if (ev.ev !== "table.start") state.told.push(inWords(ev, table));
    return first;
  },
  allIn: () => false,
  worth: () => [],
  lead: () => false,
  word: (ev) => ev.a,
  text: ({ events }, table, seen) => events.map((ev) => {
    if (ev.ev === "answer") return answered(ev, events, table, seen);
    if (ev.ev === "table.end") return `The game is over: ${table.bots.map((_, seat) => `${name(table, seat)} ${ev.scores[seat]}`).join(", ")}.`;
    if (["ask", "table.start"].includes(ev.ev)) return "";
    return drawn(ev, table) ? sentence(ev, table, seen) : seen < 0 ? `${inWords(ev, table)}.` : "";
  }).filter(Boolean).join(" "),
  picture(state, table, seen, old) {
    const cards = state.deals || state.board.length || state.players.some((player) => player.played.length);
    const seats = el(".seats", {}, state.players.map((player, seat) => {
      const open = seen < 0 || seen === seat, was = old?.players[seat];
      const figure = (value, words) => value === null ? null : el("span", {}, words);
      return el(`.seat${state.actor === seat ? ".acts" : ""}${seen === seat ? ".seen" : ""}`, { role: "group", "aria-label": name(table, seat) },
        player.says ? el("span.bubble", {}, player.says) : open ? bubble(state, seat) : null,
        el(".label", {}, name(table, seat)),
        el(".figures", {},
          figure(state.over ? state.over[seat] : null, state.over && `score ${state.over[seat]}`),
          figure(player.points, `${player.points} points`), player.chips === null ? null : el("span.stake", {}, chip(), ` ${player.chips}`),
          player.bet ? el("span.stake.best", {}, `bet ${player.bet}`) : null, player.taken ? figure(0, `${player.taken} cards taken`) : null),
        cards ? [pile(open ? player.held : player.held.map(() => "?"), `hand of ${name(table, seat)}`), pile(player.played, `played by ${name(table, seat)}`, was?.played || [])]
          : [el("p.asked", {}, open && (state.text === null || seen >= 0) ? player.asked : ""), el("p", {}, open ? player.answered : "")]);
    }));
    const middle = [
      state.board.length ? pile(state.board, "on the table", old?.board || []) : null,
      state.text === null ? null : seen < 0 ? drawing(state.text)
        : cards ? null : el("p.quiet", {}, "The state is shown with all cards only; this bot has seen its questions."),
      state.told.length && seen < 0 ? el("p.told", {}, state.told.join(" · ")) : null,
    ].filter(Boolean);
    return el(`.felt.general${state.players.length > 2 ? ".several" : ""}`, {}, middle.length ? el(".between", {}, middle) : null, seats);
  },
};
});
