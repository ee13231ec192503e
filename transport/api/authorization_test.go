package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/transport"
)

// public lists the operations that work without a token. Another one is a decision to be made here.
var public = []string{"openapi", "asyncapi", "docs", "login", "acceptInvitation", "getRemoteImage", "getSeenImage",
	"listCollections", "getCollection", "listCategories", "getCategory", "listArticles", "getArticle", "listAnswers",
	"createArticleFeedback", "createArticleReaction", "getSiteFileContent", "getThemeAsset"}

// free lists the operations that every member may use, whatever the roles.
var free = []string{"listLanguages", "listIdentityProviders", "getUser", "getOwnMembership", "getNotificationSettings", "updateNotificationSettings", "listTokens", "logout", "getPicture"}

// above lists the operations that are in no account.
var above = []string{
	"openapi", "asyncapi", "docs", "getUser", "listAccounts", "createAccount", "listLanguages",
	"updateUser", "listTokens", "createToken", "deleteToken", "logout", "setPicture", "deletePicture",
	"listIdentityProviders", "listIdentities", "removeIdentity", "listPasskeys", "updatePasskey", "removePasskey",
}

// valid has a body that passes for every operation that takes one. An operation that is not here or in bodiless fails the
// test.
var valid = map[string]string{
	"updatePasskey":             "name=Laptop",
	"followEvents":              "channel=accounts.{account_id}",
	"createAccount":             "name=X",
	"updateAccount":             "name=X",
	"createMailbox":             "name=X",
	"updateMailbox":             "name=X",
	"backfillMailbox":           "since=2020-01-01T00:00:00Z",
	"createCustomer":            "first_name=X",
	"updateCustomer":            "first_name=X",
	"mergeCustomer":             "into=1099511627776",
	"createConversation":        "channel=email&to=x@example.com",
	"updateConversation":        "subject=X",
	"deleteConversations":       "conversations[]={conversation_id}",
	"createInteraction":         "type=note&body=X",
	"updateInteraction":         "body=X",
	"createAttachment":          "--cut\nContent-Disposition: form-data; name=\"file\"; filename=\"x.txt\"\n\nX\n--cut--\n",
	"setPicture":                "--cut\nContent-Disposition: form-data; name=\"file\"; filename=\"x.gif\"\nContent-Type: image/gif\n\n" + tinyGIF + "\n--cut--\n",
	"createSavedReplyFile":      "--cut\nContent-Disposition: form-data; name=\"file\"; filename=\"x.txt\"\n\nX\n--cut--\n",
	"createDomain":              "domain=example.com",
	"updateDomain":              "domain=example.com",
	"createPGPKey":              "name=X&customer_email_id={email_id}&content=" + adaKey(),
	"updatePGPKey":              "name=X",
	"createTag":                 "tag=X",
	"updateTag":                 "tag=X",
	"createField":               "label=Plan&applies_to=conversation&type=text",
	"updateField":               "label=Plan",
	"setConversationTags":       "tags[]={tag_id}",
	"addConversationTags":       "tags[]={tag_id}",
	"removeConversationTags":    "tags[]={tag_id}",
	"createJoinRule":            "domain=example.org&roles[]={role_id}",
	"updateJoinRule":            "domain=acme.example&roles[]={role_id}",
	"createCalendar":            "name=X&timezone=UTC&week[mon][0][from]=09:00&week[mon][0][to]=17:00",
	"updateCalendar":            "name=X",
	"createAutoReply":           "name=X&translations[en][body]=X",
	"updateAutoReply":           "name=X",
	"createRule":                "name=X&on[]=interaction.created&actions[0][type]=set_priority&actions[0][value]=high",
	"updateRule":                "name=X",
	"orderRules":                "rules[]={rule_id}",
	"createSLA":                 "name=X&first_reply=60",
	"updateSLA":                 "name=X",
	"createSurvey":              "name=X&translations[en][body]=X",
	"updateSurvey":              "name=X",
	"recordRating":              "score=1",
	"createRetentionPolicy":     "name=X&after_days=9&action=delete",
	"updateRetentionPolicy":     "name=X",
	"previewNewRetentionPolicy": "after_days=9&action=delete",
	"holdConversation":          "held=true",
	"orderSLAs":                 "slas[]={sla_id}",
	"testRule":                  "conversation_id={conversation_id}",
	"replayRule":                "rule_id={rule_id}",
	"importCustomers":           "--cut\nContent-Disposition: form-data; name=\"file\"; filename=\"x.csv\"\n\nemail\n--cut--\n",
	"listReportRows":            "measure=created",
	"listSearches":              "site_id=1",
	"startCustomerImport":       "dry_run=1",
	"createCompany":             "name=X",
	"updateCompany":             "name=X",
	"mergeCompany":              "into={other_company_id}",
	"createTeam":                "name=X",
	"updateTeam":                "name=X",
	"addTeamMembers":            "users[]={owner_id}",
	"removeTeamMembers":         "users[]={owner_id}",
	"createView":                "name=X&filter[agent]=me",
	"updateView":                "name=X&filter[agent]=me",
	"updateConversations":       "conversations[]={conversation_id}",
	"mergeConversation":         "into={other_id}",
	"applyMacro":                "saved_reply_id={saved_reply_id}",

	"applyMacroToConversations": "conversations[]={conversation_id}&saved_reply_id={saved_reply_id}",
	"splitConversation":         "interaction={later_id}",
	"rethreadInteraction":       "conversation={other_id}",
	"updateMembership":          "roles[]={role_id}",
	"updateAvailability":        "force_offline=1&while_in_app=0&use_schedule=0",
	"createRole":                "name=X",
	"updateRole":                "name=X",
	"createInvitation":          "email=x@example.org&roles[]={role_id}",
	"acceptInvitation":          "name=X&password=password",
	"updateUser":                "name=X",
	"createToken":               "name=X",
	"login":                     "email=x@example.org&password=password",
	"createSuppression":         "email=x@example.org",
	"createBlockedSender":       "sender=x@spam.example",
	"setPresence":               "doing=reading",
	"listPresence":              "conversation_id[]={conversation_id}",
	"createSavedReply":          "name=X&body=x&is_shared=1",
	"updateSavedReply":          "name=X&body=x&is_shared=1",
	"updateSignature":           "body=x",
	"createPortalKey":           "name=X&algorithm=HS256",
	"createWebhook":             "url=https://example.org&events[]=*",
	"updateWebhook":             "is_active=0",
	"createSite":                "account_id={account_id}&name=X",
	"listSites":                 "account_id={account_id}",
	"createSiteFile":            "--cut\nContent-Disposition: form-data; name=\"file\"; filename=\"x.txt\"\n\nX\n--cut--\n",
	"updateSiteFile":            "filename=x.txt",
	"createTheme":               "name=X",
	"uploadTheme":               "--cut\nContent-Disposition: form-data; name=\"zip\"; filename=\"x.zip\"\n\nX\n--cut--\n",
	"putThemeFile":              "content=eA==",
	"updateSite":                "account_id={account_id}&name=X",
	"updateSiteSearch":          "synonyms[0][0]=X&synonyms[0][1]=y",
	"createCollection":          "source_locale=en&translations[en][name]=X",
	"updateCollection":          "source_locale=en&collection_id={collection_id}",
	"createCategory":            "source_locale=en&collection_id={collection_id}&translations[en][name]=X",
	"updateCategory":            "source_locale=en&collection_id={collection_id}&category_id={category_id}",
	"createArticle":             "source_locale=en&collection_id={collection_id}&translations[en][title]=X&translations[en][content]=X",
	"updateArticle":             "source_locale=en&collection_id={collection_id}",
	"updateDraft":               "source_locale=en&collection_id={collection_id}",
	"createArticleFeedback":     "article_id={article_id}&feedback=X",
	"createArticleReaction":     "reaction=positive",
	"updateArticleFeedback":     "is_done=true",
}

var bodiless = []string{
	"openapi", "asyncapi", "getUser", "listAccounts", "getAccount", "deleteAccount", "getOwnMembership",
	"testMailbox", "testMailboxOutbound", "reconcileMailbox",
	"listMailboxes", "getMailbox", "deleteMailbox", "getMailboxStatus", "listFailures", "getFailure", "getRawMail", "replayMail", "ignoreMail", "replayMails",
	"listCustomers", "getCustomer", "deleteCustomer", "listCustomerConversations", "exportCustomer",
	"listConversations", "searchConversations", "getConversation", "listConversationHistory", "deleteConversation", "getContext", "getCounts", "getMailHealth",
	"listInteractions", "getInteraction", "getThreading", "deleteInteraction",
	"listAttachments", "getAttachment", "deleteAttachment", "getAttachmentContent",
	"listDomains", "getDomain", "deleteDomain", "verifyDomain",
	"listPGPKeys", "getPGPKey", "deletePGPKey",
	"docs",
	"exportCustomers", "getCustomerImport", "stopCustomerImport", "deleteCustomerImport", "getCustomerImportReport",
	"listCompanies", "getCompany", "deleteCompany",
	"listTeams", "getTeam", "deleteTeam", "listTeamQueue", "listTeamMembers",
	"listCalendars", "getCalendar", "deleteCalendar", "listAutoReplies", "getAutoReply", "deleteAutoReply", "listRetentionPolicies", "getRetentionPolicy", "deleteRetentionPolicy", "previewRetentionPolicy", "listSurveys", "getSurvey", "deleteSurvey", "listRatings", "exportReportTable", "exportReportLines", "getReport", "listRules", "getRule", "deleteRule", "listRuleRuns", "getReplay", "listReplayedConversations", "deleteReplay", "listSLAs", "getSLA", "deleteSLA",
	"listFields", "listFormFields", "getField", "deleteField", "listTags", "getTag", "deleteTag", "listViews", "getView", "deleteView", "readConversation", "unreadConversation",
	"listMemberships", "getMembership", "deleteMembership", "getAvailability", "listRoles", "getRole", "deleteRole",
	"listEvents",
	"listInvitations", "deleteInvitation", "listTokens", "deleteToken", "logout",
	"listDeliveries", "retryDeliveries", "cancelInteraction", "getInteractionSource", "listSuppressions", "getSuppression", "deleteSuppression", "eraseCustomer", "listErasures", "listBlockedSenders", "getBlockedSender", "deleteBlockedSender",
	"listNotifications", "countNotifications", "readNotifications", "getNotificationSettings", "updateNotificationSettings",
	"listFollowers", "followConversation", "unfollowConversation", "listMentionable",
	"getSignature", "listSavedReplies", "getSavedReply", "deleteSavedReply", "fillSavedReply",
	"listSavedReplyFiles", "getSavedReplyFile", "deleteSavedReplyFile", "getSavedReplyFileContent", "attachSavedReplyFiles",
	"getRemoteImage", "getSeenImage",
	"listAuditLog", "listLanguages", "deletePicture", "getPicture",
	"disableMember", "enableMember", "resetSecondFactor", "removeMemberIdentities", "removeMemberPasskeys",
	"listJoinRules", "getJoinRule", "deleteJoinRule", "listIdentityProviders", "listIdentities", "removeIdentity", "listPasskeys", "removePasskey",
	"listBuriedJobs", "retryBuriedJob", "dropBuriedJob",
	"listPortalKeys", "deletePortalKey",
	"listWebhooks", "getWebhook", "deleteWebhook", "rotateWebhookSecret", "listWebhookDeliveries", "redeliverWebhook",
	"listAccountSites", "getSite", "getSiteSearch", "deleteSite",
	"listSiteFiles", "getSiteFile", "deleteSiteFile", "getSiteFileContent",
	"listThemes", "getTheme", "deleteTheme", "updateTheme", "activateTheme", "downloadTheme",
	"listThemeFiles", "getThemeFile", "deleteThemeFile", "getThemeAsset",
	"listCollections", "getCollection", "deleteCollection", "listCategories", "getCategory", "deleteCategory",
	"listArticles", "listAnswers", "getArticle", "deleteArticle", "getDraft", "deleteDraft", "listRevisions", "getRevision", "restoreRevision",
	"listArticleFeedback", "getArticleFeedback", "deleteArticleFeedback",
}

// settled is a world in which there is one of everything; it returns their ids by the names of the path parameters.
func settled(t testing.TB, w *world) map[string]string {
	t.Helper()
	created := func(path, body string, header ...string) int64 {
		if len(header) == 0 {
			header = []string{"Content-Type", "application/x-www-form-urlencoded"}
		}
		var out struct {
			ID   int64
			Data struct{ ID int64 }
		}
		if err := json.Unmarshal(w.must(t, "POST", path, body, header...).Body.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
		return max(out.ID, out.Data.ID)
	}
	account := "/accounts/" + strconv.FormatInt(w.account.ID, 10)
	mailbox := created(account+"/mailboxes", "name=Support&email=support@acme.example")
	mail, err := w.svc.Intake().File(t.Context(), w.account.ID, w.receive(t, mailbox, "Help"), ledger.Incoming{
		Message: message.Message{
			From: []mailaddr.Address{{Email: "ada@example.com"}}, Text: "Help",
		}, Identity: []byte("Help"),
	})
	if err != nil {
		t.Fatal(err)
	}
	conversation, interaction := mail.ConversationID, mail.InteractionID
	other := created(account+"/conversations", "channel=email&to=ada@example.com")
	tag := created(account+"/conversation-tags", "tag=Urgent")
	field := created(account+"/fields", "label=Tier&applies_to=conversation&type=text")
	view := created(account+"/conversation-views", "name=Mine&filter[agent]=me")
	in := account + "/conversations/" + strconv.FormatInt(conversation, 10) + "/interactions"
	later := created(in, "type=customer&body=Help!")
	attachment := created(in+"/"+strconv.FormatInt(interaction, 10)+"/attachments",
		strings.ReplaceAll(valid["createAttachment"], "\n", "\r\n"), "Content-Type", "multipart/form-data; boundary=cut")
	failure := w.receive(t, mailbox, "broken")
	if err := w.svc.Intake().Quarantine(t.Context(), w.account.ID, failure, "broken"); err != nil {
		t.Fatal(err)
	}
	d := w.desk(t)
	customers, err := d.Customers().List(t.Context(), helpdesk.CustomerQuery{}, transport.Paging{}.Request())
	if err != nil || len(customers.Items) != 1 {
		t.Fatal(customers, err)
	}
	customer := customers.Items[0]
	second := created(account+"/customers", "first_name=Bob")
	domain := created(account+"/domains", "domain=example.org")
	email := customer.Emails[0].ID
	key := created(account+"/customers/"+strconv.FormatInt(customer.ID, 10)+"/pgp-public-keys",
		"customer_email_id="+strconv.FormatInt(email, 10)+"&content="+adaKey())
	ids := map[string]string{}
	for name, id := range map[string]int64{
		"account_id": w.account.ID, "mailbox_id": mailbox, "conversation_id": conversation, "interaction_id": interaction,
		"attachment_id": attachment, "failure_id": failure, "customer_id": customer.ID,
		"domain_id": domain, "key_id": key, "email_id": email,
		"later_id": later, "tag_id": tag, "field_id": field, "view_id": view, "other_id": other, "second_id": second,
	} {
		ids[name] = strconv.FormatInt(id, 10)
	}
	ids["suppression_id"] = strconv.FormatInt(created(account+"/suppressions", "email=gone@example.org"), 10)
	ids["job_id"] = strconv.FormatInt(w.bury(t, "webhook.send", 3), 10)
	ids["team_id"] = strconv.FormatInt(created(account+"/teams", "name=Sales"), 10)
	ids["calendar_id"] = strconv.FormatInt(created(account+"/calendars", "name=Office&timezone=UTC&week[mon][0][from]=09:00&week[mon][0][to]=17:00"), 10)
	ids["auto_reply_id"] = strconv.FormatInt(created(account+"/auto-replies", "name=Thanks&translations[en][body]=Thanks"), 10)
	ids["rule_id"] = strconv.FormatInt(created(account+"/rules", "name=VIP&on[]=interaction.created&actions[0][type]=set_priority&actions[0][value]=high"), 10)
	ids["replay_id"] = strconv.FormatInt(created(account+"/rules/replay", "rule_id="+ids["rule_id"]), 10)
	ids["retention_policy_id"] = strconv.FormatInt(created(account+"/retention-policies", "name=Old&after_days=9&action=delete"), 10)
	ids["report"] = "volume"
	ids["survey_id"] = strconv.FormatInt(created(account+"/surveys", "name=Stars&translations[en][body]=Well"), 10)
	ids["sla_id"] = strconv.FormatInt(created(account+"/slas", "name=Gold&first_reply=60"), 10)
	ids["company_id"] = strconv.FormatInt(created(account+"/companies", "name=Acme"), 10)
	ids["other_company_id"] = strconv.FormatInt(created(account+"/companies", "name=Other"), 10)
	w.imported(t)
	ids["owner_id"] = strconv.FormatInt(w.desk(t).UserID(), 10)
	ids["blocked_sender_id"] = strconv.FormatInt(created(account+"/blocked-senders", "sender=spam.example"), 10)
	ids["saved_reply_id"] = strconv.FormatInt(created(account+"/saved-replies", "name=Thanks&body=x&is_shared=1&actions[0][type]=set_priority&actions[0][value]=high"), 10)
	ids["reply_file_id"] = strconv.FormatInt(created(account+"/saved-replies/"+ids["saved_reply_id"]+"/files",
		strings.ReplaceAll(valid["createSavedReplyFile"], "\n", "\r\n"), "Content-Type", "multipart/form-data; boundary=cut"), 10)
	w.settlePeople(t, ids)
	w.fetch = func(context.Context, string) (helpdesk.RemoteImage, error) {
		return helpdesk.RemoteImage{ContentType: "image/gif", Content: []byte(onePixel)}, nil
	}
	note := created(account+"/conversations/"+ids["other_id"]+"/interactions", `type=note&body=<img src="https://x.example/x.gif">`)
	shown := w.shown(t, "GET", fmt.Sprintf("%s/conversations/%s/interactions/%d?remote_images=proxy", account, ids["other_id"], note), "")
	_, ids["image_token"], _ = strings.Cut(src(t, shown.Body, "src"), "/image-proxy/")
	ids["portal_key_id"] = strconv.FormatInt(created(account+"/portal-keys", "name=App&algorithm=HS256"), 10)
	ids["seen_token"] = "unknown"
	ids["webhook_id"] = strconv.FormatInt(created(account+"/webhooks", "url=https://example.org&events[]=*"), 10)
	w.must(t, "POST", account+"/conversation-tags", "tag=Delivered", "Content-Type", "application/x-www-form-urlencoded")
	w.deliver(t, 204)
	ids["delivery_id"] = w.firstDelivery(t, account+"/webhooks/"+ids["webhook_id"]+"/deliveries")
	w.settleSite(t, ids)
	w.settleFiles(t, ids)
	return ids
}

// ask sends the request of an operation for the objects with ids.
func (w *world) ask(t testing.TB, who string, r transport.Route, ids map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	path, body, kind := w.wants(t, r, ids)
	return w.do(t, who, r.Method, path, body, "Content-Type", kind)
}

// request builds the request of ask.
func (w *world) request(t testing.TB, who string, r transport.Route, ids map[string]string) *http.Request {
	t.Helper()
	path, body, kind := w.wants(t, r, ids)
	req := httptest.NewRequest(r.Method, "/api/v1"+path, strings.NewReader(body))
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Authorization", "Bearer "+w.tokens[who])
	return req
}

// wants has the parameters of an operation for the objects with ids.
func (w *world) wants(t testing.TB, r transport.Route, ids map[string]string) (path, body, kind string) {
	t.Helper()
	fill := func(s string) string {
		return pathParam.ReplaceAllStringFunc(s, func(p string) string {
			id := ids[strings.Trim(p, "{.}")]
			if id == "" {
				t.Fatalf("%s: no id for %s", r.ID, p)
			}
			return id
		})
	}
	body, kind = fill(valid[r.ID]), "application/x-www-form-urlencoded"
	if strings.HasPrefix(body, "--cut") {
		body, kind = strings.ReplaceAll(body, "\n", "\r\n"), "multipart/form-data; boundary=cut"
	}
	path = fill(r.Path)
	if r.Method == http.MethodGet && body != "" {
		path, body = path+"?"+body, ""
	}
	return path, body, kind
}

func problem(t testing.TB, rec *httptest.ResponseRecorder) transport.Problem {
	t.Helper()
	var p transport.Problem
	if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil {
		t.Fatalf("%d %s: %v", rec.Code, rec.Body, err)
	}
	p.RequestID = ""
	return p
}

// Every operation refuses requests without a token, members without the permission, and strangers, and a refused request
// changes nothing.
func TestAuthorization(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			ids := settled(t, w)
			absent := maps.Clone(ids)
			absent["account_id"], absent["site_id"] = "999999", "999999"
			foreign := maps.Clone(ids)
			foreign["account_id"] = strconv.FormatInt(w.account.ID+1, 10) // the stranger's own
			foreign["site_id"] = ids["stranger_site"]
			foreign["report"] = "none" // every account has the others
			for _, r := range w.table.Routes() {
				if _, ok := valid[r.ID]; !ok && !slices.Contains(bodiless, r.ID) {
					t.Fatalf("operation %s is not covered", r.ID)
				}
				if slices.Contains(public, r.ID) != r.Public {
					t.Errorf("%s: public is %v", r.ID, r.Public)
				}
				if r.Public {
					continue
				}
				w.refuse(t, r, ids)
				if slices.Contains(above, r.ID) {
					continue
				}
				rec := w.ask(t, "stranger", r, ids)
				if rec.Code != http.StatusNotFound {
					t.Errorf("%s as a stranger: %d %s", r.ID, rec.Code, rec.Body)
				} else if diff := cmp.Diff(problem(t, w.ask(t, "stranger", r, absent)), problem(t, rec)); diff != "" {
					t.Errorf("%s tells what does not exist from what is another's: %s", r.ID, diff)
				}
				if len(r.Params()) < 2 {
					continue
				}
				if rec := w.ask(t, "stranger", r, foreign); rec.Code != http.StatusNotFound {
					t.Errorf("%s with the ids of another account: %d %s", r.ID, rec.Code, rec.Body)
				}
			}
			w.intact(t, ids)
		})
	}
}

// refuse checks requests without a token, with a wrong one, and without the permission.
func (w *world) refuse(t *testing.T, r transport.Route, ids map[string]string) {
	t.Helper()
	for who, challenge := range map[string]string{"": "Bearer", "unknown": `Bearer error="invalid_token"`} {
		rec := w.ask(t, who, r, ids)
		if rec.Code != http.StatusUnauthorized || rec.Header().Get("WWW-Authenticate") != challenge {
			t.Errorf("%s as %q: %d %s", r.ID, who, rec.Code, rec.Header().Get("WWW-Authenticate"))
		}
	}
	want := http.StatusForbidden
	if slices.Contains(free, r.ID) {
		want = r.Status
	}
	if rec := w.ask(t, "powerless", r, ids); rec.Code != want {
		t.Errorf("%s without permissions: %d %s", r.ID, rec.Code, rec.Body)
	}
}

// intact checks that the owner still finds everything.
func (w *world) intact(t *testing.T, ids map[string]string) {
	t.Helper()
	for _, r := range w.table.Routes() {
		if r.Method == http.MethodGet && !r.Public && r.Shape != transport.Events { // which would not end
			if rec := w.ask(t, "owner", r, ids); rec.Code != http.StatusOK {
				t.Errorf("%s as the owner: %d %s", r.ID, rec.Code, rec.Body)
			}
		}
	}
}

// A member limited to some mailboxes cannot reach objects in others by any id.
func TestMailboxScope(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			ids := settled(t, w)
			w.limit(t, 1<<40)
			for _, r := range w.table.Routes() {
				scoped := slices.ContainsFunc(r.Params(), func(p string) bool { return p == "mailbox_id" || p == "conversation_id" })
				if !scoped && !slices.Contains([]string{"deleteConversations", "updateConversations", "applyMacroToConversations"}, r.ID) {
					continue
				}
				want := http.StatusNotFound
				if !scoped { // the body names it
					want = http.StatusUnprocessableEntity
				}
				if rec := w.ask(t, "owner", r, ids); rec.Code != want {
					t.Errorf("%s: %d %s", r.ID, rec.Code, rec.Body)
				}
			}
			for _, path := range []string{"mailboxes", "conversations"} {
				if rec := w.must(t, "GET", "/accounts/"+ids["account_id"]+"/"+path, ""); rec.Body.String() != `{"data":[]}` {
					t.Errorf("%s: %s", path, rec.Body)
				}
			}
		})
	}
}

// limit makes the owner a member of one mailbox only.
func (w *world) limit(t testing.TB, mailboxID int64) {
	t.Helper()
	m, err := w.desk(t).Membership(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m.MailboxIDs = []int64{mailboxID}
	err = w.store.InTx(t.Context(), helpdesk.Scope{AccountID: w.account.ID}, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.Memberships().Update(ctx, &m)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// tinyGIF is an image without a line feed, which a form would change.
const tinyGIF = "GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
