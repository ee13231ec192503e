package helpdesk

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// silent are the exported methods that change something and write no event, with the reason. All others must.
var silent = map[string]string{
	"Account.Delete":           "the log goes with the account",
	"Conversations.MarkRead":   "what one member has read is no change for others",
	"Conversations.MarkUnread": "as MarkRead",
	"Intake.ReportFetch":       "how fetching goes, with every poll",
	"Intake.EndFetch":          "as ReportFetch",
	"Intake.StopMail":          "the mail waits as before",
	"Intake.KeepRefreshToken":  "what the mail provider handed out for the next login",
	"Webhooks.Redeliver":       "the event would be delivered too",
	"Dispatch.Begin":           "deliveries on their way are no events, which would be delivered in turn",
	"Dispatch.Prune":           "as Begin",
	"Admin.CreateUser":         "users are above accounts, which have the logs",
	"Admin.CreateToken":        "as CreateUser",
	"Admin.CreateOwnToken":     "as CreateUser",
	"Admin.DeleteOwnToken":     "as CreateUser",
	"Admin.UpdateMe":           "as CreateUser",
	"Admin.SetPicture":         "as CreateUser",
	"Admin.RemovePicture":      "as CreateUser",
	"SignIn.StartSession":      "as CreateUser",
	"SignIn.ChoosePassword":    "as CreateUser",
	"SignIn.EndSession":        "as CreateUser",
	"Admin.EndOtherSessions":   "as CreateUser",

	"Admin.BeginSecondFactor":   "as CreateUser; the audit log has what becomes of it",
	"Admin.ConfirmSecondFactor": "as CreateUser",
	"Admin.RenewRecoveryCodes":  "as CreateUser",
	"Admin.RemoveSecondFactor":  "as CreateUser",
	"Admin.ResetSecondFactor":   "as CreateUser",
	"Members.ResetSecondFactor": "as CreateUser",
	"SignIn.WithCode":           "as CreateUser",
	"Admin.Unlink":              "as CreateUser; the audit log has it",
	"Service.Reseal":            "it changes how secrets are encrypted, and nothing that anybody reads",
	"Service.CountSealed":       "as Reseal, with which it shares its code; it writes nothing",
	"Members.Unlink":            "as Unlink",
	"Admin.FinishPasskey":       "as Unlink",
	"Admin.RemovePasskey":       "as Unlink",
	"Admin.RenamePasskey":       "it is a name for its user alone",
	"Admin.RemoveUserPasskeys":  "as Unlink",
	"Members.RemovePasskeys":    "as Unlink",
	"SignIn.FinishPasskey":      "as Service.FinishSignIn",

	"Notifications.MarkRead":     "as MarkRead",
	"Notifications.MarkAllRead":  "as MarkRead",
	"Jobs.MailNotifications":     "that a mail is ordered is seen by nobody",
	"Signatures.Set":             "one member's signature is nobody else's business",
	"Notifications.Choose":       "what one member wants to be told of is nobody else's business",
	"Jobs.PruneNotifications":    "what is old goes by itself",
	"Notifications.AddDevice":    "where one member is told is nobody else's business",
	"Notifications.RemoveDevice": "as AddPushDevice",
	"Jobs.Push":                  "as AddPushDevice",
	"Jobs.FoldFacts":             "what reports know follows from other events",
	"Service.RebuildFacts":       "as FoldFacts",
	"Jobs.TickRule":              "where the clock of a rule stands is nothing that anybody reads; what the rule does is an event",
	"Rules.Replay":               "it changes nothing of what it looks at, and is its maker's alone",
	"Rules.CancelReplay":         "as Replay",
	"Jobs.IndexCustomer":         "how a conversation is found is nothing that anybody reads",
	"Service.Prune":              "as PruneNotifications",
	"Account.RetryJob":           "a job is the server's work, and no data of the account; the audit log has it",
	"Account.DropJob":            "as RetryJob",
	"Admin.RetryJob":             "as RetryJob",
	"Admin.DropJob":              "as RetryJob",
}

// calls are the names of the functions that a function calls: of the store's transaction, and of this package.
type calls struct{ store, methods, functions []string }

// TestEveryChangeIsAnEvent follows the calls of every exported method: one that reaches a writing method of the store has to
// reach Emit too.
func TestEveryChangeIsAnEvent(t *testing.T) {
	t.Parallel()
	writes := writingMethods()
	functions, exported := callGraph(t)
	methods := methodsByName(functions)
	for _, name := range exported {
		reached := reach(functions, methods, name)
		changes := slices.ContainsFunc(reached.store, func(m string) bool { return writes[m] })
		emits := slices.Contains(reached.store, "Emit")
		_, excused := silent[name]
		switch {
		case changes && !emits && !excused:
			t.Errorf("%s changes data and writes no event", name)
		case excused && (!changes || emits):
			t.Errorf("%s is excused and need not be", name)
		}
	}
	for name := range silent {
		if !slices.Contains(exported, name) {
			t.Errorf("there is no %s to excuse", name)
		}
	}
}

// writingMethods are those of a transaction, and of its rows, that are no reader's and not the outbox's.
func writingMethods() map[string]bool {
	writes := map[string]bool{}
	for _, of := range []struct{ all, but reflect.Type }{
		{reflect.TypeFor[Tx](), reflect.TypeFor[Reader]()}, {reflect.TypeFor[SystemTx](), reflect.TypeFor[Directory]()},
	} {
		for i := range of.all.NumMethod() {
			name := of.all.Method(i).Name
			_, reads := of.but.MethodByName(name)
			lock := strings.HasSuffix(name, "ForUpdate") || strings.HasPrefix(name, "Lock")
			if !reads && !lock && name != "Within" && name != "Reader" && name != "Enqueue" && name != "Emit" {
				writes[name] = true
			}
		}
	}
	rows := reflect.TypeFor[Rows]()
	for i := range rows.NumMethod() {
		for _, method := range []string{"Insert", "Update", "Delete"} {
			writes[rows.Method(i).Name+"."+method] = true
		}
	}
	return writes
}

// callGraph parses the package. Functions are known by receiver and name; methods of this package are called by name alone.
func callGraph(t *testing.T) (functions map[string]calls, exported []string) {
	t.Helper()
	files := token.NewFileSet()
	packages, err := parser.ParseDir(files, ".", func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, 0) //nolint:staticcheck // build tags do not matter here
	if err != nil {
		t.Fatal(err)
	}
	handles := []string{"Desk", "Admin", "Intake", "Outgoing", "Portal", "Service", "Jobs", "SignIn", "Dispatch"}
	for _, handle := range deskHandles(&Desk{desk{}}) {
		handles = append(handles, reflect.TypeOf(handle).Name())
	}
	functions = map[string]calls{}
	for _, file := range packages["helpdesk"].Files {
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			name, receiver := fn.Name.Name, receiverOf(fn)
			if slices.Contains(handles, receiver) && fn.Name.IsExported() {
				exported = append(exported, receiver+"."+name)
			}
			functions[receiver+"."+name] = callsOf(fn)
		}
	}
	if len(exported) < 100 {
		t.Fatalf("only %d methods were found", len(exported))
	}
	return functions, exported
}

func receiverOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	kind := fn.Recv.List[0].Type
	if star, ok := kind.(*ast.StarExpr); ok {
		kind = star.X
	}
	if ident, ok := kind.(*ast.Ident); ok {
		return ident.Name
	}
	return ""
}

// isStore reports whether an expression names a method of the store's.
func isStore(e ast.Expr) bool {
	method, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := method.X.(*ast.Ident)
	return ok && (of.Name == "tx" || of.Name == "system")
}

// isPlainRows reports whether an expression names the rows of a plain noun in a transaction, as tagNoun().Rows does.
func isPlainRows(e ast.Expr) bool {
	method, ok := e.(*ast.SelectorExpr)
	if !ok || method.Sel.Name != "Rows" {
		return false
	}
	noun, ok := method.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	name, ok := noun.Fun.(*ast.Ident)
	return ok && strings.HasSuffix(name.Name, "Noun")
}

// handleOf returns the name of the handle that an expression makes of a desk, as Tags{d} does.
func handleOf(e ast.Expr) string {
	literal, ok := ast.Unparen(e).(*ast.CompositeLit)
	if !ok || len(literal.Elts) != 1 {
		return ""
	}
	name, ok := literal.Type.(*ast.Ident)
	if !ok {
		return ""
	}
	return name.Name
}

// callsOf includes functions that are only mentioned, to be called by others. Calls on a variable tx, in or system are calls
// of the store, and so are those of a plain noun's rows.
func callsOf(fn *ast.FuncDecl) calls {
	var c calls
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if rows, ok := n.X.(*ast.CallExpr); ok && isPlainRows(rows.Fun) {
				c.store = append(c.store, "Records."+n.Sel.Name)
			} else if ok && isStore(rows.Fun) {
				c.store = append(c.store, rows.Fun.(*ast.SelectorExpr).Sel.Name+"."+n.Sel.Name) //nolint:forcetypeassert // isStore has looked
			} else if isStore(n) {
				c.store = append(c.store, n.Sel.Name)
			} else if handle := handleOf(n.X); handle != "" {
				c.functions = append(c.functions, handle+"."+n.Sel.Name)
			} else {
				c.methods = append(c.methods, n.Sel.Name)
			}
			ast.Inspect(n.X, visit)
			return false
		case *ast.Ident:
			c.functions = append(c.functions, n.Name)
		}
		return true
	}
	ast.Inspect(fn.Body, visit)
	return c
}

// methodsByName lists the functions that are methods and not exported, by the names of the methods.
func methodsByName(functions map[string]calls) map[string][]string {
	methods := map[string][]string{}
	for name := range functions {
		if of, method, _ := strings.Cut(name, "."); of != "" && !ast.IsExported(method) {
			methods[method] = append(methods[method], name)
		}
	}
	return methods
}

// reach is everything that a function calls, directly or through others. A method that more than one type has is taken for
// each that the file could mean.
func reach(functions map[string]calls, methods map[string][]string, start string) calls {
	var all calls
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		c := functions[name]
		all.store = append(all.store, c.store...)
		receiver, _, _ := strings.Cut(name, ".")
		for _, called := range c.functions {
			if !strings.Contains(called, ".") { // it has no receiver
				called = "." + called
			}
			visit(called)
		}
		for _, called := range c.methods {
			if _, same := functions[receiver+"."+called]; same && receiver != "" { // a function of this package is no selector
				visit(receiver + "." + called)
				continue
			}
			for _, other := range methods[called] {
				visit(other)
			}
		}
	}
	visit(start)
	return all
}
