package customercsv

import (
	"context"
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
)

// Header lists the columns of an export. Cells with several emails, phones or websites have one on each line.
func Header() []string {
	return []string{"id", "first_name", "last_name", "company", "company_id", "emails", "phones", "websites", "note", "external_id", "created_at", "updated_at"}
}

// Export writes all customers of an account, oldest first, in UTF-8 with a byte order mark, which Excel needs. Cells that a
// spreadsheet would take for formulas begin with an apostrophe. It needs what [helpdesk.Customers.ExportRows] needs.
func Export(ctx context.Context, desk *helpdesk.Desk, to io.Writer) error {
	w := csv.NewWriter(to)
	w.UseCRLF = true
	begun := false
	err := desk.Customers().ExportRows(ctx, func(c helpdesk.Customer) error {
		if err := writeHeader(w, to, &begun); err != nil {
			return err
		}
		return w.Write(record(c))
	})
	if err != nil {
		return err
	}
	if err := writeHeader(w, to, &begun); err != nil {
		return err
	}
	w.Flush()
	return w.Error()
}

// writeHeader writes the header once.
func writeHeader(w *csv.Writer, to io.Writer, begun *bool) error {
	if *begun {
		return nil
	}
	*begun = true
	if _, err := io.WriteString(to, "\uFEFF"); err != nil {
		return err
	}
	return w.Write(Header())
}

func record(c helpdesk.Customer) []string {
	var emails, phones, websites []string
	for _, e := range c.Emails {
		emails = append(emails, e.Email)
	}
	for _, p := range c.Phones {
		phones = append(phones, p.Phone)
	}
	for _, s := range c.Websites {
		websites = append(websites, s.Website)
	}
	company := ""
	if c.CompanyID != 0 {
		company = strconv.FormatInt(c.CompanyID, 10)
	}
	cells := []string{
		strconv.FormatInt(c.ID, 10), c.FirstName, c.LastName, c.Company, company, strings.Join(emails, "\n"), strings.Join(phones, "\n"),
		strings.Join(websites, "\n"), c.Note, c.ExternalID, c.CreatedAt.UTC().Format(time.RFC3339), c.UpdatedAt.UTC().Format(time.RFC3339),
	}
	for i, cell := range cells {
		cells[i] = guarded(cell)
	}
	return cells
}
