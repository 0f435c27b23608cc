package boltcheck

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// database returns a sound database of many pages.
func database(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		bucket, err := tx.CreateBucket([]byte("key"))
		for i := range 5000 {
			if err == nil {
				err = bucket.Put(fmt.Appendf(nil, "%05d", i), []byte(strings.Repeat("v", 100)))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadable(t *testing.T) {
	cases := map[string]struct {
		damage func(path string) error
		want   string
	}{
		"sound":           {damage: func(string) error { return nil }},
		"missing":         {damage: os.Remove},
		"empty":           {damage: func(path string) error { return os.Truncate(path, 0) }},
		"all garbage":     {damage: fill(0, 1<<20), want: "opening database"},
		"cut short":       {damage: func(path string) error { return os.Truncate(path, 64<<10) }, want: "database"},
		"pages garbage":   {damage: fill(64<<10, 256<<10), want: "damaged"},
		"headers garbled": {damage: fill(0, 8<<10), want: "opening database"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := database(t)
			if err := c.damage(path); err != nil {
				t.Fatal(err)
			}
			err := Readable(path)
			if c.want == "" && err != nil {
				t.Errorf("Readable = %v, want nil", err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("Readable = %v, want an error with %q", err, c.want)
			}
		})
	}
}

// fill returns a function that overwrites a part of a file.
func fill(from, to int64) func(string) error {
	return func(path string) error {
		file, err := os.OpenFile(path, os.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = file.WriteAt([]byte(strings.Repeat("\xa5", int(to-from))), from)
		return err
	}
}
