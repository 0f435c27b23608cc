// The module of the preview: sends what a user types, and shows what it would move.
import { byID, showAges } from "./page";

interface Change { yaml: string; cordon: string[]; drain: string[]; remove: string[]; delete: string[] }
interface Step { kind: "cordon" | "drain" | "remove"; value: string }

const delay = 200;
const yaml = byID("yaml") as HTMLTextAreaElement | null, output = byID("preview-output"), steps = byID("steps");
const what = byID("what") as HTMLSelectElement | null, which = byID("which") as HTMLInputElement | null, add = byID("add");

if (yaml && output && steps && what && which && add) start(yaml, output, steps, what, which, add);

function start(yaml: HTMLTextAreaElement, output: HTMLElement, list: HTMLElement, what: HTMLSelectElement, which: HTMLInputElement, add: HTMLElement): void {
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
      output.replaceChildren(paragraph("empty", "Type or paste an object, or add a step."));
      return;
    }
    const change: Change = { yaml: yaml.value, cordon: values("cordon"), drain: values("drain"), remove: values("remove"), delete: [] };
    try {
      const response = await send(change, mine.signal);
      if (!response.ok) throw new Error((await response.text()).trim());
      output.innerHTML = (await response.json() as { html: string }).html; // the server has escaped every text in it
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
      remove.addEventListener("click", () => {
        chosen.splice(i, 1);
        show();
        schedule();
      });
      item.append({ cordon: "cordon ", drain: "drain ", remove: "delete " }[step.kind] + step.value + " ", remove);
      return item;
    }));
  };
  const addStep = (): void => {
    const value = which.value.trim(), [kind, label] = what.value.split(/:(.*)/s);
    if (value === "") return which.focus();
    // Clusters that fail lose what a drain takes from them.
    chosen.push(kind === "fail" ? { kind: "drain", value: label + "=" + value } : { kind: kind as Step["kind"], value });
    which.value = "";
    show();
    schedule();
  };
  // The first preview settles the fleet. It happens before a user has typed anything.
  void send({ yaml: "", cordon: [], drain: [], remove: [], delete: [] }, new AbortController().signal).catch(() => undefined);
  yaml.addEventListener("input", schedule);
  add.addEventListener("click", addStep);
  which.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      addStep();
    }
  });
  byID("change")?.addEventListener("submit", (event) => event.preventDefault());
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
