// The pages of a season: follows shared.js in the same script. Whenever the season publishes something that this page shows,
// the page is fetched again, and the sections that have changed are replaced. The server has escaped their content.
const sections = () => [...document.querySelectorAll("[data-fresh]")];
const FOCUSABLE = "a, button, input, select, textarea, summary, [tabindex]";

// An unchanged section stays. In a changed one, the focus and the opened details stay where they were.
function replaced(old, now) {
  const at = [...old.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement);
  const open = [...old.querySelectorAll("details")].map((each) => each.open);
  old.replaceChildren(...now.childNodes);
  for (const [nth, each] of [...old.querySelectorAll("details")].entries()) if (open[nth]) each.open = true;
  if (at >= 0) old.querySelectorAll(FOCUSABLE)[at]?.focus({ preventScroll: true });
}

function live() {
  const said = document.getElementById("live");
  const known = new Map(sections().map((each) => [each.id, each.innerHTML]));
  let busy = false, again = false;
  async function fetched() {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch(location.href, { cache: "no-cache" });
      if (!answer.ok) throw new Error(`the server says ${answer.status}`);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const old of sections()) {
        const now = fresh.getElementById(old.id), text = now && now.innerHTML;
        if (now && text !== known.get(old.id)) { known.set(old.id, text); replaced(old, now); }
      }
      document.title = fresh.title;
      dressed();
      said.textContent = "live";
    } catch (error) {
      said.textContent = `the server does not answer: ${error.message}`;
    } finally {
      busy = false;
      if (again) { again = false; setTimeout(fetched, 500); }
    }
  }
  let since = document.documentElement.dataset.live;
  const own = "private" in document.documentElement.dataset ? "&private" : "";
  streamWhileSeen(() => {
    const news = new EventSource(`/events?since=${since}${own}`);
    news.addEventListener("news", (event) => {
      since = event.lastEventId;
      setTimeout(fetched, 1500 * Math.random()); // not all readers at the same moment
    });
    news.addEventListener("open", () => { said.textContent = "live"; });
    news.addEventListener("error", () => { said.textContent = "waiting for the server …"; });
    return news;
  });
}

document.addEventListener("DOMContentLoaded", () => {
  themed();
  if ("live" in document.documentElement.dataset) live();
  dressed();
  const here = document.querySelector(".top nav [aria-current]");
  if (here) here.parentElement.scrollLeft = here.offsetLeft - here.parentElement.offsetLeft - 60;
});
