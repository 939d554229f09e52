"use strict";
// Pazaak: draws two boards of nine cards, and side decks.
casino.register("pazaak", ({ bubble, el, sum, svg }) => {
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

return {
  opens: (ev, last) => ["game.start", "deal", "hand.end"].includes(ev.ev) || (ev.ev === "hand.start" && last !== "game.start") || (ev.ev === "ask" && last !== "deal"),
  unit: "hand",
  starts: "hand.start",
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
        won ? el("span.tag", {}, "wins the hand") : state.winner === null ? el("span.tag", {}, "tie") : el("span.tag.none", { "aria-hidden": "true" }, "–"));
    }));
  },
};
});
