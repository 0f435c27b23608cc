package usage

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	// maxItems bounds the items of a list. It is above what Kubernetes supports in one cluster.
	maxItems = 200_000
	// maxItemBytes bounds one item, above the limit of the API server.
	maxItemBytes = 8 << 20
)

var (
	errNoList       = errors.New("the response is no list")
	errTooManyItems = fmt.Errorf("the list has more than %d items", maxItems)
	errItemTooLarge = fmt.Errorf("an item of the list has more than %d MiB", maxItemBytes>>20)
)

// eachItem decodes the items of a list one after the other, as they arrive. It keeps one item at a time, so a list of any length takes the
// memory of its largest item.
func eachItem[T any](from io.Reader, use func(*T)) error {
	allowed := &allowance{from: from}
	allowed.renew()
	decoder := json.NewDecoder(allowed)
	if err := expect(decoder, '{'); err != nil {
		return err
	}
	found := false
	for decoder.More() {
		allowed.renew()
		key, err := decoder.Token()
		if err != nil {
			return fmt.Errorf("reading a list: %w", err)
		}
		if key == "items" {
			found = true
			err = eachOf(decoder, allowed, use)
		} else {
			err = decoder.Decode(&json.RawMessage{})
		}
		if err != nil {
			return fmt.Errorf("reading %v of a list: %w", key, err)
		}
	}
	if !found {
		return errNoList
	}
	return expect(decoder, '}')
}

// eachOf decodes the values of an array. null is an empty array.
func eachOf[T any](decoder *json.Decoder, allowed *allowance, use func(*T)) error {
	begin, err := decoder.Token()
	if err != nil {
		return fmt.Errorf("reading its begin: %w", err)
	}
	if begin == nil {
		return nil
	}
	if begin != json.Delim('[') {
		return errNoList
	}
	for count := 0; decoder.More(); count++ {
		if count == maxItems {
			return errTooManyItems
		}
		allowed.renew()
		item := new(T)
		if err := decoder.Decode(item); err != nil {
			return fmt.Errorf("decoding an item: %w", err)
		}
		use(item)
	}
	return expect(decoder, ']')
}

// expect reads a delimiter.
func expect(decoder *json.Decoder, want json.Delim) error {
	got, err := decoder.Token()
	switch {
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case err != nil:
		return fmt.Errorf("reading a list: %w", err)
	case got != want:
		return errNoList
	}
	return nil
}

// allowance is a reader that bounds what is read for one item.
type allowance struct {
	from io.Reader
	left int
}

func (a *allowance) renew() { a.left = maxItemBytes }

// Read implements io.Reader.
func (a *allowance) Read(into []byte) (int, error) {
	if a.left <= 0 {
		return 0, errItemTooLarge
	}
	n, err := a.from.Read(into[:min(len(into), a.left)])
	a.left -= n
	return n, err //nolint:wrapcheck // a reader returns the error of the reader below it
}
