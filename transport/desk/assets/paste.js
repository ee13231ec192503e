// @ts-check
// Reads what is pasted: HTML of word processors, spreadsheets, mail programs and web pages becomes the few elements that
// the desk's texts are written with. What it returns has no styles, classes, scripts, or addresses that a browser loads.

/** @typedef {{ bold: boolean, italic: boolean, code: boolean, del: boolean, sub: boolean, sup: boolean, href: string, head: boolean, spaces: boolean, tag: string }} Look */
/** @typedef {{ text: string, look: Look, picture?: string }} Run text "\n": a line break */
/** @typedef {{ tag: string, runs: Run[], ends: boolean, broken: boolean }} Line ends: white space that follows does not show */
/** @typedef {{ tag: string, start: number, items: Box[] }} List */
/** @typedef {{ box: Box, columns: number, rows: number, head: boolean }} Cell */
/** @typedef {Line | List | { tag: "blockquote", box: Box } | { tag: "table", rows: Cell[][] } | { tag: "pre", text: string, language: string } | { tag: "hr" }} Block */
/** @typedef {{ blocks: Block[], line: Line | null, lists: { level: number, list: List }[] }} Box what holds blocks */
/** @typedef {{ html: string, inline: boolean, pictures: Map<string, File>, files: File[] }} Pasted inline: it is part of a
 * paragraph. The HTML shows each picture under the address that is its key; files belong beside the text. */

const picture = /^image\/(png|jpeg|gif|webp)$/;
const raw = /^(script|style|title|textarea|xmp|iframe|noembed|noframes)$/;
const unread = /^(base|link|meta|plaintext|frameset)$/;
const attributes = new Set(["href", "src", "alt", "start", "colspan", "rowspan", "width", "height", "class", "role", "hidden", "datetime", "aria-level", "data-aria-level"]);
const gone = new Set(["head", "svg", "math", "object", "audio", "video", "canvas", "select", "datalist", "template", "col", "colgroup", "map", "rp", "rt"]);
const single = new Set(["p", "li", "td", "th", "tr", "tbody", "thead", "tfoot", "dt", "dd", "br", "hr", "img", "wbr", "input", "embed", "area", "source", "track", "param", "col", "colgroup", "rp", "rt"]); // their end need not be written
const told = new Set(["font-weight", "font-style", "font-family", "display", "visibility", "white-space", "white-space-collapse", "text-decoration", "text-decoration-line", "vertical-align", "mso-hide", "mso-list", "mso-element", "mso-special-character"]);
const deepest = 250; // how many elements are kept around one
const blocks = new Set(["address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form",
  "header", "hgroup", "legend", "main", "nav", "p", "section", "summary"]);

/** @typedef {Map<string, string>} Style */

/** Reads declarations, of which only some say what an element is. @param {string} text @returns {Style} */
function declared(text) {
  /** @type {Style} */
  const all = new Map();
  for (const part of text.toLowerCase().split(";")) {
    const at = part.indexOf(":"), name = part.slice(0, at).trim();
    if (told.has(name)) all.set(name, part.slice(at + 1, at + 200).replace("!important", "").trim());
  }
  return all;
}

/** Reads what a style sheet says of classes. @param {string} sheet @param {Map<string, Style>} classes */
function learn(sheet, classes) {
  const brace = /[{}]/g;
  let depth = 0, from = 0, names = "";
  for (let found = brace.exec(sheet); found; from = found.index + 1, found = brace.exec(sheet)) {
    const text = sheet.slice(from, found.index);
    if (found[0] === "{" && ++depth === 1) names = text;
    if (found[0] === "{" || depth-- !== 1) continue;
    const style = declared(text);
    for (const name of names.split(",")) {
      const own = /^[^.#:\s]*\.([\w-]+)$/.exec(name.trim());
      if (own) classes.set(own[1], new Map([...classes.get(own[1]) || [], ...style]));
    }
  }
}

/** Writes HTML anew with the attributes alone that are read here, in one pass. Styles become data: the page's policy refuses
 * style attributes even of a document that is not shown. Parsers take quadratic time for what is nested deeply. @param {string} html
 * @param {Map<string, Style>} classes gets the styles of classes */
export function bare(html, classes) {
  const tag = /<(\/?)([a-z][^ \t\n\f\r/>]*)/iy, attribute = /[ \t\n\f\r/]*([^ \t\n\f\r/>][^ \t\n\f\r/>=]*)(?:[ \t\n\f\r]*=[ \t\n\f\r]*("[^"]*"|'[^']*'|[^ \t\n\f\r>]*))?/y;
  let out = "", at = 0, depth = 0;
  for (let open = html.indexOf("<"); open >= 0; open = html.indexOf("<", at)) {
    out += html.slice(at, open);
    tag.lastIndex = open;
    const found = tag.exec(html);
    if (!found) {
      if (!/[!?/]/.test(html[open + 1] || "")) { out += "&lt;"; at = open + 1; continue; }
      const comment = html.startsWith("<!--", open), end = comment ? html.indexOf("-->", open + 2) : html.indexOf(">", open);
      if (end < 0) return out;
      at = end + (comment ? 3 : 1);
      continue;
    }
    const name = found[2].toLowerCase();
    let kept = "";
    at = attribute.lastIndex = tag.lastIndex;
    for (let one = attribute.exec(html); one; one = attribute.exec(html)) {
      at = attribute.lastIndex;
      const key = one[1].toLowerCase(), value = (one[2] || "").replace(/^(["'])([^]*)\1$/, "$2");
      if (key === "style") kept += ` data-style="${value.replaceAll('"', "&quot;")}"`;
      else if (attributes.has(key)) kept += ` ${key}="${value.replaceAll('"', "&quot;")}"`;
    }
    const end = html.indexOf(">", at);
    if (end < 0) return out;
    const closed = html[end - 1] === "/";
    at = end + 1;
    if (!raw.test(name)) {
      const counts = !single.has(name);
      if (counts && !found[1]) depth++;
      if (!unread.test(name) && !(counts && depth > deepest)) out += `<${found[1]}${name}${found[1] ? "" : kept}>`;
      if (counts && found[1] && depth) depth--;
      continue;
    }
    if (found[1] || closed) continue;
    const close = new RegExp(`</${name}[ \\t\\n\\f\\r/>]`, "ig");
    close.lastIndex = at;
    const last = close.exec(html);
    if (name === "style") learn(html.slice(at, last?.index), classes);
    if (!last) return out;
    at = last.index;
  }
  return out + html.slice(at);
}

/** @param {Element} e */
const styleOf = (e) => declared(e.getAttribute("data-style") || "");

/** Whether a reader of the source sees nothing of an element there. @param {Element} e @param {Style} css */
const hidden = (e, css) => gone.has(e.localName) || e.localName === "del" && e.hasAttribute("datetime") || e.hasAttribute("hidden") || css.get("display") === "none" || css.get("visibility") === "hidden" || css.get("mso-hide") === "all" ||
  css.get("mso-list") === "ignore" || /^(comment|header|footer)/.test(css.get("mso-element") || "") || /^comment/.test(css.get("mso-special-character") || "");

/** @type {Look} */
const plain = { bold: false, italic: false, code: false, del: false, sub: false, sup: false, href: "", head: false, spaces: false, tag: "" };

/** @returns {Box} */
const newBox = () => ({ blocks: [], line: null, lists: [] });
/** @type {(b: Block) => b is Line} */
const isLine = (b) => "runs" in b;

/** Takes the spaces around text out of its look. @param {Run} r @returns {Run[]} */
function bared(r) {
  const text = r.text.trim();
  if (r.picture || !text || text === r.text || same(r.look, plain)) return [r];
  const at = r.text.indexOf(text[0]), spaces = [r.text.slice(0, at), r.text.slice(at + text.length)];
  return [{ text: spaces[0], look: plain }, { ...r, text }, { text: spaces[1], look: plain }].filter((one) => one.text);
}

const blank = (/** @type {Run} */ r) => !r.picture && /^[ \n\u00a0]*$/.test(r.text);

/** Ends the line that is being read. @param {Box} box */
function flush(box) {
  const line = box.line;
  box.line = null;
  if (!line) return;
  const from = line.runs.findIndex((r) => !blank(r)), to = line.runs.findLastIndex((r) => !blank(r));
  line.runs = from < 0 ? [] : line.runs.slice(from, to + 1);
  const last = line.runs.at(-1);
  if (last) {
    last.text = last.text.trimEnd();
    line.runs = line.runs.flatMap(bared);
  } else if (line.tag !== "div" || !box.blocks.length || !line.broken) return; // an empty line shows between others alone
  box.blocks.push(line);
  box.lists = [];
}

/** @param {Box} box @param {Look} look */
const lineOf = (box, look) => box.line ||= { tag: look.tag, runs: [], ends: true, broken: false };

/** Adds text to the line, with white space as a browser shows it. @param {Box} box @param {string} text @param {Look} look */
function write(box, text, look) {
  if (look.spaces) {
    text.split(/\r\n?|\n/).forEach((part, i) => { if (i) lineBreak(box, look); add(box, part, look); });
    return;
  }
  const shown = text.replace(/[ \t\n\f\r]+/g, " ");
  add(box, shown.startsWith(" ") && (!box.line || box.line.ends) ? shown.slice(1) : shown, look);
}

/** @param {Box} box @param {string} text @param {Look} look */
function add(box, text, look) {
  if (!text) return;
  const line = lineOf(box, look), last = line.runs.at(-1);
  line.ends = text.endsWith(" ");
  if (last && !last.picture && last.text !== "\n" && same(last.look, look)) last.text += text;
  else if (/^ +$/.test(text)) line.runs.push({ text, look: { ...look, bold: false, italic: false, code: false, href: "" } });
  else line.runs.push({ text, look });
}

/** @param {Look} a @param {Look} b */
const same = (a, b) => a.bold === b.bold && a.italic === b.italic && a.code === b.code && a.href === b.href && a.del === b.del && a.sub === b.sub && a.sup === b.sup;

/** @param {Box} box @param {Look} look */
function lineBreak(box, look) {
  const line = lineOf(box, look), last = line.runs.at(-1);
  if (last && !last.picture && last.text !== "\n") last.text = last.text.trimEnd();
  line.runs.push({ text: "\n", look });
  line.ends = line.broken = true;
}

/** The look of what is in an element. @param {Element} e @param {Style} css @param {Look} look @returns {Look} */
function lookOf(e, css, look) {
  const tag = e.localName, own = { ...look }, weight = css.get("font-weight") || "", slant = css.get("font-style") || "", space = `${css.get("white-space") || ""} ${css.get("white-space-collapse") || ""}`;
  if (tag === "b" || tag === "strong" || tag === "dt") own.bold = true;
  if (tag === "i" || tag === "em" || tag === "cite" || tag === "dfn" || tag === "var") own.italic = true;
  if (tag === "code" || tag === "kbd" || tag === "samp" || tag === "tt") own.code = true;
  if (tag === "s" || tag === "del" || tag === "strike" || /line-through/.test(css.get("text-decoration") || css.get("text-decoration-line") || "")) own.del = true;
  const height = /^su[bp]/.exec(css.get("vertical-align") || tag)?.[0];
  if (height === "sub" || height === "sup") own[height] = true;
  if (/^(bold|normal|\d)/.test(weight)) own.bold = weight.startsWith("bold") || Number(weight) >= 600;
  if (/^(italic|oblique|normal)/.test(slant)) own.italic = slant !== "normal";
  if (look.head) own.bold = false;
  if (/pre|break-spaces/.test(space)) own.spaces = true; else if (/normal|nowrap|collapse/.test(space)) own.spaces = false;
  if (tag === "a" && e.hasAttribute("href")) own.href = linkOf(e.getAttribute("href") || "");
  return own;
}

/** The address of a link that may be kept, or "". @param {string} href */
function linkOf(href) {
  try {
    const url = new URL(href);
    return /^(https?|mailto|tel):$/.test(url.protocol) ? href.trim().replace(/[\t\n\r]/g, "") : "";
  } catch { return ""; }
}

/** Reads HTML into blocks. */
class Reader {
  /** @param {Map<Element, string>} pictures addresses of the pictures that are here */
  constructor(pictures) { this.pictures = pictures; }

  /** @param {Node} parent @param {Box} box @param {Look} look */
  all(parent, box, look) {
    for (const n of parent.childNodes) {
      if (n instanceof Text) write(box, n.data, look);
      else if (n instanceof Element) this.element(n, box, look);
    }
  }

  /** @param {Element} e @param {Box} box @param {Look} outer */
  element(e, box, outer) {
    const css = styleOf(e), tag = e.localName;
    if (hidden(e, css)) return;
    const look = lookOf(e, css, outer), title = headingOf(e);
    if (tag === "br") lineBreak(box, look);
    else if (tag === "img") this.image(e, box, look);
    else if (tag === "hr") { flush(box); box.blocks.push({ tag: "hr" }); box.lists = []; }
    else if (tag === "pre" || css.get("white-space") === "pre" && /mono|consolas|menlo|courier/.test(css.get("font-family") || "") && blocks.has(tag)) this.code(e, box);
    else if (tag === "ul" || tag === "ol" || tag === "menu" || tag === "dir") { flush(box); this.list(e, box, look, 1, tag === "ol"); }
    else if (tag === "li") { flush(box); this.item(e, box, look, 1, false, 0); }
    else if (tag === "table") { flush(box); this.table(e, box, look); }
    else if (tag === "blockquote" || /^mso(intense)?quote/i.test(e.className)) this.quote(e, box, look);
    else if (title) this.block(e, box, { ...look, tag: title, head: true, bold: false });
    else if ((tag === "p" || tag === "div") && /level\d/.test(css.get("mso-list") || "")) this.wordItem(e, box, look, css);
    else if (/inline|contents/.test(css.get("display") || "")) this.all(e, box, look);
    else if (blocks.has(tag) || /block|flex|grid|list-item|table/.test(css.get("display") || "")) this.paragraph(e, box, look);
    else if (e.className === "Apple-converted-space") write(box, " ", look);
    else this.all(e, box, look);
  }

  /** @param {Element} e @param {Box} box @param {Look} look */
  block(e, box, look) {
    flush(box);
    this.all(e, box, look);
    flush(box);
  }

  /** @param {Element} e @param {Box} box @param {Look} look */
  paragraph(e, box, look) {
    const last = box.lists.at(-1);
    if (last && /^MsoListParagraph/i.test(e.className)) { // it goes on with the item before it
      flush(box);
      const item = last.list.items[last.list.items.length - 1];
      this.block(e, item, { ...look, tag: "p" });
      return;
    }
    this.block(e, box, look.head ? look : { ...look, tag: e.localName === "p" ? "p" : "div" });
  }

  /** @param {Element} e @param {Box} box @param {Look} look */
  quote(e, box, look) {
    flush(box);
    const inner = newBox();
    this.block(e, inner, { ...look, tag: e.localName === "p" ? "p" : "div" });
    if (inner.blocks.length) { box.blocks.push({ tag: "blockquote", box: inner }); box.lists = []; }
  }

  /** @param {Element} e @param {Box} box */
  code(e, box) {
    flush(box);
    const codes = e.querySelectorAll("code"), only = codes.length === 1 && [...e.childNodes].every((n) => !(n instanceof Text) || !n.data.trim()); // beside it are the names of languages, and buttons
    const text = preformatted(only ? codes[0] : e).replace(/^\n/, "").trimEnd(), language = /\blanguage-([\w+#-]+)/.exec(`${e.className} ${e.querySelector("code")?.className || ""}`);
    if (text.trim()) { box.blocks.push({ tag: "pre", text, language: language?.[1] || "" }); box.lists = []; }
  }

  /** @param {Element} e @param {Box} box @param {Look} look */
  image(e, box, look) {
    const alt = e.getAttribute("alt") || "", url = this.pictures.get(e);
    if (url) {
      const line = lineOf(box, look);
      line.runs.push({ text: alt, look, picture: url });
      line.ends = false;
    }
    if (!url && alt.length < 16 && /^[\p{Extended_Pictographic}\p{Regional_Indicator}\p{Emoji_Modifier}\u200d\ufe0f]+$/u.test(alt)) write(box, alt, look);
  }

  /** @param {Element} e a list @param {Box} box @param {Look} look @param {number} depth @param {boolean} ordered */
  list(e, box, look, depth, ordered) {
    let start = ordered ? Number(e.getAttribute("start")) || 1 : 0; // of the first item; 0: it continues
    for (const child of e.children) {
      const css = styleOf(child), tag = child.localName;
      if (hidden(child, css)) continue;
      if (tag === "ul" || tag === "ol") this.list(child, box, lookOf(child, css, look), depth + 1, tag === "ol");
      else if (tag !== "li" && child.querySelector("li")) this.list(child, box, lookOf(child, css, look), depth, ordered);
      else { this.item(child, box, lookOf(child, css, look), depth, ordered, start); start = 0; }
    }
  }

  /** @param {Element} e @param {Box} box @param {Look} look @param {number} depth @param {boolean} ordered @param {number} start */
  item(e, box, look, depth, ordered, start) {
    const level = Math.max(depth, Number(e.getAttribute("aria-level") || e.getAttribute("data-aria-level")) || 0);
    const items = place(box, level, ordered, start), item = items[items.length - 1];
    this.block(e, item, { ...look, tag: "div" });
    if (items.length > 1 && item.blocks.length && item.blocks.every((b) => "items" in b)) items[items.length - 2].blocks.push(.../** @type {Box} */ (items.pop()).blocks);
    else if (!item.blocks.length) items.pop();
  }

  /** A paragraph of Word that is an item of a list. @param {Element} e @param {Box} box @param {Look} look @param {Style} css */
  wordItem(e, box, look, css) {
    flush(box);
    const marker = [...e.querySelectorAll("[data-style]")].find((s) => styleOf(s).get("mso-list") === "ignore")?.textContent?.trim() || "";
    const ordered = /\p{N}/u.test(marker) || /\p{L}.*[.):\]\u3001\uff09]/u.test(marker), number = ordered ? Number(/(\d+)\D*$/.exec(marker)?.[1]) || 0 : 0;
    const items = place(box, Number(/level(\d+)/.exec(css.get("mso-list") || "")?.[1]), ordered, number), item = items[items.length - 1];
    this.block(e, item, { ...look, tag: "div" });
    if (!item.blocks.length) items.pop();
  }

  /** @param {Element} e @param {Box} box @param {Look} look */
  table(e, box, look) {
    const rows = rowsOf(e), cells = rows.flat(), inner = { ...look, tag: "div" };
    const caption = [...e.children].find((c) => c.localName === "caption");
    if (caption) this.element(caption, box, look);
    const layout = cells.length < 2 || /^(presentation|none)$/.test(e.getAttribute("role") || "") || e.querySelector("table, h1, h2, h3, h4, h5, h6") ||
      rows.every((r) => r.length < 2) && cells.some((c) => [...c.children].some((b) => blocks.has(b.localName)));
    if (layout) {
      for (const c of cells) this.block(c, box, lookOf(c, styleOf(c), inner));
      return;
    }
    const made = rows.map((r) => r.map((c) => {
      const cell = { box: newBox(), columns: span(c, "colspan"), rows: span(c, "rowspan"), head: c.localName === "th" };
      this.block(c, cell.box, lookOf(c, styleOf(c), inner));
      return cell;
    }));
    if (!made.flat().some((c) => c.box.blocks.length)) return;
    box.blocks.push({ tag: "table", rows: made });
    box.lists = [];
  }
}

/** The level of a heading as its tag, or "". @param {Element} e */
function headingOf(e) {
  if (/^h[1-6]$/.test(e.localName)) return e.localName;
  if (e.getAttribute("role") === "heading" && blocks.has(e.localName)) return `h${Math.min(6, Number(e.getAttribute("aria-level")) || 2)}`;
  return e.localName === "p" && /^MsoTitle/.test(e.className) ? "h1" : "";
}

/** The items of the list to which the next one belongs, with that one. @param {Box} box @param {number} level @param {boolean} ordered
 * @param {number} start its number where a list may begin; 0: none begins */
function place(box, level, ordered, start) {
  const tag = ordered ? "ol" : "ul", lists = box.lists;
  for (let inner = lists.at(-1); inner && inner.level > level; inner = lists.at(-1)) {
    if ((lists.at(-2)?.level || 0) < level) inner.level = level; else lists.pop(); // levels may be left out
  }
  const top = lists.at(-1), goes = top && top.level === level && top.list.tag === tag && (!start || start === top.list.start + top.list.items.length);
  if (!top || !goes) {
    if (top?.level === level) lists.pop();
    const list = { tag, start: start || 1, items: [] }, parent = lists.at(-1)?.list.items.at(-1);
    (parent || box).blocks.push(list);
    lists.push({ level, list });
  }
  const items = lists[lists.length - 1].list.items;
  items.push(newBox());
  return items;
}

/** The cells that a table shows, by rows. @param {Element} table */
function rowsOf(table) {
  const parts = [...table.children].flatMap((e) => (/^t(head|body|foot)$/.test(e.localName) && !hidden(e, styleOf(e)) ? [...e.children] : e.localName === "tr" ? [e] : []));
  return parts.filter((e) => e.localName === "tr" && !hidden(e, styleOf(e))).map((row) => [...row.children].filter((c) => /^t[dh]$/.test(c.localName) && !hidden(c, styleOf(c)))).filter((r) => r.length);
}

/** @param {Element} cell @param {string} name */
const span = (cell, name) => Math.max(1, Math.min(1000, Number(cell.getAttribute(name)) || 1));

/** @param {Element} e @returns {string} */
function preformatted(e) {
  let out = "";
  for (const n of e.childNodes) {
    if (n instanceof Text) out += n.data;
    else if (n instanceof Element && n.localName === "br") out += "\n";
    else if (n instanceof Element && !hidden(n, styleOf(n))) {
      const line = blocks.has(n.localName) || n.localName === "li" || n.localName === "tr";
      if (line && out && !out.endsWith("\n")) out += "\n";
      out += preformatted(n);
      if (line && !out.endsWith("\n")) out += "\n";
    }
  }
  return out.replaceAll("\u00a0", " ");
}

// ---- Writing ----

export const escape = (/** @type {string} */ text) => text.replace(/[&<>"]/g, (c) => `&${{ "&": "amp", "<": "lt", ">": "gt", '"': "quot" }[c]};`);

/** Writes blocks as HTML. */
class Writer {
  /** @param {boolean} rich whether the text knows headings and tables */
  constructor(rich) { this.rich = rich; }

  /** @param {Run[]} runs @param {boolean} [bold] all of it */
  line(runs, bold = false) {
    let out = "";
    /** @type {string[]} */
    let open = [];
    for (const { text, look, picture: url } of runs) {
      const want = [look.href && `a href="${escape(look.href)}"`, (look.bold || bold) && "b", look.italic && "i", this.rich && look.del && "del", this.rich && look.sub && "sub", this.rich && look.sup && "sup",
        look.code && "code"].filter((t) => typeof t === "string" && t !== "");
      let common = 0;
      while (common < open.length && open[common] === want[common]) common++;
      for (const t of open.splice(common).reverse()) out += `</${t.split(" ")[0]}>`;
      for (const t of want.slice(common)) { out += `<${t}>`; open.push(String(t)); }
      out += url ? `<img src="${escape(url)}" alt="${escape(text)}">` : text === "\n" ? "<br>" : escape(text);
    }
    for (const t of open.reverse()) out += `</${t.split(" ")[0]}>`;
    return out;
  }

  /** @param {Block[]} all */
  blocks(all) { return all.map((b) => this.block(b)).join(""); }

  /** @param {Block} b @returns {string} */
  block(b) {
    if ("runs" in b) return this.paragraph(b);
    if ("items" in b) return `<${b.tag}${b.start > 1 ? ` start="${b.start}"` : ""}>${b.items.map((i) => `<li>${this.item(i)}</li>`).join("")}</${b.tag}>`;
    if ("box" in b) return `<blockquote>${this.blocks(b.box.blocks)}</blockquote>`;
    if ("text" in b) return `<pre>${this.rich ? `<code${b.language ? ` class="language-${escape(b.language)}"` : ""}>` : ""}${b.text.startsWith("\n") ? "\n" : ""}${escape(b.text)}${this.rich ? "</code>" : ""}</pre>`;
    if ("rows" in b) return this.rich ? this.table(b.rows) : rowLines(b.rows).map((runs) => `<div>${this.line(runs)}</div>`).join("");
    return this.rich ? "<hr>" : "";
  }

  /** @param {Line} b */
  paragraph(b) {
    if (!b.runs.length) return this.rich ? "" : "<div><br></div>";
    const head = b.tag.startsWith("h");
    if (!this.rich) return head || b.tag === "p" ? `<p>${this.line(b.runs, head)}</p>` : `<div>${this.line(b.runs)}</div>`;
    if (head) return `<${b.tag}>${this.line(b.runs)}</${b.tag}>`;
    return paragraphsOf(b.runs).map((runs) => `<p>${this.line(runs)}</p>`).join("");
  }

  /** @param {Box} item */
  item({ blocks: all }) {
    const lines = all.filter((b) => isLine(b) && b.tag[0] !== "h"), first = all.findIndex((b) => !isLine(b) || b.tag[0] === "h");
    if (lines.length > 1 && this.rich || first >= 0 && first < lines.length) return this.blocks(all);
    return lineRuns(lines).map((runs) => this.line(runs)).join("") + this.blocks(all.slice(lines.length));
  }

  /** @param {Cell[][]} rows */
  table(rows) {
    return `<table>${rows.map((row) => `<tr>${row.map((c) => {
      const tag = c.head ? "th" : "td", simple = c.box.blocks.every((b) => isLine(b));
      return `<${tag}${c.columns > 1 ? ` colspan="${c.columns}"` : ""}${c.rows > 1 ? ` rowspan="${c.rows}"` : ""}>${simple ? this.line(lineRuns(c.box.blocks).flat()) : this.blocks(c.box.blocks)}</${tag}>`;
    }).join("")}</tr>`).join("")}</table>`;
  }
}

/** The runs of lines, one below the other. @param {Block[]} lines @returns {Run[][]} */
function lineRuns(lines) {
  const all = /** @type {Line[]} */ (lines.filter((b) => "runs" in b && b.runs.length));
  return all.map((b, i) => (i ? [{ text: "\n", look: plain }, ...b.runs] : b.runs));
}

/** Splits runs where lines are empty. @param {Run[]} runs */
function paragraphsOf(runs) {
  /** @type {Run[][]} */
  const out = [[]];
  let breaks = 0;
  for (const r of runs) {
    if (r.text === "\n") { breaks++; continue; }
    if (breaks > 1) out.push([]);
    if (breaks === 1) out[out.length - 1].push({ text: "\n", look: plain });
    breaks = 0;
    out[out.length - 1].push(r);
  }
  return out;
}

/** The rows of a table as lines. @param {Cell[][]} rows */
function rowLines(rows) {
  /** @type {number[]} */
  const held = []; // for each column, the rows that a cell above still takes
  return rows.map((row) => {
    /** @type {Run[][]} */
    const cells = [];
    let column = 0;
    const skip = () => { while (held[column] > 0) { held[column++]--; cells.push([]); } };
    for (const c of row) {
      skip();
      for (let i = 0; i < c.columns; i++) held[column++] = c.rows - 1;
      cells.push(inlineRuns(c.box.blocks));
    }
    skip();
    while (cells.length && !cells[cells.length - 1].length) cells.pop();
    return cells.flatMap((runs, i) => (i ? [{ text: " | ", look: plain }, ...runs] : runs));
  }).filter((runs) => runs.length);
}

/** All text of blocks in one line. @param {Block[]} all @returns {Run[]} */
function inlineRuns(all) {
  const parts = all.map((b) => {
    if ("runs" in b) return b.runs.map((r) => (r.text === "\n" ? { text: " ", look: plain } : r));
    if ("items" in b) return b.items.flatMap((i, n) => (n ? [{ text: ", ", look: plain }, ...inlineRuns(i.blocks)] : inlineRuns(i.blocks)));
    if ("box" in b) return inlineRuns(b.box.blocks);
    if ("text" in b) return [{ text: b.text.replace(/\s+/g, " "), look: { ...plain, code: true } }];
    return [];
  }).filter((runs) => runs.length);
  return parts.flatMap((runs, i) => (i ? [{ text: " ", look: plain }, ...runs] : runs));
}

// ---- The clipboard ----

/** Decodes a picture that is written into HTML. @param {string} src */
function embedded(src) {
  const found = /^data:(image\/(?:png|jpeg|gif|webp));base64,/i.exec(src);
  if (!found) return null;
  try {
    const bytes = Uint8Array.from(atob(src.slice(found[0].length).replace(/\s+/g, "")), (c) => c.charCodeAt(0));
    return new File([bytes], `image.${found[1].slice(6).toLowerCase()}`, { type: found[1].toLowerCase() });
  } catch { return null; }
}

/** Finds the files that are the pictures of a page; what is left of them is shown nowhere in it.
 * @param {Document} page @param {File[]} files @returns {{ shown: Map<Element, File>, left: File[] }} */
function illustrate(page, files) {
  /** @type {Map<Element, File>} */
  const shown = new Map();
  const places = [...page.images].filter((e) => {
    const own = embedded(e.getAttribute("src") || "");
    if (own) shown.set(e, own);
    return !own && !(Number(e.getAttribute("width") || 2) < 2 || Number(e.getAttribute("height") || 2) < 2);
  });
  const local = places.filter((e) => !/^(https?:)?\/\//i.test(e.getAttribute("src") || "")), best = local.length >= files.length ? local : places;
  best.slice(0, files.length).forEach((e, i) => shown.set(e, files[i]));
  return { shown, left: files.slice(best.length) };
}

/** @param {string} html */
function pageOf(html) {
  /** @type {Map<string, Style>} */
  const classes = new Map(), source = bare(html, classes), cells = /^\s*(?:<(?:html|\/?head|body|meta)\b[^>]*>\s*)*<t(?:body|head|r|d|h)\b/.test(source);
  const page = new DOMParser().parseFromString(cells ? `<table>${source}` : source, "text/html");
  if (classes.size) for (const e of page.querySelectorAll("[class]")) {
    const styles = [...e.classList].flatMap((name) => [...classes.get(name) || []]).map((one) => one.join(":"));
    if (styles.length) e.setAttribute("data-style", `${styles.join(";")};${e.getAttribute("data-style") || ""}`);
  }
  return page;
}

/** Reads what is pasted with HTML, files, or both. @param {string} html @param {File[]} files @param {boolean} rich whether the
 * text knows headings and tables @returns {Pasted} */
export function read(html, files, rich) {
  const page = pageOf(html), { shown, left } = illustrate(page, files.filter((f) => picture.test(f.type)));
  /** @type {Map<string, File>} */
  const pictures = new Map();
  /** @type {Map<Element, string>} */
  const urls = new Map();
  const show = (/** @type {File} */ f) => { const url = URL.createObjectURL(f); pictures.set(url, f); return url; };
  for (const [e, f] of shown) urls.set(e, show(f));
  const box = newBox();
  new Reader(urls).all(page.body, box, plain);
  flush(box);
  const worded = box.blocks.length > 0, drawn = worded && /urn:schemas-microsoft-com|\bmso-|<table/i.test(html); // spreadsheets and word processors add a picture of the text
  if (!drawn) for (const f of left) box.blocks.push({ tag: "div", runs: [{ text: "", look: plain, picture: show(f) }], ends: false, broken: false });
  const writer = new Writer(rich), runs = inlineOf(box.blocks, rich);
  return {
    html: runs ? writer.line(runs) : writer.blocks(box.blocks), inline: Boolean(runs), pictures,
    files: files.filter((f) => !picture.test(f.type) && !(worded && f.type.startsWith("image/"))),
  };
}

/** The runs of what is a part of a paragraph, or null. @param {Block[]} all @param {boolean} rich */
function inlineOf([first, ...others], rich) {
  if (!first || others.length) return null;
  if ("rows" in first) { const rows = rich ? [] : rowLines(first.rows); return rows.length === 1 ? rows[0] : null; }
  return isLine(first) && first.tag[0] !== "h" && (!rich || paragraphsOf(first.runs).length === 1) ? first.runs : null;
}

/** Plain text as lines. @param {string} text @returns {Pasted} */
export function lines(text) {
  const all = text.replace(/\r\n?/g, "\n").replace(/\n$/, "").split("\n").map((line) => escape(line).replace(/ (?= )|^ | $/g, "\u00a0"));
  const html = all.length === 1 ? all[0] : all.map((line) => `<div>${line || "<br>"}</div>`).join("");
  return { html, inline: all.length === 1, pictures: new Map(), files: [] };
}

// ---- Where it goes ----

const ofBlocks = "p, div, li, ul, ol, blockquote, pre, h1, h2, h3, h4, h5, h6, table";

/** Whether a node shows nothing. @param {Node} n */
const empty = (n) => n instanceof Element ? !n.textContent?.trim() && !n.matches("img") && !n.querySelector("img") : !n.textContent;

const indexOf = (/** @type {Node} */ n) => [.../** @type {Node} */ (n.parentNode).childNodes].indexOf(/** @type {ChildNode} */ (n));

/** The node of a copy that is where another is in what was copied. @param {Node} root @param {Node} n @param {Node} copy @returns {Node} */
const counterpart = (root, n, copy) => n === root ? copy : counterpart(root, /** @type {Node} */ (n.parentNode), copy).childNodes[indexOf(n)];

/** The block in which a node is, at least the root. @param {Node} n @param {Element} root @param {string} [kinds] */
function blockOf(n, root, kinds = ofBlocks) {
  const block = (n instanceof Element ? n : n.parentElement)?.closest(kinds);
  return block && root.contains(block) ? block : root;
}

/** Removes what is in a range, and joins the lines around it. @param {Range} at @param {Element} root */
function cut(at, root) {
  if (at.collapsed) return;
  const first = blockOf(at.startContainer, root), before = document.createRange();
  let last = blockOf(at.endContainer, root);
  before.setStart(last, 0);
  before.setEnd(at.endContainer, at.endOffset);
  if (last !== first && last !== root && empty(before.cloneContents())) { at.setEndBefore(last); last = blockOf(at.endContainer, root); } // a line was chosen with its end
  if (first === last) { at.deleteContents(); return; }
  let end = at.endContainer === last ? at.endOffset : 0;
  for (let n = at.endContainer; n !== last; n = /** @type {Node} */ (n.parentNode)) end = indexOf(n) + 1;
  for (let n = last.childNodes[end]; n && !(n instanceof Element && n.matches(ofBlocks)); n = last.childNodes[end]) end++;
  const rest = document.createRange(), { startContainer: node, startOffset: offset } = at;
  rest.setStart(at.endContainer, at.endOffset);
  rest.setEnd(last, end);
  const tail = rest.extractContents();
  at.deleteContents();
  for (let e = last; e !== root && empty(e) && !e.contains(node);) { const parent = /** @type {Element} */ (e.parentElement); e.remove(); e = parent; }
  at.setStart(node, offset);
  at.collapse(true);
  at.insertNode(tail);
  at.collapse(true);
}

/** Splits the elements around a caret, so that it is right in another one. @param {Range} at @param {Element} into */
function split(at, into) {
  while (at.startContainer !== into) {
    const node = /** @type {ChildNode} */ (at.startContainer), rest = document.createRange();
    rest.setStart(at.startContainer, at.startOffset);
    rest.setEndAfter(node);
    const tail = rest.extractContents();
    at.setStartAfter(node);
    at.collapse(true);
    if (tail.firstChild && !empty(tail.firstChild)) { at.insertNode(tail); at.collapse(true); }
    if (empty(node)) node.remove();
  }
}

/** Returns the HTML of an editor with HTML in place of a range of it, and a <wbr> where the caret goes. The editor stays as it is.
 * @param {HTMLElement} edit @param {Range} range @param {string} html @param {boolean} like whether it looks like what is around it */
export function put(edit, range, html, like) {
  const copy = /** @type {HTMLElement} */ (edit.cloneNode(true)), template = document.createElement("template"), at = document.createRange(), caret = document.createElement("wbr");
  for (const e of copy.querySelectorAll("[style]")) e.removeAttribute("style");
  at.setStart(counterpart(edit, range.startContainer, copy), range.startOffset);
  at.setEnd(counterpart(edit, range.endContainer, copy), range.endOffset);
  cut(at, copy);
  template.innerHTML = html;
  const part = template.content, parts = [...part.children], inline = !parts.some((e) => e.matches(ofBlocks));
  const item = blockOf(at.startContainer, copy, "li"), items = item !== copy && parts.every((e) => e.matches("ul, ol")) && parts.length === part.childNodes.length && !inline;
  if (inline) {
    if (!like) split(at, blockOf(at.startContainer, copy));
    part.append(caret);
  } else {
    split(at, items ? /** @type {Element} */ (item.parentElement) : blockOf(at.startContainer, copy, "li, blockquote"));
    if (items) part.replaceChildren(...parts.flatMap((list) => [...list.childNodes]));
    let last = /** @type {ParentNode} */ (part);
    while (last.lastElementChild?.matches(ofBlocks) && last.lastChild === last.lastElementChild) last = last.lastElementChild;
    last.append(caret);
    const after = at.startContainer.childNodes[at.startOffset];
    if (after instanceof Element && after.matches("br")) after.remove(); // the block ends the line
  }
  at.insertNode(part);
  return copy.innerHTML;
}
