// What all modules share.

export function byID(id: string): HTMLElement | null { return document.getElementById(id); }

// showAges writes how long ago each time element is, and keeps the instant as its title.
export function showAges(below: ParentNode): void {
  for (const element of below.querySelectorAll<HTMLTimeElement>("time[datetime]")) {
    const at = Date.parse(element.dateTime);
    if (Number.isNaN(at)) continue;
    element.title = new Date(at).toLocaleString();
    element.textContent = age(Date.now() - at);
  }
}

// age returns a span of time in words.
export function age(milliseconds: number): string {
  const seconds = Math.round(Math.abs(milliseconds) / 1000);
  const units: [number, string][] = [[86_400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  for (const [length, name] of units) {
    if (seconds >= length * 2 || (length === 1)) {
      const text = Math.floor(seconds / length) + " " + name;
      return milliseconds < 0 ? "in " + text : text + " ago";
    }
  }
  return "now";
}
