package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/exchange"
	"github.com/helpwright/helpwright/storage/fault"
)

type kbCmd struct {
	Export kbExportCmd `cmd:"" help:"Write a site into a folder: one Markdown file with YAML front matter per article and language, and the site's files."`
	Import kbImportCmd `cmd:"" help:"Update a site from such a folder, or from a folder of ordinary Markdown documentation."`
}

type kbExportCmd struct {
	Site int64  `required:"" help:"The site's id." placeholder:"ID"`
	Dir  string `arg:"" name:"dir" help:"Folder to write to: a new or empty one, or one of an earlier export. Files of articles that no longer exist are removed."`
}

// Run exports. It works while a server runs.
func (c *kbExportCmd) Run(s *session) error {
	return s.exchange(c.Site, func(x exchange.Exchange) error {
		site, err := x.Export(s.ctx)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(c.Dir, 0o777); err != nil {
			return err
		}
		folder, err := os.OpenRoot(c.Dir)
		if err != nil {
			return err
		}
		defer func() { _ = folder.Close() }() // everything in it is written
		if err := exchange.Save(site, folder); err != nil {
			return fmt.Errorf("%s:\n%w", c.Dir, err)
		}
		articles := 0
		for _, in := range site.Collections {
			articles += len(in.Articles)
		}
		fmt.Fprintf(s.stdout, "exported %d collections, %d articles, %d files\n", len(site.Collections), articles, len(site.Files))
		return nil
	})
}

type kbImportCmd struct {
	Site   int64  `required:"" help:"The site's id." placeholder:"ID"`
	DryRun bool   `help:"Check everything and print the changes without making them."`
	Delete bool   `help:"Also delete what the folder does not contain."`
	Docs   bool   `help:"Read the folder as ordinary Markdown documentation: each .md file is an article, each folder a collection or a category."`
	Locale string `help:"With --docs, the language of the pages." placeholder:"en"`
	Source string `help:"With --docs, the folder's address on the web. Links to files outside the folder lead there." placeholder:"URL"`
	Dir    string `arg:"" name:"dir" help:"Folder that a site was exported to, or with --docs, any folder of Markdown files."`
}

// Run imports, and prints a line for each change. It works while a server runs. Mistakes in the folder are found before
// anything is changed.
func (c *kbImportCmd) Run(s *session) error {
	folder, err := os.OpenRoot(c.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }() // only read
	site, err := c.read(s, folder.FS())
	if err != nil {
		return fmt.Errorf("%s, nothing was changed:\n%w", c.Dir, err)
	}
	return s.exchange(c.Site, func(x exchange.Exchange) error {
		changes, err := x.Import(s.ctx, site, exchange.Options{DryRun: c.DryRun, Delete: c.Delete})
		for _, change := range changes {
			fmt.Fprintln(s.stdout, change)
		}
		switch {
		case err != nil && len(changes) > 0:
			return fmt.Errorf("only what is named above was changed, import again to do the rest: %w", err)
		case err != nil:
			return fmt.Errorf("%s, nothing was changed:\n%w", c.Dir, err)
		case len(changes) == 0:
			fmt.Fprintln(s.stdout, "no changes")
		case c.DryRun:
			fmt.Fprintf(s.stdout, "%d changes, none was made\n", len(changes))
		default:
			fmt.Fprintf(s.stdout, "%d changes\n", len(changes))
		}
		return nil
	})
}

// read reads the folder. Messages about documentation are printed to the terminal.
func (c *kbImportCmd) read(s *session, folder fs.FS) (exchange.Site, error) {
	if !c.Docs {
		return exchange.Read(folder)
	}
	locale, ok := kb.Locale(cmp.Or(c.Locale, "en"))
	if !ok {
		return exchange.Site{}, fmt.Errorf("--locale %s is not a language code, such as en or pt-BR", c.Locale)
	}
	if source, err := url.Parse(c.Source); err != nil || c.Source != "" && source.Host == "" {
		return exchange.Site{}, fmt.Errorf("--source %s is not an address, such as https://git.example/docs", c.Source)
	}
	site, remarks, err := exchange.ReadDocs(folder, exchange.DocsOptions{Locale: locale, Source: c.Source})
	for _, r := range remarks {
		fmt.Fprintf(s.stderr, "%s: %s\n", r.Path, r.Message)
	}
	return site, err
}

// exchange opens a site. The schema of the database must be up to date: neither an export nor a dry run of an import should
// change it.
func (s *session) exchange(siteID int64, do func(exchange.Exchange) error) error {
	a, err := s.open(false)
	if err != nil {
		return err
	}
	defer a.close()
	editor, err := a.KB().Operator(s.ctx, siteID)
	if fault.Is(err, fault.NotFound) {
		return fmt.Errorf("there is no site %d", siteID)
	}
	if err != nil {
		return err
	}
	return do(exchange.Exchange{Service: a.KB(), Editor: editor})
}
