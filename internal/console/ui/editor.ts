// The editor of YAML: numbers lines, marks faults, and proposes what may follow.
import { byID } from "./page";

export interface Fault { line: number; text: string }
interface Option { text: string; label: string; detail?: string; description?: string }
interface Result { typed: number; options: Option[] }

const delay = 120;

// Editor is a text area with its lines, faults and proposals.
export class Editor {
  private options: Option[] = [];
  private typed = 0;
  private chosen = -1;
  private timer = 0;
  private latest = 0;
  private faults: Fault[] = [];
  // inserting is set while the editor itself writes.
  private inserting = false;

  constructor(private readonly text: HTMLTextAreaElement, private readonly gutter: HTMLElement, private readonly list: HTMLElement, private readonly faultList: HTMLElement) {
    text.addEventListener("input", () => {
      this.number();
      this.propose(delay, false);
    });
    text.addEventListener("scroll", () => {
      gutter.scrollTop = text.scrollTop;
      this.close();
    });
    text.addEventListener("keydown", (event) => this.key(event));
    text.addEventListener("beforeinput", (event) => this.breakLine(event));
    text.addEventListener("click", () => this.close());
    text.addEventListener("blur", () => this.close());
    list.addEventListener("mousedown", (event) => {
      const item = event.target instanceof Element ? event.target.closest<HTMLElement>("li") : null;
      if (!item) return;
      event.preventDefault(); // the text keeps the focus
      this.take(Number(item.dataset["at"]));
    });
    this.number();
  }

  // mark shows faults at their lines. Each is listed with a button that goes there.
  mark(faults: Fault[]): void {
    this.faults = faults;
    this.text.setAttribute("aria-invalid", String(faults.length > 0));
    this.faultList.replaceChildren(...faults.map((fault) => {
      const item = document.createElement("li"), button = document.createElement("button"), text = document.createElement("span");
      button.type = "button";
      button.textContent = "Line " + fault.line;
      button.addEventListener("click", () => this.goTo(fault.line));
      text.className = "problem";
      text.textContent = " " + fault.text;
      item.append(button, text);
      return item;
    }));
    this.number();
  }

  private goTo(line: number): void {
    const lines = this.text.value.split("\n"), from = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    this.text.focus();
    this.text.setSelectionRange(from, from + (lines[line - 1] ?? "").length);
    this.text.scrollTop = Math.max(0, (line - 4) * this.lineHeight());
  }

  // number writes the number of each line beside it.
  private number(): void {
    const wrong = new Set(this.faults.map((fault) => fault.line)), count = this.text.value.split("\n").length;
    this.gutter.replaceChildren(...Array.from({ length: Math.min(count, 5000) }, (_, i) => {
      const line = document.createElement("span");
      line.textContent = String(i + 1);
      if (wrong.has(i + 1)) line.className = "wrong";
      return line;
    }));
    this.gutter.scrollTop = this.text.scrollTop;
  }

  private lineHeight(): number { return parseFloat(getComputedStyle(this.text).lineHeight) || 20; }

  private cursor(): { row: number; column: number } {
    const before = this.text.value.slice(0, this.text.selectionStart), row = before.split("\n").length - 1;
    return { row, column: before.length - (before.lastIndexOf("\n") + 1) };
  }

  // propose reads what may follow, after a moment. Without asking, it proposes only where a word has begun.
  private propose(after: number, asked: boolean): void {
    clearTimeout(this.timer);
    this.close();
    const mine = ++this.latest;
    this.timer = setTimeout(() => void this.read(mine, asked), after);
  }

  private async read(mine: number, asked: boolean): Promise<void> {
    const { row, column } = this.cursor();
    if (!asked && !/[A-Za-z]$/.test(this.text.value.slice(0, this.text.selectionStart))) return;
    const response = await fetch("/data/completion", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ text: this.text.value, row, column }),
    }).catch(() => undefined);
    if (!response?.ok || mine !== this.latest) return;
    const found = await response.json() as Result;
    if (mine !== this.latest || found.options.length === 0 || document.activeElement !== this.text) return;
    this.options = found.options;
    this.typed = found.typed;
    this.list.replaceChildren(...found.options.map(item));
    this.list.hidden = false;
    this.place(row, column - found.typed);
    this.choose(0);
  }

  // place puts the list below the word.
  private place(row: number, column: number): void {
    const style = getComputedStyle(this.text), context = document.createElement("canvas").getContext("2d");
    let width = 8;
    if (context) {
      context.font = style.font;
      width = context.measureText("m").width;
    }
    const left = this.text.offsetLeft + parseFloat(style.paddingLeft) + column * width - this.text.scrollLeft;
    const top = this.text.offsetTop + parseFloat(style.paddingTop) + (row + 1) * this.lineHeight() - this.text.scrollTop;
    const room = this.text.offsetLeft + this.text.offsetWidth - this.list.offsetWidth;
    this.list.style.left = Math.max(0, Math.min(left, room)) + "px";
    this.list.style.top = Math.min(top, this.text.offsetTop + this.text.offsetHeight) + "px";
  }

  private choose(at: number): void {
    this.chosen = at;
    [...this.list.children].forEach((each, i) => each.setAttribute("aria-selected", String(i === at)));
    this.list.children[at]?.scrollIntoView({ block: "nearest" });
    this.text.setAttribute("aria-activedescendant", "option-" + at);
  }

  private close(): void {
    this.list.hidden = true;
    this.options = [];
    this.chosen = -1;
    this.text.removeAttribute("aria-activedescendant");
  }

  private take(at: number): void {
    const option = this.options[at];
    if (!option) return;
    const end = this.text.selectionStart;
    this.text.setSelectionRange(end - this.typed, end);
    this.latest++;
    insert(this.text, option.text);
    this.close();
    if (option.text.endsWith(": ")) this.propose(0, true); // what follows may have few values
  }

  private key(event: KeyboardEvent): void {
    const open = !this.list.hidden, count = this.options.length;
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      this.propose(0, true);
    } else if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      this.choose((this.chosen + (event.key === "ArrowDown" ? 1 : count - 1)) % count);
    } else if (open && event.key === "Tab") {
      event.preventDefault();
      this.take(this.chosen);
    } else if (open && event.key === "Escape") {
      event.preventDefault();
      this.close();
    }
  }

  // breakLine takes the chosen proposal, or begins an indented line, in place of a plain new line.
  private breakLine(event: InputEvent): void {
    if (event.inputType !== "insertLineBreak" || this.inserting) return;
    event.preventDefault();
    this.inserting = true;
    if (this.list.hidden) this.newLine();
    else this.take(this.chosen);
    this.inserting = false;
  }

  // newLine begins a line with the indentation of the last one, and more below a key without a value.
  private newLine(): void {
    const before = this.text.value.slice(0, this.text.selectionStart), line = before.slice(before.lastIndexOf("\n") + 1);
    let indent = /^ */.exec(line)![0];
    if (line.trimEnd().endsWith(":")) indent += "  ";
    if (/^ *- \S/.test(line) && !line.trimEnd().endsWith(":") && line.includes(": ")) indent += "  ";
    insert(this.text, "\n" + indent);
  }
}

// insert replaces the selection in a way that the browser can undo.
function insert(into: HTMLTextAreaElement, text: string): void {
  if (!document.execCommand("insertText", false, text)) {
    into.setRangeText(text, into.selectionStart, into.selectionEnd, "end");
    into.dispatchEvent(new Event("input"));
  }
}

function item(option: Option, i: number): HTMLLIElement {
  const out = document.createElement("li"), detail = document.createElement("span");
  out.id = "option-" + i;
  out.dataset["at"] = String(i);
  out.setAttribute("role", "option");
  out.setAttribute("aria-selected", "false");
  detail.className = "muted";
  detail.textContent = option.detail ?? "";
  out.append(option.label, detail);
  if (option.description) {
    const text = document.createElement("span");
    text.className = "muted description";
    text.textContent = option.description;
    out.append(text);
  }
  return out;
}

// newEditor returns the editor of the page; undefined on other pages.
export function newEditor(): Editor | undefined {
  const text = byID("yaml") as HTMLTextAreaElement | null, gutter = byID("gutter"), list = byID("options"), faults = byID("faults");
  return text && gutter && list && faults ? new Editor(text, gutter, list, faults) : undefined;
}
