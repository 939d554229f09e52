"use strict";
// Blackjack: draws the dealer, the shoe and a hand for each seat.
casino.register("cardshark", ({ bubble, cardText, chip, el, playing, sum, svg }) => {
const POINTS = (card) => card === "A" ? 1 : "TJQK".includes(card) ? 10 : Number(card) || 0;
function blackjackScore(hand) {
  const cards = [...hand.toUpperCase()].filter((card) => card !== "#");
  const total = sum(cards.map(POINTS));
  return cards.includes("A") && total + 10 <= 21 ? total + 10 : total;
}

return {
  opens: (ev) => ["hand.start", "ask", "dealer.plays", "hand.end"].includes(ev.ev),
  unit: "hand",
  starts: "hand.start",
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
});
