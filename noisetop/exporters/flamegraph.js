"use strict";
(() => {
  const WHOLE = 1e9, MARGIN = 10, CHARACTER = 6.7;
  const svg = document.documentElement;
  const width = svg.viewBox.baseVal.width - 2 * MARGIN;
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  const reset = document.getElementById("reset");
  const frames = [...document.querySelectorAll("#frames > g")].map(node => ({
    node, name: node.dataset.name, x: +node.dataset.x, w: +node.dataset.w,
    rect: node.querySelector("rect"), text: node.querySelector("text"),
  }));

  function draw(from, span) {
    for (const frame of frames) {
      const left = Math.max(frame.x, from), right = Math.min(frame.x + frame.w, from + span);
      const x = MARGIN + (left - from) / span * width, w = Math.max((right - left) / span * width, 0);
      frame.node.classList.toggle("away", right < left || (w === 0 && span < WHOLE));
      frame.node.classList.toggle("above", frame.w > span);
      frame.rect.setAttribute("x", x);
      frame.rect.setAttribute("width", w);
      frame.text.setAttribute("x", x + 3);
      const room = Math.floor((w - 6) / CHARACTER);
      frame.text.textContent = room >= frame.name.length ? frame.name
        : room > 2 ? frame.name.slice(0, room - 1) + "…" : "";
    }
    reset.style.visibility = span < WHOLE ? "visible" : "hidden";
  }

  /* Time in frames that match, each stretch counted once though frames lie on one another. */
  function mark() {
    const wanted = search.value.toLowerCase();
    const hits = frames.filter(frame => wanted && frame.name.toLowerCase().includes(wanted));
    for (const frame of frames) frame.node.classList.toggle("found", hits.includes(frame));
    let end = 0, sum = 0;
    for (const hit of hits.slice().sort((a, b) => a.x - b.x || b.w - a.w)) {
      sum += Math.max(hit.x + hit.w - Math.max(hit.x, end), 0);
      end = Math.max(end, hit.x + hit.w);
    }
    found.textContent = wanted ? `${hits.length} found, ${(100 * sum / WHOLE).toFixed(2)} %` : "";
  }

  for (const frame of frames)
    frame.node.addEventListener("click", () => frame.w && draw(frame.x, frame.w));
  reset.addEventListener("click", () => draw(0, WHOLE));
  search.addEventListener("input", mark);
  document.addEventListener("keydown", event => {
    if (event.ctrlKey && event.key === "f") { event.preventDefault(); search.focus(); }
    if (event.key === "Escape") { search.value = ""; mark(); draw(0, WHOLE); }
  });
  draw(0, WHOLE);
})();
