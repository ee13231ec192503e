// @ts-check
// Shows how far a file has come while it is sent, with a button that stops it. Without this module files are sent unseen.

/** @typedef {{ stopped: boolean, send: (to: string, data: FormData) => Promise<Response>, end: () => void }} Upload */

/** Most files are there within this time: what vanishes at once only flickers. */
const soon = 300; // milliseconds

/** Lists a file that waits or is on its way. @param {Element | null} list @param {string} name @returns {Upload} */
export function begin(list, name) {
  const item = document.createElement("li"), title = document.createElement("bdi"), bar = document.createElement("progress");
  const percent = document.createElement("small"), stop = document.createElement("button"), request = new XMLHttpRequest();
  let stopped = () => {};
  const timer = setTimeout(() => list?.append(item), soon);
  const upload = {
    stopped: false,
    end() { clearTimeout(timer); item.remove(); },
    /** Ends as fetch does. @param {string} to @param {FormData} data @returns {Promise<Response>} */
    send: (to, data) => new Promise((done, fail) => {
      stopped = () => fail(new DOMException("", "AbortError"));
      request.open("POST", to);
      request.setRequestHeader("Accept", "application/json");
      request.addEventListener("load", () => done(new Response(request.response, { status: request.status })));
      request.addEventListener("error", () => fail(new TypeError("network")));
      request.send(data);
    }),
  };
  request.upload.addEventListener("progress", (event) => {
    if (!event.lengthComputable) return;
    bar.value = event.loaded / event.total;
    percent.textContent = new Intl.NumberFormat(document.documentElement.lang, { style: "percent" }).format(bar.value);
  });
  stop.addEventListener("click", () => { upload.stopped = true; upload.end(); request.abort(); stopped(); });
  item.className = "coming";
  title.textContent = name;
  bar.value = 0;
  bar.setAttribute("aria-label", name);
  Object.assign(stop, { type: "button", className: "button quiet", textContent: "×", ariaLabel: `${document.body.dataset.cancel || ""} ${name}` });
  item.append(title, bar, percent, stop);
  return upload;
}
