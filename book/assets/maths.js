// Mathematics can be copied as LaTeX: a button on each displayed formula, and any selection that holds formulas.
(() => {
  const source = (element) => element.querySelector("annotation")?.textContent ?? "";

  // The build puts formulas and their buttons into boxes: one that is moved here is styled and laid out again.
  function addButton(formula) {
    const box = document.createElement("div");
    const button = document.createElement("button");
    box.className = "maths-box";
    button.className = "copy-latex";
    button.type = "button";
    button.textContent = "LaTeX";
    button.setAttribute("aria-label", "Copy this formula as LaTeX");
    formula.replaceWith(box);
    box.append(formula, button);
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.(".copy-latex");
    if (!button) return;
    button.textContent = (await copy(source(button.parentElement))) ? "copied" : "not copied";
    setTimeout(() => { button.textContent = "LaTeX"; }, 1500);
  });

  async function copy(text) {
    if (navigator.clipboard) {
      try { await navigator.clipboard.writeText(text); return true; } catch { /* refused: the older way below */ }
    }
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }

  // A formula that is wider than its place is set smaller, down to SMALLEST (one can zoom in, but not see what is
  // cut); what is wider still scrolls sideways, and must be reachable with the keyboard. All formulas are measured
  // at once, after the layout of the page and again when its letters have come: measuring each as its button is
  // added would lay the page out once a formula.
  const SMALLEST = 0.2;
  const PASSES = 3;
  const widths = new WeakMap();
  const overflows = (formula) => formula.scrollWidth > formula.clientWidth + 1;
  function fit(formulas) {
    const scales = formulas.map((formula) => { formula.style.fontSize = ""; return 1; });
    for (let pass = 0; pass < PASSES; pass++) {  // smaller letters break lines elsewhere
      const sizes = formulas.map((formula) => {
        widths.set(formula, formula.clientWidth);
        return formula.clientWidth / formula.scrollWidth;
      });
      formulas.forEach((formula, i) => {
        if (!(sizes[i] < 1) || scales[i] === SMALLEST) return;
        scales[i] = Math.max(SMALLEST, 0.99 * scales[i] * sizes[i]);
        formula.style.fontSize = `${scales[i]}em`;
      });
    }
    const wide = formulas.map(overflows);
    formulas.forEach((formula, i) => (wide[i] ? (formula.tabIndex = 0) : formula.removeAttribute("tabindex")));
  }
  const changed = (formula) => widths.get(formula) !== formula.clientWidth
    || (overflows(formula) && !formula.hasAttribute("tabindex"));
  const all = () => [...document.querySelectorAll("div.math")];
  const reach = new ResizeObserver((entries) => fit(entries.map(({ target }) => target).filter(changed)));
  document.fonts.addEventListener("loadingdone", () => fit(all()));
  // A busy browser may tell of a new width before the lines are broken anew: what was missed is found once it
  // is quiet.
  let quiet;
  const later = () => {
    clearTimeout(quiet);
    quiet = setTimeout(() => fit(all().filter(changed)), 300);
  };
  window.addEventListener("resize", later);
  window.addEventListener("load", later);
  document.fonts.addEventListener("loadingdone", later);

  function dress(formula) {
    if (!formula.parentElement.matches(".maths-box")) addButton(formula);
    reach.observe(formula);
  }
  window.attestMaths = { dress, copy };

  document.addEventListener("DOMContentLoaded", () => document.querySelectorAll("div.math").forEach(dress));

  document.addEventListener("copy", (event) => {
    const selection = document.getSelection();
    if (event.target.closest?.("textarea, input") || selection.isCollapsed) return;
    const part = selection.getRangeAt(0).cloneContents();
    const formulas = part.querySelectorAll(".katex");
    if (!formulas.length || [...formulas].some((formula) => !source(formula))) return;
    formulas.forEach((formula) => {
      const mark = formula.parentElement?.classList.contains("katex-display") ? "$$" : "$";
      formula.replaceWith(mark + source(formula) + mark);
    });
    part.querySelectorAll(".copy-latex").forEach((button) => button.remove());
    event.clipboardData.setData("text/plain", part.textContent);
    event.preventDefault();
  });
})();
