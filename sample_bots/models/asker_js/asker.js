// Ask a language model for every move. The bot has no network: croupier passes its requests on (docs/models.md).
const fs = require("fs");
const http = require("http");
const readline = require("readline");

const OTHERWISE = process.env.OTHERWISE; // the move if croupier or the model refuses a request; bot.toml names it
const PROMPT = fs.readFileSync("prompt.txt", "utf8");
const RELAY = { method: "POST", path: "/v1/chat/completions", socketPath: process.env.CROUPIER_MODEL_URL.slice("unix:".length) };

let mayAsk = true;

function decoded(question) { // in a text of a question, %20 is a blank
  try { return decodeURIComponent(question); } catch (wrong) { return question; }
}

function ask(prompt) {
  const body = { model: "small", messages: [{ role: "user", content: prompt }] };
  return new Promise((resolve, reject) => {
    const request = http.request(RELAY, async (reply) => {
      const parts = [];
      for await (const part of reply) parts.push(part);
      const answer = JSON.parse(Buffer.concat(parts));
      if (reply.statusCode === 200) return resolve(answer.choices[0].message.content);
      console.error(answer.error.message);
      mayAsk = reply.statusCode !== 429; // the budget is used up: to ask again at a later question of this table is a fault
      resolve("");
    });
    request.on("error", reject);
    request.end(JSON.stringify(body));
  });
}

(async () => {
  for await (const question of readline.createInterface({ input: process.stdin })) {
    const answer = mayAsk ? (await ask(PROMPT + decoded(question))).trim() : "";
    console.log((answer || OTHERWISE).split("\n").pop());
  }
})();
