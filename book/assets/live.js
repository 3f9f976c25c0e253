// Changing an assumption on the page: Python runs in a worker beside it, from files of this book only.
(() => {
  const root = document.currentScript.src.replace(/_static\/[^/]*$/, "");
  const DERIVE = ["python", "libraries", "project", "memory"], JUDGE = ["flint"];
  const make = (tag, name = "", text = "") => Object.assign(document.createElement(tag), { className: name, textContent: text });
  let worker = null, ready = null, judging = false, asked = 0, turn = 0, ended = "";
  const waiting = new Map();

  // A script element, not fetch: browsers refuse fetch on pages that were opened as files.
  const script = (name) => new Promise((done, failed) => {
    const element = make("script");
    element.src = `${root}_static/live/${name}.js`;
    element.onload = () => { element.remove(); done(); };
    element.onerror = () => failed(new Error(`the file _static/live/${name}.js is missing from this book`));
    document.head.append(element);
  });

  // The texts take as much memory as Python: they are handed over once, and read again after a stop.
  async function files(parts, size, status) {
    const mine = turn;
    let read = 0, failed = false;
    const progress = () => {
      if (turn === mine && !failed) status(`Reading ${size} MB from this book's folder: ${read} of ${parts.length} files …`);
    };
    progress();
    await Promise.all(parts.map((part) => script(part).then(() => { read += 1; progress(); })))
      .catch((error) => { failed = true; throw error; });
    if (turn !== mine) throw new Error(ended);
    const taken = parts.map((part) => window.attestParts[part].files);
    return Object.assign({}, ...taken);
  }
  const forget = (parts) => parts.forEach((part) => delete window.attestParts[part]);

  function call(name, given, heard = () => {}) {
    return new Promise((done, failed) => {
      waiting.set(++asked, { done, failed, heard });
      worker.postMessage({ id: asked, call: name, asked: given });
    });
  }

  function end(why) {
    worker?.terminate();
    worker = ready = null;
    judging = false;
    turn += 1; // what is still being read is not for the next start
    ended = why;
    waiting.forEach(({ failed }) => failed(new Error(why)));
    waiting.clear();
  }

  function begin(form, status) {
    ready ??= (async () => {
      if (typeof WebAssembly !== "object" || typeof DecompressionStream !== "function")
        throw new Error("this browser has no WebAssembly or no DecompressionStream");
      const [found] = await Promise.all([
        files(DERIVE, form.dataset.derive, status), window.katex ?? script("katex.min"),
      ]);
      // From a data: address: Chromium refuses workers from files, and module workers from blobs on pages opened as files.
      worker = new Worker(`data:text/javascript;charset=utf-8,${encodeURIComponent(window.attestParts.python.worker)}`, { type: "module" });
      worker.onmessage = ({ data }) => {
        if (data.stage) return status(`${data.stage[0].toUpperCase()}${data.stage.slice(1)} …`);
        if (data.found) return waiting.forEach(({ heard }) => heard(JSON.parse(data.found)));
        const { done, failed } = waiting.get(data.id);
        waiting.delete(data.id);
        if (!data.error) return done(JSON.parse(data.answer));
        failed(new Error(data.error));
        end(data.error); // what failed in a way that nobody foresaw may have left Python broken
      };
      worker.onerror = (event) => end(event.message || "the worker did not start");
      const started = call("start", [found]);
      forget(DERIVE);
      await started;
    })();
    ready.catch(() => end("it did not start"));
    return ready;
  }

  function maths(lines, latex) {
    const box = make("div", "live-maths");
    for (const line of lines) {
      const formula = make("div", "math");
      box.append(formula);
      try {
        window.katex.render(line, formula, { displayMode: true, throwOnError: true, strict: "ignore" });
        window.attestMaths.dress(formula);
      } catch {
        formula.replaceWith(make("pre", "", line));
      }
    }
    box.dataset.latex = latex;
    return box;
  }

  const side = (words, step) => {
    const shown = make("div", "side");
    if (words) shown.append(make("p", "live-side", words));
    shown.append(maths(step.lines, step.latex));
    return shown;
  };

  function shown(step, number) {
    const box = make("div", `step ${step.state}`), head = make("p"), sides = make("div", "live-sides");
    head.append(make("span", "step-number", number), " ", make("b", "", step.title), " ", make("span", "live-state", step.state === "same" ? "" : step.state));
    if (step.state === "gone") sides.append(side("The paper's", step));
    else if (step.before) sides.append(side("The paper's", step.before), side("Yours", step));
    else sides.append(side("", step));
    const reasons = [...new Set([step.before?.reason ?? step.reason, step.reason])];
    box.append(head, sides, make("p", "live-reason", reasons.join(" → ")));
    return box;
  }

  // A few formulas at a time, so that the first are there at once and the page stays alive.
  async function draw(steps, list) {
    for (const [n, step] of steps.entries()) {
      const box = shown(step, step.state === "gone" ? "–" : n + 1);
      list.append(box);
      // Side by side where both fit, else one below the other.
      const cut = [...box.querySelectorAll(".math")].some((formula) => formula.scrollWidth > formula.clientWidth);
      box.querySelector(".live-sides").classList.toggle("stacked", cut);
      if (n % 4 === 0) await new Promise((next) => setTimeout(next));
    }
  }

  function verdictRow({ id, title, before, after, why }) {
    const row = make("tr", before === after ? "same" : "changed"), link = make("a", "", title);
    link.href = `${root}claims/${id.replaceAll(".", "-")}.html`;
    const cells = [link, make("span", `verdict ${before}`, before), make("span", `verdict ${after}`, after), why.slice(0, 300)];
    cells.forEach((cell) => { const td = make("td"); td.append(cell); row.append(td); });
    return row;
  }

  class Form {
    constructor(form) {
      this.form = form;
      this.theory = form.dataset.theory;
      this.extra = {};
      this.find = (name) => form.querySelector(`.live-${name}`);
      this.fields = [...form.querySelectorAll("[data-default]")];
      this.out = make("div", "live-out");
      form.after(this.out);
      form.addEventListener("submit", (event) => { event.preventDefault(); this.run((limit) => this.derive(limit)); });
      form.addEventListener("input", () => this.describe());
      const on = (name, act) => this.find(name).addEventListener("click", act);
      on("judge", () => this.run((limit) => this.judge(limit)));
      on("stop", () => { end("Stopped."); this.status("Stopped.", "wrong"); });
      on("reset", () => { form.reset(); this.extra = {}; this.describe(); });
      on("link", (event) => this.copied(event, this.address()));
      on("copy", (event) => this.copied(event, this.find("command").textContent));
      this.fromAddress();
      this.describe();
    }

    settings() {
      const set = this.fields.filter((field) => field.value !== field.dataset.default);
      return { ...this.extra, ...Object.fromEntries(set.map((field) => [field.name, field.value.trim()])) };
    }

    address() {
      const query = new URLSearchParams({ theory: this.theory, ...this.settings() });
      return `${location.href.replace(/[?#].*$/, "")}?${query}`;
    }

    describe() {
      const set = Object.entries(this.settings()).map(([knob, value]) => ` --set "${knob}=${value}"`);
      this.find("command").textContent = `attest derive ${this.theory}${set.join("")}`;
      this.fields.forEach((field) => field.closest("label").classList.toggle("set", field.value !== field.dataset.default));
    }

    // ?theory=svr&loss=huber sets a knob, knob=loss only shows it. Python complains of what there is not.
    fromAddress() {
      const { theory, knob, ...set } = Object.fromEntries(new URLSearchParams(location.search));
      if (theory !== this.theory) return;
      for (const [name, value] of Object.entries(set)) {
        const field = this.fields.find((one) => one.name === name);
        if (!field) { this.extra[name] = value; continue; }
        if (field.options && ![...field.options].some((option) => option.value === value)) field.add(new Option(value));
        field.value = value;
      }
      for (let box = this.form.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
      this.form.scrollIntoView();
      this.fields.find((one) => one.name === knob)?.focus();
    }

    async copied({ target }, text) {
      const words = target.textContent;
      target.textContent = (await window.attestMaths.copy(text)) ? "Copied" : "Not copied";
      setTimeout(() => { target.textContent = words; }, 1500);
    }

    status(text, kind = "") {
      this.find("status").textContent = text;
      this.find("status").className = `live-status ${kind}`;
    }

    async run(act) {
      let clock;
      const limit = () => { clearTimeout(clock); clock = setTimeout(() => end(this.form.dataset.late), 1000 * this.form.dataset.limit); };
      this.busy(true);
      this.answer = null;
      try {
        await begin(this.form, (text) => this.status(text));
        await act(limit);
      } catch (error) {
        this.status(error.message, "wrong");
      } finally {
        clearTimeout(clock);
        this.busy(false);
      }
    }

    busy(is) {
      this.form.querySelectorAll("[type=submit], .live-judge").forEach((button) => { button.disabled = is; });
      this.find("stop").hidden = !is;
      this.out.ariaBusy = is;
    }

    async derive(limit) {
      this.status("Deriving …");
      try { history.replaceState(null, "", this.address()); } catch { /* a page opened as a file keeps its address */ }
      const begun = performance.now();
      limit();
      const derived = () => call("derive", [this.theory, JSON.stringify(this.settings())]);
      let answer = await derived();
      if (answer.needs) { // a kernel of one's own is tried in exact numbers
        await this.exact();
        limit();
        answer = await derived();
      }
      this.answer = answer;
      if (answer.error) return this.status(answer.error, "wrong");
      const seconds = ((performance.now() - begun) / 1000).toFixed(1);
      const count = (state) => answer.steps.filter((step) => step.state === state).length;
      const same = answer.steps.length - count("changed") - count("new");
      this.status(`${answer.steps.length} steps in ${seconds} s: ${same} as in the paper, ${count("changed")} changed, ` +
        `${count("new")} new, ${answer.gone.length} gone.`);
      const list = make("div", "live-steps");
      this.out.replaceChildren(this.choices(answer, list, count("changed") + count("new") + answer.gone.length), list);
      await draw([...answer.steps, ...answer.gone.map((step) => ({ ...step, state: "gone" }))], list);
    }

    choices(answer, list, differ) {
      const line = make("p", "live-choices"), only = make("label"), box = make("input");
      box.type = "checkbox";
      box.checked = differ > 0;
      const choose = () => list.classList.toggle("only", box.checked);
      box.addEventListener("change", choose);
      choose();
      only.append(box, " only what differs from the paper's");
      const copy = make("button", "", "Copy as LaTeX");
      copy.type = "button";
      copy.addEventListener("click", (event) => this.copied(event, answer.steps.map((step) =>
        `% ${step.title}: ${step.reason}\n\\[${step.latex}\\]`).join("\n\n")));
      line.append(only, copy);
      return line;
    }

    async exact() {
      if (judging) return;
      const brought = call("bring", [await files(JUDGE, this.form.dataset.judge, (text) => this.status(text))]);
      forget(JUDGE);
      await brought;
      judging = true;
    }

    async judge(limit) {
      const settings = this.settings();
      if (!Object.keys(settings).length) return this.status("Change a knob first: under the paper's own assumptions the verdicts are those of this book.");
      await this.exact();
      const rows = make("tbody"), box = make("div", "scroll live-verdicts"), table = make("table", "table"), head = make("tr");
      ["Claim", "Before", "After", "Why"].forEach((words) => head.append(make("th", "", words)));
      table.createTHead().append(head);
      table.append(rows);
      box.append(table);
      let touched = 0, claims = 0, done = 0, changed = 0;
      const say = (end) => this.status(`${end === " …" ? "Judging:" : "Judged"} ${done} of the ${touched} claims that these settings touch, ` +
        `of ${claims} of the theory; ${changed} change verdict${end}`);
      this.status("Judging …");
      this.out.replaceChildren(box);
      const found = this.found = [];
      const heard = (one) => {
        limit();
        if (one.id) {
          found.push(one);
          done += 1;
          changed += one.before !== one.after;
          rows[one.before === one.after ? "append" : "prepend"](verdictRow(one));
        } else ({ touched, claims } = one);
        say(" …");
      };
      this.answer = await call("judge", [this.theory, JSON.stringify(settings)], heard);
      if (this.answer.error) return this.status(this.answer.error, "wrong");
      say(". As in attest derive, wrong versions, solvers and tensors are left out.");
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    // For the browser test, which compares the answers with those of the terminal.
    window.attestForms = [...document.querySelectorAll("form.live")].map((form) => new Form(form));
  });
})();
