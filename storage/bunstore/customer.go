package bunstore

import (
	"context"
	"database/sql"
	"slices"
	"strconv"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type customerRow struct {
	bun.BaseModel `bun:"table:hw_customers,alias:hw_customers"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	FirstName     string
	LastName      string
	Company       string
	Note          string
	CompanyID     int64
	ExternalID    string
	CreatedAt     int64
	UpdatedAt     int64
}

func customerRowOf(account int64, c *helpdesk.Customer) customerRow {
	return customerRow{
		ID: c.ID, AccountID: account, FirstName: c.FirstName, LastName: c.LastName, Company: c.Company, Note: c.Note, CompanyID: c.CompanyID, ExternalID: c.ExternalID,
		CreatedAt: micros(c.CreatedAt), UpdatedAt: micros(c.UpdatedAt),
	}
}

type emailRow struct {
	bun.BaseModel `bun:"table:hw_customer_emails,alias:hw_customer_emails"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	CustomerID    int64
	Email         string
	EmailKey      string
}

func (r *emailRow) email() helpdesk.CustomerEmail {
	return helpdesk.CustomerEmail{ID: r.ID, Email: r.Email, Key: r.EmailKey}
}

type phoneRow struct {
	bun.BaseModel `bun:"table:hw_customer_phones,alias:hw_customer_phones"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	CustomerID    int64
	Phone         string
}

type websiteRow struct {
	bun.BaseModel `bun:"table:hw_customer_websites,alias:hw_customer_websites"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	CustomerID    int64
	Website       string
}

// customerParts completes a WITH clause that selects customers as c: a single statement, and thus a single snapshot, returns
// them with their items. The kind of a row determines the meaning of its columns. CROSS JOIN keeps SQLite from starting with
// the items.
const customerParts = `
	SELECT 0 AS kind, c.id AS customer, 0 AS item, c.first_name AS a, c.last_name AS b, c.company AS d,
		c.note AS n, c.external_id AS x, c.company_id AS o, c.created_at, c.updated_at FROM c
	UNION ALL SELECT 1, e.customer_id, e.id, e.email, e.email_key, '', '', '', 0, 0, 0 FROM c CROSS JOIN hw_customer_emails AS e
		WHERE e.account_id = c.account_id AND e.customer_id = c.id
	UNION ALL SELECT 2, p.customer_id, p.id, p.phone, '', '', '', '', 0, 0, 0 FROM c CROSS JOIN hw_customer_phones AS p
		WHERE p.account_id = c.account_id AND p.customer_id = c.id
	UNION ALL SELECT 3, w.customer_id, w.id, w.website, '', '', '', '', 0, 0, 0 FROM c CROSS JOIN hw_customer_websites AS w
		WHERE w.account_id = c.account_id AND w.customer_id = c.id`

// customers reads the customers that a query for customerRow selects, by id.
func (s *querier) customers(ctx context.Context, selected *bun.SelectQuery, desc bool) ([]helpdesk.Customer, error) {
	var all []helpdesk.Customer
	err := s.rows(ctx, func(rows *sql.Rows) (err error) {
		all, err = scanCustomer(rows, all)
		return err
	}, "WITH c AS (?) "+customerParts+" ORDER BY kind, customer, item", selected)
	if err != nil {
		return nil, failure(ctx, err, "customer", 0)
	}
	if desc {
		slices.Reverse(all)
	}
	return all, nil
}

// scanCustomer reads one row of customerParts; the customers come first, by id.
func scanCustomer(rows *sql.Rows, all []helpdesk.Customer) ([]helpdesk.Customer, error) {
	var kind int
	var id, item, company, created, updated int64
	var a, b, d, note, external string
	if err := rows.Scan(&kind, &id, &item, &a, &b, &d, &note, &external, &company, &created, &updated); err != nil {
		return nil, err
	}
	if kind == 0 {
		return append(all, helpdesk.Customer{
			ID: id, FirstName: a, LastName: b, Company: d, Note: note, CompanyID: company, ExternalID: external, CreatedAt: timeOf(created), UpdatedAt: timeOf(updated),
		}), nil
	}
	i, _ := slices.BinarySearchFunc(all, id, func(c helpdesk.Customer, id int64) int { return int(c.ID - id) })
	c := &all[i]
	switch kind {
	case 1:
		c.Emails = append(c.Emails, helpdesk.CustomerEmail{ID: item, Email: a, Key: b})
	case 2:
		c.Phones = append(c.Phones, helpdesk.CustomerPhone{ID: item, Phone: a})
	case 3:
		c.Websites = append(c.Websites, helpdesk.CustomerWebsite{ID: item, Website: a})
	}
	return all, nil
}

// customer reads the one customer that a query selects.
func (s *querier) customer(ctx context.Context, selected *bun.SelectQuery, id int64) (helpdesk.Customer, error) {
	all, err := s.customers(ctx, locked(ctx, selected), false)
	if err == nil && len(all) == 0 {
		err = fault.Missing("customer", id)
	}
	if err != nil {
		return helpdesk.Customer{}, err
	}
	return all[0], nil
}

func (r reader) selectCustomers() *bun.SelectQuery {
	return r.selects((*customerRow)(nil)).ApplyQueryBuilder(r.account)
}

// hasEmail restricts a query to the customer with an address key.
func (r reader) hasEmail(key string) filter {
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		return q.Where(`id IN (SELECT e.customer_id FROM hw_customer_emails AS e
			WHERE e.account_id = ? AND e.email_key = ?)`, r.scope.AccountID, key)
	}
}

// Customer implements [helpdesk.CustomerReader].
func (r reader) Customer(ctx context.Context, id int64) (helpdesk.Customer, error) {
	return r.customer(ctx, r.selectCustomers().Where("id = ?", id), id)
}

// Customers implements [helpdesk.CustomerReader].
func (r reader) Customers(ctx context.Context, f helpdesk.CustomerFilter, seek storage.Seek) ([]helpdesk.Customer, error) {
	if err := checkText(f.EmailKey, f.ExternalID, f.Domain, f.Terms); err != nil {
		return nil, err
	}
	return lagging(ctx, r, func(ctx context.Context, r reader) ([]helpdesk.Customer, error) { return r.listCustomers(ctx, f, seek) })
}

func (r reader) listCustomers(ctx context.Context, f helpdesk.CustomerFilter, seek storage.Seek) ([]helpdesk.Customer, error) {
	if err := checkText(f.Fields); err != nil {
		return nil, err
	}
	if f.CompanyID != 0 || f.Domain != "" || f.ExternalID != "" {
		return r.customersOfCompany(ctx, f, seek)
	}
	if len(f.Fields) == 1 && !f.Fields[0].Empty && len(f.Terms) == 0 && f.EmailKey == "" {
		return r.customersWith(ctx, f.Fields[0], seek)
	}
	with := hasValues("hw_customer_values", f.Fields)
	q := page(r.selectCustomers(), "id", seek).ApplyQueryBuilder(with)
	switch {
	case f.EmailKey != "":
		q.ApplyQueryBuilder(r.hasEmail(f.EmailKey))
		if len(f.Terms) > 0 {
			q.ApplyQueryBuilder(r.hasTerms(customerSearch, f.Terms))
		}
	case len(f.Terms) > 0:
		return r.searchCustomers(ctx, f.Terms, with, seek)
	}
	return r.customers(ctx, q, seek.Desc)
}

// customersOfCompany lists the customers of a company or of a mail domain, or the one with an external id.
func (r reader) customersOfCompany(ctx context.Context, f helpdesk.CustomerFilter, seek storage.Seek) ([]helpdesk.Customer, error) {
	q := page(r.selectCustomers(), "id", seek).ApplyQueryBuilder(hasValues("hw_customer_values", f.Fields))
	if f.ExternalID != "" {
		q.Where("?TableName.external_id = ? AND ?TableName.external_id <> ''", f.ExternalID)
	}
	if f.CompanyID != 0 {
		q.Where("?TableName.company_id = ? AND ?TableName.company_id <> 0", f.CompanyID)
	}
	if f.Domain != "" {
		q.Where("?TableName.id IN (SELECT e.customer_id FROM hw_customer_emails AS e WHERE e.account_id = ? AND "+r.store.domainOf("e.email_key")+" = ?)", r.scope.AccountID, f.Domain)
	}
	if f.EmailKey != "" {
		q.ApplyQueryBuilder(r.hasEmail(f.EmailKey))
	}
	if len(f.Terms) > 0 {
		q.ApplyQueryBuilder(r.hasTerms(customerSearch, f.Terms))
	}
	return r.customers(ctx, q, seek.Desc)
}

// domainOf is the expression of the index of customers by domain.
func (s *DB) domainOf(column string) string {
	if s.postgres {
		return "substr(" + column + ", strpos(" + column + ", '@') + 1)"
	}
	return "substr(" + column + ", instr(" + column + ", '@') + 1)"
}

// searchCustomers lists the customers that have all terms, by id, the order of SQLite's index. On PostgreSQL it first checks
// the next customers before it uses the index, as in [reader.searchConversations].
func (r reader) searchCustomers(ctx context.Context, terms []helpdesk.SearchTerm, with filter, seek storage.Seek) ([]helpdesk.Customer, error) {
	if !r.store.postgres {
		match, err := r.match(ctx, customerSearch, terms)
		if err != nil {
			return nil, err
		}
		q := r.selectCustomers().ApplyQueryBuilder(with).ModelTableExpr("? AS s CROSS JOIN ?TableName", bun.Ident(customerSearch.name)).
			Where("s.? MATCH ? AND ?TableName.id = s.rowid", bun.Ident(customerSearch.name), match)
		return r.customers(ctx, pageBy(q, "s.rowid", seek), seek.Desc)
	}
	next := r.db.NewSelect().TableExpr("(?) AS n", page(r.selectCustomers().Column("id"), "id", storage.Seek{
		Desc: seek.Desc, From: seek.From, Limit: firstWalk,
	})).ColumnExpr("n.id")
	q := page(r.selectCustomers(), "id", seek).Where("?TableName.id IN (?)", next).ApplyQueryBuilder(with).ApplyQueryBuilder(r.hasTerms(customerSearch, terms))
	found, err := r.customers(ctx, q, seek.Desc)
	if err != nil || len(found) == seek.Limit {
		return found, err
	}
	return r.customers(ctx, page(r.selectCustomers(), "+id", seek).ApplyQueryBuilder(with).ApplyQueryBuilder(r.named(customerSearch, terms)), seek.Desc)
}

// CustomersByID implements [helpdesk.CustomerReader].
func (r reader) CustomersByID(ctx context.Context, ids []int64) ([]helpdesk.Customer, error) {
	if len(ids) == 0 {
		return nil, r.state()
	}
	return r.customers(ctx, r.selectCustomers().Where("id IN (?)", bun.List(ids)), false)
}

// CustomerByEmail implements [helpdesk.CustomerReader].
func (r reader) CustomerByEmail(ctx context.Context, key string) (helpdesk.Customer, error) {
	if err := checkText(key); err != nil {
		return helpdesk.Customer{}, err
	}
	return r.customer(ctx, r.selectCustomers().ApplyQueryBuilder(r.hasEmail(key)), 0)
}

// EmailsByKey implements [helpdesk.CustomerReader].
func (r reader) EmailsByKey(ctx context.Context, keys []string) ([]helpdesk.CustomerEmail, error) {
	if len(keys) == 0 {
		return nil, r.state()
	}
	var rows []emailRow
	err := r.selects(&rows).Err(checkText(keys)).ApplyQueryBuilder(r.account).Where("email_key IN (?)", bun.List(keys)).
		OrderExpr("+id").Scan(ctx)
	return mapped(rows, (*emailRow).email), failure(ctx, err, "email", 0)
}

// CustomerStats implements [helpdesk.CustomerReader].
func (r reader) CustomerStats(ctx context.Context, id int64) (helpdesk.CustomerStats, error) {
	within := bun.SafeQuery("")
	if r.scope.Mailboxes != nil {
		within = bun.SafeQuery("AND c.mailbox_id IN (?)", bun.List(r.scope.Mailboxes))
	}
	var s helpdesk.CustomerStats
	err := r.raw(`SELECT count(c.id),
			count(CASE WHEN c.status = ? THEN 1 END), count(CASE WHEN c.status = ? THEN 1 END),
			count(CASE WHEN c.status = ? THEN 1 END), count(CASE WHEN c.channel = 'email' THEN 1 END)
		FROM hw_customers AS u LEFT JOIN hw_conversations AS c
			ON c.account_id = u.account_id AND c.customer_id = u.id ?
		WHERE u.account_id = ? AND u.id = ? GROUP BY u.id`,
		helpdesk.StatusPosted, helpdesk.StatusPending, helpdesk.StatusClosed, within, r.scope.AccountID, id).
		Scan(ctx, &s.Total, &s.Posted, &s.Pending, &s.Closed, &s.EmailChannel)
	return s, failure(ctx, err, "customer", id)
}

// CustomerBeyond implements [helpdesk.CustomerReader].
func (r reader) CustomerBeyond(ctx context.Context, id int64) (bool, error) {
	if _, err := r.Customer(ctx, id); err != nil || r.scope.Mailboxes == nil {
		return false, err
	}
	beyond := bun.SafeQuery("")
	if len(r.scope.Mailboxes) > 0 {
		beyond = bun.SafeQuery("AND c.mailbox_id NOT IN (?)", bun.List(r.scope.Mailboxes))
	}
	var found bool
	err := r.raw(`SELECT EXISTS (SELECT 1 FROM hw_conversations AS c WHERE c.account_id = ? AND c.customer_id = ? ?)
		OR EXISTS (SELECT 1 FROM hw_interactions AS i JOIN hw_conversations AS c
			ON c.account_id = i.account_id AND c.id = i.conversation_id
			WHERE i.account_id = ? AND i.customer_id = ? ?)`,
		r.scope.AccountID, id, beyond, r.scope.AccountID, id, beyond).Scan(ctx, &found)
	return found, failure(ctx, err, "customer", id)
}

// InsertCustomer implements [helpdesk.CustomerWriter].
func (w writer) InsertCustomer(ctx context.Context, c *helpdesk.Customer) error {
	row := customerRowOf(w.scope.AccountID, c)
	row.ID = 0
	if w.store.postgres && len(c.Emails) == 1 && len(c.Phones)+len(c.Websites) == 0 { // as mail brings them
		email := &c.Emails[0]
		var id, emailID int64
		err := w.raw(`WITH c AS (?), e AS (INSERT INTO hw_customer_emails (account_id, customer_id, email, email_key)
			SELECT ?, c.id, ?, ? FROM c RETURNING id) SELECT c.id, e.id FROM c CROSS JOIN e`,
			w.inserts(&row).Returning("id"), row.AccountID, email.Email, email.Key).Scan(ctx, &id, &emailID)
		if err == nil {
			c.ID, email.ID = id, emailID
		}
		return failure(ctx, err, "customer", 0)
	}
	if _, err := w.inserts(&row).Exec(ctx); err != nil {
		return failure(ctx, err, "customer", 0)
	}
	if err := w.insertItems(ctx, row.ID, c, func(int64) bool { return true }); err != nil {
		return err
	}
	c.ID = row.ID
	return nil
}

// UpdateCustomer implements [helpdesk.CustomerWriter].
func (w writer) UpdateCustomer(ctx context.Context, c *helpdesk.Customer) error {
	row := customerRowOf(w.scope.AccountID, c) // written first: the lock keeps others from changing the items
	res, err := w.updates(&row).ExcludeColumn("account_id").ApplyQueryBuilder(w.account).Where("id = ?", c.ID).Exec(ctx)
	if err := changed(ctx, res, err, "customer", c.ID); err != nil {
		return err
	}
	old, err := w.Customer(ctx, c.ID)
	if err != nil {
		return err
	}
	if err := knownItems(c, &old); err != nil {
		return err
	}
	if err := w.removeItems(ctx, c, &old); err != nil {
		return err
	}
	if err := w.changeItems(ctx, c, &old); err != nil {
		return err
	}
	return w.insertItems(ctx, c.ID, c, func(id int64) bool { return id == 0 })
}

// knownItems refuses an id that belongs to none of the customer's items.
func knownItems(c, old *helpdesk.Customer) error {
	for _, e := range c.Emails {
		if e.ID != 0 && !slices.ContainsFunc(old.Emails, func(o helpdesk.CustomerEmail) bool { return o.ID == e.ID }) {
			return fault.Missing("email", e.ID)
		}
	}
	for _, p := range c.Phones {
		if p.ID != 0 && !slices.ContainsFunc(old.Phones, func(o helpdesk.CustomerPhone) bool { return o.ID == p.ID }) {
			return fault.Missing("phone", p.ID)
		}
	}
	for _, s := range c.Websites {
		if s.ID != 0 && !slices.ContainsFunc(old.Websites, func(o helpdesk.CustomerWebsite) bool { return o.ID == s.ID }) {
			return fault.Missing("website", s.ID)
		}
	}
	return nil
}

// removeItems deletes the items that the customer no longer has. It clears references to a deleted address; the text of the
// address stays where it was used.
func (w writer) removeItems(ctx context.Context, c, old *helpdesk.Customer) error {
	var emails, phones, websites []int64
	for _, o := range old.Emails {
		if !slices.ContainsFunc(c.Emails, func(e helpdesk.CustomerEmail) bool { return e.ID == o.ID }) {
			emails = append(emails, o.ID)
		}
	}
	for _, o := range old.Phones {
		if !slices.ContainsFunc(c.Phones, func(p helpdesk.CustomerPhone) bool { return p.ID == o.ID }) {
			phones = append(phones, o.ID)
		}
	}
	for _, o := range old.Websites {
		if !slices.ContainsFunc(c.Websites, func(s helpdesk.CustomerWebsite) bool { return s.ID == o.ID }) {
			websites = append(websites, o.ID)
		}
	}
	if err := w.forgetEmails(ctx, emails); err != nil {
		return err
	}
	for table, ids := range map[string][]int64{
		"hw_customer_emails": emails, "hw_customer_phones": phones, "hw_customer_websites": websites,
	} {
		if len(ids) == 0 {
			continue
		}
		byID := bun.Safe("")
		if !w.store.postgres {
			byID = "NOT INDEXED" // see byID
		}
		_, err := w.raw("DELETE FROM ? ? WHERE account_id = ? AND id IN (?)", bun.Ident(table), byID, w.scope.AccountID, bun.List(ids)).Exec(ctx)
		if err != nil {
			return failure(ctx, err, "customer", c.ID)
		}
	}
	return nil
}

// ForgetEmails implements [helpdesk.CustomerWriter].
func (w writer) ForgetEmails(ctx context.Context, customerID int64, emailIDs []int64, n int) (forgot bool, err error) {
	c, err := w.CustomerForUpdate(ctx, customerID)
	if err != nil {
		return false, err
	}
	var own []int64
	for _, e := range c.Emails {
		if slices.Contains(emailIDs, e.ID) {
			own = append(own, e.ID)
		}
	}
	if len(own) == 0 {
		return false, nil
	}
	return w.changeSome(ctx, "customer_email_id", own, nil, n)
}

// forgetEmails clears references to addresses of customers.
func (w writer) forgetEmails(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	var locked []int64
	q := w.selects((*emailRow)(nil)).Column("id").ApplyQueryBuilder(w.account).Where("id IN (?)", bun.List(ids)).Order("id")
	if err := w.forUpdate(q).Scan(ctx, &locked); err != nil { // from here on no other transaction adds references
		return failure(ctx, err, "customer", 0)
	}
	for _, table := range []string{"hw_conversations", "hw_interactions"} {
		_, err := w.raw("UPDATE ? SET customer_email_id = NULL WHERE account_id = ? AND customer_email_id IN (?)",
			bun.Ident(table), w.scope.AccountID, bun.List(ids)).Exec(ctx)
		if err != nil {
			return failure(ctx, err, "customer", 0)
		}
	}
	return nil
}

// changeItems writes the kept items that have changed. Addresses first get temporary values, because two of them may have
// swapped.
func (w writer) changeItems(ctx context.Context, c, old *helpdesk.Customer) error {
	account := w.scope.AccountID
	if err := checkText(c.Emails, c.Phones, c.Websites); err != nil {
		return err
	}
	var emails []helpdesk.CustomerEmail
	for _, e := range c.Emails {
		if e.ID != 0 && !slices.Contains(old.Emails, e) {
			emails = append(emails, e)
		}
	}
	for i := 0; len(emails) > 1 && i < len(emails); i++ {
		aside := "\x01" + strconv.FormatInt(emails[i].ID, 10)
		_, err := w.raw("UPDATE hw_customer_emails SET email_key = ? WHERE account_id = ? AND id = ?",
			aside, account, emails[i].ID).Exec(ctx)
		if err != nil {
			return failure(ctx, err, "customer", c.ID)
		}
	}
	for _, e := range emails {
		_, err := w.raw("UPDATE hw_customer_emails SET email = ?, email_key = ? WHERE account_id = ? AND id = ?",
			e.Email, e.Key, account, e.ID).Exec(ctx)
		if err != nil {
			return failure(ctx, err, "customer", c.ID)
		}
	}
	for _, p := range c.Phones {
		if p.ID == 0 || slices.Contains(old.Phones, p) {
			continue
		}
		_, err := w.raw("UPDATE hw_customer_phones SET phone = ? WHERE account_id = ? AND id = ?",
			p.Phone, account, p.ID).Exec(ctx)
		if err != nil {
			return failure(ctx, err, "customer", c.ID)
		}
	}
	for _, s := range c.Websites {
		if s.ID == 0 || slices.Contains(old.Websites, s) {
			continue
		}
		_, err := w.raw("UPDATE hw_customer_websites SET website = ? WHERE account_id = ? AND id = ?",
			s.Website, account, s.ID).Exec(ctx)
		if err != nil {
			return failure(ctx, err, "customer", c.ID)
		}
	}
	return nil
}

// insertItems stores the items whose ids are wanted and sets their new ids.
func (w writer) insertItems(ctx context.Context, id int64, c *helpdesk.Customer, wanted func(id int64) bool) error {
	account := w.scope.AccountID
	var emails []emailRow
	var phones []phoneRow
	var websites []websiteRow
	var emailIDs, phoneIDs, websiteIDs []*int64
	for i, e := range c.Emails {
		if wanted(e.ID) {
			emails = append(emails, emailRow{AccountID: account, CustomerID: id, Email: e.Email, EmailKey: e.Key})
			emailIDs = append(emailIDs, &c.Emails[i].ID)
		}
	}
	for i, p := range c.Phones {
		if wanted(p.ID) {
			phones = append(phones, phoneRow{AccountID: account, CustomerID: id, Phone: p.Phone})
			phoneIDs = append(phoneIDs, &c.Phones[i].ID)
		}
	}
	for i, s := range c.Websites {
		if wanted(s.ID) {
			websites = append(websites, websiteRow{AccountID: account, CustomerID: id, Website: s.Website})
			websiteIDs = append(websiteIDs, &c.Websites[i].ID)
		}
	}
	if err := insertAll(ctx, w.querier, emails, emailIDs, "customer"); err != nil {
		return err
	}
	if err := insertAll(ctx, w.querier, phones, phoneIDs, "customer"); err != nil {
		return err
	}
	return insertAll(ctx, w.querier, websites, websiteIDs, "customer")
}

// DeleteCustomer implements [helpdesk.CustomerWriter].
func (w writer) DeleteCustomer(ctx context.Context, id int64) error {
	account := w.scope.AccountID
	old, err := w.CustomerForUpdate(ctx, id)
	if err != nil {
		return err
	}
	var used bool
	err = w.raw(`SELECT EXISTS (SELECT 1 FROM hw_conversations WHERE account_id = ? AND customer_id = ?)
		OR EXISTS (SELECT 1 FROM hw_interactions WHERE account_id = ? AND customer_id = ?)`,
		account, id, account, id).Scan(ctx, &used)
	if err != nil {
		return failure(ctx, err, "customer", id)
	}
	if used {
		return stillInUse("customer", id, nil)
	}
	var emails []int64
	for _, e := range old.Emails {
		emails = append(emails, e.ID)
	}
	if err := w.forgetEmails(ctx, emails); err != nil {
		return err
	}
	res, err := w.deletes((*customerRow)(nil)).ApplyQueryBuilder(w.account).Where("id = ?", id).Exec(ctx)
	return removed(ctx, res, err, "customer", id)
}
