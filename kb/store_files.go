package kb

import (
	"context"

	"github.com/helpwright/helpwright/storage"
)

// UniqueActiveTheme is the code of the Conflict fault for a second active theme of a
// site, UniqueThemeFile for a second file of a theme at one path.
const (
	UniqueActiveTheme = "active_theme" // SiteID of the themes that are active
	UniqueThemeFile   = "theme_file"   // (ThemeID, Path) of theme files
)

// FileReader reads the files of the scope's site.
type FileReader interface {
	File(ctx context.Context, id int64) (File, error)
	// FilesByID returns those of the files that are there, in any order.
	FilesByID(ctx context.Context, ids []int64) ([]File, error)
	// Files lists by id.
	Files(ctx context.Context, seek storage.Seek) ([]File, error)
}

// FileWriter changes files of the scope's site; SiteID is the scope's.
type FileWriter interface {
	InsertFile(ctx context.Context, f *File) error
	UpdateFile(ctx context.Context, f *File) error
	DeleteFile(ctx context.Context, id int64) error
}

// ThemeReader reads the themes of the scope's site, without UpdateAvailable, which is
// the service's to say.
type ThemeReader interface {
	Theme(ctx context.Context, id int64) (Theme, error)
	// Themes lists by id.
	Themes(ctx context.Context, seek storage.Seek) ([]Theme, error)
	// ActiveTheme is NotFound when the site has none.
	ActiveTheme(ctx context.Context) (Theme, error)
	ThemeFile(ctx context.Context, themeID int64, path string) (ThemeFile, error)
	// ThemeFiles lists by id.
	ThemeFiles(ctx context.Context, themeID int64, seek storage.Seek) ([]ThemeFile, error)
}

// ThemeWriter changes themes of the scope's site; SiteID and ThemeID are the scope's
// and the theme's.
type ThemeWriter interface {
	// ThemeForUpdate reads a theme and keeps others from changing it until the
	// transaction ends.
	ThemeForUpdate(ctx context.Context, id int64) (Theme, error)
	InsertTheme(ctx context.Context, t *Theme) error
	UpdateTheme(ctx context.Context, t *Theme) error
	// DeleteTheme removes a theme with its files.
	DeleteTheme(ctx context.Context, id int64) error
	InsertThemeFiles(ctx context.Context, themeID int64, files []*ThemeFile) error
	UpdateThemeFile(ctx context.Context, f *ThemeFile) error
	// DeleteThemeFiles removes those of the files that the theme has.
	DeleteThemeFiles(ctx context.Context, themeID int64, ids []int64) error
}
