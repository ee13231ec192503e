// Package mcp lets assistants work in a help desk: an endpoint of the Model Context Protocol over the same handles and
// permissions as the API.
//
// Each account has an endpoint of its own; an access token identifies the caller. Callers get the tools that their
// permissions, narrowed by the token's scopes, allow:
//
//   - search_conversations and read_conversation need conversations.view and interactions.view;
//   - add_note needs interactions.note or interactions.create;
//   - draft_answer needs interactions.create: the answer is a draft, which a member reads, changes and sends in the desk;
//   - send_draft needs interactions.update, too: a token without that scope writes drafts and never sends;
//   - list_saved_replies needs interactions.view, apply_macro conversations.update, too, and what its actions need;
//   - list_rules needs rules.view;
//   - search_articles and read_article need sites.view and articles.view;
//   - draft_article needs articles.create or articles.update. No tool publishes.
//
// The endpoint is stateless, so requests may go to any of several servers.
package mcp
