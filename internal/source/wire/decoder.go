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
	// room is how much is read at once, in bytes: more than most events have.
	room = 32 << 10
	// longest is how long an event may be, in bytes: more than an API server stores of one object.
	longest = 16 << 20
)

var (
	errLong  = errors.New("an event is too long")
	errEvent = errors.New("not a watch event")
	errOther = errors.New("not the kind that is watched")
)

// decoder reads the events of a watch of one kind. It implements watch.Decoder.
type decoder struct {
	body io.ReadCloser
	from *bufio.Reader
	// long is where an event is put together that is longer than what is read at once.
	long []byte
	of   schema.GroupVersionKind
	kind reflect.Type
}

func newDecoder(body io.ReadCloser, of schema.GroupVersionKind, kind runtime.Object) *decoder {
	return &decoder{body: body, from: bufio.NewReaderSize(body, room), of: of, kind: reflect.TypeOf(kind).Elem()}
}

// Close implements watch.Decoder.
func (d *decoder) Close() { _ = d.body.Close() } // there is nobody to tell

// Decode implements watch.Decoder.
func (d *decoder) Decode() (watch.EventType, runtime.Object, error) {
	line, err := d.line()
	if err != nil {
		return "", nil, err
	}
	what, object, err := split(line)
	if err != nil {
		return "", nil, err
	}
	switch what {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
		out, err := d.read(withoutWriters(object))
		return what, out, err
	case watch.Error:
		out := &metav1.Status{}
		if err := json.Unmarshal(object, out); err != nil {
			return "", nil, fmt.Errorf("decoding the error of a watch: %w", err)
		}
		return what, out, nil
	default:
		return "", nil, fmt.Errorf("%w: type %q", errEvent, what)
	}
}

// line returns the next event, which is valid until the one after it is asked for.
func (d *decoder) line() ([]byte, error) {
	d.long = d.long[:0]
	for {
		part, err := d.from.ReadSlice('\n')
		if err == nil && len(d.long) == 0 {
			return part, nil
		}
		d.long = append(d.long, part...)
		switch {
		case err == nil:
			return d.long, nil
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(d.long)) > 0:
			return nil, io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err //nolint:wrapcheck // whoever watches asks what it is
		case len(d.long) > longest:
			return nil, errLong
		}
	}
}

// read decodes an object of the kind that is watched.
func (d *decoder) read(text []byte) (runtime.Object, error) {
	out, ok := reflect.TypeAssert[runtime.Object](reflect.New(d.kind))
	if !ok {
		return nil, fmt.Errorf("%w: %s is no object", errOther, d.kind)
	}
	if err := json.Unmarshal(text, out); err != nil {
		return nil, fmt.Errorf("decoding a %s: %w", d.of.Kind, err)
	}
	if got := out.GetObjectKind().GroupVersionKind(); got != d.of {
		return nil, fmt.Errorf("%w: %s instead of %s", errOther, got, d.of)
	}
	out.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // as all clients do
	return out, nil
}

// The API server writes each event in this form.
const (
	beforeType   = `{"type":"`
	beforeObject = `","object":`
	afterObject  = `}`
)

// split returns the parts of an event.
func split(event []byte) (what watch.EventType, object []byte, err error) {
	rest, begins := bytes.CutPrefix(event, []byte(beforeType))
	name, rest, parted := bytes.Cut(rest, []byte(beforeObject))
	object, ends := bytes.CutSuffix(bytes.TrimRight(rest, "\n"), []byte(afterObject))
	if begins && parted && ends {
		return watch.EventType(name), object, nil
	}
	var other metav1.WatchEvent // in another form
	if err := json.Unmarshal(event, &other); err != nil {
		return "", nil, fmt.Errorf("%w: %w", errEvent, err)
	}
	return watch.EventType(other.Type), other.Object.Raw, nil
}
