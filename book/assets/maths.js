// Mathematics can be copied as LaTeX: a button on each displayed formula, and any selection that holds formulas.
(() => {
  const source = (element) => element.querySelector("annotation")?.textContent ?? "";

  function addButton(formula) {
    const box = document.createElement("div");
    const button = document.createElement("button");
    box.className = "maths-box";
    button.className = "copy-latex";
    button.type = "button";
    button.textContent = "LaTeX";
    button.setAttribute("aria-label", "Copy this formula as LaTeX");
    button.addEventListener("click", async () => {
      button.textContent = (await copy(source(formula))) ? "copied" : "not copied";
      setTimeout(() => { button.textContent = "LaTeX"; }, 1500);
    });
    formula.replaceWith(box);
    box.append(formula, button);
  }

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
  const widths = new WeakMap();
  function fit(formulas) {
    formulas.forEach((formula) => { formula.style.fontSize = ""; });
    const sizes = formulas.map((formula) => {
      widths.set(formula, formula.clientWidth);
      return formula.clientWidth / formula.scrollWidth;
    });
    formulas.forEach((formula, i) => {
      if (sizes[i] < 1) formula.style.fontSize = `${Math.max(SMALLEST, 0.99 * sizes[i])}em`;
      sizes[i] < SMALLEST ? (formula.tabIndex = 0) : formula.removeAttribute("tabindex");
    });
  }
  const reach = new ResizeObserver((entries) =>
    fit(entries.map(({ target }) => target).filter((target) => widths.get(target) !== target.clientWidth)));
  document.fonts.addEventListener("loadingdone", () => fit([...document.querySelectorAll("div.math")]));

  function dress(formula) {
    addButton(formula);
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
