// Undercut, as a judge of Botzone: the same game as undercut_python.
let text = "";
process.stdin.on("data", (chunk) => { text += chunk; });
process.stdin.on("end", () => {
  const { log, initdata } = JSON.parse(text);
  const turns = initdata.turns || 3 + ((initdata.seed || 0) % 3);
  let points = [0, 0], last = [0, 0], wrong = [];
  for (let i = 1; i < log.length && !wrong.length; i += 2) {
    const said = [0, 1].map((player) => log[i][player].response);
    wrong = [0, 1].filter((player) => ![1, 2, 3, 4, 5].includes(said[player]));
    if (wrong.length) break;
    last = said;
    if (Math.abs(said[0] - said[1]) === 1) points[said[0] < said[1] ? 0 : 1] += said[0] + said[1];
    else points = [points[0] + said[0], points[1] + said[1]];
  }
  const turn = log.length >> 1;
  const display = { turn, last, points };
  let answer;
  if (wrong.length) {
    const content = {};
    for (const player of [0, 1]) content[player] = wrong.includes(player) ? 0 : 2;
    answer = { command: "finish", content, display: { ...display, wrong } };
  } else if (turn === turns) {
    const sign = Math.sign(points[0] - points[1]);
    answer = { command: "finish", content: { 0: 1 + sign, 1: 1 - sign }, display };
  } else {
    const content = {};
    for (const player of [0, 1]) content[player] = { turn, turns, last: last[1 - player] };
    answer = { command: "request", content, display, initdata: { turns } };
  }
  console.log(JSON.stringify(answer));
});
