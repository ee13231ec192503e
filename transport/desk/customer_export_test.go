package desk_test

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// All data of a customer is downloaded as one archive, with the files of their messages.
func TestExportCustomer(t *testing.T) {
	t.Parallel()
	b := office(t)
	c := b.asks("ada@example.net", "Door", "It is stuck")
	note, err := b.desk.Interactions().Create(t.Context(), c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "Her file"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.desk.Attachments().Create(t.Context(), c.ID, note.ID, helpdesk.Upload{Filename: "../door.txt", Content: strings.NewReader("oak")}); err != nil {
		t.Fatal(err)
	}
	at := fmt.Sprintf("/customers/%d", c.CustomerID)
	if !strings.Contains(b.get(at).body, at+"/export") || strings.Contains(b.get(at, "As", "other").body, at+"/export") {
		t.Error("the page of the customer offers it to the wrong members")
	}
	if got := b.post(at+"/export", url.Values{}, "As", "other"); got.status != http.StatusForbidden {
		t.Errorf("by a member who may not: %d", got.status)
	}
	got := b.post(at+"/export", url.Values{})
	if kind := got.header.Get("Content-Type"); got.status != http.StatusOK || kind != "application/zip" || !strings.Contains(got.header.Get("Content-Disposition"), "attachment") {
		t.Fatalf("%d %s", got.status, kind)
	}
	archive, err := zip.NewReader(strings.NewReader(got.body), int64(len(got.body)))
	if err != nil {
		t.Fatal(err)
	}
	content := map[string]string{}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		content[f.Name] = string(text)
	}
	var about struct {
		Emails        []string
		Conversations []struct {
			Subject      string
			Interactions []struct {
				Type, From, Text string
				Attachments      []string
			}
		}
	}
	if err := json.Unmarshal([]byte(content["customer.json"]), &about); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ada@example.net"}, about.Emails); diff != "" {
		t.Error(diff)
	}
	if len(about.Conversations) != 1 || about.Conversations[0].Subject != "Door" || len(about.Conversations[0].Interactions) != 2 {
		t.Fatalf("conversations: %+v", about.Conversations)
	}
	said := about.Conversations[0].Interactions
	if said[0].From != "ada@example.net" || said[0].Text != "It is stuck" || said[1].From != "Maja Lindqvist" {
		t.Errorf("messages: %+v", said)
	}
	if len(said[1].Attachments) != 1 || content[said[1].Attachments[0]] != "oak" || strings.Contains(said[1].Attachments[0], "..") {
		t.Errorf("files: %q in %v", said[1].Attachments, content)
	}
}

// Files that the server no longer has are named in the archive.
func TestExportMissingFiles(t *testing.T) {
	t.Parallel()
	var blobs storage.Blobs
	b := newBundleWith(t, nil, nil, func(cfg *helpdesk.Config) { blobs = cfg.Blobs })
	c := b.asks("ada@example.net", "Door", "It is stuck")
	note, err := b.desk.Interactions().Create(t.Context(), c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "Her files"})
	if err != nil {
		t.Fatal(err)
	}
	var gone helpdesk.Attachment
	for _, name := range []string{"gone.txt", "here.txt"} {
		a, err := b.desk.Attachments().Create(t.Context(), c.ID, note.ID, helpdesk.Upload{Filename: name, Content: strings.NewReader("oak")})
		if err != nil {
			t.Fatal(err)
		}
		if name == "gone.txt" {
			gone = a
		}
	}
	if err := blobs.Delete(t.Context(), gone.BlobKey); err != nil {
		t.Fatal(err)
	}
	got := b.post(fmt.Sprintf("/customers/%d/export", c.CustomerID), url.Values{})
	archive, err := zip.NewReader(strings.NewReader(got.body), int64(len(got.body)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := fs.ReadFile(archive, "missing.txt")
	if want := fmt.Sprintf("files/%d-gone.txt\n", gone.ID); err != nil || string(text) != want {
		t.Errorf("missing.txt: %q, %v", text, err)
	}
	if found, err := fs.Glob(archive, "files/*"); err != nil || len(found) != 1 || !strings.HasSuffix(found[0], "here.txt") {
		t.Errorf("files: %q, %v", found, err)
	}
}
