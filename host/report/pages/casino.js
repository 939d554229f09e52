"use strict";
// The casino: a table played again as a picture. It reads what a page carries, what the server gives, exported events
// and play.log; whatever it is, it becomes steps, and each step a picture, a sentence, a question and an answer.
(() => {
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function el(tag, facts = {}, ...inside) {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name || "div");
  if (classes.length) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(facts)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...inside.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false));
  return made;
}

function svg(tag, facts, ...inside) {
  const made = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(facts)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

const time = (us) => us < 1000 ? `${us} µs` : us < 1e6 ? `${(us / 1000).toFixed(1)} ms` : `${(us / 1e6).toFixed(2)} s`;
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

// Cards, our own drawings.

const SUITS = {
  c: ["♣", "clubs", "M50 8A20 20 0 0 1 66 40A21 21 0 1 1 56 68C57 80 61 88 68 94L32 94C39 88 43 80 44 68A21 21 0 1 1 34 40A20 20 0 0 1 50 8Z"],
  h: ["♥", "hearts", "M50 90C18 64 6 46 6 29C6 15 17 6 29 6C38 6 46 11 50 20C54 11 62 6 71 6C83 6 94 15 94 29C94 46 82 64 50 90Z"],
  d: ["♦", "diamonds", "M50 3L88 50L50 97L12 50Z"],
  s: ["♠", "spades", "M50 5C76 34 94 46 94 65C94 77 85 84 75 84C67 84 59 80 55 72C56 82 60 90 66 95L34 95C40 90 44 82 45 72C41 80 33 84 25 84C15 84 6 77 6 65C6 46 24 34 50 5Z"],
};
const NAMES = { A: "ace", K: "king", Q: "queen", J: "jack", T: "ten" };

function cardText(card) {
  if (!card || card === "?") return "a hidden card";
  const rank = NAMES[card[0]] || card[0];
  return SUITS[card[1]] ? `${rank} of ${SUITS[card[1]][1]}` : rank;
}

function playing(card, fresh, dim) {
  const hidden = !card || card === "?";
  const rank = hidden ? "" : card[0] === "T" ? "10" : card[0].toUpperCase();
  const suit = hidden ? null : SUITS[card[1]];
  const red = suit && "hd".includes(card[1]);
  const picture = svg("svg", { viewBox: "0 0 60 84", role: "img", "aria-label": cardText(card),
    class: `card${hidden ? " back" : ""}${red ? " red" : ""}${fresh ? " fresh" : ""}${dim ? " dim" : ""}` });
  picture.append(svg("rect", { class: "paper", x: 1, y: 1, width: 58, height: 82, rx: 7 }));
  if (hidden) {
    picture.append(svg("rect", { class: "frame", x: 7, y: 7, width: 46, height: 70, rx: 4 }));
    for (let y = 0; y < 4; y++) for (let x = 0; x < 3; x++)
      picture.append(svg("path", { class: "lozenge", d: `M${15.5 + x * 14.5} ${12 + y * 16}l6 7-6 7-6-7z` }));
  } else if (suit) {
    picture.append(svg("text", { x: 6, y: 25, class: "rank" }, rank));
    picture.append(svg("path", { class: "pip", d: suit[2], transform: "translate(6 29) scale(.16)" }));
    picture.append(svg("path", { class: "pip", d: suit[2], transform: "translate(19 38) scale(.36)" }));
  } else {
    picture.append(svg("text", { x: 30, y: 54, class: "rank large", "text-anchor": "middle" }, rank));
    picture.append(svg("path", { class: "lozenge", d: "M30 62l5 6-5 6-5-6z" }));
    picture.append(svg("path", { class: "lozenge", d: "M30 9l5 6-5 6-5-6z" }));
  }
  return picture;
}

function numbered(card, kind, fresh) {
  const hidden = card === "?";
  const text = hidden ? "?" : kind === "side" ? `+${card}` : String(card);
  const picture = svg("svg", { viewBox: "0 0 60 84", role: "img", "aria-label": hidden ? "a hidden side card" : `${kind === "side" ? "side card" : "card"} ${card}`,
    class: `card pazaak ${kind}${fresh ? " fresh" : ""}` });
  picture.append(svg("rect", { class: "paper", x: 1, y: 1, width: 58, height: 82, rx: 9 }));
  picture.append(svg("path", { class: "band", d: "M1 24h58v36H1z" }));
  picture.append(svg("text", { x: 30, y: 52, class: "rank large", "text-anchor": "middle" }, text));
  return picture;
}

// The games. Each follows events with `apply`, and draws what it knows with `picture`.

const POINTS = (card) => card === "A" ? 1 : "TJQK".includes(card) ? 10 : Number(card) || 0;
function blackjackScore(hand) {
  const cards = [...hand.toUpperCase()].filter((card) => card !== "#");
  const total = sum(cards.map(POINTS));
  return cards.includes("A") && total + 10 <= 21 ? total + 10 : total;
}

const cardshark = {
  opens: (ev) => ["hand.start", "ask", "dealer.plays", "hand.end"].includes(ev.ev),
  unit: "hand",
  start: (table) => ({ hand: 0, dealer: "", hole: "", drawn: 0, reveal: false, actor: -1, said: null,
    players: table.bots.map(() => ({ cards: "", stake: 0, chips: 0, stands: false, out: false, won: null })) }),
  apply(state, ev, table, ahead) {
    const player = state.players[ev.seat];
    const shoe = (cards) => { state.drawn += cards; };
    switch (ev.ev) {
      case "hand.start": {
        const hole = ahead.find((next) => next.ev === "dealer.plays");
        Object.assign(state, { hand: ev.hand, dealer: "", hole: hole ? hole.hand[1] : "?", reveal: false, actor: -1 });
        ev.chips.forEach((chips, seat) => Object.assign(state.players[seat], { cards: "", stake: 0, chips, stands: false, won: null, out: chips < (table.rules.buy_in || 10) }));
        for (const each of state.players) if (!each.out) { each.stake = table.rules.buy_in || 10; each.chips -= each.stake; }
        break;
      }
      case "deal": player.cards += ev.card; shoe(1); break;
      case "dealer": state.dealer = ev.card; shoe(2); break;
      case "ask": {
        const [, hand, visible, stake, chips] = ev.q;
        state.actor = ev.seat;
        Object.assign(player, { cards: hand === "-" ? "" : hand, stake: Number(stake), chips: Number(chips) });
        if (!state.dealer) state.dealer = visible[0];
        break;
      }
      case "answer": {
        const [verb, n] = ev.a.split(" ");
        if (ev.illegal || ev.a.startsWith("(") || verb === "S") player.stands = true;
        else if (verb === "B") { player.chips -= Math.abs(n); player.stake += Math.abs(n); }
        else if (verb === "D") { player.chips -= player.stake; player.stake *= 2; player.stands = true; }
        break;
      }
      case "dealer.plays":
        shoe(ev.hand.length - 2);
        Object.assign(state, { dealer: ev.hand, reveal: true, actor: -1 });
        break;
      case "hand.end": {
        const beat = blackjackScore(state.dealer) <= 21 ? blackjackScore(state.dealer) : 0;
        ev.chips.forEach((chips, seat) => {
          const one = state.players[seat];
          const score = blackjackScore(ev.hands[seat]);
          Object.assign(one, { cards: ev.hands[seat], stake: ev.stakes[seat], chips, won: ev.stakes[seat] ? score <= 21 && score > beat : null });
        });
        state.actor = -1;
        break;
      }
      case "table.end": state.over = ev.scores; state.actor = -1; break;
    }
  },
  allIn: (state, ev) => ev.ev === "answer" && /^[BD]/.test(ev.a) && !ev.illegal && state.players[ev.seat].chips <= 0,
  worth: (state) => state.players.map((player) => player.chips), staked: true,
  lead: (ev) => ev.ev === "hand.end",
  word(ev) {
    const [verb, n] = ev.a.split(" ");
    return { H: "hits", S: "stands", D: "doubles", B: `bets ${Math.abs(n)}` }[verb] || ev.a;
  },
  say(ev, table) {
    const cards = (hand) => [...hand].map((card) => card === "#" ? "hidden" : cardText(card)).join(", ");
    if (ev.ev === "hand.start") return `Hand ${ev.hand} is dealt.`;
    if (ev.ev === "deal") return `${table.bots[ev.seat]} gets ${cardText(ev.card)}.`;
    if (ev.ev === "dealer") return `The dealer shows ${cardText(ev.card)}.`;
    if (ev.ev === "dealer.plays") return `The dealer has ${cards(ev.hand)}: ${ev.score ? ev.score : "bust"}.`;
    if (ev.ev === "hand.end") return `Chips: ${table.bots.map((bot, seat) => `${bot} ${ev.chips[seat]}`).join(", ")}.`;
    return "";
  },
  picture(state, table, seen, old) {
    const hole = state.reveal ? null : seen >= 0 ? "?" : state.hole;
    const dealt = state.dealer ? [...state.dealer] : [];
    const shown = state.reveal ? dealt : [...dealt.slice(0, 1), ...(dealt.length ? [hole || "?"] : [])];
    const score = state.reveal ? blackjackScore(state.dealer) : null;
    const left = 52 - (state.drawn && state.drawn % 52 === 0 ? 52 : state.drawn % 52);
    return el(".felt.blackjack", {},
      el(".dealer", {},
        el(".label", {}, "Dealer", state.reveal ? el("b.total", {}, score > 21 ? `${score} bust` : String(score)) : null),
        el(".hand", {}, shown.map((card, nth) => playing(card === "#" ? "?" : card.toUpperCase(), state.reveal && nth > 1 && !old?.reveal, !state.reveal && nth === 1 && card !== "?")))),
      el(".shoe", { title: "cards left in the shoe" }, svg("svg", { viewBox: "0 0 60 40", "aria-hidden": "true" },
        svg("path", { class: "box", d: "M4 36V14L18 4h38v32z" }), svg("rect", { class: "fill", x: 7, y: 33 - 16 * left / 52, width: 46, height: 1 + 16 * left / 52, rx: 2 })), el("span", {}, table.rules.engine === "engine2011" ? "shoe" : `${left} in the shoe`)),
      svg("svg", { viewBox: "0 0 600 96", class: "writing", "aria-hidden": "true" }, svg("path", { id: "arc", d: "M40 14Q300 104 560 14", fill: "none" }), svg("path", { d: "M20 30Q300 128 580 30", class: "rule" }),
        svg("text", {}, svg("textPath", { href: "#arc", startOffset: "50%", "text-anchor": "middle" }, "BLACKJACK · DEALER STANDS ON 17 · A TIE LOSES"))),
      el(".seats", {}, state.players.map((player, seat) => {
        const score = blackjackScore(player.cards);
        const bust = score > 21;
        return el(`.seat${state.actor === seat ? ".acts" : ""}${player.out ? ".out" : ""}${seen === seat ? ".seen" : ""}${player.won === true ? ".won" : player.won === false ? ".lost" : ""}`, {},
          bubble(state, seat),
          el(".hand", {}, [...player.cards].map((card, nth) => playing(card.toUpperCase(), nth >= (old ? old.players[seat].cards.length : 0) || old?.hand !== state.hand))),
          el(".label", {}, table.bots[seat]),
          el(".figures", {}, player.cards ? el(`b.total${bust ? ".bad" : score === 21 ? ".best" : ""}`, {}, bust ? `${score} bust` : String(score)) : null,
            player.stake ? el("span.stake", { title: "stake" }, chip(), String(player.stake)) : null, el("span.stack", {}, `${player.chips} chips`)),
          player.won === null ? null : el("span.tag", {}, player.won ? `wins ${player.stake}` : "loses"));
      })));
  },
};

const pazaak = {
  opens: (ev, last) => ["game.start", "deal", "hand.end"].includes(ev.ev) || (ev.ev === "hand.start" && last !== "game.start") || (ev.ev === "ask" && last !== "deal"),
  unit: "hand",
  start: (table) => ({ hand: 0, actor: -1, said: null, winner: undefined, why: "", goal: table.rules.hands_to_win || 3,
    players: table.bots.map(() => ({ cards: [], side: [], wins: 0, stands: false })) }),
  apply(state, ev) {
    const player = state.players[ev.seat];
    switch (ev.ev) {
      case "game.start": ev.side_decks.forEach((deck, seat) => { state.players[seat].side = [...deck]; }); break;
      case "hand.start":
        Object.assign(state, { hand: ev.hand, winner: undefined, why: "", actor: -1 });
        state.players.forEach((each, seat) => Object.assign(each, { cards: [], stands: false, wins: ev.wins[seat] }));
        break;
      case "deal": player.cards.push([ev.card, "house"]); state.actor = ev.seat; break;
      case "answer": state.actor = ev.seat; if (ev.a !== "END") player.stands = true; break;
      case "play":
        player.cards.push([ev.card, "side"]);
        player.side.splice(player.side.indexOf(ev.card), 1);
        break;
      case "hand.end":
        Object.assign(state, { winner: ev.winner, why: ev.why, actor: -1 });
        ev.wins.forEach((wins, seat) => { state.players[seat].wins = wins; });
        break;
      case "table.end": state.over = ev.scores; state.actor = -1; break;
    }
  },
  allIn: () => false,
  worth: (state) => state.players.map((player) => player.wins),
  lead: (ev) => ev.ev === "hand.end",
  word: (ev) => ({ END: "ends its turn", STAND: "stands" })[ev.a] || (ev.a.startsWith("PLAY") ? `plays ${ev.a.slice(5)}` : ev.a),
  say(ev, table) {
    if (ev.ev === "hand.start") return `Hand ${ev.hand} begins, ${ev.wins.join(" to ")}.`;
    if (ev.ev === "deal") return `${table.bots[ev.seat]} draws ${ev.card}.`;
    if (ev.ev === "hand.end") return `${ev.winner === null ? "A tie" : `${table.bots[ev.winner]} wins the hand`} (${ev.why}), ${ev.wins.join(" to ")}.`;
    return "";
  },
  picture(state, table, seen, old) {
    return el(".felt.twoboards", {}, state.players.map((player, seat) => {
      const total = sum(player.cards.map(([card]) => card));
      const before = old && old.hand === state.hand ? old.players[seat].cards.length : 0;
      const won = state.winner === seat, lost = state.winner === 1 - seat;
      const slots = player.cards.map(([card, kind], nth) => numbered(card, kind, nth >= before));
      while (slots.length < 9) slots.push(el("span.slot", { "aria-hidden": "true" }));
      return el(`.board${state.actor === seat ? ".acts" : ""}${won ? ".won" : lost ? ".lost" : ""}${seen === seat ? ".seen" : ""}`, {},
        bubble(state, seat),
        el(".label", {}, table.bots[seat], el("span.lamps", { role: "img", "aria-label": `${player.wins} of ${state.goal} hands won` },
          Array.from({ length: state.goal }, (_, nth) => el(`i${nth < player.wins ? ".lit" : ""}`)))),
        el(`b.sum${total > 20 ? ".bad" : total === 20 ? ".best" : ""}`, {}, String(total), el("small", {}, total > 20 ? " bust" : player.stands ? " stands" : "")),
        el(".grid", {}, slots),
        el(".sidedeck", { role: "group", "aria-label": "side deck" }, player.side.map((card) => numbered(seen >= 0 && seen !== seat ? "?" : card, "side", false)),
          player.side.length ? null : el("span.quiet", {}, "no side cards left")),
        won ? el("span.tag", {}, "wins the hand") : state.winner === null ? el("span.tag", {}, "tie") : null);
    }));
  },
};

const WORTH = ["", "high card", "a pair", "two pairs", "three of a kind", "a straight", "a flush", "a full house", "four of a kind", "a straight flush", "a royal flush"];

const holdem = {
  opens: (ev, last) => ["round.start", "ask", "round.end"].includes(ev.ev) || (ev.ev === "board" && last !== "board"),
  unit: "round",
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
        const n = /^BET \d/.test(ev.a) && !ev.illegal ? Number(ev.a.slice(4)) : 0;
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
  word(ev, state, asked) {
    const n = /^BET \d/.test(ev.a) ? Number(ev.a.slice(4)) : 0;
    if (!n || ev.illegal) return ev.a === "BET" ? "folds" : `${ev.a.toLowerCase()}: folds`;
    const least = asked ? Number(asked[5]) : n;
    return `${n > least ? "raises," : "calls,"} ${n}${state.players[ev.seat].chips ? "" : ": all in"}`;
  },
  say(ev, table) {
    if (ev.ev === "round.start") return `Round ${ev.round}: ${ev.seats.length} players.`;
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
          el(".label", {}, table.bots[seat]),
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
};

// A game that somebody has brought: its questions, answers and events in words.

const inWords = ({ ev, ...facts }) => `${ev} ${Object.entries(facts).map(([name, value]) => `${name} ${JSON.stringify(value)}`).join(", ")}`;

const brought = {
  opens: (ev) => ev.ev !== "answer",
  unit: "question",
  start: (table) => ({ hand: 0, actor: -1, said: null, told: "", players: table.bots.map(() => ({ asked: "", answered: "" })) }),
  apply(state, ev) {
    const player = state.players[ev.seat];
    if (ev.ev === "ask") {
      state.hand += 1;
      state.actor = ev.seat;
      Object.assign(player, { asked: ev.q.join(" "), answered: "" });
    } else if (ev.ev === "answer") player.answered = ev.a;
    else if (ev.ev === "table.end") Object.assign(state, { over: ev.scores, actor: -1 });
    else if (ev.ev !== "table.start") state.told = inWords(ev);
  },
  allIn: () => false,
  worth: () => [],
  lead: () => false,
  word: (ev) => `answers ${ev.a}`,
  say: (ev) => ["ask", "answer", "table.start", "table.end"].includes(ev.ev) ? "" : `${inWords(ev)}.`,
  picture(state, table, seen) {
    return el(".felt.twoboards", {}, state.players.map((player, seat) =>
      el(`.board${state.actor === seat ? ".acts" : ""}${seen === seat ? ".seen" : ""}`, {},
        bubble(state, seat),
        el(".label", {}, table.bots[seat]),
        el("p", {}, seen >= 0 && seen !== seat ? "" : player.asked),
        el("p", {}, seen >= 0 && seen !== seat ? "" : player.answered))),
      el("p.quiet", {}, seen >= 0 ? "" : state.told));
  },
};

const GAMES = { cardshark, pazaak, holdem };
const gameOf = (name) => Object.hasOwn(GAMES, name) ? GAMES[name] : brought;
const chip = () => svg("svg", { viewBox: "0 0 20 20", class: "chip", "aria-hidden": "true" }, svg("circle", { cx: 10, cy: 10, r: 9 }), svg("circle", { cx: 10, cy: 10, r: 5.5, class: "inner" }));
const bubble = (state, seat) => state.said && state.said.seat === seat ? el(`span.bubble${state.said.fault ? ".fault" : ""}`, {}, state.said.word,
  state.said.us ? el("small", {}, ` ${time(state.said.us)}`) : null) : null;

// Reading: whatever a table comes as, it leaves as {table, game, bots, rules, events, kept}.

function unpacked(packed) {
  if (packed.v !== 1) throw new Trouble(`this table is of a kind that this page does not know (version ${packed.v}): a newer croupier wrote it`);
  const columns = packed.questions.map((column) => column.split("\n"));
  let n = 0;
  const events = packed.rows.flatMap(([shape, ...values]) => {
    const [name, ...keys] = packed.shapes[shape];
    const ev = { ev: name };
    keys.forEach((key, nth) => { ev[key] = values[nth]; });
    if (name !== "turn") return ev;
    n += 1;
    return [{ ev: "ask", n, seat: ev.seat, q: columns.map((column) => column[n - 1]) }, { ...ev, ev: "answer", n }];
  });
  return { took: [], ...packed, events };
}

function exported(text) {
  const table = { table: "", game: "", bots: [], rules: {}, events: [], kept: {}, took: [[], []] };
  for (const [nth, line] of text.split("\n").entries()) {
    if (!line.trim()) continue;
    let ev;
    try { ev = JSON.parse(line); } catch { throw new Trouble(`line ${nth + 1} of these events is torn or foreign: it is no JSON`); }
    if (ev === null || typeof ev !== "object" || typeof ev.ev !== "string") throw new Trouble(`line ${nth + 1} of these events has no "ev": this is no export of croupier's`);
    if (ev.ev === "table.start") {
      if (table.events.length) break; // the first table of many
      if (!Array.isArray(ev.bots)) throw new Trouble(`line ${nth + 1}: this table names no bots`);
      Object.assign(table, { table: String(ev.table), game: ev.game, bots: ev.bots.map(String), rules: ev.rules || {} });
    } else if (!table.game) throw new Trouble(`line ${nth + 1}: the events of a table begin with table.start`);
    else if (ev.ev === "ask") table.events.push({ ...ev, q: String(ev.q).split(" ") });
    else if (ev.ev === "answer") {
      if (ev.us !== undefined) [ev.us, ev.cpu_us || 0].forEach((us, column) => { table.took[column][ev.n - 1] = us; });
      if (ev.kind !== undefined) table.kept[ev.n] = { kind: ev.kind, us: ev.us, cpu_us: ev.cpu_us || 0, waited_us: ev.waited_us || 0, raw: ev.raw || "", stderr: ev.stderr || "", ended: ev.ended || "" };
      table.events.push(ev);
    } else if (!["die", "bet"].includes(ev.ev)) table.events.push(ev);
  }
  if (!table.events.length) throw new Trouble("there are no events in this file");
  return table;
}

// Who has acted between two looks at a table, and what was done: nobody, or more than one, where cards were dealt.
function actedBetween(before, { hand, board, players }) {
  if (!before || before.hand !== hand || before.board.length !== board.length) return null;
  const moved = players.flatMap((one, seat) => one.chips !== before.players[seat].chips || one.died !== before.players[seat].died ? [seat] : []);
  if (moved.length !== 1) return null;
  const seat = moved[0], paid = before.players[seat].chips - players[seat].chips;
  return { seat, fault: false, word: players[seat].died ? "folds" : `bets ${paid}${players[seat].allIn ? ": all in" : ""}` };
}

const LOG_SUITS = "?chds", LOG_RANKS = "??23456789TJQKA";

function playLog(text) {
  const lines = text.replace(/\r/g, "").split("\n");
  const torn = lines.pop();
  const events = [];
  let bots = null, ended = false, deaths = [];
  const bad = (nth, why) => new Trouble(`line ${nth + 1} of the play.log ${why}`);
  for (const [nth, line] of lines.entries()) {
    if (line.startsWith("ERROR:root:")) { deaths.push(line.slice(11)); continue; }
    if (!line.startsWith("INFO:root:")) throw bad(nth, `begins with “${line.slice(0, 20)}”, not with INFO:root: or ERROR:root: – is this a play.log?`);
    let look;
    try { look = JSON.parse(line.slice(10)); } catch { throw bad(nth, "is torn: its JSON does not end"); }
    const whole = (number) => Number.isInteger(number) && number >= 0;
    const card = (one) => one && [1, 2, 3, 4].includes(one.suit) && Number.isInteger(one.rank) && one.rank >= 2 && one.rank <= 14;
    if (!look || !whole(look.round) || !whole(look.acc_chips) || !Array.isArray(look.players) || !Array.isArray(look.community_cards) || !look.players.length || look.players.length > 10
      || !look.community_cards.every(card) || !look.players.every((one) => one && typeof one.name === "string" && whole(one.chips) && whole(one.bet_amt) && Array.isArray(one.cards) && one.cards.every(card)))
      throw bad(nth, "is foreign: a look at the table has round, acc_chips, community_cards, players and all_in");
    bots = bots || look.players.map((one) => one.name);
    const spelled = (one) => LOG_RANKS[one.rank] + LOG_SUITS[one.suit];
    const order = look.players.map((one) => bots.indexOf(one.name));
    if (order.includes(-1)) throw bad(nth, "names a player that did not sit down at first");
    const players = bots.map((name) => {
      const one = look.players.find((each) => each.name === name);
      return one ? { chips: one.chips, bet: one.bet_amt, cards: one.cards.map(spelled), died: Boolean(one.died), out: false, allIn: !one.chips && one.cards.length > 0, worth: "" }
        : { chips: 0, bet: 0, cards: [], died: false, out: true, allIn: false, worth: "" };
    });
    ended = players.every((one) => !one.cards.length);
    const state = { hand: look.round, pot: look.acc_chips, board: look.community_cards.map(spelled), players, order, winners: [], share: 0, end: "" };
    const before = events.at(-1)?.state, acted = actedBetween(before, state);
    Object.assign(state, { actor: acted ? acted.seat : -1, said: acted });
    const dealt = before && before.hand === look.round ? state.board.slice(before.board.length).map(cardText) : [];
    const what = acted ? `${bots[acted.seat]} ${acted.word}` : dealt.length ? `The board gets ${dealt.join(", ")}` : `Round ${look.round}`;
    const said = deaths.length ? deaths.join(" ") : ended ? "The game is over." : `${what}, pot ${look.acc_chips}.`;
    events.push({ ev: "look", state, text: said, fault: deaths.some((death) => !death.includes(" tried to bet 0 chips. ")), hand: look.round });
    deaths = [];
  }
  if (torn) throw bad(lines.length, "is torn: it has no end. The first part of the game is not shown, because nobody knows what is missing");
  if (!events.length) throw new Trouble("this file is empty: a play.log has a line for every look at the table");
  if (!ended) throw bad(lines.length, "is missing: a game ends with a look at players without cards. The file was cut off");
  return { table: "play.log", game: "holdem", bots, rules: {}, events, kept: {}, took: [], looks: true };
}

// What a decision took, in microseconds, where that was kept.
function spent(table, n) {
  const piece = table.kept[n], [us, cpu] = table.took.map((column) => column[n - 1]);
  return piece ? { us: piece.us, cpu: piece.cpu_us, waited: piece.waited_us } : us === undefined ? null : { us, cpu };
}

// Steps: what happens between two pictures.

function stepsOf(table) {
  const game = gameOf(table.game);
  const state = game.start(table);
  const steps = [];
  let step = null, last = "", leader = -1;
  const snapshot = () => { if (step) step.state = structuredClone(state); };
  for (const [at, ev] of table.events.entries()) {
    if (!step || table.looks || ev.ev === "table.end" || game.opens(ev, last)) {
      snapshot();
      state.said = null;
      step = { events: [], text: "", ask: null, answer: null, marks: [] };
      steps.push(step);
    }
    game.apply(state, ev, table, ev.ev === "hand.start" ? table.events.slice(at, at + 400) : []);
    step.events.push(ev);
    if (ev.ev === "hand.start" || ev.ev === "round.start" || (ev.ev === "look" && (steps.length < 2 || steps[steps.length - 2].state.hand !== ev.hand))) step.first = true;
    if (ev.ev === "ask") step.ask = ev;
    if (ev.ev === "answer") {
      const piece = table.kept[ev.n];
      const fault = ev.a.startsWith("(") || Boolean(ev.illegal) || Boolean(piece && piece.kind !== "slowest");
      step.answer = ev;
      state.said = { seat: ev.seat, word: game.word(ev, state, step.ask && step.ask.q), fault, us: spent(table, ev.n)?.us };
      if (fault) step.marks.push("fault");
      if (game.allIn(state, ev)) step.marks.push("all-in");
      step.text += `${table.bots[ev.seat]} ${state.said.word}. `;
    }
    if (ev.ev === "look") {
      if (ev.fault) step.marks.push("fault");
      if (state.players.some((player, seat) => player.allIn && !(steps[steps.length - 2]?.state.players[seat].allIn))) step.marks.push("all-in");
    }
    if (ev.ev === "table.end") step.text += `The game is over: ${table.bots.map((bot, seat) => `${bot} ${ev.scores[seat]}`).join(", ")}.`;
    const told = game.say(ev, table);
    if (told && !(ev.ev === "deal" && /start$/.test(step.events[0].ev))) step.text += `${told} `;
    if (game.lead(ev) && (!table.looks || state.board.length === 0)) {
      const worth = game.worth(state);
      const best = Math.max(...worth);
      const now = worth.indexOf(best);
      if (worth.filter((each) => each === best).length === 1) {
        if (leader >= 0 && now !== leader) step.marks.push("lead");
        leader = now;
      }
    }
    last = ev.ev;
  }
  snapshot();
  return steps;
}

// The player.

const SPEEDS = [0.5, 1, 2, 4, 8, 16];
const MARKS = { fault: "a fault", "all-in": "all in", lead: "the lead changes" };
let shown = null; // {table, steps, at, seen, timer}
const dropped = new Map();

function trouble(words) {
  const place = $("trouble");
  place.textContent = words;
  place.hidden = !words;
  if (words) { stop(); shown = null; $("player").hidden = true; $("player").replaceChildren(); }
}

function stop() {
  if (shown && shown.timer) { clearInterval(shown.timer); shown.timer = null; }
  const button = $("play");
  if (button) { button.replaceChildren(icon("play")); button.setAttribute("aria-label", "Play"); }
}

function play() {
  if (!shown) return;
  if (shown.timer) { stop(); return; }
  if (shown.at >= shown.steps.length - 1) go(0);
  const speed = SPEEDS[$("speed").selectedIndex];
  shown.timer = setInterval(() => { if (shown.at >= shown.steps.length - 1) stop(); else go(shown.at + 1, true); }, 1000 / speed);
  $("play").replaceChildren(icon("pause"));
  $("play").setAttribute("aria-label", "Pause");
}

function go(to, playing) {
  if (!shown) return;
  if (!playing) stop();
  shown.at = Math.max(0, Math.min(shown.steps.length - 1, to));
  draw();
}

function unit(forward) {
  let at = shown.at + (forward ? 1 : -1);
  while (at > 0 && at < shown.steps.length - 1 && !shown.steps[at].first) at += forward ? 1 : -1;
  go(at);
}

function nextMark() {
  const at = shown.steps.findIndex((step, nth) => nth > shown.at && step.marks.length);
  if (at >= 0) go(at);
}

function remember() {
  const hash = `#r=${encodeURIComponent(shown.table.table)}&s=${shown.at}${shown.seen >= 0 ? `&as=${shown.seen}` : ""}`;
  if (location.hash === hash) return;
  try { history.replaceState(null, "", hash); } catch { /* some browsers let no file do this */ }
}

function draw() {
  const { table, steps, at, seen } = shown;
  const game = gameOf(table.game), step = steps[at], before = steps[at - 1]?.state;
  $("picture").replaceChildren(game.picture(step.state, table, seen, before));
  $("slider").value = at;
  const here = $("here");
  if (here) for (const end of ["x1", "x2"]) here.setAttribute(end, 600 * at / Math.max(1, steps.length - 1));
  $("slider").setAttribute("aria-valuetext", `step ${at + 1} of ${steps.length}: ${step.text}`);
  $("where").textContent = `${game.unit} ${step.state.hand} · step ${at + 1} of ${steps.length}`;
  $("saying").textContent = step.text;
  $("decision").replaceChildren(...decision(step, table));
  let first = at, last = at;
  while (first > 0 && !steps[first].first) first -= 1;
  while (last + 1 < steps.length && !steps[last + 1].first) last += 1;
  $("log").replaceChildren(...steps.slice(first, last + 1).map((one, nth) => {
    const here = first + nth === at;
    return el(`li${here ? ".now" : ""}`, {}, el("button", { type: "button", "aria-current": here ? "step" : null, onclick: () => go(first + nth) },
      one.text || "…", one.marks.map((mark) => el(`i.mark.${mark}`, { title: MARKS[mark] }))));
  }));
  const current = $("log").querySelector(".now"), list = $("log");
  if (current) list.scrollTop = current.offsetTop - list.clientHeight / 2;
  remember();
}

function decision(step, table) {
  const { ask, answer } = step;
  if (!answer) return [el("p.quiet", {}, table.looks ? "A play.log keeps the looks at the table, not the questions." : "Nobody was asked at this step.")];
  const piece = table.kept[answer.n];
  const row = (title, ...inside) => [el("dt", {}, title), el("dd", {}, ...inside)];
  const hidden = shown.seen >= 0 && shown.seen !== answer.seat, took = spent(table, answer.n);
  return [el("h2", {}, `Question ${answer.n} to ${table.bots[answer.seat]}`),
    el("dl.evidence", {},
      row("asked", hidden ? "(not for these eyes)" : ask ? ask.q.join(" ") : "–"),
      row("answer", table.game === "holdem" ? answer.a.replace(/^BET ?(.*)/, (_, n) => n || "0") : answer.a, answer.illegal ? el("b.bad", {}, " not allowed here") : null),
      piece ? row("wrote", hidden ? "(not for these eyes)" : piece.raw || "nothing") : [],
      row("time", took ? `${took.us ? time(took.us) : "with the answer before"}${took.cpu ? `, CPU ${time(took.cpu)}` : ""}${took.waited ? `, waited for a processor ${time(took.waited)}` : ""}${!piece ? "" : piece.kind === "slowest" ? " – its slowest answer" : ` – ${piece.kind}`}`
        : el("span.quiet", {}, "kept for faults, the slowest answer and a fixture's first tables")),
      piece && piece.ended ? row("ended", piece.ended) : [], piece && piece.stderr ? row("stderr", hidden ? "(not for these eyes)" : piece.stderr) : []),
    table.looks || !table.table ? null : copied("copy croupier ask …", `croupier ask ${quoted(table.bots[answer.seat])} ${quoted(`${table.table}:${answer.n}`)}`)];
}

const quoted = (text) => /^[\w./+:-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;

function copied(title, words) {
  return el("button.copy", { type: "button", title: words, onclick: async (event) => {
    try { await navigator.clipboard.writeText(words); event.target.textContent = "copied"; } catch { event.target.textContent = words; }
  } }, title);
}

// Chips, or hands won, hand by hand: where the game stands in it is marked, and a click goes there.
function course() {
  const { table, steps } = shown, game = gameOf(table.game);
  const looks = steps.flatMap((step, nth) => step.first || nth === steps.length - 1 ? [[nth, game.worth(step.state).map((worth) => Math.max(0, worth))]] : []);
  const most = Math.max(1, ...looks.flatMap(([, worth]) => worth));
  if (looks.length < 3 || !game.staked) return null;
  const x = (nth) => 600 * nth / (steps.length - 1), y = (worth) => 76 - 70 * worth / most;
  const picture = svg("svg", { id: "course", viewBox: "0 0 600 80", preserveAspectRatio: "none", role: "img", "aria-label": `Chips from ${game.unit} to ${game.unit}, at most ${most}` });
  table.bots.forEach((bot, seat) => picture.append(svg("polyline", { class: `k${seat}`, "vector-effect": "non-scaling-stroke", points: looks.map(([nth, worth]) => `${x(nth).toFixed(1)},${y(worth[seat]).toFixed(1)}`).join(" ") })));
  picture.append(svg("line", { id: "here", y1: 0, y2: 80, x1: 0, x2: 0, "vector-effect": "non-scaling-stroke" }));
  picture.addEventListener("click", (event) => { const box = picture.getBoundingClientRect(); go(Math.round((event.clientX - box.left) / box.width * (steps.length - 1))); });
  return [picture, el("p.key", {}, table.bots.map((bot, seat) => el("span", {}, el(`i.mark.k${seat}`), ` ${bot}`)))];
}

const ICONS = {
  back: "M5 4v12H3V4zM17 4v12l-6-6zM11 4v12l-6-6z", prev: "M14 3v14L5 10z", play: "M5 3l12 7-12 7z", pause: "M5 3h4v14H5zM11 3h4v14h-4z",
  next: "M4 3l8 7-8 7zM13 3h3v14h-3z", forth: "M15 4v12h2V4zM3 4v12l6-6zM9 4v12l6-6z", mark: "M4 2v16h2v-7h10l-3-4 3-4H6V2z",
};
const icon = (name) => svg("svg", { viewBox: "0 0 20 20", "aria-hidden": "true", class: "icon" }, svg("path", { d: ICONS[name] }));

function button(id, label, action) { return el("button", { id, type: "button", "aria-label": label, title: label, onclick: action }, icon(id)); }

function open(table, at, seen) {
  stop();
  trouble("");
  let steps;
  try { steps = stepsOf(table); } catch (error) {
    if (error instanceof Trouble) throw error;
    throw new Trouble(`this table cannot be shown: its events do not fit the game (${error.message})`);
  }
  if (!steps.length) throw new Trouble("there is nothing to show: this table has no events");
  shown = { table, steps, at: 0, seen: seen >= 0 && seen < table.bots.length ? seen : -1, timer: null };
  const marks = svg("svg", { class: "marks", viewBox: `0 0 ${Math.max(1, steps.length - 1)} 10`, preserveAspectRatio: "none", "aria-hidden": "true" });
  steps.forEach((step, nth) => step.marks.forEach((mark) => marks.append(svg("line", { class: mark, x1: nth, x2: nth, y1: mark === "lead" ? 5 : 0, y2: 10, "vector-effect": "non-scaling-stroke" }))));
  const counts = Object.entries(MARKS).map(([mark, words]) => [mark, words, steps.filter((step) => step.marks.includes(mark)).length]).filter(([, , count]) => count);
  const eyes = el("select", { id: "eyes", onchange: (event) => { shown.seen = Number(event.target.value); draw(); } },
    el("option", { value: -1 }, "everything"), table.bots.map((bot, seat) => el("option", { value: seat, selected: seat === shown.seen }, `as ${bot}`)));
  const speed = el("select", { id: "speed", onchange: () => { if (shown.timer) { stop(); play(); } } }, SPEEDS.map((each) => el("option", { selected: each === 2 }, `${each}×`)));
  const copy = copied("copy croupier replay …", `croupier replay ${quoted(table.table)}`);
  $("player").replaceChildren(
    el("p.eyebrow", { id: "what" }, `${table.table}${table.why ? ` · ${table.why}` : ""}`),
    el(".stage", {},
      el(".left", {},
        el(".picture", { id: "picture" }),
        el("p.saying", { id: "saying", "aria-live": "polite" }),
        el(".track", {}, marks, el("input", { id: "slider", type: "range", min: 0, max: steps.length - 1, value: 0, "aria-label": "step", oninput: (event) => go(Number(event.target.value)) })),
        el(".controls", { role: "group", "aria-label": "controls" },
          button("back", `The ${gameOf(table.game).unit} before (↑)`, () => unit(false)), button("prev", "Step back (←)", () => go(shown.at - 1)),
          button("play", "Play", play), button("next", "Step (→)", () => go(shown.at + 1)), button("forth", `The next ${gameOf(table.game).unit} (↓)`, () => unit(true)),
          counts.length ? button("mark", "The next mark (m)", nextMark) : null,
          el("label", {}, el("span.hide", {}, "speed"), speed), el("label", {}, el("span.hide", {}, "seen"), eyes), el("span.quiet", { id: "where" })),
        course(), counts.length ? el("p.key", {}, counts.map(([mark, words, count]) => el("span", {}, el(`i.mark.${mark}`), ` ${words} ×${count} `))) : null),
      el(".right", {}, el(".box", { id: "decision" }), el(".box", {}, el("h2", {}, `This ${gameOf(table.game).unit}`), el("ol.log", { id: "log", tabindex: 0 })),
        el("p.keys.quiet", {}, el("kbd", {}, "space"), " play ", el("kbd", {}, "←"), el("kbd", {}, "→"), " step ", el("kbd", {}, "↑"), el("kbd", {}, "↓"), ` ${gameOf(table.game).unit} `, el("kbd", {}, "m"), " next mark ", table.looks ? null : copy))));
  $("player").hidden = false;
  go(at);
}

async function fetched(name) {
  const answer = await fetch(`/api/replay?table=${encodeURIComponent(name)}`);
  const told = await answer.json().catch(() => ({ message: `the server says ${answer.status}` }));
  if (!answer.ok) throw new Trouble(told.message || `the server says ${answer.status}`);
  return unpacked(told);
}

async function found(name) {
  if (dropped.has(name)) return dropped.get(name);
  if ($("playlog")?.dataset.name === name) return given(name, await unzipped($("playlog").textContent));
  const place = [...document.querySelectorAll("script.table")].find((each) => each.dataset.name === name);
  if (place) return unpacked(await unzipped(place.textContent));
  if (document.documentElement.dataset.live) return fetched(name);
  throw new Trouble(`this file does not carry the table ${name}: it keeps only some. In the tournament's folder: croupier replay '${name}'`);
}

window.casino = async (hash) => {
  const said = new URLSearchParams(hash.replace(/\+/g, "%2B"));
  const carried = $("playlog");
  const name = said.get("r") || (carried && !shown ? carried.dataset.name : null);
  $("drop").hidden = false;
  if (!name) return;
  if (shown && shown.table.table === name) {
    if (said.has("s")) go(Number(said.get("s")) || 0);
    return;
  }
  try {
    const table = await found(name);
    const seen = said.has("as") ? Number(said.get("as")) : -1;
    open(table, Number(said.get("s")) || 0, seen);
    if (said.has("q")) go(shown.steps.findIndex((step) => step.answer && step.answer.n === Number(said.get("q"))));
    scrollTo(0, 0);
  } catch (error) { trouble(error instanceof Trouble ? error.message : `this table is damaged: ${error.message}`); }
};

function given(name, text) {
  const table = text.trimStart().startsWith("{") ? exported(text) : playLog(text);
  if (table.looks) table.table = name;
  dropped.set(table.table, table);
  return table;
}

window.casino.shown = () => shown; // what is on the table, for whoever looks into this page

async function took(file) {
  if (file.size > 200e6) { trouble(`${file.name} is larger than 200 MB: this is no play.log`); return; }
  try {
    const table = given(file.name, await file.text());
    if (!document.querySelector("#casino.here")) location.hash = "casino";
    open(table, 0, -1);
  } catch (error) { trouble(`${file.name}: ${error instanceof Trouble ? error.message : `cannot be read (${error.message})`}`); }
}

addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  const file = event.dataTransfer.files[0];
  if (file) took(file);
});
addEventListener("keydown", (event) => {
  if (!shown || !document.querySelector("#casino.here") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input:not([type=range]), select, textarea") || (event.key === " " && event.target.closest("button, summary, a"))) return;
  const keys = { " ": play, ArrowLeft: () => go(shown.at - 1), ArrowRight: () => go(shown.at + 1), ArrowUp: () => unit(false), ArrowDown: () => unit(true),
    Home: () => go(0), End: () => go(shown.steps.length - 1), m: nextMark };
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
});

const ready = () => {
  $("file").addEventListener("change", (event) => { if (event.target.files[0]) took(event.target.files[0]); event.target.value = ""; });
};
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", ready); else ready();
})();
