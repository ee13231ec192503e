package bunstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/schema"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/search"
)

// searchTable says where the terms of a noun are stored.
type searchTable struct {
	name, id   string
	terms      string // SQLite: columns
	vocabulary string // SQLite: the list of all terms
}

var (
	customerSearch     = searchTable{"hw_customer_search", "customer_id", "s.terms", "hw_customer_vocabulary"}
	conversationSearch = searchTable{"hw_conversation_search", "conversation_id", "s.customer || ' ' || s.own", "hw_conversation_vocabulary"}
)

// hasTerms checks for each row whether it has all terms, with an expression that no planner turns into a join and that is never
// NULL.
func (r reader) hasTerms(in searchTable, terms []helpdesk.SearchTerm) filter {
	if r.store.postgres {
		return func(q bun.QueryBuilder) bun.QueryBuilder {
			return q.Where("COALESCE((SELECT s.terms @@ ?::tsquery FROM ? AS s WHERE s.account_id = ?TableName.account_id AND s.? = ?TableName.id), FALSE)",
				tsquery(terms), bun.Ident(in.name), bun.Ident(in.id))
		}
	}
	all := make([]string, len(terms))
	args := make([]any, 0, len(terms)+2)
	args = append(args, bun.Safe(in.terms), bun.Ident(in.name))
	for i, word := range terms {
		var some []string
		for _, t := range word.Any() {
			if unknown(t.Text) {
				continue
			}
			end := " "
			if t.Prefix {
				end = ""
			}
			some, args = append(some, "instr(x.terms, ?) > 0"), append(args, " "+t.Text+end)
		}
		all[i] = "(" + cmp.Or(strings.Join(some, " OR "), "FALSE") + ")"
	}
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		return q.Where("COALESCE((SELECT 1 FROM (SELECT ' ' || ? || ' ' AS terms FROM ? AS s WHERE s.rowid = ?TableName.id LIMIT 1) AS x WHERE "+
			strings.Join(all, " AND ")+"), 0) = 1", args...)
	}
}

// named restricts a PostgreSQL query to the rows that the index of terms returns, which are read first. The terms are hidden from
// the planner, which then assumes that they are rare, whatever its statistics say, and scans no table for them.
func (r reader) named(in searchTable, terms []helpdesk.SearchTerm) filter {
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		return q.Where("?TableName.id = ANY (ARRAY(SELECT s.? FROM ? AS s WHERE ?))", bun.Ident(in.id), bun.Ident(in.name), r.matching(terms))
	}
}

// matching selects from PostgreSQL's index of terms.
func (r reader) matching(terms []helpdesk.SearchTerm) schema.QueryWithArgs {
	return bun.SafeQuery("s.account_id = ? AND "+accountTerms+" @@ (SELECT ?::tsquery)", r.scope.AccountID, "'"+r.accountTerm()+"' & "+tsquery(terms))
}

// accountTerms is the expression of PostgreSQL's indexes, word for word.
const accountTerms = "(s.terms || array_to_tsvector(ARRAY['_' || s.account_id::text]))"

// tsquery builds a query as in section 8.11.2 of PostgreSQL's manual.
func tsquery(terms []helpdesk.SearchTerm) string {
	all := make([]string, len(terms))
	for i, t := range terms {
		all[i] = tsword(t.Any())
	}
	return strings.Join(all, " & ")
}

// tsword builds a query for any of some terms.
func tsword(word []search.Term) string {
	terms := make([]string, len(word))
	for i, t := range word {
		terms[i] = tsterm(t)
	}
	if len(terms) == 1 {
		return terms[0]
	}
	return "(" + strings.Join(terms, " | ") + ")"
}

var tsquoting = strings.NewReplacer(`'`, `''`, `\`, `\\`)

func tsterm(t search.Term) string {
	term := "'" + tsquoting.Replace(t.Text) + "'"
	if t.Prefix {
		term += ":*"
	}
	return term
}

// accountTerm returns the term that all rows of an account have, so that SQLite does not read those of other accounts.
func (r reader) accountTerm() string { return "_" + strconv.FormatInt(r.scope.AccountID, 10) }

// match builds a query as in section 3 of SQLite's page on FTS5. Terms are quoted, so that they contain no operators.
func (r reader) match(ctx context.Context, in searchTable, terms []helpdesk.SearchTerm) (string, error) {
	words := make([][]search.Term, len(terms))
	for i, t := range terms {
		words[i] = t.Any()
	}
	all, err := r.matchWords(ctx, in.vocabulary, words, "")
	return `"` + r.accountTerm() + `" AND ` + all, err
}

// matchWords builds a query for any of the terms of each word. It leaves out other spellings that no row has, as most are: the
// index reads a word with several terms slower than one with a single term.
func (s *querier) matchWords(ctx context.Context, vocabulary string, words [][]search.Term, mark string) (string, error) {
	known, err := s.indexedTerms(ctx, vocabulary, words, mark)
	if err != nil {
		return "", err
	}
	begun := map[search.Term]string{} // words have beginnings in common
	all := make([]string, len(words))
	for i, word := range words {
		var terms []string
		for j, t := range word {
			if j > 0 && !t.Prefix && !known[mark+t.Text] {
				continue
			}
			if begun[t] == "" {
				if begun[t], err = s.begun(ctx, vocabulary, t, mark); err != nil {
					return "", err
				}
			}
			if j == 0 || begun[t] != noTerm {
				terms = append(terms, begun[t])
			}
		}
		all[i] = "(" + strings.Join(terms, " OR ") + ")"
	}
	return strings.Join(all, " AND "), nil
}

// indexedTerms returns those of the other terms of words that the index has.
func (s *querier) indexedTerms(ctx context.Context, vocabulary string, words [][]search.Term, mark string) (map[string]bool, error) {
	var others, found []string
	for _, word := range words {
		for _, t := range word[1:] {
			if !t.Prefix && !unknown(t.Text) {
				others = append(others, mark+t.Text)
			}
		}
	}
	known := make(map[string]bool, len(others))
	if len(others) == 0 {
		return known, nil
	}
	list, err := json.Marshal(others)
	if err != nil {
		return nil, failure(ctx, err, "search", 0)
	}
	err = s.raw("SELECT o.value FROM json_each(?) AS o WHERE (SELECT 1 FROM ? AS v WHERE v.term = o.value LIMIT 1) = 1", string(list), bun.Ident(vocabulary)).Scan(ctx, &found)
	if err != nil {
		return nil, failure(ctx, err, "search", 0)
	}
	for _, term := range found {
		known[term] = true
	}
	return known, nil
}

// The index has lists for prefixes of two or three characters; for longer prefixes it would merge the lists of all matching
// words, of all accounts, before the first row.
const (
	indexedPrefix = 3
	maxBegun      = 40 // words searched for in place of a prefix
)

// begun returns a prefix term for SQLite's index, or the words that begin with it when they are few. The mark precedes all
// terms of a noun.
func (s *querier) begun(ctx context.Context, vocabulary string, t search.Term, mark string) (string, error) {
	whole := matchTerm(t, mark)
	if !t.Prefix || utf8.RuneCountInString(t.Text) <= indexedPrefix || unknown(t.Text) {
		return whole, nil
	}
	var words []string
	// The next word sorts after the last one followed by the smallest character.
	err := s.raw(`WITH RECURSIVE w (term) AS (SELECT (SELECT v.term FROM ?0 AS v WHERE v.term >= ?1 LIMIT 1)
		UNION ALL SELECT (SELECT v.term FROM ?0 AS v WHERE v.term >= w.term || '0' LIMIT 1) FROM w WHERE substr(w.term, 1, length(?1)) = ?1)
		SELECT term FROM w WHERE substr(term, 1, length(?1)) = ?1 LIMIT ?2`, bun.Ident(vocabulary), mark+t.Text, maxBegun+1).Scan(ctx, &words)
	if err != nil {
		return "", failure(ctx, err, "search", 0)
	}
	switch {
	case len(words) == 0:
		return noTerm, nil
	case len(words) > maxBegun:
		return whole, nil
	}
	return `("` + strings.Join(words, `" OR "`) + `")`, nil
}

// noTerm is a query that finds nothing.
const noTerm = `"_"`

// matchTerm returns one term with its mark.
func matchTerm(t search.Term, mark string) string {
	if unknown(t.Text) {
		return noTerm
	}
	if t.Prefix {
		return `"` + mark + t.Text + `"*`
	}
	return `"` + mark + t.Text + `"`
}

// unknown reports a term that no row has.
func unknown(term string) bool {
	return term == "" || strings.ContainsFunc(search.Unmarked(term), foreign)
}

// foreign reports a character that no term has and that the tokenizer would treat as a space.
func foreign(r rune) bool {
	return r < utf8.RuneSelf && (r < '0' || r > '9') && (r < 'a' || r > 'z')
}

// KnownTerms implements [helpdesk.SearchReader].
func (r reader) KnownTerms(ctx context.Context, terms []string) ([]string, error) {
	var known, asked, queries []string
	for _, t := range terms {
		if unknown(t) {
			continue
		}
		asked = append(asked, t)
		queries = append(queries, "'"+r.accountTerm()+"' & "+tsterm(search.Term{Text: t}))
	}
	if err := checkText(terms); err != nil || len(asked) == 0 {
		return nil, cmp.Or(err, r.state())
	}
	q := r.raw(`SELECT o.term FROM unnest(?::text[], ?::text[]) AS o (term, query) WHERE
		(SELECT 1 FROM hw_conversation_search AS s WHERE s.account_id = ? AND `+accountTerms+` @@ o.query::tsquery LIMIT 1) = 1`,
		pgdialect.Array(asked), pgdialect.Array(queries), r.scope.AccountID)
	if !r.store.postgres {
		list, err := json.Marshal(asked)
		if err != nil {
			return nil, failure(ctx, err, "search", 0)
		}
		q = r.raw(`SELECT o.value FROM json_each(?) AS o WHERE (SELECT 1 FROM hw_conversation_search AS s
			WHERE s.hw_conversation_search MATCH ? || o.value || '"' LIMIT 1) = 1`, string(list), `"`+r.accountTerm()+`" AND "`)
	}
	err := q.Scan(ctx, &known)
	slices.Sort(known)
	return slices.Compact(known), failure(ctx, err, "search", 0)
}

// PassagesByID implements [helpdesk.SearchReader] with a part of a statement for each conversation, which reads an index from its
// end.
func (r reader) PassagesByID(ctx context.Context, conversationIDs []int64, n int) ([]helpdesk.Passage, error) {
	ids := slices.Compact(slices.Sorted(slices.Values(conversationIDs)))
	if len(ids) == 0 || n <= 0 {
		return nil, r.state()
	}
	var all schema.QueryWithArgs
	for i, id := range ids {
		one := bun.SafeQuery("SELECT * FROM (?) AS p", r.selects((*interactionRow)(nil)).Column("conversation_id", "subject").
			ColumnExpr("?TableName.id AS interaction_id").ColumnExpr("substr(?TableName.body, 1, ?) AS body", helpdesk.MaxSearchText).
			ApplyQueryBuilder(r.ofConversation).Where("?TableName.conversation_id = ?", id).Where("?TableName.status <> 'draft'").
			OrderExpr("?TableName.at DESC, ?TableName.id DESC").Limit(int64(n)))
		if all = bun.SafeQuery("? UNION ALL ?", all, one); i == 0 {
			all = one
		}
	}
	var found []helpdesk.Passage
	err := r.db.NewSelect().Conn(r.conn()).Err(r.state()).TableExpr("(?) AS u", all).Scan(ctx, &found)
	return found, failure(ctx, err, "search", 0)
}

// SearchTerms implements [helpdesk.SearchIndex].
func (w writer) SearchTerms(ctx context.Context, conversationID int64) ([]string, error) {
	own, join := bun.SafeQuery("COALESCE(s.own, '')"), "s.rowid = hw_conversations.id"
	if w.store.postgres {
		own = bun.SafeQuery("COALESCE(array_to_string(tsvector_to_array(s.own), ' '), '')")
		join = "s.account_id = hw_conversations.account_id AND s.conversation_id = hw_conversations.id"
	}
	var terms string
	q := w.selects((*conversationRow)(nil)).ColumnExpr("?", own).ApplyQueryBuilder(w.conversationsInScope).
		Join("LEFT JOIN hw_conversation_search AS s ON "+join).Where("hw_conversations.id = ?", conversationID)
	if err := q.Scan(ctx, &terms); err != nil {
		return nil, failure(ctx, err, "conversation", conversationID)
	}
	return strings.Fields(terms), nil
}

// SetSearchTerms implements [helpdesk.SearchIndex]. On PostgreSQL it locks the customer's terms until the conversation has
// them, so that a concurrent change to them finds the conversation.
func (w writer) SetSearchTerms(ctx context.Context, conversationID int64, terms []string) error {
	if err := checkText(terms); err != nil {
		return err
	}
	within := bun.SafeQuery("")
	if w.scope.Mailboxes != nil {
		within = bun.SafeQuery("AND c.mailbox_id IN (?)", bun.List(w.scope.Mailboxes))
	}
	if !w.store.postgres {
		w.store.unmerged.Store(true)
		var customer string
		err := w.raw(`SELECT COALESCE((SELECT s.terms FROM hw_customer_search AS s WHERE s.rowid = c.customer_id), '')
			FROM hw_conversations AS c WHERE c.account_id = ? AND c.id = ? ?`, w.scope.AccountID, conversationID, within).Scan(ctx, &customer)
		if err != nil {
			return failure(ctx, err, "conversation", conversationID)
		}
		_, err = w.raw("INSERT OR REPLACE INTO hw_conversation_search (rowid, account, customer, own) VALUES (?, ?, ?, ?)",
			conversationID, w.accountTerm(), customer, strings.Join(terms, " ")).Exec(ctx)
		return failure(ctx, err, "conversation", conversationID)
	}
	q := w.raw(`INSERT INTO hw_conversation_search (account_id, conversation_id, customer, own)
		SELECT c.account_id, c.id, COALESCE((SELECT s.terms FROM hw_customer_search AS s
			WHERE s.account_id = c.account_id AND s.customer_id = c.customer_id FOR SHARE), ''), array_to_tsvector(?::text[])
		FROM hw_conversations AS c WHERE c.account_id = ? AND c.id = ? ?
		ON CONFLICT (account_id, conversation_id) DO UPDATE SET customer = excluded.customer, own = excluded.own`,
		pgdialect.Array(termsOf(terms)), w.scope.AccountID, conversationID, within)
	res, err := q.Exec(ctx)
	return changed(ctx, res, err, "conversation", conversationID)
}

// termsOf never returns nil, which would be NULL.
func termsOf(terms []string) []string { return append([]string{}, terms...) }

// SetCustomerTerms implements [helpdesk.SearchIndex].
func (w writer) SetCustomerTerms(ctx context.Context, customerID int64, terms []string) error {
	if err := checkText(terms); err != nil {
		return err
	}
	account := w.scope.AccountID
	if !w.store.postgres {
		return w.setCustomerTerms(ctx, customerID, strings.Join(terms, " "))
	}
	array := pgdialect.Array(termsOf(terms))
	var first int // whether these are the customer's first terms
	err := w.raw(`WITH made AS (INSERT INTO hw_customer_search (account_id, customer_id, terms)
		SELECT c.account_id, c.id, array_to_tsvector(?::text[]) FROM hw_customers AS c WHERE c.account_id = ? AND c.id = ?
		ON CONFLICT (account_id, customer_id) DO NOTHING RETURNING customer_id)
		SELECT COUNT(*) FROM made`, array, account, customerID).Scan(ctx, &first)
	if err != nil || first > 0 {
		return failure(ctx, err, "customer", customerID)
	}
	return w.replaceCustomerTerms(ctx, customerID, array)
}

// SpreadCustomerTerms implements [helpdesk.SearchIndex].
func (w writer) SpreadCustomerTerms(ctx context.Context, customerID int64, conversationIDs []int64) error {
	if len(conversationIDs) == 0 {
		return w.requireAccount(ctx)
	}
	if !w.store.postgres {
		return w.spreadCustomerTerms(ctx, customerID, conversationIDs)
	}
	res, err := w.raw(`WITH own AS (SELECT terms FROM hw_customer_search WHERE account_id = ?0 AND customer_id = ?1 FOR SHARE)
		UPDATE hw_conversation_search AS s SET customer = own.terms FROM own CROSS JOIN hw_conversations AS c
		WHERE c.account_id = ?0 AND c.customer_id = ?1 AND c.id IN (?2)
		AND s.account_id = ?0 AND s.conversation_id = c.id AND s.customer <> own.terms`, w.scope.AccountID, customerID, bun.List(conversationIDs)).Exec(ctx)
	if err != nil {
		return failure(ctx, err, "customer", customerID)
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		return failure(ctx, err, "customer", customerID)
	}
	return w.requireAccount(ctx)
}

// replaceCustomerTerms replaces the terms of a customer, unless they are the same: then it locks nothing that others read.
func (w writer) replaceCustomerTerms(ctx context.Context, customerID int64, array any) error {
	var same bool
	err := w.raw("SELECT terms = array_to_tsvector(?::text[]) FROM hw_customer_search WHERE account_id = ? AND customer_id = ?",
		array, w.scope.AccountID, customerID).Scan(ctx, &same)
	if err != nil || same {
		return failure(ctx, err, "customer", customerID)
	}
	_, err = w.raw("UPDATE hw_customer_search SET terms = array_to_tsvector(?::text[]) WHERE account_id = ? AND customer_id = ?",
		array, w.scope.AccountID, customerID).Exec(ctx)
	return failure(ctx, err, "customer", customerID)
}

// setCustomerTerms is SetCustomerTerms on SQLite. A statement that may change several rows, or that selects what it writes,
// makes FTS5 flush everything it holds in memory.
func (w writer) setCustomerTerms(ctx context.Context, customerID int64, terms string) error {
	w.store.unmerged.Store(true)
	var found int64
	err := w.selectCustomers().Column("id").Where("id = ?", customerID).Scan(ctx, &found)
	if err != nil {
		return failure(ctx, err, "customer", customerID)
	}
	_, err = w.raw("INSERT OR REPLACE INTO hw_customer_search (rowid, account, terms) VALUES (?, ?, ?)",
		customerID, w.accountTerm(), terms).Exec(ctx)
	return failure(ctx, err, "customer", customerID)
}

// spreadCustomerTerms is SpreadCustomerTerms on SQLite.
func (w writer) spreadCustomerTerms(ctx context.Context, customerID int64, conversationIDs []int64) error {
	w.store.unmerged.Store(true)
	var terms string
	err := w.raw(`SELECT COALESCE(s.terms, '') FROM hw_customers AS c LEFT JOIN hw_customer_search AS s ON s.rowid = c.id
		WHERE c.account_id = ? AND c.id = ?`, w.scope.AccountID, customerID).Scan(ctx, &terms)
	if errors.Is(err, sql.ErrNoRows) {
		return w.requireAccount(ctx)
	}
	if err != nil {
		return failure(ctx, err, "customer", customerID)
	}
	_, err = w.raw(`UPDATE hw_conversation_search SET customer = ?0 WHERE customer <> ?0 AND rowid IN
		(SELECT c.id FROM hw_conversations AS c NOT INDEXED WHERE c.account_id = ?1 AND c.customer_id = ?2 AND c.id IN (?3))`,
		terms, w.scope.AccountID, customerID, bun.List(conversationIDs)).Exec(ctx)
	if err == nil && len(conversationIDs) >= manyTexts {
		err = w.mergeSome(ctx, "hw_conversation_search")
	}
	return failure(ctx, err, "customer", customerID)
}

// CustomerForUpdate implements [helpdesk.RowLocks].
func (w writer) CustomerForUpdate(ctx context.Context, id int64) (helpdesk.Customer, error) {
	if w.store.postgres { // SQLite has a single writer
		var found int64
		q := w.selects((*customerRow)(nil)).Column("id").ApplyQueryBuilder(w.account).Where("id = ?", id)
		if err := w.forChange(q).Scan(ctx, &found); err != nil { // only transactions that are alone delete customers
			return helpdesk.Customer{}, failure(ctx, err, "customer", id)
		}
	}
	return w.Customer(ctx, id)
}

// MoveCustomer implements [helpdesk.CustomerMover].
func (w writer) MoveCustomer(ctx context.Context, from, into int64) error {
	for _, id := range slices.Sorted(slices.Values([]int64{from, into})) { // always in the same order, to prevent deadlocks
		if _, err := w.CustomerForUpdate(ctx, id); err != nil {
			return err
		}
	}
	if from == into {
		return nil
	}
	account := w.scope.AccountID
	for _, table := range []string{
		"hw_customer_emails", "hw_customer_phones", "hw_customer_websites", "hw_conversations", "hw_interactions",
	} {
		_, err := w.raw("UPDATE ? SET customer_id = ? WHERE account_id = ? AND customer_id = ?",
			bun.Ident(table), into, account, from).Exec(ctx)
		if err != nil {
			return failure(ctx, err, "customer", from)
		}
	}
	res, err := w.deletes((*customerRow)(nil)).ApplyQueryBuilder(w.account).Where("id = ?", from).Exec(ctx)
	if err != nil {
		return inUse(ctx, err, "customer", from)
	}
	return changed(ctx, res, nil, "customer", from)
}

// MoveSome implements [helpdesk.CustomerMover].
func (w writer) MoveSome(ctx context.Context, from, into int64, n int) (moved bool, err error) {
	for _, id := range slices.Sorted(slices.Values([]int64{from, into})) {
		if _, err := w.CustomerForUpdate(ctx, id); err != nil {
			return false, err
		}
	}
	if from == into {
		return false, nil
	}
	return w.changeSome(ctx, "customer_id", []int64{from}, into, n)
}

// changeSome sets a column of about n conversations and interactions that have one of some values, if there are more, and
// reports whether there were.
func (w writer) changeSome(ctx context.Context, column string, from []int64, to any, n int) (changed bool, err error) {
	for _, table := range []string{"hw_conversations", "hw_interactions"} {
		which := w.raw("account_id = ? AND ? IN (?)", w.scope.AccountID, bun.Ident(column), bun.List(from))
		more, err := w.moreThan(ctx, n, table, which)
		if err != nil {
			return false, err
		}
		if !more {
			continue
		}
		err = w.some(ctx, table, "id", which, n, func(those *bun.RawQuery) *bun.RawQuery {
			return w.raw("UPDATE ? SET ? = ? WHERE account_id = ? AND ?", bun.Ident(table), bun.Ident(column), to, w.scope.AccountID, those)
		})
		if err != nil {
			return false, failure(ctx, err, "customer", 0)
		}
		changed = true
	}
	return changed, nil
}
