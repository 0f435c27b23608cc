// The module of the preview: sends what a user types, and shows what it would move.
import { type Editor, type Fault, newEditor } from "./editor";
import { byID, showAges } from "./page";

interface Change { yaml: string; cordon: string[]; drain: string[]; remove: string[] }
interface Step { kind: "cordon" | "drain" | "remove"; value: string; words: string }

const delay = 200;
const yaml = byID("yaml") as HTMLTextAreaElement | null, output = byID("preview-output"), steps = byID("steps"), editor = newEditor();

if (yaml && output && steps && editor) start(yaml, output, steps, editor);

function start(yaml: HTMLTextAreaElement, output: HTMLElement, list: HTMLElement, editor: Editor): void {
  const chosen: Step[] = [];
  let timer = 0, running: AbortController | undefined;
  const schedule = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void run(), delay);
  };
  const run = async (): Promise<void> => {
    running?.abort();
    const mine = running = new AbortController();
    if (yaml.value.trim() === "" && chosen.length === 0) {
      editor.mark([]);
      output.replaceChildren(paragraph("empty", "Type or paste an object, or press a button."));
      return;
    }
    const change: Change = { yaml: yaml.value, cordon: values("cordon"), drain: values("drain"), remove: values("remove") };
    try {
      const response = await send(change, mine.signal);
      if (!response.ok) throw new Error((await response.text()).trim());
      const found = await response.json() as { html: string; faults: Fault[] };
      output.innerHTML = found.html; // the server has escaped every text in it
      editor.mark(found.faults);
      showAges(output);
    } catch (problem) {
      if (!mine.signal.aborted) output.replaceChildren(paragraph("problem", problem instanceof Error ? problem.message : String(problem)));
    }
  };
  const values = (kind: Step["kind"]): string[] => chosen.filter((step) => step.kind === kind).map((step) => step.value);
  const show = (): void => {
    list.replaceChildren(...chosen.map((step, i) => {
      const item = document.createElement("li"), remove = document.createElement("button");
      remove.type = "button";
      remove.textContent = "Undo";
      remove.setAttribute("aria-label", "Undo: " + step.words);
      remove.addEventListener("click", () => {
        chosen.splice(i, 1);
        show();
        schedule();
      });
      item.append(step.words + " ", remove);
      return item;
    }));
  };
  const add = (step: Step): void => {
    if (!chosen.some((each) => each.kind === step.kind && each.value === step.value)) chosen.push(step);
    show();
    schedule();
  };
  // The first preview settles the fleet. It happens before a user has typed anything.
  void send({ yaml: "", cordon: [], drain: [], remove: [] }, new AbortController().signal).catch(() => undefined);
  yaml.addEventListener("input", schedule);
  byID("change")?.addEventListener("submit", (event) => event.preventDefault());
  startClusters(add);
  void startLabels(add);
}

// startClusters adds the steps on one cluster. Names are suggested while a user types.
function startClusters(add: (step: Step) => void): void {
  const name = byID("cluster") as HTMLInputElement, names = byID("cluster-names") as HTMLDataListElement;
  let timer = 0;
  name.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => void suggest(name, names), 100);
  });
  const act = (kind: "cordon" | "remove", verb: string): void => {
    const value = name.value.trim();
    if (value === "") return name.focus();
    add({ kind, value, words: verb + " " + value });
    name.value = "";
  };
  byID("cordon")?.addEventListener("click", () => act("cordon", "cordon"));
  byID("delete")?.addEventListener("click", () => act("remove", "delete"));
  name.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      act("cordon", "cordon");
    }
  });
}

async function suggest(name: HTMLInputElement, names: HTMLDataListElement): Promise<void> {
  if (name.value.trim() === "") return;
  const response = await fetch("/data/search?" + new URLSearchParams({ q: name.value.trim() }).toString());
  if (!response.ok) return;
  const found = await response.json() as { kind: string; name: string }[];
  names.replaceChildren(...found.filter((each) => each.kind === "cluster").map((each) => new Option(each.name, each.name)));
}

// startLabels adds the steps on all clusters with a value of a label.
async function startLabels(add: (step: Step) => void): Promise<void> {
  const label = byID("label") as HTMLSelectElement, value = byID("label-value") as HTMLSelectElement;
  const act = (words: (of: string) => string): void => {
    if (value.value === "") return label.focus();
    const of = label.value + "=" + value.value;
    add({ kind: "drain", value: of, words: words(of) });
  };
  byID("drain")?.addEventListener("click", () => act((of) => "drain " + of));
  byID("fail")?.addEventListener("click", () => act((of) => "clusters with " + of + " fail")); // they lose what a drain takes from them
  const fill = async (): Promise<void> => {
    if (label.value === "") return;
    const response = await fetch("/data/column?" + new URLSearchParams({ key: "label:" + label.value }).toString());
    if (!response.ok) return;
    const column = await response.json() as { values: string[] };
    value.replaceChildren(...[...column.values].sort((a, b) => a.localeCompare(b, undefined, { numeric: true })).slice(0, 500).map((each) => new Option(each, each)));
  };
  label.addEventListener("change", () => void fill());
  await fill();
}

function send(change: Change, signal: AbortSignal): Promise<Response> {
  return fetch("/data/preview", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(change), signal });
}

function paragraph(name: string, text: string): HTMLParagraphElement {
  const out = document.createElement("p");
  out.className = name;
  out.textContent = text;
  return out;
}
