// Sections as tabs, and the reading of charts.
function startTabs() {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const show = (tab, focus) => {
    for (const one of tabs) {
      const chosen = one === tab;
      one.setAttribute("aria-selected", chosen);
      one.tabIndex = chosen ? 0 : -1;
      document.getElementById(one.getAttribute("aria-controls")).hidden = !chosen;
    }
    if (focus) tab.focus();
  };
  tabs.forEach((tab, number) => {
    tab.addEventListener("click", () => show(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) show(tabs[(number + step + tabs.length) % tabs.length], true);
    });
  });
  if (tabs.length) show(tabs[0]);
}

function startChart(chart) {
  const { xs, series, totals, unit } = JSON.parse(chart.querySelector("script").textContent);
  const area = chart.querySelector("svg");
  const rule = area.querySelector(".rule");
  const note = chart.querySelector(".note");
  const [left, width] = [Number(area.dataset.left), Number(area.dataset.width)];
  const number = (value) => (unit === "bytes" ? bytesText(Math.round(value)) : `${Number(value.toPrecision(6)).toLocaleString("en-US")} ${unit}`);
  const show = (place) => {
    const lines = series.map(({ name, values }) => [name, values[place]]).filter(([, value]) => value).sort((a, b) => b[1] - a[1]);
    note.textContent = [`${xs[place]}: ${number(totals[place])}`, ...lines.slice(0, 6).map(([name, value]) => `${name}: ${number(value)}`), ...(lines.length > 6 ? [`… ${lines.length - 6} more`] : [])].join("\n");
    const x = left + (width * (place + 0.5)) / xs.length;
    rule.setAttribute("x1", x);
    rule.setAttribute("x2", x);
    rule.removeAttribute("visibility");
  };
  area.addEventListener("pointermove", (event) => {
    const box = area.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * area.viewBox.baseVal.width;
    show(Math.min(xs.length - 1, Math.max(0, Math.floor(((x - left) / width) * xs.length))));
  });
}

// What is hidden has no size; it starts when it is shown first.
function whenShown(root, start) {
  const observer = new ResizeObserver(() => {
    if (!root.clientWidth) return;
    observer.disconnect();
    start();
  });
  observer.observe(root);
}

const complain = (root) => (error) => {
  root.append(element("p", { class: "complaint" }, `This cannot be shown: ${error.message}`));
  console.error(error);
};

document.addEventListener("DOMContentLoaded", () => {
  startTabs();
  document.querySelectorAll(".chart").forEach(startChart);
  document.querySelectorAll(".graph").forEach((graph) => whenShown(graph, () => startGraph(graph).catch(complain(graph))));
  document.querySelectorAll(".memory").forEach((memory) => whenShown(memory, () => startMemory(memory).catch(complain(memory))));
});
