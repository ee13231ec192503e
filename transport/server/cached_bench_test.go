package server_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/transport/server"
)

// BenchmarkCached requests a cached article from a whole server, and the same bytes in a file from nginx, alternately: two
// seconds each, with 32 open connections of wrk. Run it with -benchtime 5x; it reports the medians.
func BenchmarkCached(b *testing.B) {
	wrk, err := exec.LookPath("wrk")
	if err != nil {
		testenv.Skip(b, "there is no wrk")
	}
	own, path := cachedArticle(b)
	page := fetch(b, own, path)
	floor := testenv.Nginx(b, page)
	var ours, theirs load
	var ratios []float64
	for b.Loop() {
		n := ours.add(b, func() time.Duration { return processTime(b) }, wrk, own, path)
		m := theirs.add(b, func() time.Duration { return floor.CPUTime() }, wrk, floor.Addr, "/page")
		ratios = append(ratios, n/m)
	}
	b.ReportMetric(middle(ours.perSecond), "helpwright-req/s")
	b.ReportMetric(middle(theirs.perSecond), "nginx-req/s")
	b.ReportMetric(middle(ratios), "ratio")
	b.ReportMetric(middle(ours.busy), "helpwright-CPU-us/req")
	b.ReportMetric(middle(theirs.busy), "nginx-CPU-us/req")
	b.ReportMetric(float64(len(page)), "bytes")
	b.ReportMetric(0, "ns/op")
}

func middle(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// load is the result of several runs of wrk.
type load struct {
	perSecond []float64 // answers
	busy      []float64 // processor time of the server for an answer, in microseconds
}

var (
	perSecond = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	requests  = regexp.MustCompile(`([0-9]+) requests in`)
)

// add runs wrk for two seconds, and returns the number of answers per second.
func (l *load) add(b *testing.B, busy func() time.Duration, wrk, address, path string) float64 {
	b.Helper()
	before := busy()
	out, err := exec.Command(wrk, "-t2", "-c32", "-d2s", "-H", "Host: help.example.org", "-H", "Accept-Encoding: gzip", "http://"+address+path).CombinedOutput()
	after := busy()
	rate, n := perSecond.FindSubmatch(out), requests.FindSubmatch(out)
	if err != nil || rate == nil || n == nil || strings.Contains(string(out), "Non-2xx") || strings.Contains(string(out), "Socket errors") {
		b.Fatalf("%v: %s", err, out)
	}
	speed, _ := strconv.ParseFloat(string(rate[1]), 64) // digits
	total, _ := strconv.ParseFloat(string(n[1]), 64)
	l.perSecond, l.busy = append(l.perSecond, speed), append(l.busy, float64((after-before).Microseconds())/total)
	return speed
}

// fetch is the body of a page as it is sent once it is kept.
func fetch(b *testing.B, address, path string) []byte {
	b.Helper()
	var body []byte
	for range 3 {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://"+address+path, nil)
		if err != nil {
			b.Fatal(err)
		}
		req.Host = "help.example.org"
		req.Header.Set("Accept-Encoding", "gzip")
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		body, err = io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK || res.Header.Get("Content-Encoding") != "gzip" {
			b.Fatal(err, res)
		}
	}
	return body
}

// cachedArticle starts a server over SQLite, and returns its address and the path of an article.
func cachedArticle(b *testing.B) (address, path string) {
	b.Helper()
	store, err := both.Open(b.Context(), "sqlite:"+filepath.Join(b.TempDir(), "bench.db"), bunstore.Config{SyncNormal: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	if err := store.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	cfg := config()
	cfg.Store, cfg.Listener = store, l
	srv, err := server.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	_, path = publish(b, srv)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	return l.Addr().String(), path
}

// publish makes a help centre at help.example.org, and returns its editor and the path of an article of a usual length.
func publish(b testing.TB, srv *server.Server) (editor *kb.Editor, path string) {
	b.Helper()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	ctx, operator := b.Context(), srv.Service().Operator()
	owner, err := operator.CreateUser(ctx, identity.UserInput{Email: "maja@example.org"})
	must(err)
	account, err := operator.CreateAccount(ctx, identity.AccountInput{Name: "Halden"}, owner.ID)
	must(err)
	sites, err := srv.KB().Sites(srv.Service().As(owner.ID))
	must(err)
	site, err := sites.Create(ctx, kb.SiteInput{
		AccountID: account.ID, Name: "Halden", CustomDomain: storage.Some("help.example.org"), Path: storage.Some(""),
	})
	must(err)
	editor, err = srv.KB().Editor(ctx, srv.Service().As(owner.ID), site.ID)
	must(err)
	text := func(title, markdown string) kb.TextInput {
		in := kb.TranslationInput{Title: storage.Some(title)}
		if markdown != "" {
			in.Markdown = storage.Some(markdown)
		}
		return kb.TextInput{SourceLocale: "en", Translations: map[string]storage.Opt[kb.TranslationInput]{"en": storage.Some(in)}}
	}
	shelf, err := editor.CreateCollection(ctx, kb.CollectionInput{TextInput: text("Payments", "")})
	must(err)
	words, random := strings.Fields("account bank code colleague crown customer day document email fee holiday invoice letter limit month number order "+
		"owner payment payout phone receipt refund rule sender statement sum tax team transfer week year check choose confirm open read send wait write"), rand.New(rand.NewPCG(1, 2))
	for i := range 12 {
		var body strings.Builder
		for section := range 8 {
			fmt.Fprintf(&body, "## Step %d\n\n", section+1)
			for range 90 {
				body.WriteString(words[random.IntN(len(words))] + " ")
			}
			body.WriteString("\n\n- Open **Settings**\n- Ask a colleague\n\n")
		}
		a, err := editor.CreateArticle(ctx, kb.ArticleInput{CollectionID: shelf.ID, TextInput: text(fmt.Sprint("How to connect bank number ", i+1), body.String())})
		must(err)
		path = kb.PagePath("en", kb.ArticlePages, a.Article.ID, fmt.Sprint("How to connect bank number ", i+1))
	}
	return editor, path
}
