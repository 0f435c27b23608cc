// The module of every page: ages, copied commands, the search, and the stream of changes.
import { byID, showAges } from "./page";

showAges(document);
setInterval(() => showAges(document), 30_000);
document.addEventListener("click", copyCommand);
followPage();
startSearch();

// copyCommand copies the text that a button names.
function copyCommand(event: MouseEvent): void {
  const button = event.target instanceof Element ? event.target.closest<HTMLButtonElement>("button[data-copy]") : null;
  const text = button && byID(button.dataset["copy"] ?? "")?.textContent;
  if (!button || !text) return;
  const report = (word: string): void => {
    button.textContent = word;
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  };
  navigator.clipboard.writeText(text).then(() => report("Copied"), () => report("Not copied"));
}

// followPage replaces the parts of the page that change on the server.
function followPage(): void {
  const version = document.body.dataset["version"];
  if (!version || version === "0" || location.pathname === "/confirm") return;
  const banner = byID("connection"), live = byID("live");
  if (!banner || !live) return;
  const parameters = new URLSearchParams({ page: location.pathname + location.search, since: version });
  const stream = new EventSource("/events?" + parameters.toString());
  const warn = (text: string): void => {
    banner.textContent = text;
    banner.hidden = text === "";
  };
  stream.onopen = () => {
    warn("");
    live.textContent = "Live";
    live.classList.add("on");
  };
  stream.onerror = () => {
    live.classList.remove("on");
    live.textContent = "Not live";
    warn(stream.readyState === EventSource.CLOSED
      ? "The session has ended, or too many pages are open. Run kubectl berth console again, and open the URL that it prints."
      : "The connection is lost. What you see is from before; the page connects again by itself.");
  };
  stream.addEventListener("section", (event: MessageEvent<string>) => {
    warn("");
    replaceSection(JSON.parse(event.data) as { id: string; html: string });
  });
  stream.addEventListener("problem", (event: MessageEvent<string>) => warn((JSON.parse(event.data) as { text: string }).text));
  stream.addEventListener("version", () => warn(""));
  stream.addEventListener("cells", (event: MessageEvent<string>) => {
    document.dispatchEvent(new CustomEvent("cells", { detail: JSON.parse(event.data) as unknown }));
  });
  addEventListener("pagehide", () => stream.close());
}

// replaceSection shows a part anew. What a user is typing in it stays, and so does the focus.
function replaceSection(part: { id: string; html: string }): void {
  const section = byID(part.id);
  if (!section) return;
  const active = document.activeElement;
  if (active instanceof HTMLInputElement && section.contains(active)) return; // the next change brings it
  const path = active instanceof HTMLElement && section.contains(active) ? active.getAttribute("href") : null;
  section.innerHTML = part.html; // the server has escaped every text in it, and the browser runs no script in it
  showAges(section);
  if (path) [...section.querySelectorAll("a")].find((link) => link.getAttribute("href") === path)?.focus();
  document.dispatchEvent(new CustomEvent("replaced", { detail: part.id }));
}

interface Match { kind: string; namespace?: string; name: string }

// startSearch suggests objects while a user types. The key / goes to the search.
function startSearch(): void {
  const input = byID("search") as HTMLInputElement | null, list = byID("suggestions");
  if (!input || !list) return;
  let timer = 0, chosen = -1, latest = 0;
  document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      input.focus();
      input.select();
    }
  });
  const close = (): void => {
    list.hidden = true;
    chosen = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const choose = (at: number): void => {
    chosen = at;
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === at)));
    input.setAttribute("aria-activedescendant", "match-" + at);
  };
  const suggest = async (): Promise<void> => {
    const mine = ++latest, text = input.value.trim();
    if (text === "") return close();
    const response = await fetch("/data/search?" + new URLSearchParams({ q: text }).toString());
    if (!response.ok || mine !== latest) return;
    const found = await response.json() as Match[];
    const before = chosen; // a user may have chosen already
    list.replaceChildren(...found.map(suggestion));
    close();
    list.hidden = found.length === 0;
    input.setAttribute("aria-expanded", String(found.length > 0));
    if (before >= 0 && found.length > 0) choose(Math.min(before, found.length - 1));
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => void suggest(), 80);
  });
  input.addEventListener("keydown", (event) => {
    const items = list.hidden ? [] : [...list.querySelectorAll("li")];
    if (event.key === "Escape") {
      close();
      input.blur();
    } else if (items.length > 0 && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      choose((chosen + (event.key === "ArrowDown" ? 1 : items.length - 1) + (chosen < 0 && event.key === "ArrowUp" ? 1 : 0)) % items.length);
    }
  });
  input.form?.addEventListener("submit", (event) => {
    const path = list.hidden ? undefined : list.querySelectorAll("li")[chosen]?.dataset["path"];
    if (path === undefined) return;
    event.preventDefault();
    location.href = path;
  });
  list.addEventListener("mousedown", (event) => {
    const item = event.target instanceof Element ? event.target.closest("li") : null;
    if (item) location.href = item.dataset["path"]!;
  });
  input.addEventListener("blur", close);
}

function suggestion(match: Match, i: number): HTMLLIElement {
  const item = document.createElement("li"), kind = document.createElement("span");
  item.id = "match-" + i;
  item.setAttribute("role", "option");
  item.setAttribute("aria-selected", "false");
  item.dataset["path"] = pathOf(match);
  kind.className = "muted";
  kind.textContent = match.kind;
  item.append(match.namespace ? match.namespace + "/" + match.name : match.name, kind);
  return item;
}

function pathOf(match: Match): string {
  const name = encodeURIComponent(match.name);
  switch (match.kind) {
    case "cluster": return "/clusters/" + name;
    case "placement": return "/placements/" + encodeURIComponent(match.namespace ?? "") + "/" + name;
    default: return "/?" + new URLSearchParams({ group: "set", q: "set=" + match.name }).toString();
  }
}
