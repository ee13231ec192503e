"use strict";
// A field above the list of operations leaves those that have all words that are typed.
(() => {
  const nav = document.querySelector("nav"), label = document.createElement("label"), field = document.createElement("input");
  field.type = "search";
  field.placeholder = "Filter operations";
  field.setAttribute("aria-label", field.placeholder);
  label.append(field);
  nav.prepend(label);
  const items = [...nav.querySelectorAll("ul ul li")].map((item) => {
    const article = document.getElementById(item.querySelector("a").hash.slice(1));
    const route = article?.querySelector(".route")?.textContent || "";
    return { item, article, text: (item.textContent + " " + route + " " + (article?.id || "")).toLowerCase() };
  });
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const one of items) {
      const hidden = !words.every((word) => one.text.includes(word));
      one.item.hidden = hidden;
      if (one.article) one.article.hidden = hidden;
    }
    for (const list of nav.querySelectorAll("ul ul")) list.parentElement.hidden = !list.querySelector("li:not([hidden])");
    for (const section of document.querySelectorAll("main > section")) {
      const articles = [...section.querySelectorAll(":scope > article")];
      section.hidden = words.length > 0 && !articles.some((article) => !article.hidden && !article.id.startsWith("schema-"));
    }
  });
})();
