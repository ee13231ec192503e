package desk

import "net/http"

// route registers the pages. Those of an account are below /a/{account}.
func (h *Handler) route() {
	h.mux = http.NewServeMux()
	h.mux.HandleFunc("GET /assets/{file}", h.asset)
	h.mux.HandleFunc("/", h.visitor(func(v *visit) error { return v.missing() }))
	h.routeSignIn()
	h.routeApp()
	h.routeRatings()
	const conversation = "/c/{id}"
	for pattern, fn := range map[string]func(*visit) error{
		"GET /{$}":                               (*visit).inboxHome,
		"GET /inbox/{view}":                      (*visit).inbox,
		"GET /search":                            (*visit).search,
		"POST /bulk":                             (*visit).bulk,
		"GET /macro":                             (*visit).macroPage,
		"POST /undo":                             (*visit).undo,
		"GET /events":                            (*visit).events,
		"GET /image/{token}":                     (*visit).remoteImage,
		"GET /new":                               (*visit).newPage,
		"POST /new":                              (*visit).create,
		"GET " + conversation:                    (*visit).conversation,
		"POST /c/{id}/send":                      (*visit).send,
		"POST /c/{id}/draft":                     (*visit).saveDraft,
		"POST /c/{id}/discard":                   (*visit).discard,
		"POST /c/{id}/files":                     (*visit).addFile,
		"POST /c/{id}/status":                    (*visit).setStatus,
		"POST /c/{id}/assign":                    (*visit).assign,
		"POST /c/{id}/tags":                      (*visit).setTags,
		"POST /c/{id}/read":                      (*visit).markRead,
		"POST /c/{id}/unread":                    (*visit).markUnread,
		"POST /c/{id}/fields":                    (*visit).setConversationFields,
		"POST /customers/{id}/fields":            (*visit).setCustomerFields,
		"POST /c/{id}/subject":                   (*visit).rename,
		"POST /c/{id}/presence":                  (*visit).present,
		"GET /c/{id}/replies/{reply}":            (*visit).filledReply,
		"POST /c/{id}/replies/{reply}/files":     (*visit).attachReply,
		"POST /c/{id}/insert":                    (*visit).insertReply,
		"POST /c/{id}/save-reply":                (*visit).saveReply,
		"POST /c/{id}/follow":                    (*visit).follow,
		"GET /c/{id}/mentionable":                (*visit).mentionable,
		"GET /c/{id}/recipients":                 (*visit).recipients,
		"GET /recipients":                        (*visit).recipients,
		"GET /people/{id}/{picture}":             (*visit).picture,
		"GET /notifications":                     (*visit).notifications,
		"GET /notifications/browser":             (*visit).browserNotifications,
		"POST /notifications/read":               (*visit).readNotifications,
		"POST /notifications/{id}/open":          (*visit).openNotification,
		"POST /c/{id}/snooze":                    (*visit).snooze,
		"POST /c/{id}/move":                      (*visit).move,
		"POST /c/{id}/priority":                  (*visit).setPriority,
		"POST /c/{id}/hold":                      (*visit).setHold,
		"POST /c/{id}/spam":                      (*visit).setSpam,
		"GET /c/{id}/do/{command}":               (*visit).command,
		"GET /c/{id}/merge":                      (*visit).mergeConversationPage,
		"POST /c/{id}/merge":                     (*visit).merge,
		"POST /c/{id}/delete":                    (*visit).deleteConversation,
		"GET /c/{id}/i/{i}":                      (*visit).mail,
		"GET /c/{id}/i/{i}/source":               (*visit).source,
		"GET /c/{id}/i/{i}/source.eml":           (*visit).sourceFile,
		"GET /c/{id}/i/{i}/html":                 (*visit).html,
		"GET /c/{id}/i/{i}/body":                 (*visit).frame,
		"POST /c/{id}/i/{i}/retry":               (*visit).retry,
		"POST /c/{id}/i/{i}/back":                (*visit).callBack,
		"POST /c/{id}/i/{i}/place":               (*visit).place,
		"POST /c/{id}/i/{i}/now":                 (*visit).sendNow,
		"GET /c/{id}/i/{i}/files/{file}":         (*visit).file,
		"POST /c/{id}/i/{i}/files/{file}/remove": (*visit).removeFile,
		"GET /customers":                         (*visit).customers,
		"GET /customers/{id}":                    (*visit).customer,
		"POST /customers/{id}":                   (*visit).saveCustomer,
		"POST /customers/{id}/note":              (*visit).noteCustomer,
		"GET /customers/{id}/merge":              (*visit).mergePage,
		"POST /customers/{id}/merge":             (*visit).mergeCustomers,
		"GET /customers/{id}/keys":               (*visit).customerKeysPage,
		"POST /customers/{id}/keys":              (*visit).addKey,
		"POST /customers/{id}/keys/{key}/delete": (*visit).deleteKey,
		"POST /customers/{id}/export":            (*visit).exportCustomer,
		"GET /customers/{id}/erase":              (*visit).erasePage,
		"POST /customers/{id}/erase":             (*visit).eraseCustomer,
		"GET /mailbox-sign-in/{provider}":        (*visit).signMailboxIn,
	} {
		h.mux.HandleFunc(below(pattern), h.member(fn))
	}
	h.routeSetUp()
	h.routeSettings()
	h.routeErrands()
	h.routeCompanies()
	h.routeCustomerTable()
	h.routeHelp()
	h.routeReports()
}

// routeSignIn registers the pages outside accounts: signing in, and the user's credentials.
func (h *Handler) routeSignIn() {
	for pattern, fn := range map[string]func(*visit) error{
		"GET /{$}":       (*visit).home,
		"GET /sign-in":   (*visit).signInPage,
		"POST /sign-in":  (*visit).signIn,
		"POST /sign-out": (*visit).signOut,

		"POST /sign-in/code": (*visit).signInCode,

		"GET /sign-in/with/{provider}":         (*visit).signInWith,
		"GET /sign-in/with/{provider}/done":    (*visit).signedInWith,
		"GET /mailbox-sign-in/{provider}/done": (*visit).mailboxSignedIn,
		"GET /connected":                       (*visit).connectedPage,
		"POST /connected/{provider}":           (*visit).connect,
		"POST /disconnect/{id}":                (*visit).disconnect,

		"POST /sign-in/passkey":       (*visit).signInWithPasskey,
		"POST /sign-in/passkey/begin": (*visit).beginPasskeySignIn,
		"GET /passkeys":               (*visit).passkeysPage,
		"POST /passkeys":              (*visit).addPasskey,
		"POST /passkeys/begin":        (*visit).beginPasskey,
		"POST /passkeys/{id}":         (*visit).renamePasskey,
		"POST /passkeys/{id}/remove":  (*visit).removePasskey,

		"GET /second-factor":          (*visit).factorPage,
		"POST /second-factor":         (*visit).beginFactor,
		"POST /second-factor/confirm": (*visit).confirmFactor,
		"POST /second-factor/codes":   (*visit).renewCodes,
		"POST /second-factor/remove":  (*visit).removeFactor,

		"GET /setup":                (*visit).setUpPage,
		"POST /setup":               (*visit).setUp,
		"POST /setup/token":         (*visit).takeToken,
		"GET /forgot":               (*visit).forgotPage,
		"POST /forgot":              (*visit).forgot,
		"GET /reset":                (*visit).resetPage,
		"POST /reset":               (*visit).reset,
		"GET /invitations/{token}":  (*visit).invitationPage,
		"POST /invitations/{token}": (*visit).acceptInvitation,
	} {
		h.mux.HandleFunc(pattern, h.visitor(fn))
	}
}

// below prefixes a pattern with the path of an account.
func below(pattern string) string {
	for i := range pattern {
		if pattern[i] == ' ' {
			return pattern[:i+1] + "/a/{account}" + pattern[i+1:]
		}
	}
	return "/a/{account}" + pattern
}
