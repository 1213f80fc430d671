(() => {
  const plot = document.getElementById("plot"), scroll = plot.parentElement, detail = document.getElementById("detail");
  const boxes = [...plot.querySelectorAll(".box")], arrows = [...plot.querySelectorAll(".arrow")];
  const byId = new Map(boxes.map(b => [b.dataset.id, b]));
  const full = +plot.dataset.plot, margin = +plot.dataset.margin;
  let zoom = 1, current = null;

  function layout() {
    plot.setAttribute("width", Math.floor(full * zoom) + margin);
    plot.querySelectorAll(".wide").forEach(r => r.setAttribute("width", full * zoom + margin));
    plot.querySelectorAll(".scale").forEach(g => g.setAttribute("transform", `translate(${g.dataset.x * zoom} 0)`));
    for (const b of boxes) {
      const x = b.dataset.x * zoom, w = b.dataset.w * zoom;
      const rect = b.querySelector("rect"), text = b.querySelector("text"), lead = b.querySelector(".lead");
      rect.setAttribute("x", x); rect.setAttribute("width", w);
      if (lead) { lead.setAttribute("x1", b.dataset.l * zoom); lead.setAttribute("x2", x); }
      if (text) { text.setAttribute("x", x + 4); text.textContent = text.dataset.labels.split("|").find(t => t.length * 5.6 + 8 <= w) || ""; }
    }
    for (const a of arrows) {
      const y = a.getAttribute("d").match(/^M\S+ (\S+?)L\S+ (\S+)$/);
      a.setAttribute("d", `M${a.dataset.x1 * zoom} ${y[1]}L${a.dataset.x2 * zoom} ${y[2]}`);
    }
  }

  function fit() { zoom = (Math.max(scroll.clientWidth, 420) - margin) / full; layout(); }

  function rezoom(step) {
    const middle = (scroll.scrollLeft + scroll.clientWidth / 2) / zoom;
    if (step === 0) { fit(); return; }
    zoom = Math.min(64, Math.max(0.2, zoom * (step > 0 ? 1.5 : 1 / 1.5)));
    layout();
    scroll.scrollLeft = middle * zoom - scroll.clientWidth / 2;
  }

  function show(box, move) {
    if (current) current.classList.remove("on");
    arrows.forEach(a => a.classList.remove("on"));
    current = box;
    if (!box) return;
    box.classList.add("on");
    for (const a of arrows) if (a.dataset.a === box.dataset.id || a.dataset.b === box.dataset.id) a.classList.add("on");
    const [head, ...rest] = box.getAttribute("aria-label").split("\n");
    detail.replaceChildren();
    const strong = document.createElement("b");
    strong.textContent = head;
    detail.append(strong, rest.join("\n"));
    if (move) {
      const x = box.dataset.x * zoom;
      if (x < scroll.scrollLeft || x > scroll.scrollLeft + scroll.clientWidth - 40) scroll.scrollLeft = x - scroll.clientWidth / 3;
    }
  }

  function along(step) {
    const row = boxes.filter(b => b.dataset.row === current.dataset.row).sort((a, b) => a.dataset.x - b.dataset.x);
    return row[row.indexOf(current) + step] || current;
  }

  function across(step) {
    const row = boxes.filter(b => +b.dataset.row === +current.dataset.row + step);
    const x = +current.dataset.x;
    return row.sort((a, b) => Math.abs(a.dataset.x - x) - Math.abs(b.dataset.x - x))[0] || current;
  }

  plot.addEventListener("pointerover", e => { const b = e.target.closest(".box"); if (b) show(b, false); });
  plot.addEventListener("click", e => {
    const flag = e.target.closest(".flag"), box = e.target.closest(".box");
    if (flag) { const b = byId.get(flag.dataset.id); if (b) show(b, false); }
    if (box) { show(box, false); scroll.focus({ preventScroll: true }); }
  });
  scroll.addEventListener("keydown", e => {
    const moves = { ArrowLeft: () => along(-1), ArrowRight: () => along(1), ArrowUp: () => across(-1), ArrowDown: () => across(1) };
    if (moves[e.key]) { e.preventDefault(); show(current ? moves[e.key]() : boxes[0], true); }
    if (e.key === "+" || e.key === "=") rezoom(1);
    if (e.key === "-") rezoom(-1);
    if (e.key === "0") rezoom(0);
  });
  document.querySelectorAll("[data-z]").forEach(b => b.addEventListener("click", () => rezoom(+b.dataset.z)));
  window.addEventListener("resize", () => { if (zoom <= 1.4) fit(); });
  fit();
})();
