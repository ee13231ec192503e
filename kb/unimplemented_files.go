package kb

import (
	"context"

	"github.com/helpwright/helpwright/storage"
)

// File implements [Reader].
func (UnimplementedTx) File(context.Context, int64) (File, error) { return File{}, errUnimplemented() }

// FilesByID implements [Reader].
func (UnimplementedTx) FilesByID(context.Context, []int64) ([]File, error) {
	return nil, errUnimplemented()
}

// Files implements [Reader].
func (UnimplementedTx) Files(context.Context, storage.Seek) ([]File, error) {
	return nil, errUnimplemented()
}

// InsertFile implements [Tx].
func (UnimplementedTx) InsertFile(context.Context, *File) error { return errUnimplemented() }

// UpdateFile implements [Tx].
func (UnimplementedTx) UpdateFile(context.Context, *File) error { return errUnimplemented() }

// DeleteFile implements [Tx].
func (UnimplementedTx) DeleteFile(context.Context, int64) error { return errUnimplemented() }

// Theme implements [Reader].
func (UnimplementedTx) Theme(context.Context, int64) (Theme, error) {
	return Theme{}, errUnimplemented()
}

// Themes implements [Reader].
func (UnimplementedTx) Themes(context.Context, storage.Seek) ([]Theme, error) {
	return nil, errUnimplemented()
}

// ActiveTheme implements [Reader].
func (UnimplementedTx) ActiveTheme(context.Context) (Theme, error) {
	return Theme{}, errUnimplemented()
}

// ThemeFile implements [Reader].
func (UnimplementedTx) ThemeFile(context.Context, int64, string) (ThemeFile, error) {
	return ThemeFile{}, errUnimplemented()
}

// ThemeFiles implements [Reader].
func (UnimplementedTx) ThemeFiles(context.Context, int64, storage.Seek) ([]ThemeFile, error) {
	return nil, errUnimplemented()
}

// ThemeForUpdate implements [Tx].
func (UnimplementedTx) ThemeForUpdate(context.Context, int64) (Theme, error) {
	return Theme{}, errUnimplemented()
}

// InsertTheme implements [Tx].
func (UnimplementedTx) InsertTheme(context.Context, *Theme) error { return errUnimplemented() }

// UpdateTheme implements [Tx].
func (UnimplementedTx) UpdateTheme(context.Context, *Theme) error { return errUnimplemented() }

// DeleteTheme implements [Tx].
func (UnimplementedTx) DeleteTheme(context.Context, int64) error { return errUnimplemented() }

// InsertThemeFiles implements [Tx].
func (UnimplementedTx) InsertThemeFiles(context.Context, int64, []*ThemeFile) error {
	return errUnimplemented()
}

// UpdateThemeFile implements [Tx].
func (UnimplementedTx) UpdateThemeFile(context.Context, *ThemeFile) error { return errUnimplemented() }

// DeleteThemeFiles implements [Tx].
func (UnimplementedTx) DeleteThemeFiles(context.Context, int64, []int64) error {
	return errUnimplemented()
}
