// The colours of the cells, with the words for them.

export interface Grid { version: number; names: string[]; health: string; selected: number[]; tainted: string }
export interface Column { values: string[]; index: number[] }

// Palette is a colour for each cluster: an index into colours, words and marks.
export interface Palette { index: Uint8Array; colours: string[]; words: string[]; marks: Mark[] }

// Mark is drawn in a cell, so that colour is not the only difference.
export type Mark = "" | "slash" | "cross" | "hollow" | "dot";

const health: [string, string, Mark][] = [
  ["h", "healthy", ""], ["u", "unhealthy", "cross"], ["x", "unreachable", "slash"], ["j", "joining", "hollow"], ["p", "not accepted", "hollow"], ["d", "deleting", "slash"],
];

export function healthWords(letter: string): string { return health.find(([known]) => known === letter)?.[1] ?? "unknown"; }

// healthLetter returns the letter of a state as a filter has it, such as not-joined.
export function healthLetter(term: string): string | undefined { return health.find(([, words]) => words.replace(" ", "-") === term)?.[0]; }

// paletteFor colours the clusters by their health, by how many placements selected them, or by the verdicts of one placement.
export function paletteFor(by: string, grid: Grid, column: Column | undefined, style: CSSStyleDeclaration): Palette {
  const token = (name: string): string => style.getPropertyValue(name).trim();
  if (column) return byVerdict(column, token);
  return by === "selected" ? bySelected(grid, token) : byHealth(grid, token);
}

function byHealth(grid: Grid, token: (name: string) => string): Palette {
  const letters = health.map(([letter]) => letter).join("");
  return {
    index: Uint8Array.from(grid.health, (letter) => Math.max(0, letters.indexOf(letter))),
    colours: health.map(([letter]) => token("--" + letter)), words: health.map(([, word]) => word), marks: health.map(([, , mark]) => mark),
  };
}

function bySelected(grid: Grid, token: (name: string) => string): Palette {
  const steps = 5, most = grid.selected.reduce((a, b) => Math.max(a, b), 1), base = token("--j");
  const colours = [token("--track")], words = ["in no placement"];
  const width = Math.max(1, Math.ceil(most / steps));
  for (let i = 0; i * width < most; i++) {
    const from = i * width + 1, to = Math.min(most, (i + 1) * width);
    colours.push(`color-mix(in oklab, ${base} ${30 + (70 * (i + 1)) / Math.ceil(most / width)}%, ${token("--card")})`);
    words.push(from === to ? "in " + from : `in ${from} to ${to}`);
  }
  return { index: Uint8Array.from(grid.selected, (n) => (n === 0 ? 0 : Math.ceil(n / width))), colours, words, marks: words.map(() => "") };
}

const verdicts: Record<string, [string, Mark]> = {
  Selected: ["--h", "dot"], Held: ["--d", "dot"], Kept: ["--d", "dot"], Beaten: ["--j", ""], Waiting: ["--j", "hollow"], Capped: ["--x", ""],
  Tainted: ["--u", "slash"], Expired: ["--u", "cross"], OutsideTiers: ["--p", "hollow"], Mismatch: ["--p", ""], TooCostly: ["--p", "cross"],
  OutsideSets: ["--track", ""], Terminating: ["--d", "slash"], Undecided: ["--u", "hollow"],
};

function byVerdict(column: Column, token: (name: string) => string): Palette {
  const none = column.values.length;
  const words = [...column.values, "no verdict"];
  return {
    index: Uint8Array.from(column.index, (at) => (at < 0 ? none : at)), words,
    colours: words.map((word) => token(verdicts[word]?.[0] ?? "--track")), marks: words.map((word) => verdicts[word]?.[1] ?? ""),
  };
}
