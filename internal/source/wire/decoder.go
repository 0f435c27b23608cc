package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// usual is how long most events are at most, in bytes.
	usual = 32 << 10
	// longest is how long an event may be, in bytes: more than an API server stores of one object.
	longest = 16 << 20
)

var errForeign = errors.New("not what is watched")

// decoder reads the events of a watch of one kind, each on a line of its own. It implements watch.Decoder.
type decoder struct {
	body  io.Closer
	lines *bufio.Scanner
	of    schema.GroupVersionKind
	kind  reflect.Type
}

// event is metav1.WatchEvent with an object of the type that is expected.
type event struct {
	Type   watch.EventType `json:"type"`
	Object runtime.Object  `json:"object"`
}

func newDecoder(body io.ReadCloser, of schema.GroupVersionKind, kind runtime.Object) *decoder {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, usual), longest)
	lines.Split(whole)
	return &decoder{body: body, lines: lines, of: of, kind: reflect.TypeOf(kind).Elem()}
}

// whole splits a stream into lines. One that the end of the stream cuts off is none.
func whole(data []byte, atEOF bool) (advance int, line []byte, err error) {
	if atEOF && len(data) > 0 && bytes.IndexByte(data, '\n') < 0 {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return bufio.ScanLines(data, atEOF)
}

// Close implements watch.Decoder.
func (d *decoder) Close() { _ = d.body.Close() } // there is nobody to tell

// Decode implements watch.Decoder.
func (d *decoder) Decode() (watch.EventType, runtime.Object, error) {
	if !d.lines.Scan() {
		if err := d.lines.Err(); err != nil {
			return "", nil, err //nolint:wrapcheck // whoever watches asks what it is
		}
		return "", nil, io.EOF
	}
	object, _ := reflect.TypeAssert[runtime.Object](reflect.New(d.kind))
	read := event{Object: object}
	err := json.Unmarshal(d.lines.Bytes(), &read)
	if read.Type == watch.Error {
		read.Object = &metav1.Status{}
		err = json.Unmarshal(d.lines.Bytes(), &read)
	}
	if err != nil {
		return "", nil, fmt.Errorf("decoding an event of a watch of %s: %w", d.of.Kind, err)
	}
	return read.Type, read.Object, d.expect(read)
}

// expect refuses an event that has no place in the watch, and takes from an object what every client takes: its kind.
func (d *decoder) expect(read event) error {
	switch read.Type {
	case watch.Error:
		return nil
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
	default:
		return fmt.Errorf("%w: an event of type %q", errForeign, read.Type)
	}
	if read.Object == nil {
		return fmt.Errorf("%w: an event of nothing", errForeign)
	}
	kind := read.Object.GetObjectKind()
	if got := kind.GroupVersionKind(); got != d.of {
		return fmt.Errorf("%w: %s instead of %s", errForeign, got, d.of)
	}
	kind.SetGroupVersionKind(schema.GroupVersionKind{})
	return nil
}
