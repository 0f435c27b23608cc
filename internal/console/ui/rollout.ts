// The module of a rollout: goes back through its timeline.
import { byID, showAges } from "./page";

interface Moment { html: string; last: number; step: number; at: string; text: string }

const form = byID("timeline") as HTMLFormElement | null, slider = byID("moment") as HTMLInputElement | null, shown = byID("moment-shown");

if (form && slider && shown) start(form, slider, shown);

function start(form: HTMLFormElement, slider: HTMLInputElement, shown: HTMLElement): void {
  let running: AbortController | undefined, queued = false;
  const path = location.pathname;

  // show shows a moment. Of several that follow each other, only the last is read after the present one.
  const show = async (step: string): Promise<void> => {
    if (running) {
      queued = true;
      return;
    }
    const mine = running = new AbortController();
    try {
      const response = await fetch("/data/moment?" + new URLSearchParams({ set: form.dataset["set"] ?? "", step }).toString(), { signal: mine.signal });
      if (!response.ok) throw new Error((await response.text()).trim());
      const found = await response.json() as Moment;
      shown.innerHTML = found.html; // the server has escaped every text in it
      showAges(shown);
      slider.setAttribute("aria-valuetext", found.text);
      grow(found.last);
      history.replaceState(null, "", found.at === "" ? path : path + "?" + new URLSearchParams({ at: found.at }).toString());
    } catch (problem) {
      const text = document.createElement("p");
      text.className = "problem";
      text.textContent = problem instanceof Error ? problem.message : String(problem);
      shown.replaceChildren(text);
    } finally {
      running = undefined;
      if (queued) {
        queued = false;
        void show(slider.value);
      }
    }
  };
  // grow takes moments that were added. The slider stays at the present if it is there.
  const grow = (last: number): void => {
    const present = slider.value === slider.max;
    slider.max = String(last);
    if (present) slider.value = slider.max;
  };
  slider.addEventListener("input", () => void show(slider.value));
  form.addEventListener("submit", (event) => event.preventDefault());
  // The rest of the page has changed. The present shows it too, and a moment of the past stays.
  document.addEventListener("replaced", (event) => {
    const part = (event as CustomEvent<string>).detail;
    if (part === "rollout-waves" && slider.value === slider.max) void show("1000000");
  });
}
