package bunstore

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/search"
)

// searchTable is where the terms of a noun are.
type searchTable struct{ name, id string }

var (
	customerSearch     = searchTable{"hw_customer_search", "customer_id"}
	conversationSearch = searchTable{"hw_conversation_search", "conversation_id"}
)

// fewHits is how many rows SQLite reads and sorts for a search. Of more it reads the list's own index, which has the
// first of them soon, and looks whether the rows are among those found.
const fewHits = 500

// found keeps a query to the rows that have all terms. The terms are quoted: nothing in them is an operator.
func (r reader) found(ctx context.Context, in searchTable, terms []helpdesk.SearchTerm) (filter, error) {
	if err := checkText(terms); err != nil {
		return nil, err
	}
	if r.store.postgres { // which has statistics of the terms and decides by them
		return func(q bun.QueryBuilder) bun.QueryBuilder {
			return q.Where("?TableName.id IN (SELECT s.? FROM ? AS s WHERE s.account_id = ? AND s.terms @@ ?::tsquery)",
				bun.Ident(in.id), bun.Ident(in.name), r.scope.AccountID, tsquery(terms))
		}, nil
	}
	var hits int
	err := r.raw("SELECT count(*) FROM (SELECT 1 FROM ? AS s WHERE s.? MATCH ? LIMIT ?)",
		bun.Ident(in.name), bun.Ident(in.name), r.match(terms), fewHits+1).Scan(ctx, &hits)
	if err != nil {
		return nil, failure(ctx, err, "search", 0)
	}
	sign := "" // a plus keeps SQLite from looking the rows up by their ids
	if hits > fewHits {
		sign = "+"
	}
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		return q.Where("? ?TableName.id IN (SELECT s.rowid FROM ? AS s WHERE s.? MATCH ?)",
			bun.Safe(sign), bun.Ident(in.name), bun.Ident(in.name), r.match(terms))
	}, nil
}

// tsquery is section 8.11.2 of PostgreSQL's manual.
func tsquery(terms []helpdesk.SearchTerm) string {
	all := make([]string, len(terms))
	for i, t := range terms {
		all[i] = tsterm(search.Term(t))
	}
	return strings.Join(all, " & ")
}

var tsquoting = strings.NewReplacer(`'`, `''`, `\`, `\\`)

func tsterm(t search.Term) string {
	term := "'" + tsquoting.Replace(t.Text) + "'"
	if t.Prefix {
		term += ":*"
	}
	return term
}

// accountTerm is the term of all rows of an account, so that SQLite does not look at the rows of others.
func (r reader) accountTerm() string { return "_" + strconv.FormatInt(r.scope.AccountID, 10) }

// match is section 3 of SQLite's page on FTS5.
func (r reader) match(terms []helpdesk.SearchTerm) string {
	all := []string{`"` + r.accountTerm() + `"`}
	for _, t := range terms {
		all = append(all, matchTerm(search.Term(t)))
	}
	return strings.Join(all, " AND ")
}

func matchTerm(t search.Term) string {
	if strings.ContainsFunc(t.Text, foreign) || t.Text == "" {
		return `"_"` // no row has it
	}
	if t.Prefix {
		return `"` + t.Text + `"*`
	}
	return `"` + t.Text + `"`
}

// foreign reports a character that no term has, and that the tokenizer would take for a space.
func foreign(r rune) bool {
	return r < utf8.RuneSelf && (r < '0' || r > '9') && (r < 'a' || r > 'z')
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

// SetSearchTerms implements [helpdesk.SearchIndex]. On PostgreSQL the terms of the customer are locked until the
// conversation has them: whoever changes them meanwhile finds the conversation.
func (w writer) SetSearchTerms(ctx context.Context, conversationID int64, terms []string) error {
	if err := checkText(terms); err != nil {
		return err
	}
	within := bun.SafeQuery("")
	if w.scope.Mailboxes != nil {
		within = bun.SafeQuery("AND c.mailbox_id IN (?)", bun.List(w.scope.Mailboxes))
	}
	if !w.store.postgres {
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

// termsOf is never nil, which would be NULL.
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
	res, err := w.raw(`INSERT INTO hw_customer_search (account_id, customer_id, terms)
		SELECT c.account_id, c.id, array_to_tsvector(?::text[]) FROM hw_customers AS c WHERE c.account_id = ? AND c.id = ?
		ON CONFLICT (account_id, customer_id) DO UPDATE SET terms = excluded.terms`, array, account, customerID).Exec(ctx)
	if err := changed(ctx, res, err, "customer", customerID); err != nil {
		return err
	}
	_, err = w.raw(`UPDATE hw_conversation_search AS s SET customer = array_to_tsvector(?::text[])
		FROM hw_conversations AS c WHERE c.account_id = ? AND c.customer_id = ?
		AND s.account_id = c.account_id AND s.conversation_id = c.id`, array, account, customerID).Exec(ctx)
	return failure(ctx, err, "customer", customerID)
}

// setCustomerTerms is SetCustomerTerms on SQLite. A statement that may change several rows, or that selects what it
// writes, has FTS5 write out all that it holds in memory; most customers are new and have no conversations yet.
func (w writer) setCustomerTerms(ctx context.Context, customerID int64, terms string) error {
	var conversations bool
	err := w.raw(`SELECT EXISTS (SELECT 1 FROM hw_conversations AS v WHERE v.account_id = c.account_id AND v.customer_id = c.id)
		FROM hw_customers AS c WHERE c.account_id = ? AND c.id = ?`, w.scope.AccountID, customerID).Scan(ctx, &conversations)
	if err != nil {
		return failure(ctx, err, "customer", customerID)
	}
	_, err = w.raw("INSERT OR REPLACE INTO hw_customer_search (rowid, account, terms) VALUES (?, ?, ?)",
		customerID, w.accountTerm(), terms).Exec(ctx)
	if err != nil || !conversations {
		return failure(ctx, err, "customer", customerID)
	}
	_, err = w.raw(`UPDATE hw_conversation_search SET customer = ? WHERE rowid IN
		(SELECT c.id FROM hw_conversations AS c WHERE c.account_id = ? AND c.customer_id = ?)`, terms, w.scope.AccountID, customerID).Exec(ctx)
	return failure(ctx, err, "customer", customerID)
}

// lock keeps others from changing a row of the account until the transaction ends. SQLite has one writer at a time.
func (w writer) lock(ctx context.Context, model any, resource string, id int64) error {
	if !w.store.postgres {
		return w.state()
	}
	var found int64
	q := w.selects(model).Column("id").ApplyQueryBuilder(w.account).Where("id = ?", id)
	return failure(ctx, w.forUpdate(q).Scan(ctx, &found), resource, id)
}

// CustomerForUpdate implements [helpdesk.RowLocks].
func (w writer) CustomerForUpdate(ctx context.Context, id int64) (helpdesk.Customer, error) {
	if err := w.lock(ctx, (*customerRow)(nil), "customer", id); err != nil {
		return helpdesk.Customer{}, err
	}
	return w.Customer(ctx, id)
}

// MoveCustomer implements [helpdesk.CustomerMover].
func (w writer) MoveCustomer(ctx context.Context, from, into int64) error {
	for _, id := range slices.Sorted(slices.Values([]int64{from, into})) { // in one order, whoever merges what
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

// index puts the accounts that are older than search into its tables. The terms are the service's and no matter of
// SQL, so the migration has only noted the accounts.
func (db *DB) index(ctx context.Context) error {
	var accounts []int64
	if err := db.write.NewRaw("SELECT account_id FROM hw_search_pending ORDER BY account_id").Scan(ctx, &accounts); err != nil {
		return failure(ctx, err, "migration", 0)
	}
	for _, id := range accounts {
		err := db.InTx(ctx, helpdesk.Scope{AccountID: id}, func(ctx context.Context, tx helpdesk.Tx) error {
			if err := helpdesk.Reindex(ctx, tx); err != nil {
				return err
			}
			_, err := tx.(writer).raw("DELETE FROM hw_search_pending WHERE account_id = ?", id).Exec(ctx)
			return failure(ctx, err, "migration", 0)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
