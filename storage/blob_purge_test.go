package storage_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
)

func TestBlobPurge(t *testing.T) {
	t.Parallel()
	fill := func(t *testing.T) (*memblob.Blobs, []string) {
		t.Helper()
		blobs := memblob.New()
		var keys []string
		for n := range 1100 {
			keys = append(keys, fmt.Sprintf("a/%d", n))
		}
		for _, key := range append(keys, "ab", "b/1") {
			if _, err := blobs.Put(t.Context(), key, strings.NewReader("x")); err != nil {
				t.Fatal(err)
			}
		}
		return blobs, keys
	}
	_, keys := fill(t)
	for name, test := range map[string]struct {
		purge storage.BlobPurge
		jobs  int
		left  []string
	}{
		"a prefix": {storage.BlobPurge{Prefix: "a/"}, 1, []string{"ab", "b/1"}},
		"keys":     {storage.BlobPurge{Keys: keys}, 6, []string{"ab", "b/1"}},
		"both":     {storage.BlobPurge{Prefix: "a/", Keys: []string{"b/1", "gone"}}, 2, []string{"ab"}},
		"nothing":  {storage.BlobPurge{}, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blobs, _ := fill(t)
			jobs := test.purge.Jobs("purge", 7)
			if len(jobs) != test.jobs {
				t.Errorf("%d jobs, want %d", len(jobs), test.jobs)
			}
			for _, job := range append(jobs, jobs...) { // each twice
				if job.Kind != "purge" || job.AccountID != 7 {
					t.Errorf("%+v", job)
				}
				if err := storage.RunBlobPurge(t.Context(), blobs, storage.ClaimedJob{Job: job}); err != nil {
					t.Fatal(err)
				}
			}
			if test.left == nil {
				return
			}
			var left []string
			all, err := blobs.List(t.Context(), "", "", 2000)
			for _, b := range all {
				left = append(left, b.Key)
			}
			if diff := cmp.Diff(test.left, left); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

func TestDiscardBlobs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		why  error
		left int
	}{
		"the rows were not written": {errors.New("refused"), 0},
		"nobody knows":              {fault.New(fault.OutcomeUnknown, "lost"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blobs := memblob.New()
			if _, err := blobs.Put(t.Context(), "a", strings.NewReader("x")); err != nil {
				t.Fatal(err)
			}
			storage.DiscardBlobs(t.Context(), blobs, slog.New(slog.DiscardHandler), test.why, "a")
			if all, err := blobs.List(t.Context(), "", "", 10); err != nil || len(all) != test.left {
				t.Errorf("%v, %v", all, err)
			}
		})
	}
}
