"use strict";
// The casino: draws the replay of a table. It reads tables from the page, from the server, from exported events and from
// play.log. Every format becomes a list of steps; each step has a picture, a sentence, a question and an answer.
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

// Drawings of cards.

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
    picture.append(svg("rect", { class: "line", x: 6, y: 6, width: 48, height: 72, rx: 4 }));
    picture.append(svg("text", { x: 30, y: 54, class: "rank large", "text-anchor": "middle" }, rank));
  }
  return picture;
}

// The games. Each game is one object in its own file casino/NAME.js, which registers it by name. `apply` updates the state
// with an event, and `picture` draws the state. `starts` is the event that begins a unit. `omits` are exported events that
// the game does not need. `readLog` reads the game's own log format. A game without such a file is drawn by
// casino/general.js, whose name is empty. There `begin` starts a step, and `text` describes it as one seat may know it.

const GAMES = {};
const gameOf = (name) => Object.hasOwn(GAMES, name) ? GAMES[name] : GAMES[""];
const unitOf = (table) => { const { unit } = gameOf(table.game); return typeof unit === "function" ? unit(table) : unit; };
const textOf = (step) => { const game = gameOf(shown.table.game); return game.text ? game.text(step, shown.table, shown.seen) : step.text; };
const chip = () => svg("svg", { viewBox: "0 0 20 20", class: "chip", "aria-hidden": "true" }, svg("circle", { cx: 10, cy: 10, r: 9 }), svg("circle", { cx: 10, cy: 10, r: 5.5, class: "inner" }));
const bubble = (state, seat) => state.said && state.said.seat === seat ? el(`span.bubble${state.said.fault ? ".fault" : ""}`, {}, state.said.word,
  state.said.us ? el("small", {}, ` ${time(state.said.us)}`) : null) : null;

// Reading: every format becomes {table, game, bots, rules, events, kept}.

function unpacked(packed) {
  if (packed.v !== 1) throw new Trouble(`this table is of a kind that this page does not know (version ${packed.v}): a newer croupier wrote it`);
  const columns = packed.questions.map((column) => column.split("\n"));
  let n = 0;
  const events = packed.rows.flatMap(([shape, ...values]) => {
    const [name, ...keys] = packed.shapes[shape];
    const ev = { ev: name === "told.turn" ? "turn" : name };
    keys.forEach((key, nth) => { ev[key] = values[nth]; });
    if (name !== "turn") return ev;
    n += 1;
    return [{ ev: "ask", n, seat: ev.seat, q: columns.map((column) => column[n - 1]) }, { ...ev, ev: "answer", n }];
  });
  return { took: [], ...packed, events };
}

function exported(text) {
  const table = { table: "", game: "", bots: [], rules: {}, events: [], kept: {}, took: [[], []] };
  const asked = new Map();
  for (const [nth, line] of text.split("\n").entries()) {
    if (!line.trim()) continue;
    let ev;
    try { ev = JSON.parse(line); } catch { throw new Trouble(`line ${nth + 1} of these events is not JSON: the file was cut off or has another format`); }
    if (ev === null || typeof ev !== "object" || typeof ev.ev !== "string") throw new Trouble(`line ${nth + 1} of these events has no "ev": this is not an export of croupier`);
    if (ev.ev === "table.start") {
      if (table.events.length) break; // show only the first of several tables
      if (!Array.isArray(ev.bots)) throw new Trouble(`line ${nth + 1}: this table names no bots`);
      Object.assign(table, { table: String(ev.table), game: ev.game, bots: ev.bots.map(String), rules: ev.rules || {} });
    } else if (!table.game) throw new Trouble(`line ${nth + 1}: the events of a table begin with table.start`);
    else if (ev.ev === "ask") asked.set(ev.n, { ...ev, q: String(ev.q).split(" ") }); // several may be open at once
    else if (ev.ev === "answer") {
      if (asked.has(ev.n)) table.events.push(asked.get(ev.n));
      if (ev.us != null) [ev.us, ev.cpu_us || 0].forEach((us, column) => { table.took[column][ev.n - 1] = us; });
      if (ev.kind !== undefined) table.kept[ev.n] = { kind: ev.kind, us: ev.us || 0, cpu_us: ev.cpu_us || 0, waited_us: ev.waited_us || 0, raw: ev.raw || "", stderr: ev.stderr || "", ended: ev.ended || "" };
      table.events.push(ev);
    } else if (!gameOf(table.game).omits?.includes(ev.ev)) table.events.push(ev);
  }
  if (!table.events.length) throw new Trouble("there are no events in this file");
  return table;
}

// Returns the times of a decision in microseconds; null if they were not recorded.
function spent(table, n) {
  const piece = table.kept[n], [us, cpu] = table.took.map((column) => column[n - 1]);
  return piece ? { us: piece.us, cpu: piece.cpu_us, waited: piece.waited_us } : us === undefined ? null : { us, cpu };
}

// Steps: the events between two pictures.

function stepsOf(table) {
  const game = gameOf(table.game);
  const state = game.start(table);
  const steps = [];
  let step = null, last = "", leader = -1;
  const snapshot = () => { if (step) step.state = structuredClone(state); };
  for (const [at, ev] of table.events.entries()) {
    if (!step || table.looks || ev.ev === "table.end" || game.opens(ev, last, step.events, table)) {
      snapshot();
      state.said = null;
      game.begin?.(state);
      step = { events: [], text: "", ask: null, answer: null, marks: [] };
      steps.push(step);
    }
    const begins = game.apply(state, ev, table, ev.ev === game.starts ? table.events.slice(at, at + 400) : []);
    step.events.push(ev);
    if (begins || ev.ev === game.starts || (ev.ev === "look" && (steps.length < 2 || steps[steps.length - 2].state.hand !== ev.hand))) step.first = true;
    if (ev.ev === "ask") step.ask = ev;
    if (ev.ev === "answer") {
      const piece = table.kept[ev.n];
      const fault = ev.a.startsWith("(") || Boolean(ev.illegal) || Boolean(piece && piece.kind !== "slowest");
      step.answer = ev;
      state.said = { seat: ev.seat, word: game.word(ev, state), fault, us: spent(table, ev.n)?.us };
      if (fault) step.marks.push("fault");
      if (game.allIn(state, ev)) step.marks.push("all-in");
      step.text += `${table.bots[ev.seat]} ${state.said.word}. `;
    }
    if (ev.ev === "look") {
      if (ev.fault) step.marks.push("fault");
      if (state.players.some((player, seat) => player.allIn && !(steps[steps.length - 2]?.state.players[seat].allIn))) step.marks.push("all-in");
    }
    if (ev.ev === "table.end") step.text += `The game is over: ${table.bots.map((bot, seat) => `${bot} ${ev.scores[seat]}`).join(", ")}.`;
    const told = game.say?.(ev, table);
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

function fullScreen() {
  if (document.fullscreenElement) document.exitFullscreen();
  else $("player").requestFullscreen().catch(() => { /* a frame may forbid it */ });
}

function remember() {
  const hash = `#r=${encodeURIComponent(shown.table.table)}&s=${shown.at}${shown.seen >= 0 ? `&as=${shown.seen}` : ""}`;
  if (location.hash === hash) return;
  try { history.replaceState(null, "", hash); } catch { /* some browsers forbid this to a local file */ }
}

function draw() {
  const { table, steps, at, seen } = shown;
  const game = gameOf(table.game), step = steps[at], before = steps[at - 1]?.state;
  $("picture").replaceChildren(game.picture(step.state, table, seen, before));
  $("slider").value = at;
  const here = $("here");
  if (here) for (const end of ["x1", "x2"]) here.setAttribute(end, 600 * at / Math.max(1, steps.length - 1));
  $("slider").setAttribute("aria-valuetext", `step ${at + 1} of ${steps.length}: ${textOf(step)}`);
  $("where").textContent = `${unitOf(table)} ${step.state.hand} · step ${at + 1} of ${steps.length}`;
  $("saying").textContent = textOf(step);
  $("decision").replaceChildren(...decision(step, table));
  let first = at, last = at;
  while (first > 0 && !steps[first].first) first -= 1;
  while (last + 1 < steps.length && !steps[last + 1].first) last += 1;
  $("log").replaceChildren(...steps.slice(first, last + 1).map((one, nth) => {
    const here = first + nth === at;
    return el(`li${here ? ".now" : ""}`, {}, el("button", { type: "button", "aria-current": here ? "step" : null, onclick: () => go(first + nth) },
      textOf(one) || "…", one.marks.map((mark) => el(`i.mark.${mark}`, { title: MARKS[mark] }))));
  }));
  const current = $("log").querySelector(".now"), list = $("log");
  if (current) list.scrollTop = current.offsetTop - list.clientHeight / 2;
  remember();
}

function decision(step, table) {
  const { ask, answer } = step, game = gameOf(table.game);
  if (!answer) return [el("p.quiet", {}, table.looks ? "A play.log records the state of the table, not the questions." : "No bot was asked at this step.")];
  const piece = table.kept[answer.n];
  const row = (title, ...inside) => [el("dt", {}, title), el("dd", {}, ...inside)];
  const hidden = shown.seen >= 0 && shown.seen !== answer.seat, took = spent(table, answer.n);
  return [el("h2", {}, `Question ${answer.n} to ${table.bots[answer.seat]}`),
    el("dl.evidence", {},
      row("asked", hidden ? "(hidden from this bot)" : ask ? ask.q.join(" ") : "–"),
      row("answer", hidden && game.hidesAnswers ? "(hidden from this bot)" : answer.a, answer.illegal ? el("b.bad", {}, " not allowed here") : null),
      answer.note && !hidden ? row("note", String(answer.note)) : [],
      piece ? row("wrote", hidden ? "(hidden from this bot)" : piece.raw || "nothing") : [],
      row("time", took ? `${took.us ? time(took.us) : "together with the previous answer"}${took.cpu ? `, CPU ${time(took.cpu)}` : ""}${took.waited ? `, waited for a processor ${time(took.waited)}` : ""}${!piece ? "" : piece.kind === "slowest" ? " – its slowest answer" : ` – ${piece.kind}`}`
        : el("span.quiet", {}, "recorded only for faults, the slowest answer and the first tables of a fixture")),
      piece && piece.ended ? row("ended", piece.ended) : [], piece && piece.stderr ? row("stderr", hidden ? "(hidden from this bot)" : piece.stderr) : []),
    table.looks || !table.table ? null : copied("copy croupier ask …", `croupier ask ${quoted(table.bots[answer.seat])} ${quoted(`${table.table}:${answer.n}`)}`)];
}

const quoted = (text) => /^[\w./+:-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;

function copied(title, words) {
  return el("button.copy", { type: "button", title: words, onclick: async (event) => {
    try { await navigator.clipboard.writeText(words); event.target.textContent = "copied"; } catch { event.target.textContent = words; }
  } }, title);
}

// Draws chips over the hands, with axes. A line marks the current step, and a click moves to the step there.
function course() {
  const { table, steps } = shown, game = gameOf(table.game);
  const looks = steps.flatMap((step, nth) => step.first || nth === steps.length - 1 ? [[nth, game.worth(step.state).map((worth) => Math.max(0, worth))]] : []);
  const most = Math.max(1, ...looks.flatMap(([, worth]) => worth));
  if (looks.length < 3 || !game.staked) return null;
  const x = (nth) => 600 * nth / (steps.length - 1), y = (worth) => 76 - 70 * worth / most;
  const picture = svg("svg", { id: "course", viewBox: "0 0 600 80", preserveAspectRatio: "none", role: "img", "aria-label": `Chips from ${unitOf(table)} to ${unitOf(table)}, at most ${most}` });
  const heights = roundNumbers(most);
  for (const height of heights) picture.append(svg("line", { class: "tick", x1: 0, x2: 600, y1: y(height), y2: y(height), "vector-effect": "non-scaling-stroke" }));
  table.bots.forEach((bot, seat) => picture.append(svg("polyline", { class: `k${seat}`, "vector-effect": "non-scaling-stroke", points: looks.map(([nth, worth]) => `${x(nth).toFixed(1)},${y(worth[seat]).toFixed(1)}`).join(" ") })));
  picture.append(svg("line", { id: "here", y1: 0, y2: 80, x1: 0, x2: 0, "vector-effect": "non-scaling-stroke" }));
  picture.addEventListener("click", (event) => { const box = picture.getBoundingClientRect(); go(Math.round((event.clientX - box.left) / box.width * (steps.length - 1))); });
  return [el(".course", {}, chipsAxis(heights.map((height) => [y(height), height])), picture, handsAxis(looks.map(([nth]) => [x(nth), steps[nth]]), unitOf(table))),
    el("p.key", {}, table.bots.map((bot, seat) => el("span", {}, el(`i.mark.k${seat}`), ` ${bot}`)))];
}

// Returns at most five round numbers from 0 to `most`.
function roundNumbers(most) {
  const power = 10 ** Math.floor(Math.log10(most));
  const apart = [power / 5, power / 2, power, 2 * power, 5 * power].find((each) => each >= 1 && most / each < 5);
  return Array.from({ length: Math.floor(most / apart) + 1 }, (_, nth) => apart * nth);
}

// The axes are beside the picture, because its width is stretched, and text in it would be too.
function chipsAxis(marks) {
  return svg("svg", { class: "up", "aria-hidden": "true" }, svg("text", { transform: "rotate(-90)", x: -41, y: 12, "text-anchor": "middle" }, "chips"),
    ...marks.map(([y, chips]) => svg("text", { x: "100%", y: y + 4, "text-anchor": "end" }, String(chips).replace(/\B(?=(\d{3})+$)/g, "\u202f"))));
}

function handsAxis(marks, unit) {
  const apart = [];
  for (const [x, step] of marks) if (step.first && (!apart.length || x - apart[apart.length - 1][0] >= 60)) apart.push([x, step]);
  return svg("svg", { class: "along", "aria-hidden": "true" }, ...apart.map(([x, step]) => svg("text", { x: `${x / 6}%`, y: 12, "text-anchor": x < 10 ? "start" : x > 590 ? "end" : "middle" }, step.state.hand)),
    svg("text", { x: "50%", y: 27, "text-anchor": "middle" }, unit));
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
    el("option", { value: -1 }, "all cards"), table.bots.map((bot, seat) => el("option", { value: seat, selected: seat === shown.seen }, `as ${bot}`)));
  const speed = el("select", { id: "speed", onchange: () => { if (shown.timer) { stop(); play(); } } }, SPEEDS.map((each) => el("option", { selected: each === 2 }, `${each}×`)));
  const copy = copied("copy croupier replay …", `croupier replay ${quoted(table.table)}`);
  const offer = [...document.querySelectorAll("#shelf li")].find((each) => each.dataset.table === table.table);
  const title = [offer ? [...offer.children].map((each) => each.textContent).join(" · ") : "", table.table].filter(Boolean).join(" · ");
  $("player").replaceChildren(
    el("p.eyebrow", { id: "what", title }, title),
    el(".stage", {},
      el(".left", {},
        el(".picture", { id: "picture", role: "region", "aria-label": "table", tabindex: 0 }),
        el("p.saying", { id: "saying", "aria-live": "polite" }),
        el(".track", {}, marks, el("input", { id: "slider", type: "range", min: 0, max: steps.length - 1, value: 0, "aria-label": "step", oninput: (event) => go(Number(event.target.value)) })),
        el(".controls", { role: "group", "aria-label": "controls" },
          button("back", `The ${unitOf(table)} before (↑)`, () => unit(false)), button("prev", "Step back (←)", () => go(shown.at - 1)),
          button("play", "Play", play), button("next", "Step (→)", () => go(shown.at + 1)), button("forth", `The next ${unitOf(table)} (↓)`, () => unit(true)),
          counts.length ? button("mark", "The next mark (m)", nextMark) : null,
          el("label", {}, el("span.hide", {}, "speed"), speed), el("label", {}, el("span.hide", {}, "seen"), eyes), el("span.quiet", { id: "where" }))),
      el(".right", {}, el(".box", { id: "decision" }), el(".box.steps", {}, el("h2", {}, `This ${steps.some((step) => step.first) ? unitOf(table) : "table"}`), el("ol.log", { id: "log", tabindex: 0 })),
        el("p.keys.quiet", {}, el("kbd", {}, "space"), " play ", el("kbd", {}, "←"), el("kbd", {}, "→"), " step ", el("kbd", {}, "↑"), el("kbd", {}, "↓"), ` ${unitOf(table)} `, el("kbd", {}, "m"), " next mark ", el("kbd", {}, "f"), " full screen ", table.looks ? null : copy))),
    el("", {}, course(), counts.length ? el("p.key", {}, counts.map(([mark, words, count]) => el("span", {}, el(`i.mark.${mark}`), ` ${words} ×${count} `))) : null));
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
  const place = [...document.querySelectorAll("script.table")].find((each) => each.dataset.name === name);
  if (place) return unpacked(await unzipped(place.textContent));
  if (document.documentElement.dataset.live) return fetched(name);
  throw new Trouble(`this file does not contain the table ${name}, only some tables. In the tournament's folder: croupier replay '${name}'`);
}

window.casino = async (hash) => {
  const said = new URLSearchParams(hash.replace(/\+/g, "%2B"));
  const tables = document.querySelectorAll("script.table");
  const name = said.get("r") || (tables.length === 1 && !shown ? tables[0].dataset.name : "");
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
    if (said.has("play")) play();
  } catch (error) { trouble(error instanceof Trouble ? error.message : `this table is damaged: ${error.message}`); }
};

function given(name, text) {
  const reader = Object.values(GAMES).find((game) => game.readLog);
  const table = text.trimStart().startsWith("{") || !reader ? exported(text) : reader.readLog(text);
  if (table.looks) table.table = name;
  dropped.set(table.table, table);
  return table;
}

window.casino.register = (name, game) => { GAMES[name] = game({ Trouble, bubble, cardText, chip, el, playing, sum, svg }); };

window.casino.shown = () => shown; // the current replay, for scripts that inspect this page

async function took(file) {
  if (file.size > 200e6) { trouble(`${file.name} is larger than 200 MB: this is not a play.log`); return; }
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
    Home: () => go(0), End: () => go(shown.steps.length - 1), m: nextMark, f: fullScreen };
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
});

const ready = () => {
  $("file").addEventListener("change", (event) => { if (event.target.files[0]) took(event.target.files[0]); event.target.value = ""; });
};
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", ready); else ready();
})();
