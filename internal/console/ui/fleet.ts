// The module of the fleet: draws every cluster as a cell, and filters, groups and colours the cells.
import { byID } from "./page";
import { cellAt, layout, type Layout } from "./layout";
import { type Column, type Grid, healthLetter, healthWords, type Mark, type Palette, paletteFor } from "./palette";

interface CellChange { i: number; health: string; selected: number; tainted: string }
interface Controls { filter: HTMLInputElement; group: HTMLSelectElement; colour: HTMLSelectElement }

// Fleet is the grid with its controls.
class Fleet {
  private grid: Grid = { version: 0, names: [], health: "", selected: [], tainted: "" };
  private readonly columns = new Map<string, Column>();
  private layout: Layout = { blocks: [], cellWidth: 1, cellHeight: 1, gap: 0, height: 0, named: false };
  private palette: Palette = { index: new Uint8Array(), colours: [], words: [], marks: [] };
  private shown = new Uint8Array();
  private current = -1;
  private latest = 0; // which filter was typed last
  private pending = 0;
  private drawn = 0;

  constructor(
    private readonly canvas: HTMLCanvasElement, private readonly status: HTMLElement, private readonly legend: HTMLElement, private readonly controls: Controls,
  ) {}

  async start(): Promise<void> {
    this.readURL();
    this.listen();
    await this.reload();
    requestAnimationFrame(() => performance.mark("fleet")); // after the first drawing, which waits for the same frame
  }

  // readURL sets the controls as the address has them, so that an address shows the same again.
  private readURL(): void {
    const query = new URLSearchParams(location.search);
    this.controls.filter.value = query.get("q") ?? "";
    for (const [name, select] of [["group", this.controls.group], ["colour", this.controls.colour]] as const) {
      const wanted = query.get(name);
      if (wanted !== null && [...select.options].some((option) => option.value === wanted)) select.value = wanted;
    }
  }

  private writeURL(): void {
    const query = new URLSearchParams();
    if (this.controls.filter.value.trim() !== "") query.set("q", this.controls.filter.value.trim());
    if (this.controls.group.value !== "set") query.set("group", this.controls.group.value);
    if (this.controls.colour.value !== "health") query.set("colour", this.controls.colour.value);
    const text = query.toString();
    history.replaceState(null, "", text === "" ? "/" : "/?" + text);
    const table = byID("as-table") as HTMLAnchorElement | null;
    if (table) table.href = "/?" + new URLSearchParams({ view: "table", q: this.controls.filter.value.trim() }).toString();
  }

  private listen(): void {
    this.controls.filter.addEventListener("input", () => void this.refilter());
    this.controls.group.addEventListener("change", () => void this.arrange());
    this.controls.colour.addEventListener("change", () => void this.recolour());
    this.controls.filter.form?.addEventListener("submit", (event) => event.preventDefault());
    let width = 0;
    new ResizeObserver(([entry]) => { // the height follows from the width
      if (entry && entry.contentRect.width !== width) {
        width = entry.contentRect.width;
        requestAnimationFrame(() => this.place());
      }
    }).observe(this.canvas.parentElement!);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => void this.recolour());
    document.addEventListener("cells", (event) => void this.update((event as CustomEvent<{ reset: boolean; changes?: CellChange[] }>).detail));
    this.canvas.addEventListener("mousemove", (event) => this.point(cellAt(this.layout, event.offsetX, event.offsetY)));
    this.canvas.addEventListener("mouseleave", () => this.point(-1));
    this.canvas.addEventListener("click", (event) => this.open(cellAt(this.layout, event.offsetX, event.offsetY)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("focus", () => { if (this.current < 0) this.point(this.layout.blocks[0]?.members[0] ?? -1); });
  }

  // reload reads the whole fleet.
  private async reload(): Promise<void> {
    this.columns.clear();
    this.grid = await read<Grid>("/data/grid");
    this.current = -1;
    await this.arrange();
    await this.recolour();
    await this.refilter();
  }

  // update takes what changed while the page is open.
  private async update(what: { reset: boolean; changes?: CellChange[] }): Promise<void> {
    if (what.reset) return this.reload();
    const health = [...this.grid.health], tainted = [...this.grid.tainted];
    for (const change of what.changes ?? []) {
      health[change.i] = change.health;
      tainted[change.i] = change.tainted;
      this.grid.selected[change.i] = change.selected;
    }
    this.grid.health = health.join("");
    this.grid.tainted = tainted.join("");
    for (const key of [...this.columns.keys()]) if (key.startsWith("placement:")) this.columns.delete(key);
    await this.recolour();
    await this.refilter();
  }

  private async column(key: string): Promise<Column> {
    let found = this.columns.get(key);
    if (!found) {
      found = await read<Column>("/data/column?" + new URLSearchParams({ key }).toString());
      this.columns.set(key, found);
    }
    return found;
  }

  // arrange groups the clusters.
  private async arrange(): Promise<void> {
    const key = this.controls.group.value;
    if (key !== "") await this.column(key);
    this.place();
    this.writeURL();
  }

  private groups(): { title: string; members: number[] }[] {
    const column = this.columns.get(this.controls.group.value);
    const all = [...this.grid.names.keys()];
    if (!column) return all.length > 0 ? [{ title: "", members: all }] : [];
    const groups = column.values.map((title) => ({ title, members: [] as number[] }));
    const rest = { title: "none", members: [] as number[] };
    for (const i of all) (groups[column.index[i] ?? -1] ?? rest).members.push(i);
    groups.sort((a, b) => a.title.localeCompare(b.title, undefined, { numeric: true }));
    return [...groups, rest].filter((each) => each.members.length > 0);
  }

  // place computes where the cells lie.
  private place(): void {
    const width = this.canvas.parentElement!.clientWidth;
    if (width === 0) return;
    this.layout = layout(width, this.groups(), this.grid.names.length);
    this.canvas.style.height = this.layout.height + "px";
    const scale = devicePixelRatio || 1;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(Math.max(1, this.layout.height) * scale);
    this.paint(); // at once, since another size has erased the canvas
  }

  private async recolour(): Promise<void> {
    const by = this.controls.colour.value;
    const column = by.startsWith("placement:") ? await this.column(by) : undefined;
    this.palette = paletteFor(by, this.grid, column, getComputedStyle(document.documentElement));
    this.showLegend();
    this.writeURL();
    this.draw();
  }

  private showLegend(): void {
    const counts = new Array<number>(this.palette.words.length).fill(0);
    for (const at of this.palette.index) counts[at]!++;
    this.legend.replaceChildren(...this.palette.words.flatMap((word, i) => (counts[i] === 0 ? [] : [legendItem(word + " " + counts[i], this.palette.colours[i]!)])));
  }

  // refilter marks the clusters that meet every term: a part of a name, key=value, tainted, or a state.
  private async refilter(): Promise<void> {
    const terms = this.controls.filter.value.split(/\s+/).filter((term) => term !== "");
    const mine = ++this.latest;
    const tests = await Promise.all(terms.map((term) => this.test(term)));
    if (mine !== this.latest) return; // a later filter was faster
    const shown = new Uint8Array(this.grid.names.length);
    let count = 0;
    for (let i = 0; i < shown.length; i++) {
      if (tests.every((test) => test(i))) {
        shown[i] = 1;
        count++;
      }
    }
    this.shown = shown;
    this.status.textContent = terms.length > 0 ? `${count} of ${shown.length} clusters match` : shown.length === 0 ? "There is no cluster that you may see." : "";
    this.writeURL();
    this.draw();
  }

  // test returns the test of one term.
  private async test(term: string): Promise<(i: number) => boolean> {
    const at = term.indexOf("=");
    if (at > 0) {
      const key = term.slice(0, at), value = term.slice(at + 1).toLowerCase();
      const columns = await Promise.all(key === "set" ? [this.column("set")] : [this.column("label:" + key), this.column("claim:" + key)]);
      // The values are compared once, and not for each cluster.
      const meets = columns.map(({ index, values }) => ({ index, wanted: new Set([...values.keys()].filter((at) => values[at]!.toLowerCase() === value)) }));
      return (i) => meets.some(({ index, wanted }) => wanted.has(index[i] ?? -1));
    }
    term = term.toLowerCase();
    if (term === "tainted") return (i) => this.grid.tainted[i] === "1";
    const health = healthLetter(term);
    return (i) => this.grid.names[i]!.includes(term) || this.grid.health[i] === health;
  }

  // draw draws once for each frame of the screen, however often it is called.
  private draw(): void {
    if (this.pending === 0) {
      this.pending = requestAnimationFrame(() => {
        this.pending = 0;
        this.paint();
      });
    }
  }

  private paint(): void {
    const start = performance.now(), context = this.canvas.getContext("2d");
    if (!context) return;
    const style = getComputedStyle(document.documentElement), scale = devicePixelRatio || 1;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.paintTitles(context, style);
    const cells = this.cells();
    for (let at = 0; at < this.palette.colours.length; at++) {
      for (const shown of [1, 0]) this.paintCells(context, cells, at, shown);
    }
    if (this.layout.named) this.paintNames(context, cells, style);
    context.globalAlpha = 1;
    this.paintCurrent(context, cells, style);
    this.drawn = performance.now() - start;
    this.canvas.dataset["paint"] = this.drawn.toFixed(2);
  }

  // cells returns the corner of each cell, by cluster: x, y, x, y and so on.
  private cells(): Float32Array {
    const out = new Float32Array(this.grid.names.length * 2);
    const stepX = this.layout.cellWidth + this.layout.gap, stepY = this.layout.cellHeight + this.layout.gap;
    for (const block of this.layout.blocks) {
      block.members.forEach((cluster, i) => {
        out[cluster * 2] = block.x + (i % block.columns) * stepX;
        out[cluster * 2 + 1] = block.y + Math.floor(i / block.columns) * stepY;
      });
    }
    return out;
  }

  private paintTitles(context: CanvasRenderingContext2D, style: CSSStyleDeclaration): void {
    context.globalAlpha = 1;
    context.textBaseline = "alphabetic";
    for (const block of this.layout.blocks) {
      if (block.title === "") continue;
      const count = String(block.members.length);
      context.font = "600 13px system-ui, sans-serif";
      context.fillStyle = style.getPropertyValue("--text");
      const title = fit(context, block.title, block.width - context.measureText(count).width - 10);
      context.fillText(title, block.x, block.y - 8);
      const at = block.x + context.measureText(title).width + 7;
      context.font = "13px system-ui, sans-serif";
      context.fillStyle = style.getPropertyValue("--muted");
      context.fillText(count, at, block.y - 8);
    }
  }

  private paintCells(context: CanvasRenderingContext2D, cells: Float32Array, at: number, shown: number): void {
    const { cellWidth, cellHeight, named } = this.layout;
    context.globalAlpha = shown === 1 ? 1 : 0.13;
    context.fillStyle = this.palette.colours[at]!;
    context.beginPath();
    const members: number[] = [];
    for (let i = 0; i < this.palette.index.length; i++) {
      if (this.palette.index[i] !== at || (this.shown[i] ?? 1) !== shown) continue;
      members.push(i);
      if (named) context.rect(cells[i * 2]!, cells[i * 2 + 1]!, 5, cellHeight);
      else context.rect(cells[i * 2]!, cells[i * 2 + 1]!, cellWidth, cellHeight);
    }
    context.fill();
    if (!named && cellWidth >= 9) this.paintMarks(context, cells, members, this.palette.marks[at]!);
  }

  private paintMarks(context: CanvasRenderingContext2D, cells: Float32Array, members: number[], mark: Mark): void {
    if (mark === "") return;
    const size = this.layout.cellWidth, inset = size * 0.25;
    context.strokeStyle = context.fillStyle = "#fff";
    context.lineWidth = Math.max(1.2, size / 10);
    context.beginPath();
    for (const i of members) {
      const x = cells[i * 2]!, y = cells[i * 2 + 1]!;
      if (mark === "dot") context.rect(x + size * 0.36, y + size * 0.36, size * 0.28, size * 0.28);
      if (mark === "hollow") context.rect(x + inset, y + inset, size - 2 * inset, size - 2 * inset);
      if (mark === "slash" || mark === "cross") {
        context.moveTo(x + inset, y + size - inset);
        context.lineTo(x + size - inset, y + inset);
      }
      if (mark === "cross") {
        context.moveTo(x + inset, y + inset);
        context.lineTo(x + size - inset, y + size - inset);
      }
    }
    if (mark === "dot") context.fill();
    else context.stroke();
  }

  private paintNames(context: CanvasRenderingContext2D, cells: Float32Array, style: CSSStyleDeclaration): void {
    const { cellWidth, cellHeight } = this.layout;
    context.font = "13px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (let i = 0; i < this.grid.names.length; i++) {
      const x = cells[i * 2]!, y = cells[i * 2 + 1]!;
      context.globalAlpha = (this.shown[i] ?? 1) === 1 ? 1 : 0.2;
      context.fillStyle = style.getPropertyValue("--hover");
      context.fillRect(x + 5, y, cellWidth - 5, cellHeight);
      context.fillStyle = style.getPropertyValue("--text");
      context.fillText(fit(context, this.grid.names[i]!, cellWidth - 20), x + 13, y + cellHeight / 2 + 1);
    }
  }

  private paintCurrent(context: CanvasRenderingContext2D, cells: Float32Array, style: CSSStyleDeclaration): void {
    if (this.current < 0) return;
    context.strokeStyle = style.getPropertyValue("--text");
    context.lineWidth = 2;
    context.strokeRect(cells[this.current * 2]! - 1, cells[this.current * 2 + 1]! - 1, this.layout.cellWidth + 2, this.layout.cellHeight + 2);
  }

  // point shows what a cell is.
  private point(cluster: number): void {
    if (cluster === this.current) return;
    this.current = cluster;
    if (cluster >= 0) {
      const word = this.palette.words[this.palette.index[cluster] ?? 0] ?? "", health = healthWords(this.grid.health[cluster]!);
      const parts = [this.grid.names[cluster]!, health, "in " + this.grid.selected[cluster] + " placements"];
      if (this.controls.colour.value.startsWith("placement:")) parts.push(this.controls.colour.value.slice("placement:".length) + ": " + word);
      if (this.grid.tainted[cluster] === "1") parts.push("tainted");
      this.status.textContent = parts.join(" · ");
    }
    this.draw();
  }

  private open(cluster: number): void {
    const name = this.grid.names[cluster];
    if (name !== undefined) location.href = "/clusters/" + encodeURIComponent(name);
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Enter") return this.open(this.current);
    const order = this.layout.blocks.flatMap((block) => block.members);
    const at = order.indexOf(this.current);
    const columns = this.layout.blocks.find((block) => block.members.includes(this.current))?.columns ?? 1;
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns, Home: -at, End: order.length - 1 - at };
    const step = steps[event.key];
    if (step === undefined || order.length === 0) return;
    event.preventDefault();
    this.point(order[Math.min(order.length - 1, Math.max(0, at + step))]!);
  }
}

async function read<T>(path: string): Promise<T> {
  const response = await fetch(path);
  if (!response.ok) throw new Error((await response.text()).trim());
  return await response.json() as T;
}

// fit cuts a text to a width.
function fit(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let length = text.length - 1;
  while (length > 1 && context.measureText(text.slice(0, length) + "…").width > width) length--;
  return text.slice(0, length) + "…";
}

function legendItem(text: string, colour: string): HTMLLIElement {
  const item = document.createElement("li");
  const sample = document.createElementNS("http://www.w3.org/2000/svg", "svg"), rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of [["width", "12"], ["height", "12"], ["rx", "3"], ["fill", colour]] as const) rect.setAttribute(name, value);
  sample.setAttribute("aria-hidden", "true");
  sample.append(rect);
  item.append(sample, text);
  return item;
}

const canvas = byID("grid") as HTMLCanvasElement | null, status = byID("grid-status"), legend = byID("legend");
const filter = byID("filter") as HTMLInputElement | null;
const group = byID("group") as HTMLSelectElement | null, colour = byID("colour") as HTMLSelectElement | null;
if (canvas && status && legend && filter && group && colour) {
  new Fleet(canvas, status, legend, { filter, group, colour }).start().catch((problem: unknown) => {
    status.textContent = "The fleet cannot be read: " + (problem instanceof Error ? problem.message : String(problem));
  });
}
