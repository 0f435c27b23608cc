package cli

import "github.com/berth-project/berth/hub/internal/storage"

const (
	// minQuota is a little more than the database of an empty hub, maxQuota what etcd advises at most.
	minQuota, maxQuota = 16 << 20, 8 << 30
	// minFreeDisk and maxFreeDisk bound the free space that a hub may require.
	minFreeDisk, maxFreeDisk = 1 << 20, 1 << 40
)

// byteCount is a flag with a number of bytes, as in 8Gi.
type byteCount struct {
	text            string
	bytes           int64
	lowest, highest int64
}

// Set implements pflag.Value.
func (b *byteCount) Set(text string) (err error) {
	b.text = text
	b.bytes, err = storage.ParseBytes(text, b.lowest, b.highest)
	return err
}

// String implements pflag.Value.
func (b *byteCount) String() string { return b.text }

// Type implements pflag.Value.
func (b *byteCount) Type() string { return "bytes" }
