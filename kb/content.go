package kb

import (
	"context"
	"crypto/subtle"
	"io"
	"time"

	"github.com/helpwright/helpwright/kb/theme"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/filetype"
)

// Content is a public file, ready to be served. Its bytes are untrusted: browsers must not run them in the site's origin.
type Content struct {
	Filename    string
	ContentType string
	ETag        string // strong, without quotes
	Size        int64  // bytes
	ModTime     time.Time
	Immutable   bool // it never changes at this address

	blobs openRange
	key   string
}

// openRange is the type of [storage.Blobs].GetRange.
type openRange func(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)

// Open opens the content from offset to its end.
func (c Content) Open(ctx context.Context, offset int64) (io.ReadCloser, error) {
	return c.blobs(ctx, c.key, offset, -1)
}

// PublicFile returns a file of a site to any caller, even when the site is private: its address contains a secret key.
func (s *Service) PublicFile(ctx context.Context, siteID, id int64, urlKey string) (Content, error) {
	site, err := s.cfg.Store.FindSite(ctx, siteID)
	if err != nil {
		return Content{}, publicly(err, "file", id)
	}
	f, err := s.cfg.Store.Within(Scope{AccountID: site.AccountID, SiteID: site.ID}).Files().Get(ctx, id)
	if err != nil {
		return Content{}, publicly(err, "file", id)
	}
	if subtle.ConstantTimeCompare([]byte(f.URLKey), []byte(urlKey)) != 1 {
		return Content{}, fault.Missing("file", id)
	}
	return Content{
		Filename: f.Filename, ContentType: f.ContentType, ETag: f.URLKey, Size: f.Size, ModTime: f.CreatedAt, Immutable: true,
		blobs: s.cfg.Blobs.GetRange, key: f.BlobKey,
	}, nil
}

// PublicAsset returns a file of a theme to any caller if it is below assets/. version is the prefix of the hash that
// [ThemeFile.Version] returns, or "".
func (s *Service) PublicAsset(ctx context.Context, siteID, themeID int64, path, version string) (Content, error) {
	if !theme.IsAsset(path) {
		return Content{}, fault.Missing("file", 0)
	}
	site, err := s.cfg.Store.FindSite(ctx, siteID)
	if err != nil {
		return Content{}, publicly(err, "file", 0)
	}
	f, err := s.cfg.Store.Within(Scope{AccountID: site.AccountID, SiteID: site.ID}).ThemeFileByPath(ctx, themeID, path)
	if err != nil {
		return Content{}, publicly(err, "file", 0)
	}
	return Content{
		ContentType: filetype.MediaType(f.Path, nil), ETag: f.Hash, Size: f.Size, ModTime: f.UpdatedAt, Immutable: version == f.Version(),
		blobs: s.cfg.Blobs.GetRange, key: f.BlobKey,
	}, nil
}

// publicly hides which of the rows on the way to a file is missing.
func publicly(err error, noun string, id int64) error {
	if fault.Is(err, fault.NotFound) {
		return fault.Missing(noun, id)
	}
	return err
}

// Dress is the theme that a site is rendered with, and its files.
type Dress struct {
	Theme Theme
	Files []ThemeFile
}

// Dress returns a theme of a site by its id; 0 means the active theme. It is for code that renders pages: what themes show
// is public.
func (s *Service) Dress(ctx context.Context, site Site, themeID int64) (Dress, error) {
	r := s.cfg.Store.Within(Scope{AccountID: site.AccountID, SiteID: site.ID})
	var d Dress
	var err error
	if themeID == 0 {
		d.Theme, err = r.ActiveTheme(ctx)
	} else {
		d.Theme, err = r.Themes().Get(ctx, themeID)
	}
	if err != nil {
		return Dress{}, err
	}
	d.Files, err = r.ThemeFiles().List(ctx, ThemeFileFilter{ThemeID: d.Theme.ID}, everyFile())
	return d, err
}

// Template reads the text of a template of a theme.
func (s *Service) Template(ctx context.Context, f ThemeFile) (string, error) {
	from, err := s.cfg.Blobs.Get(ctx, f.BlobKey)
	if err != nil {
		return "", err
	}
	defer from.Close()
	content, err := io.ReadAll(io.LimitReader(from, theme.MaxTemplate+1))
	return string(content), err
}

// Asset returns an asset of a theme, ready to be served.
func (s *Service) Asset(f ThemeFile) Content {
	return Content{
		ContentType: filetype.MediaType(f.Path, nil), ETag: f.Hash, Size: f.Size, ModTime: f.UpdatedAt, Immutable: true,
		blobs: s.cfg.Blobs.GetRange, key: f.BlobKey,
	}
}

// Picture returns an image that the look of a site refers to.
func (s *Service) Picture(ctx context.Context, site Site, id int64) (File, error) {
	return s.cfg.Store.Within(Scope{AccountID: site.AccountID, SiteID: site.ID}).Files().Get(ctx, id)
}

// BaseURL returns Config.BaseURL without a trailing slash.
func (s *Service) BaseURL() string { return s.base.String() }
