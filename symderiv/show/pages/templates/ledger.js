"use strict";
(() => {
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const tools = document.querySelector(".tools");
  const search = tools.querySelector("input"), paper = tools.querySelector("select");
  const shown = tools.querySelector("output"), sections = all("section");
  const claims = all(".claim"), chosen = { v: new Set(), t: new Set() };
  const buttons = all("button[aria-pressed]", tools);
  let texts = null, timer = 0;

  // what is folded stands in a noscript element, as text
  function fill(claim) {
    const folded = claim.querySelector("noscript");
    if (folded) folded.outerHTML = folded.textContent;
  }
  const read = (claim) => claim.innerHTML.replace(/<[^>]*>/g, " ").toLowerCase();
  const say = (count) => { shown.textContent = `${count} of ${claims.length}`; };
  const press = () => buttons.forEach((button) =>
    button.setAttribute("aria-pressed", chosen[button.dataset.of].has(button.value)));

  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length && !texts) texts = claims.map(read);
    let count = 0;
    sections.forEach((section) => { section.hidden = true; });
    claims.forEach((claim, index) => {
      const data = claim.dataset, section = claim.parentNode;
      const fits = (!paper.value || paper.value === section.id)
        && (!chosen.v.size || chosen.v.has(data.v)) && (!chosen.t.size || chosen.t.has(data.t))
        && words.every((word) => texts[index].includes(word));
      claim.hidden = !fits;
      if (fits) { section.hidden = false; count += 1; }
    });
    say(count);
  }

  function reset() {
    search.value = paper.value = "";
    chosen.v.clear(); chosen.t.clear();
    press(); filter();
  }

  function follow() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const claim = target && target.closest(".claim");
    if (!target || !(claim || sections.includes(target))) return;
    if (claim ? claim.hidden : target.hidden) reset();
    if (claim) { fill(claim); claim.open = true; }
    target.scrollIntoView();
  }

  tools.hidden = false;
  addEventListener("toggle", (event) => {
    if (event.target.open && claims.includes(event.target)) fill(event.target);
  }, true);
  search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(filter, 120); });
  paper.addEventListener("change", filter);
  buttons.forEach((button) => button.addEventListener("click", () => {
    const set = chosen[button.dataset.of];
    if (!set.delete(button.value)) set.add(button.value);
    press(); filter();
  }));
  all(".bar a").forEach((part) => part.addEventListener("click", (event) => {
    event.preventDefault();
    reset();
    paper.value = part.dataset.p;
    chosen.v.add(part.dataset.v);
    press(); filter();
    document.getElementById(part.dataset.p).scrollIntoView();
  }));
  tools.querySelector("[name=open]").addEventListener("click", () =>
    claims.forEach((claim) => { if (!claim.hidden) claim.open = true; }));
  tools.querySelector("[name=close]").addEventListener("click", () =>
    claims.forEach((claim) => { claim.open = false; }));
  tools.querySelector("[name=reset]").addEventListener("click", reset);
  addEventListener("hashchange", follow);
  say(claims.length);
  follow();
})();
