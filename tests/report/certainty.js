// Computes how sure the orders of a stage are from certainty.json alone, as docs/checking.md says: node certainty.js FILE STAGE
const stage = JSON.parse(require("fs").readFileSync(process.argv[2]))[process.argv[3]], IMAGINARY = 4;
const sum = (list, of = (x) => x) => list.reduce((total, each, nth) => total + of(each, nth), 0);
function beta(a, b, x) { // the regularised incomplete beta function: x = sin²; Simpson's rule on logarithms
  const log = (angle) => (2 * a - 1) * Math.log(Math.sin(angle)) + (2 * b - 1) * Math.log(Math.cos(angle));
  const steps = 40000, peak = log(Math.atan(Math.sqrt(Math.max(2 * a - 1, 1e-9) / Math.max(2 * b - 1, 1e-9))));
  const integral = (from, to) => (to - from) / steps / 3 * sum([...Array(steps + 1).keys()], (nth) => (nth === 0 || nth === steps ? 1 : nth % 2 ? 4 : 2) * Math.exp(log(Math.min(Math.max(from + (to - from) * nth / steps, 1e-12), Math.PI / 2 - 1e-12)) - peak));
  const at = Math.asin(Math.sqrt(Math.min(1, x))), [below, above] = [integral(0, at), integral(at, Math.PI / 2)]; return below / (below + above);
}
const student = (x, freedom) => { const tail = beta(freedom / 2, 0.5, freedom / (freedom + x * x)) / 2; return x > 0 ? 1 - tail : tail; };
const product = (m, one, other) => m.products.length ? m.products[one][other] : sum(m.values[one], (x, unit) => x * m.values[other][unit]);
const pairs = (m, of) => sum(m.bots, (_, one) => sum(m.bots, (_, other) => of(one, other)));
const all = stage.meetings, seats = sum(all, (m) => m.units * m.bots.length), mean = sum(all, (m) => sum(m.totals)) / seats;
const around = (m, one, other) => product(m, one, other) - mean * (m.totals[one] + m.totals[other]) + m.units * mean * mean;
const units = sum(all, (m) => m.units / m.repeats), unbiased = units / Math.max(1, units - 1);
const S = sum(all, (m) => sum(m.bots, (_, one) => around(m, one, one))) / seats * unbiased;
const T = sum(all, (m) => pairs(m, (one, other) => one === other ? 0 : around(m, one, other))) / (sum(all, (m) => m.units * m.bots.length * (m.bots.length - 1)) || 1) * unbiased;
const common = (c) => Math.max(0, S * sum(c, (x) => x * x) + T * (sum(c) ** 2 - sum(c, (x) => x * x)));
function designEffect() { // of fixtures: its factor, and its degrees of freedom
  const some = all.filter((m) => m.products.length), within = sum(some, (m) => sum(m.bots, (_, one) => m.products[one][one]) - m.between);
  const between = sum(some, (m) => m.between - sum(m.totals, (x) => x * x / m.units)), count = sum(some, (m) => m.units);
  const fixtures = sum(some, (m) => m.fixtures), above = fixtures - some.length, below = count - fixtures;
  if (above < 1 || below <= 0 || within <= 0) return [1, Infinity];
  const variance = between / above, ratio = variance / (within / below); if (beta(above / 2, below / 2, above * ratio / (above * ratio + below)) < 0.99) return [1, Infinity];
  return [variance / ((between + within) / (count - some.length)), above];
}
const [effect, effectFreedom] = designEffect();
function sure(one, other) { // by wins or scores
  const met = stage.shared ? all.filter((m) => m.bots.includes(one) && m.bots.includes(other)) : all;
  const of = (bot, what) => sum(met.filter((m) => m.bots.includes(bot)), what), factor = { [one]: 1 / of(one, (m) => m.size), [other]: -1 / of(other, (m) => m.size) };
  const parts = met.map((m) => {
    const c = m.bots.map((bot) => factor[bot] || 0), total = sum(c, (x, nth) => x * m.totals[nth]);
    const deviations = Math.max(0, pairs(m, (a, b) => c[a] * c[b] * product(m, a, b)) - total ** 2 / m.units);
    const third = m.values.length ? sum(m.values[0], (_, unit) => (sum(c, (x, nth) => x * m.values[nth][unit]) - total / m.units) ** 3) : 0;
    return { total, variance: deviations * m.repeats + common(c) * m.repeats ** 2, third: third * m.repeats ** 2, freedom: Math.max(1, m.units / m.repeats - 1) };
  }).filter((part) => part.variance);
  const variance = sum(parts, (part) => part.variance), freedom = Math.min(effectFreedom, variance ** 2 / sum(parts, (part) => part.variance ** 2 / part.freedom));
  const E = Math.min(...[one, other].map((bot) => of(bot, (m) => m.units / m.repeats))) / effect, whole = E + IMAGINARY;
  const error = Math.sqrt(variance * effect * (E / whole) ** 2 + IMAGINARY * common([1, -1]) * (sum(met, (m) => m.units) / sum(met, (m) => m.size) / whole) ** 2);
  const x = sum(parts, (part) => part.total) * E / whole / error, g = sum(parts, (part) => part.third) / variance ** 1.5 * (E / whole) ** 3;
  return student(x + g * x ** 2 / 3 + g ** 2 * x ** 3 / 27 + g / 6, freedom > 1e4 ? 1e6 : freedom);
}
function byElo() { // by the strengths of Bradley and Terry at tables of two; their errors from the Fisher information
  const bots = [...new Set(all.flatMap((m) => m.bots))].sort(), size = bots.length, at = (m) => m.bots.map((bot) => bots.indexOf(bot));
  const spread = (m) => { const lead = m.totals[0] - m.totals[1], rate = (1 + lead / m.size) / 2;
    const deviations = product(m, 0, 0) - 2 * product(m, 0, 1) + product(m, 1, 1) - lead ** 2 / m.units; return rate > 0 && rate < 1 ? deviations / 4 / (m.size * rate * (1 - rate)) : 1; };
  const usual = (sum(all, (m) => m.units * spread(m)) + IMAGINARY) / (sum(all, (m) => m.units) + IMAGINARY);
  const weight = (m) => (m.units * spread(m) + IMAGINARY * usual) / (m.units + IMAGINARY) * m.repeats * effect;
  let log = Array(size).fill(0), inverse; for (let step = 0; step < 60; step++) { // Newton's method; the last inverse is that of the weighed information
    const matrix = bots.map((_, row) => bots.map((_, column) => 1 / size).concat(bots.map((_, column) => +(row === column)))), slope = Array(size).fill(0);
    for (const m of all) { const [a, b] = at(m), won = (m.totals[0] + m.size - m.totals[1]) / 2, p = 1 / (1 + Math.exp(log[b] - log[a])), known = m.size * p * (1 - p) / (step < 59 ? 1 : weight(m));
      slope[a] += won - m.size * p; slope[b] -= won - m.size * p; matrix[a][a] += known; matrix[b][b] += known; matrix[a][b] -= known; matrix[b][a] -= known; }
    for (let k = 0; k < size; k++) { const pivot = matrix[k][k]; matrix[k] = matrix[k].map((x) => x / pivot);
      matrix.forEach((row, nth) => { if (nth !== k) matrix[nth] = row.map((x, column) => x - row[k] * matrix[k][column]); }); }
    inverse = matrix.map((row) => row.slice(size));
    if (step < 59) log = log.map((x, nth) => x + sum(inverse[nth], (y, column) => y * slope[column]));
  }
  return (one, other) => { const [a, b] = [bots.indexOf(one), bots.indexOf(other)]; return student((log[a] - log[b]) / Math.sqrt(inverse[a][a] + inverse[b][b] - 2 * inverse[a][b]), 1e6); };
}
const how = stage.ranked_by === "elo" ? byElo() : sure; for (const { bots } of stage.sure) console.log(how(bots[0], bots[bots.length - 1]).toFixed(6));
