// The dependency graph: the pointer lights up what a claim rests on and carries, a click opens its page.
document.addEventListener("DOMContentLoaded", () => {
  const { elements, colours, papers } = window.CLAIMS;
  const byId = (id) => document.getElementById(id);
  const ink = () => (document.documentElement.dataset.theme === "dark" ? "#e8e8e8" : "#1a1a1a");
  const HEIGHT = 28, READABLE = 0.7;
  const borders = { holds: "solid", fails: "dashed", open: "dotted" };

  const cy = cytoscape({
    container: byId("graph-view"), elements, minZoom: 0.08, maxZoom: 4, layout: { name: "null" },
    style: [
      { selector: "node", style: {
        label: "data(label)", color: "#fff", "font-size": 13, "text-valign": "center", shape: "round-rectangle",
        width: "data(width)", height: HEIGHT, "background-color": "data(colour)", "border-width": 2.5, "border-color": ink,
        "border-style": (node) => borders[node.data("literal")],
        "underlay-color": "#f0a030", "underlay-padding": 5,
        "underlay-opacity": (node) => (node.data("shaky") ? 0.55 : 0) } },
      { selector: "edge", style: {
        width: 1.2, "line-color": "#8c8c8c", "target-arrow-color": "#8c8c8c", "target-arrow-shape": "triangle",
        "curve-style": "straight", "arrow-scale": 0.8 } },
      { selector: "edge[bends]", style: { "curve-style": "segments", "edge-distances": "node-position",
        "segment-weights": (edge) => edge.data("bends").map(([along]) => along),
        "segment-distances": (edge) => edge.data("bends").map(([, aside]) => aside) } },
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

  // What is shown is laid out alone: a paper's claims spread over the whole graph are too small to read.
  const elk = new ELK({ defaultLayoutOptions: {
    "elk.algorithm": "layered", "elk.direction": "DOWN", "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
    "elk.spacing.nodeNode": "12", "elk.edgeRouting": "POLYLINE", "elk.layered.spacing.nodeNodeBetweenLayers": "26",
    "elk.spacing.componentComponent": "30", "elk.aspectRatio": "1.2" } });
  let latest = 0;
  async function arrange(nodes) {
    const turn = ++latest, priority = { "elk.priority": "1" }; // by which the largest part comes first
    const of = (node) => ({ id: node.id(), width: node.data("width"), height: HEIGHT, layoutOptions: priority });
    const { children, edges } = await elk.layout({ id: "all", children: nodes.map(of), edges: nodes.edgesWith(nodes).map(
      (edge) => ({ id: edge.id(), sources: [edge.data("source")], targets: [edge.data("target")] })) });
    if (turn !== latest) return; // another choice was made meanwhile
    for (const { id, x, y, width, height } of children) cy.$id(id).position({ x: x + width / 2, y: y + height / 2 });
    for (const { id, sections } of edges) bend(cy.$id(id), sections[0].bendPoints ?? []);
    view(cy.nodes(":visible"));
    window.claimGraph.arranged = true;
  }
  // Cytoscape wants the corners of an arrow along and beside the straight line between its ends.
  function bend(edge, corners) {
    const from = edge.source().position(), to = edge.target().position();
    const dx = to.x - from.x, dy = to.y - from.y, length = Math.hypot(dx, dy);
    const place = ({ x, y }) => [((x - from.x) * dx + (y - from.y) * dy) / length ** 2,
      ((x - from.x) * -dy + (y - from.y) * dx) / length];
    if (corners.length) edge.data("bends", corners.map(place)); else edge.removeData("bends");
  }
  // All of it where that can be read, or all papers are asked for; else its beginning.
  function view(nodes) {
    cy.fit(nodes, 14);
    if (cy.zoom() > 1.2) { cy.zoom(1.2); cy.center(nodes); }
    if (cy.zoom() >= READABLE || !byId("graph-paper").value) return;
    cy.zoom(READABLE);
    const box = nodes.boundingBox();
    cy.pan({ x: Math.max(14 - box.x1 * READABLE, (cy.width() - box.w * READABLE) / 2 - box.x1 * READABLE),
      y: 14 - box.y1 * READABLE });
  }
  function filter() {
    const paper = byId("graph-paper").value;
    const shown = new Set([...controls.querySelectorAll("input:checked")].map((box) => box.value));
    cy.nodes().forEach((node) => {
      const visible = shown.has(node.data("verdict")) && (!paper || node.data("paper") === paper);
      node.style("display", visible ? "element" : "none");
    });
  }
  // One paper at first, or what a claim rests on and carries.
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
    arrange(cy.nodes(":visible"));
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
  controls.addEventListener("change", () => { filter(); arrange(cy.nodes(":visible")); });
  byId("graph-find").addEventListener("input", find);
  open();
  byId("graph-find").addEventListener("keydown", (event) => {
    const hits = event.key === "Enter" ? find() : [];
    if (hits.length === 1) location.href = hits[0].data("href");
  });
});
