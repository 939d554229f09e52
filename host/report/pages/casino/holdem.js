"use strict";
// Hold'em: draws an oval table, and reads the play.log of 2018.
casino.register("holdem", ({ Trouble, bubble, cardText, chip, el, playing }) => {
const WORTH = ["", "high card", "a pair", "two pairs", "three of a kind", "a straight", "a flush", "a full house", "four of a kind", "a straight flush", "a royal flush"];

// Returns the name of an action that put `paid` chips in: the first bet of a street opens it, a higher one raises.
function bets(players, seat, paid) {
  const { bet, chips } = players[seat];
  const most = Math.max(bet - paid, ...players.map((one, other) => other === seat ? 0 : one.bet));
  return `${!most ? `bets ${paid}` : bet > most ? `raises to ${bet}` : `calls ${paid}`}${chips ? "" : ": all in"}`;
}

// Returns which seat acted between two looks at a table, and how; null if cards were dealt, or not exactly one seat acted.
// `death` is what the log says of a player that folds; a bet of 0 chips is the usual way to fold.
function actedBetween(before, { hand, board, players }, death, bots) {
  if (!before || before.hand !== hand || before.board.length !== board.length) return null;
  const moved = players.flatMap((one, seat) => one.chips !== before.players[seat].chips || one.died !== before.players[seat].died ? [seat] : []);
  if (moved.length !== 1) return null;
  const [seat] = moved;
  if (!players[seat].died) return { seat, fault: false, word: bets(players, seat, before.players[seat].chips - players[seat].chips) };
  const [, why = ""] = death.split(`${bots[seat]} tried to bet`);
  const fault = Boolean(why) && !why.startsWith(" 0 chips. ");
  return { seat, fault, word: fault ? `folds: ${why.replace(/^, but /, "").replace(/!$/, "").replace(/^ (-?\d+) chips. /, "it bet $1 ")}` : "folds" };
}

const LOG_SUITS = "?chds", LOG_RANKS = "??23456789TJQKA";

function readLog(text) {
  const lines = text.replace(/\r/g, "").split("\n");
  const torn = lines.pop();
  const events = [];
  let bots = null, ended = false, deaths = [];
  const bad = (nth, why) => new Trouble(`line ${nth + 1} of the play.log ${why}`);
  for (const [nth, line] of lines.entries()) {
    if (line.startsWith("ERROR:root:")) { deaths.push(line.slice(11)); continue; }
    if (!line.startsWith("INFO:root:")) throw bad(nth, `begins with “${line.slice(0, 20)}”, not with INFO:root: or ERROR:root: – is this a play.log?`);
    let look;
    try { look = JSON.parse(line.slice(10)); } catch { throw bad(nth, "is cut off: its JSON is incomplete"); }
    const whole = (number) => Number.isInteger(number) && number >= 0;
    const card = (one) => one && [1, 2, 3, 4].includes(one.suit) && Number.isInteger(one.rank) && one.rank >= 2 && one.rank <= 14;
    if (!look || !whole(look.round) || !whole(look.acc_chips) || !Array.isArray(look.players) || !Array.isArray(look.community_cards) || !look.players.length || look.players.length > 10
      || !look.community_cards.every(card) || !look.players.every((one) => one && typeof one.name === "string" && whole(one.chips) && whole(one.bet_amt) && Array.isArray(one.cards) && one.cards.every(card)))
      throw bad(nth, "has another form: a snapshot of the table has round, acc_chips, community_cards, players and all_in");
    bots = bots || look.players.map((one) => one.name);
    const spelled = (one) => LOG_RANKS[one.rank] + LOG_SUITS[one.suit];
    const order = look.players.map((one) => bots.indexOf(one.name));
    if (order.includes(-1)) throw bad(nth, "names a player that is not in the first snapshot");
    const players = bots.map((name) => {
      const one = look.players.find((each) => each.name === name);
      return one ? { chips: one.chips, bet: one.bet_amt, cards: one.cards.map(spelled), died: Boolean(one.died), out: false, allIn: !one.chips && one.cards.length > 0, worth: "" }
        : { chips: 0, bet: 0, cards: [], died: false, out: true, allIn: false, worth: "" };
    });
    ended = players.every((one) => !one.cards.length);
    const state = { hand: look.round, pot: look.acc_chips, board: look.community_cards.map(spelled), players, order, winners: [], share: 0, end: "" };
    const before = events.at(-1)?.state, acted = actedBetween(before, state, deaths.join(" "), bots);
    Object.assign(state, { actor: acted ? acted.seat : -1, said: acted });
    const dealt = before && before.hand === look.round ? state.board.slice(before.board.length).map(cardText) : [];
    const what = acted ? `${bots[acted.seat]} ${acted.word}` : dealt.length ? `The board gets ${dealt.join(", ")}` : `Round ${look.round}`;
    const said = deaths.length && !acted ? deaths.join(" ") : ended ? "The game is over." : `${what}, pot ${look.acc_chips}.`;
    events.push({ ev: "look", state, text: said, fault: deaths.some((death) => !death.includes(" tried to bet 0 chips. ")), hand: look.round });
    deaths = [];
  }
  if (torn) throw bad(lines.length, "is cut off: it has no newline. The game is not shown, because its end is missing");
  if (!events.length) throw new Trouble("this file is empty: a play.log has a line for each snapshot of the table");
  if (!ended) throw bad(lines.length, "is missing: a game ends with a snapshot without cards. The file was cut off");
  return { table: "play.log", game: "holdem", bots, rules: {}, events, kept: {}, took: [], looks: true };
}

return {
  opens: (ev, last) => ["round.start", "ask", "round.end"].includes(ev.ev) || (ev.ev === "board" && last !== "board"),
  unit: "round",
  starts: "round.start",
  omits: ["die", "bet"],
  start: (table) => ({ hand: 0, pot: 0, board: [], actor: -1, said: null, winners: [], share: 0, order: [], end: "",
    players: table.bots.map(() => ({ chips: table.rules.chips || 0, bet: 0, cards: [], died: false, out: false, allIn: false, worth: "" })) }),
  apply(state, ev, table) {
    const player = state.players[ev.seat];
    switch (ev.ev) {
      case "round.start":
        Object.assign(state, { hand: ev.round, pot: 0, board: [], actor: -1, winners: [], share: 0, order: ev.seats, end: "" });
        for (const each of state.players) Object.assign(each, { out: true, cards: [], bet: 0, died: false, allIn: false, worth: "" });
        ev.seats.forEach((seat, nth) => Object.assign(state.players[seat], { out: false, chips: ev.chips[nth] - (table.rules.ante ?? 1) }));
        break;
      case "deal": player.cards.push(ev.card); break;
      case "board":
        state.board.push(ev.card);
        state.actor = -1;
        for (const each of state.players) each.bet = 0;
        break;
      case "ask": state.actor = ev.seat; break;
      case "answer": {
        const n = /^\d/.test(ev.a) && !ev.illegal ? Number(ev.a) : 0;
        if (!n) { player.died = true; break; }
        player.chips -= n; player.bet += n; state.pot += n;
        if (!player.chips) player.allIn = true;
        break;
      }
      case "round.end":
        Object.assign(state, { actor: -1, winners: ev.winners, share: ev.share, end: ev.end, pot: ev.pot });
        state.order.forEach((seat, nth) => { state.players[seat].chips = ev.chips[nth]; });
        for (const [seat, category] of ev.worth) state.players[seat].worth = WORTH[category] || "";
        for (const each of state.players) each.bet = 0;
        break;
      case "look": Object.assign(state, ev.state); break;
      case "table.end": state.over = ev.scores; state.actor = -1; break;
    }
  },
  allIn: (state, ev) => ev.ev === "answer" && state.players[ev.seat].allIn && !state.players[ev.seat].died,
  worth: (state) => state.players.map((player) => player.out ? -1 : player.chips), staked: true,
  lead: (ev) => ev.ev === "round.end" || ev.ev === "look",
  word(ev, state) {
    const n = /^\d/.test(ev.a) ? Number(ev.a) : 0;
    return n && !ev.illegal ? bets(state.players, ev.seat, n) : ev.a === "0" ? "folds" : `${ev.a.toLowerCase()}: folds`;
  },
  say(ev, table) {
    if (ev.ev === "round.start") return `Round ${ev.round}: ${ev.seats.length} players, ${table.bots[ev.seats[0]]} acts first, ${table.bots[ev.seats.at(-1)]} is the dealer.`;
    if (ev.ev === "board") return `The board gets ${cardText(ev.card)}.`;
    if (ev.ev === "round.end") return ev.winners.length ? `${ev.winners.map((seat) => table.bots[seat]).join(" and ")} ${ev.winners.length > 1 ? "win" : "wins"} ${ev.share} of ${ev.pot} (${{ showdown: "showdown", last_player: "the last one left" }[ev.end] || ev.end}).` : "Everybody folded: the pot is lost.";
    if (ev.ev === "look") return ev.text;
    return "";
  },
  picture(state, table, seen, old) {
    const count = state.players.length;
    const over = state.end === "showdown";
    return el(".felt.oval", {},
      el(".middle", {},
        el(".hand", {}, state.board.map((card, nth) => playing(card, nth >= (old && old.hand === state.hand ? old.board.length : 0))),
          Array.from({ length: 5 - state.board.length }, () => el("span.slot.tall", { "aria-hidden": "true" }))),
        el(".pot", {}, chip(), `pot ${state.pot}`)),
      state.players.map((player, seat) => {
        const open = seen < 0 || seen === seat || (over && !player.died);
        const place = el(`.seat${state.actor === seat ? ".acts" : ""}${player.died ? ".died" : ""}${player.out ? ".out" : ""}${seen === seat ? ".seen" : ""}${state.winners.includes(seat) ? ".won" : ""}`, {},
          bubble(state, seat),
          el(".hand", {}, player.cards.map((card) => playing(open ? card : "?", false))),
          el(".label", {}, el("span.who", {}, table.bots[seat]), state.order.at(-1) === seat && player.cards.length ? el("span.dealer-button", { role: "img", "aria-label": "dealer", title: "the dealer acts last in this round" }, "D") : null),
          el(".figures", {}, el("span.stack", {}, player.out ? "out" : `${player.chips} chips`),
            player.bet ? el("span.stake", { title: "bet on this street" }, chip(), String(player.bet)) : null,
            player.allIn && !player.died ? el("b.best", {}, "all in") : null, player.died ? el("span.bad", {}, "folded") : null),
          state.winners.includes(seat) ? el("span.tag", {}, `wins ${state.share}${player.worth ? `, ${player.worth}` : ""}`) : player.worth && over ? el("span.tag.plain", {}, player.worth) : null);
        const angle = Math.PI / 2 + 2 * Math.PI * seat / count;
        place.style.setProperty("--x", `${50 + 38.5 * Math.cos(angle)}%`);
        place.style.setProperty("--y", `${50 + 36 * Math.sin(angle)}%`);
        return place;
      }));
  },
  readLog,
};
});
