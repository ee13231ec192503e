package backup_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/helpwright/helpwright/storage/backup"
)

// FuzzRead reads arbitrary input, compressed or not. What Read accepts can be written again and is then the same.
func FuzzRead(f *testing.F) {
	plain := func(archive []byte) []byte {
		r, err := zstd.NewReader(nil) // a stream reader would keep its decoders from DecodeAll
		if err != nil {
			f.Fatal(err)
		}
		defer r.Close()
		text, err := r.DecodeAll(archive, nil)
		if err != nil {
			f.Fatal(err)
		}
		return text
	}
	for _, archive := range [][]byte{
		write(f, content{Info: backup.Info{Created: created}}),
		write(f, desk()),
		pack(f, true, file("helpwright.json", `{"format":1}`), file("blobs/accounts/1/a", "a")),
		pack(f, true, file("helpwright.json", `{"format":1}`), file("blobs/../a", "a")),
		holes(f),
	} {
		f.Add(false, archive)
		f.Add(true, plain(archive))
	}
	packer, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, unpacked bool, archive []byte) {
		if unpacked {
			archive = packer.EncodeAll(archive, nil)
		}
		var got content
		totals, err := backup.Read(t.Context(), bytes.NewReader(archive), got.sink())
		if err != nil || len(archive) > 1<<20 {
			return
		}
		if totals.Blobs != int64(len(got.Blobs)) || totals.Missing != int64(len(got.Missing)) {
			t.Errorf("%+v of %+v", totals, got)
		}
		var again content
		if _, err := backup.Read(t.Context(), bytes.NewReader(write(t, got)), again.sink()); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(got, again); diff != "" {
			t.Error(diff)
		}
	})
}
