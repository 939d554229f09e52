// Computes the ladder of a season from its chain, as docs/checking.md defines it: node ladder.js chain.ndjson ROUND
const lines = require("fs").readFileSync(process.argv[2], "utf8").trim().split("\n").map(JSON.parse);
const rounds = lines.map(line => line.round).filter(r => r && r.state === "finished" && r.number <= process.argv[3]);
const sum = list => list.reduce((a, b) => a + b, 0), exp = Math.exp, counts = {}, met = {};
for (const [order, times] of rounds.flatMap(r => r.sums.orders)) counts[JSON.stringify(order)] = (counts[JSON.stringify(order)] || 0) + times;
const tables = Object.entries(counts).filter(each => each[1]).map(([key, times]) => ({ order: JSON.parse(key), times }));
const names = [...new Set(tables.flatMap(t => t.order.flat()))].sort(), n = names.length;
for (const t of tables) t.order = t.order.map(group => group.map(name => names.indexOf(name)));
const subsets = list => list.reduce((all, each) => all.concat(all.map(some => [...some, each])), [[]]).slice(1);
const pairs = order => subsets(order.flat().sort((a, b) => a - b)).filter(some => some.length === 2);
const inverse = matrix => { // Gauss and Jordan
  const rows = matrix.map((row, k) => [...row, ...row.map((_, j) => +(j === k))]);
  for (let k = 0; k < n; k++) {
    rows[k] = rows[k].map(value => value / rows[k][k]);
    for (let j = 0; j < n; j++) if (j !== k) rows[j] = rows[j].map((value, i) => value - rows[j][k] * rows[k][i]);
  }
  return rows.map(row => row.slice(n));
};
const newton = (sets, chosen, drawn) => { // step 2
  for (let logs = chosen.map(() => 0), size = 1; ; ) {
    const slope = logs.map((log, k) => chosen[k] + drawn * (0.5 - 1 / (1 + exp(-log))));
    const known = logs.map((log, k) => logs.map((_, j) => j === k ? drawn / (2 + exp(log) + exp(-log)) : 0));
    for (const [set, times] of sets) {
      const share = k => exp(logs[k]) / sum(set.map(j => exp(logs[j])));
      for (const k of set) slope[k] -= times * share(k);
      for (const k of set) for (const j of set) known[k][j] += times * share(k) * (+(j === k) - share(j));
    }
    const covariance = inverse(known), steps = covariance.map(row => sum(row.map((value, k) => value * slope[k])));
    if (size < 1e-10) return { logs, covariance };
    size = Math.max(...steps.map(Math.abs));
    logs = logs.map((log, k) => log + steps[k] / Math.max(1, size));
  }
};
const fit = drawn => { // steps 1 to 3
  const chosen = Array(n).fill(0), sets = [];
  for (const { order, times } of tables) order.forEach((group, k) => subsets(group).forEach((some, _, all) => {
    const set = [...some, ...order.slice(k + 1).flat()], part = times / all.filter(each => each.length === some.length).length;
    if (set.length > 1) sets.push([set, part]), some.forEach(bot => chosen[bot] += part / some.length);
  }));
  for (let step = 1; ; step++) {
    const { logs, covariance } = newton(sets, chosen, drawn), before = drawn;
    drawn = Math.min(Math.max(1, Math.round(4000 / (sum(logs.map((log, k) => log * log + covariance[k][k])) / n)) / 1000), 100);
    if (step === 6 || Math.abs(drawn - before) <= 0.05 * before) return { logs, covariance, drawn };
  }
};
let { logs, covariance, drawn } = fit(1), chi2 = 0, expected = 0, variance = 0, scale = 0;
for (const { order, times } of tables) for (const [a, b] of pairs(order)) { // step 4
  const place = k => order.findIndex(group => group.includes(k)), pair = met[[a, b]] ||= { a, b, tables: 0, won: 0 };
  pair.tables += times;
  pair.won += times * (place(a) === place(b) ? 0.5 : +(place(a) < place(b)));
}
for (const pair of Object.values(met)) {
  const { a, b, tables, won } = pair, p = 1 / (1 + exp(logs[b] - logs[a])), even = pair.even = p * (1 - p);
  const between = covariance[a][a] + covariance[b][b] - 2 * covariance[a][b], free = Math.min(Math.max(1 - tables * even * between, 0), 1);
  [chi2, expected, scale] = [chi2 + (won - tables * p) ** 2 / (tables * even), expected + free, scale + free ** 2 * (tables - 1) * even];
  variance += free ** 2 * Math.max(2 + (1 - 6 * even) / (tables * even), 0.1);
}
if (chi2 - expected > 2 * Math.sqrt(variance) && scale > 0) { // step 5
  const spread = (chi2 - expected - Math.sqrt(variance)) / scale;
  const weight = pair => 1 / (1 + Math.max(met[pair].tables - 1, 0) * met[pair].even * spread);
  for (const t of tables) t.times *= sum(pairs(t.order).map(weight)) / pairs(t.order).length;
  ({ logs, covariance } = fit(drawn));
}
const rows = covariance.map(row => sum(row) / n), elo = k => 400 / Math.log(10) * (logs[k] - sum(logs) / n), own = k => covariance[k][k]; // step 6
const order = names.map((_, k) => k).sort((a, b) => elo(b) - elo(a)), error = v => 400 / Math.log(10) * Math.sqrt(v);
order.forEach((k, place) => console.log(names[k], (1500 + elo(k)).toFixed(4), (1.959963985 * error(own(k) - 2 * rows[k] + sum(rows) / n)).toFixed(4),
  ...order.slice(place + 1).map(j => ((elo(k) - elo(j)) / error(own(k) + own(j) - 2 * covariance[k][j])).toFixed(4))));
