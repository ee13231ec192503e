// Works with a running server as a program in TypeScript would: HELPWRIGHT_URL is the API's address, HELPWRIGHT_TOKEN an
// owner's token. The types come from the OpenAPI document, so what compiles here is what the document promises.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

const baseUrl = process.env["HELPWRIGHT_URL"];
const token = process.env["HELPWRIGHT_TOKEN"];
assert(baseUrl && token, "HELPWRIGHT_URL and HELPWRIGHT_TOKEN must be set");

const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });

type Problem = components["schemas"]["Problem"];

/** Unwraps an answer that has to be a success. */
function must<T>(answer: { data?: T; error?: Problem; response: Response }): T {
  assert(answer.data !== undefined, `${answer.response.url}: ${answer.response.status} ${JSON.stringify(answer.error)}`);
  return answer.data;
}

const accounts = must(await client.GET("/accounts")).data;
const account = accounts[0];
assert(account, "the token's user has no account");
const path = { account_id: account.id };

// A mailbox, and a customer that is created once, however often the request is sent.
const unique = Date.now().toString(36);
const mailbox = must(
  await client.POST("/accounts/{account_id}/mailboxes", {
    params: { path },
    body: { name: "Smoke", email: `smoke-${unique}@example.com` },
  }),
).data;
const create = () =>
  client.POST("/accounts/{account_id}/customers", {
    params: { path, header: { "Idempotency-Key": `smoke-${unique}` } },
    body: { first_name: "Ada", emails: [{ email: `ada-${unique}@example.org` }] },
  });
const first = await create();
const again = await create();
const customer = must(first).data;
assert.equal(must(again).data.id, customer.id);
assert.equal(again.response.headers.get("Idempotency-Replayed"), "true");
assert.match(first.response.headers.get("RateLimit") ?? "", /^"default";r=\d+;t=\d+$/);
assert.equal(customer.first_name, "Ada");

// A conversation, and an interaction, which is bare.
const conversation = must(
  await client.POST("/accounts/{account_id}/conversations", {
    params: { path },
    body: { channel: "email", to: `ada-${unique}@example.org`, subject: "Broken engine", mailbox_id: mailbox.id },
  }),
).data;
const note = must(
  await client.POST("/accounts/{account_id}/conversations/{conversation_id}/interactions", {
    params: { path: { ...path, conversation_id: conversation.id } },
    body: { type: "note", body: "<p>Ask for the serial number.</p>" },
  }),
);
assert.equal(note.conversation_id, conversation.id);

// A list, filtered and paged.
const page = await client.GET("/accounts/{account_id}/conversations", {
  params: { path, query: { "status[]": ["posted"], limit: 1, expand: ["customer"] } },
});
const listed = must(page).data[0];
assert.equal(listed?.id, conversation.id);
assert.equal(listed?.customer?.id, customer.id);

// A change that somebody else's change is in the way of.
const at = { ...path, customer_id: customer.id };
const read = await client.GET("/accounts/{account_id}/customers/{customer_id}", { params: { path: at } });
const etag = read.response.headers.get("ETag");
assert(etag, "a customer has no ETag");
const save = (company: string) =>
  client.PUT("/accounts/{account_id}/customers/{customer_id}", {
    params: { path: at },
    headers: { "If-Match": etag },
    body: { first_name: "Ada", company },
  });
assert.equal(must(await save("Analytical Engines")).data.company, "Analytical Engines");
const late = await save("Difference Engines");
assert.equal(late.response.status, 412);
assert.equal(late.error?.code, "precondition_failed");

// What is not right, by field.
const wrong = await client.POST("/accounts/{account_id}/customers", { params: { path }, body: { first_name: "" } });
assert.equal(wrong.response.status, 422);
assert(wrong.error?.errors?.["first_name"], JSON.stringify(wrong.error));

// And away again.
const gone = await client.DELETE("/accounts/{account_id}/conversations/{conversation_id}", {
  params: { path: { ...path, conversation_id: conversation.id } },
});
assert.equal(gone.response.status, 204);
console.log("the TypeScript client works");
