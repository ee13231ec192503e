// @ts-check
// Signs in with passkeys, and registers them: asks the server for a challenge when a form is sent,
// the browser for the answer, and sends the form with it.

/** @param {string} s */
const bytes = (s) => Uint8Array.from(atob(s.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
/** @param {ArrayBuffer | null | undefined} b */
const text = (b) => (b ? btoa(String.fromCharCode(...new Uint8Array(b))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "") : undefined);

/** @typedef {{ id: string, type: "public-key", transports?: AuthenticatorTransport[] }} Known */

/**
 * Asks the browser, by the options of the server as JSON.
 * @param {any} options
 */
async function ask(options) {
  const list = (/** @type {Known[] | undefined} */ all) => (all || []).map((c) => ({ ...c, id: bytes(c.id) }));
  const publicKey = { ...options, challenge: bytes(options.challenge) };
  if (!options.user) return navigator.credentials.get({ publicKey: { ...publicKey, allowCredentials: list(options.allowCredentials) } });
  return navigator.credentials.create({
    publicKey: { ...publicKey, user: { ...options.user, id: bytes(options.user.id) }, excludeCredentials: list(options.excludeCredentials) },
  });
}

/** @param {PublicKeyCredential} c */
function answerOf(c) {
  const r = /** @type {any} */ (c.response);
  return JSON.stringify({
    id: c.id, rawId: text(c.rawId), type: c.type, authenticatorAttachment: c.authenticatorAttachment || undefined, clientExtensionResults: {},
    response: {
      clientDataJSON: text(r.clientDataJSON), attestationObject: text(r.attestationObject), transports: r.getTransports?.(),
      authenticatorData: r.attestationObject ? undefined : text(r.authenticatorData), signature: text(r.signature), userHandle: text(r.userHandle),
    },
  });
}

/**
 * Says in a form what went wrong.
 * @param {HTMLFormElement} form
 * @param {string | undefined} problem
 */
function say(form, problem) {
  const said = /** @type {HTMLElement | null} */ (form.querySelector("[data-said]"));
  if (!said) return;
  said.hidden = !problem;
  said.textContent = problem || "";
}

/** @param {HTMLFormElement} form */
async function go(form) {
  const field = /** @type {HTMLInputElement} */ (form.elements.namedItem("answer")), stay = form.elements.namedItem("stay");
  const chosen = /** @type {HTMLInputElement | null} */ (document.querySelector("[name=stay][type=checkbox]"));
  if (stay instanceof HTMLInputElement && chosen) stay.value = chosen.checked ? "1" : "";
  const asked = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (typeof value === "string" && name !== "answer") asked.set(name, value);
  const answer = await fetch(form.dataset.passkey || "", { method: "POST", body: asked, headers: { Accept: "application/json" } });
  const got = await answer.json();
  if (!got.options) return say(form, got.problem || form.dataset.failed);
  const made = await ask(got.options);
  if (!(made instanceof PublicKeyCredential)) return say(form, form.dataset.failed);
  field.value = answerOf(made);
  form.submit();
}

document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (!form.matches("[data-passkey]")) return;
  event.preventDefault();
  if (form.ariaBusy === "true") return;
  form.ariaBusy = "true";
  say(form, "");
  go(form).catch((/** @type {Error} */ e) => {
    say(form, { NotAllowedError: form.dataset.cancelled, InvalidStateError: form.dataset.present }[e.name] || form.dataset.failed);
  }).finally(() => { form.ariaBusy = null; });
});

// A form is shown only where it can work: in a browser that has passkeys, at their address.
function dress() {
  for (const e of document.querySelectorAll("[data-passkey-here]")) {
    const works = "PublicKeyCredential" in window && location.origin === /** @type {HTMLElement} */ (e).dataset.passkeyHere;
    /** @type {HTMLElement} */ (e).hidden = !works;
    const other = e.nextElementSibling;
    if (other instanceof HTMLElement && other.matches("[data-passkey-else]")) other.hidden = works;
  }
}
document.addEventListener("desk:dress", dress);
dress();

export {};
