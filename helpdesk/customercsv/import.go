package customercsv

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage/fault"
)

// Kind is the kind of errand that imports a table, and its steps.
const (
	Kind       = "customers"
	StepCheck  = "check" // a dry run
	StepImport = "import"
)

// Problem is why a row was not imported.
type Problem struct {
	Row    int    // as a spreadsheet counts: the header is 1
	Column string // name of a column, or of a [Field]; "": the whole row
	Text   string // in English
}

// About names the place of a problem, such as "row 7, Email".
func (p Problem) About() string {
	if p.Column == "" {
		return "row " + strconv.Itoa(p.Row)
	}
	return fmt.Sprintf("row %d, %s", p.Row, p.Column)
}

// ParseProblem is the opposite of [Problem.About].
func ParseProblem(about, text string) Problem {
	place, column, _ := strings.Cut(strings.TrimPrefix(about, "row "), ", ")
	row, _ := strconv.Atoi(place) // 0 for what is no problem
	return Problem{Row: row, Column: column, Text: text}
}

// MaxProblems is how many problems a result lists.
const MaxProblems = 10_000

// Result says what was imported, or would be.
type Result struct {
	Created, Updated, Unchanged int
	Failed                      int // rows with a problem
	Problems                    []Problem
}

// Config configures [Import].
type Config struct {
	Desk     *helpdesk.Desk // of the member who imports
	Table    *Table
	Fields   []Field               // of the columns; nil: see [Match]
	DryRun   bool                  // changes nothing
	Progress func(done, total int) // in rows; may be nil
}

// batch is how many rows are imported in one transaction.
const batch = 50

// Import imports the rows of a table, each as [helpdesk.Customers.ImportRows] does it. Rows with problems are left out, all others
// are imported. After an interruption, begin again: what is there already stays as it is. Fields among which are neither emails nor
// ids are an Invalid fault on columns.
func Import(ctx context.Context, cfg Config) (Result, error) {
	if cfg.Fields == nil {
		cfg.Fields = Match(cfg.Table.Header)
	}
	if !slices.Contains(cfg.Fields, Emails) && !slices.Contains(cfg.Fields, ID) {
		return Result{}, fault.Field("columns", "name no column with email addresses")
	}
	if cfg.Progress == nil {
		cfg.Progress = func(int, int) {}
	}
	im := &importing{Config: cfg, seen: map[string]bool{}}
	err := cfg.Table.each(ctx, func(at int, cells []string, problem string) error { return im.addRow(ctx, at, cells, problem) })
	if err == nil {
		err = im.file(ctx)
	}
	slices.SortStableFunc(im.Problems, func(a, b Problem) int { return cmp.Compare(a.Row, b.Row) })
	return im.Result, err
}

type importing struct {
	Config
	Result
	rows []helpdesk.CustomerRow
	at   []int // their rows in the table
	done int
	seen map[string]bool // keys of the addresses of rows that a dry run would create
}

// addRow collects a row, and files those that are enough for a transaction.
func (im *importing) addRow(ctx context.Context, at int, cells []string, problem string) error {
	if at <= im.Table.head {
		return nil
	}
	if problem != "" {
		im.done++
		im.fail(Problem{Row: at, Text: problem})
		return nil
	}
	im.rows, im.at = append(im.rows, row(im.Fields, cells)), append(im.at, at)
	if len(im.rows) < batch {
		return nil
	}
	return im.file(ctx)
}

// file imports the rows that were collected.
func (im *importing) file(ctx context.Context) error {
	if len(im.rows) == 0 {
		return nil
	}
	outcomes, err := im.Desk.Customers().ImportRows(ctx, im.rows, im.DryRun)
	if err != nil {
		return err
	}
	for i, o := range outcomes {
		switch {
		case len(o.Problems) > 0:
			im.failed(im.at[i], o.Problems)
		case o.Created && !im.again(im.rows[i]):
			im.Created++
		case o.Created, o.Updated:
			im.Updated++
		default:
			im.Unchanged++
		}
	}
	im.done += len(im.rows)
	im.rows, im.at = im.rows[:0], im.at[:0]
	im.Progress(im.done, im.Table.Rows)
	return nil
}

// again reports whether a row has an address of an earlier one that a dry run did not keep.
func (im *importing) again(r helpdesk.CustomerRow) bool {
	if !im.DryRun {
		return false
	}
	again := false
	for _, email := range r.Emails {
		key := mailaddr.Key(email)
		again = again || im.seen[key]
		im.seen[key] = true
	}
	return again
}

// failed notes why a row was not imported, with the names of its columns.
func (im *importing) failed(at int, problems map[string]string) {
	for n, field := range slices.Sorted(maps.Keys(problems)) {
		column := field
		if i := slices.Index(im.Fields, Field(field)); i >= 0 && i < len(im.Table.Header) && im.Table.Header[i] != "" {
			column = im.Table.Header[i]
		}
		if n > 0 {
			im.Failed--
		}
		im.fail(Problem{Row: at, Column: column, Text: problems[field]})
	}
}

func (im *importing) fail(p Problem) {
	if im.Failed++; len(im.Problems) < MaxProblems {
		im.Problems = append(im.Problems, p)
	}
}
