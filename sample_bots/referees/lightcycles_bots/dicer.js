// Drives in any free direction. Its random numbers follow from CROUPIER_SEED (mulberry32).

let state = Number(process.env.CROUPIER_SEED || 1) >>> 0;

function random() {
  state = (state + 0x6d2b79f5) >>> 0;
  let mixed = Math.imul(state ^ (state >>> 15), state | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
}

const lines = require("readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const free = line.split(" ")[6].split(",");
  console.log(free[0] === "-" ? "UP" : free[Math.floor(random() * free.length)]);
});
