// The pages around the casino: shows one section at a time, updates a live page. It follows shared.js in the same script.
class Trouble extends Error {} // an error whose message the page displays

async function unzipped(text) {
  const bytes = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  if (typeof DecompressionStream === "undefined") throw new Trouble("this browser is too old to unpack what is in this file: it has no DecompressionStream");
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

// In a file of very many bots most pages are packed. They are unpacked when the first of them is opened. Each page is
// added to the document only when it is opened, because adding all of them would make every browser slow.
let leaves = null;
async function unfolded(id) {
  const packed = document.getElementById("leaves");
  if (packed) {
    packed.remove();
    leaves = new DOMParser().parseFromString(await unzipped(packed.textContent), "text/html");
  }
  const page = leaves.getElementById(id);
  if (!page) return false;
  document.getElementById("casino").before(page);
  dressed();
  return true;
}

function route(moved) {
  const hash = location.hash.slice(1);
  const wanted = /^r=/.test(hash) ? "casino" : hash === "podium" ? "result" : hash;
  const pages = [...document.querySelectorAll("section.page")];
  if (wanted && !document.getElementById(wanted) && (leaves || document.getElementById("leaves"))) {
    unfolded(wanted).then((found) => { if (found) route(moved); }, (error) => {
      const said = document.createElement("p");
      said.className = "trouble";
      said.setAttribute("role", "alert");
      said.textContent = `the other pages of this file cannot be unpacked: ${error.message}`;
      pages[0].prepend(said);
    });
    if (moved) return;
  }
  const page = pages.find((each) => each.id === wanted) || pages[0];
  for (const each of pages) each.classList.toggle("here", each === page);
  if (page.id === "result") podium(page, hash === "podium", moved);
  for (const link of document.querySelectorAll(".top nav a")) {
    const here = link.hash.slice(1) === (page.dataset.up || page.id);
    if (here) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    if (here) link.parentElement.scrollLeft = link.offsetLeft - link.parentElement.offsetLeft - 60;
  }
  const title = page.querySelector("h1");
  document.title = `${page.id === "result" ? "" : `${title.textContent} · `}${document.title.split(" · ").slice(-2).join(" · ")}`;
  if (moved && page.id !== "casino") scrollTo(0, 0);
  if (page.id === "casino" && window.casino) window.casino(hash);
}

// At #podium, for a projector, the places of the result are revealed one by one, the third one first, and then the sentence.
let unseen = Infinity; // places
function podium(page, revealing, again) {
  const places = [...page.querySelectorAll(".podium li")], button = document.getElementById("reveal");
  page.classList.toggle("revealing", revealing && Boolean(button));
  if (!button) return;
  unseen = again ? places.length : Math.min(unseen, places.length);
  places.forEach((place, nth) => place.classList.toggle("unseen", nth < unseen));
  page.querySelector("h1").classList.toggle("unseen", unseen > 0);
  button.textContent = unseen ? `Reveal place ${unseen}` : "Hide the places again";
  const local = /^(localhost|127\.|\[::1\])/.test(location.hostname);
  document.getElementById("address").textContent = document.documentElement.dataset.live && !local ? location.origin : "";
}

function reveal(page) {
  unseen = unseen ? unseen - 1 : Infinity;
  podium(page, true, false);
}

function presented() {
  const page = () => document.querySelector("#result.here.revealing");
  const fullScreen = () => document.fullscreenElement ? document.exitFullscreen() : page().requestFullscreen().catch(() => { /* a frame may forbid it */ });
  addEventListener("click", ({ target }) => {
    if (page() && target.id === "reveal") reveal(page());
    if (page() && target.id === "full") { target.blur(); fullScreen(); } // so that the space bar reveals
  });
  addEventListener("keydown", (event) => {
    if (!page() || event.repeat || event.ctrlKey || event.metaKey || event.altKey || (event.key === " " && event.target.closest("button, a"))) return;
    const keys = { " ": () => reveal(page()), ArrowRight: () => reveal(page()), PageDown: () => reveal(page()), f: fullScreen };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
}

// While a tournament runs, the server announces changes. The page is then fetched again, and its sections are replaced.
// The server has escaped their content. Scripts in it would not run either: the content security policy forbids them.
function live() {
  const said = document.getElementById("live"), nav = document.querySelector(".top nav");
  const known = new Map(); // the HTML as received: an unchanged section stays, and keeps its focus and sort order
  for (const each of document.querySelectorAll("[data-fresh]")) known.set(each.id, each.innerHTML);
  let busy = false, again = false;
  async function fetched() {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch("/", { cache: "no-cache" });
      if (!answer.ok) throw new Error(`the server says ${answer.status}`);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const old of document.querySelectorAll("[data-fresh]")) {
        const now = fresh.getElementById(old.id), text = now && now.innerHTML;
        if (now && text !== known.get(old.id)) { known.set(old.id, text); old.replaceChildren(...now.childNodes); }
      }
      for (const page of fresh.querySelectorAll("section.page")) if (!document.getElementById(page.id)) {
        page.classList.remove("here");
        known.set(page.id, page.innerHTML);
        document.getElementById("casino").before(page);
      }
      document.querySelector(".brand span").textContent = fresh.querySelector(".brand span").textContent;
      document.title = fresh.title;
      const menu = fresh.querySelector(".top nav");
      if (menu.textContent !== nav.textContent) nav.replaceChildren(...menu.childNodes);
      dressed();
      route(false);
      const clock = document.getElementById("clock"), newer = fresh.getElementById("clock"); // the server's, not the reader's
      if (clock && newer) clock.textContent = newer.textContent;
      else if (newer) said.before(newer, " · ");
      said.textContent = "live";
    } catch (error) {
      said.textContent = `the server does not answer: ${error.message}`;
    } finally {
      busy = false;
      if (again) { again = false; setTimeout(fetched, 500); }
    }
  }
  streamWhileSeen(() => {
    const news = new EventSource("/api/events");
    news.addEventListener("news", fetched);
    news.addEventListener("open", () => { said.textContent = "live"; });
    news.addEventListener("error", () => { said.textContent = "waiting for the server …"; });
    return news;
  });
}

document.addEventListener("DOMContentLoaded", () => {
  themed();
  presented();
  if (document.documentElement.dataset.live) live();
  dressed();
  addEventListener("hashchange", () => route(true));
  route(false);
});
