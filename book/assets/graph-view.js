// The dependency graph: the pointer lights up what a claim rests on and carries, a click opens its page.
document.addEventListener("DOMContentLoaded", () => {
  const { elements, colours, papers } = window.CLAIMS;
  const byId = (id) => document.getElementById(id);
  const ink = () => (document.documentElement.dataset.theme === "dark" ? "#e8e8e8" : "#1a1a1a");
  const borders = { holds: "solid", fails: "dashed", open: "dotted" };

  const cy = cytoscape({
    container: byId("graph-view"), elements, minZoom: 0.08, maxZoom: 4, layout: { name: "preset", padding: 14 },
    style: [
      { selector: "node", style: {
        label: "data(label)", color: "#fff", "font-size": 11, "text-valign": "center", shape: "round-rectangle",
        width: "data(width)", height: 26, "background-color": "data(colour)", "border-width": 2.5, "border-color": ink,
        "border-style": (node) => borders[node.data("literal")],
        "background-opacity": (node) => (node.data("shaky") ? 0.72 : 1) } },
      { selector: "edge", style: {
        width: 1.2, "line-color": "#8c8c8c", "target-arrow-color": "#8c8c8c", "target-arrow-shape": "triangle",
        "curve-style": "bezier", "arrow-scale": 0.8 } },
      { selector: ".dim", style: { opacity: 0.13 } },
      { selector: ".hit", style: { "border-width": 5 } },
    ],
  });
  // For the browser test, which clicks nodes where they are drawn.
  window.claimGraph = cy;
  new MutationObserver(() => cy.style().update()).observe(document.documentElement, { attributeFilter: ["data-theme"] });

  const info = byId("graph-info");
  const describe = (node) => `${node.data("title")} (${node.data("verdict")}). Rests on ` +
    `${node.predecessors("node").length}, carries ${node.successors("node").length}.`;
  const hint = info.textContent;
  cy.on("mouseover", "node", ({ target }) => {
    const near = target.union(target.predecessors()).union(target.successors());
    cy.elements().difference(near).addClass("dim");
    info.textContent = describe(target);
  });
  cy.on("mouseout", "node", () => { cy.elements().removeClass("dim"); info.textContent = hint; });
  cy.on("tap", "node", ({ target }) => { location.href = target.data("href"); });

  const controls = byId("graph-controls");
  const select = new Option("all papers", "");
  byId("graph-paper").add(select);
  Object.entries(papers).forEach(([key, name]) => byId("graph-paper").add(new Option(name, key)));
  for (const verdict of Object.keys(colours)) {
    if (!cy.nodes(`[verdict = "${verdict}"]`).length) continue;
    controls.insertAdjacentHTML("beforeend", `<label><input type="checkbox" checked value="${verdict}">` +
      `<span class="verdict ${verdict}">${verdict}</span></label>`);
  }

  function filter() {
    const paper = byId("graph-paper").value;
    const shown = new Set([...controls.querySelectorAll("input:checked")].map((box) => box.value));
    cy.nodes().forEach((node) => {
      const visible = shown.has(node.data("verdict")) && (!paper || node.data("paper") === paper);
      node.style("display", visible ? "element" : "none");
    });
  }
  // One paper at first, or what a claim rests on and carries: all claims at once are too small to read.
  function open() {
    const asked = new URLSearchParams(location.search), claim = cy.$id(asked.get("claim") ?? "");
    byId("graph-paper").value = asked.get("paper") ?? (claim.nonempty() ? "" : Object.keys(papers)[0]);
    filter();
    if (claim.nonempty()) {
      const near = claim.union(claim.predecessors("node")).union(claim.successors("node"));
      cy.nodes().difference(near).style("display", "none");
      claim.addClass("hit");
      info.textContent = describe(claim);
    }
    cy.fit(cy.nodes(":visible"), 14);
    if (cy.zoom() > 1.5) { cy.zoom(1.5); cy.center(cy.nodes(":visible")); }
  }
  function find() {
    const wanted = byId("graph-find").value.trim().toLowerCase();
    cy.nodes().removeClass("hit");
    const hits = wanted ? cy.nodes(":visible").filter((node) =>
      `${node.id()} ${node.data("title")}`.toLowerCase().includes(wanted)) : cy.collection();
    hits.addClass("hit");
    info.textContent = hits.length === 1 ? `${describe(hits[0])} Press Enter to open it.` :
      wanted ? `${hits.length} claims found.` : hint;
    return hits;
  }
  controls.addEventListener("change", filter);
  byId("graph-paper").addEventListener("change", () => cy.animate({ fit: { eles: cy.nodes(":visible"), padding: 14 }, duration: 200 }));
  byId("graph-find").addEventListener("input", find);
  open();
  byId("graph-find").addEventListener("keydown", (event) => {
    const hits = event.key === "Enter" ? find() : [];
    if (hits.length === 1) location.href = hits[0].data("href");
  });
});
