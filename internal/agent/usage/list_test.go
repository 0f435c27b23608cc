package usage

import (
	"errors"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

type item struct {
	Name string `json:"name"`
}

func TestAListIsReadItemByItem(t *testing.T) {
	for sentence, test := range map[string]struct {
		body string
		want string
		err  error
	}{
		"an empty list":     {`{"items":[]}`, "", nil},
		"a list of nothing": {`{"items":null}`, "", nil},
		"items between other fields": {
			`{"kind":"List","metadata":{"resourceVersion":"1"},"items":[{"name":"a"},{"name":"b","more":[1]}],"x":1}`,
			"ab", nil,
		},
		"no list":                     {`{"kind":"Status"}`, "", errNoList},
		"an array":                    {`[{"name":"a"}]`, "", errNoList},
		"items that are no array":     {`{"items":{"name":"a"}}`, "", errNoList},
		"a body that ends in an item": {`{"items":[{"name":"a"},{"na`, "a", io.ErrUnexpectedEOF},
		"a body that ends after one":  {`{"items":[{"name":"a"}`, "a", io.ErrUnexpectedEOF},
		"a body that ends after all":  {`{"items":[{"name":"a"}]`, "a", io.ErrUnexpectedEOF},
		"nothing":                     {``, "", io.ErrUnexpectedEOF},
		"an item without an end":      {`{"items":[{"name":"` + strings.Repeat("a", 2*maxItemBytes), "", errItemTooLarge},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := ""
			err := eachItem(strings.NewReader(test.body), func(i *item) { got += i.Name })
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("items %q, error %v; want %q, %v", got, err, test.want, test.err)
			}
		})
	}
}

// TestALongListIsReadWithoutALimit is longer than what one item may have.
func TestALongListIsReadWithoutALimit(t *testing.T) {
	const size, count = 64 << 10, 2 * maxItemBytes / (64 << 10)
	one := `{"name":"` + strings.Repeat("a", size) + `"}`
	body := `{"items":[` + strings.Repeat(one+",", count-1) + one + `]}`
	found := 0
	if err := eachItem(strings.NewReader(body), func(*item) { found++ }); err != nil || found != count {
		t.Errorf("%d items of %d: %v", found, count, err)
	}
}

// FuzzPods reads what a member returns as its pods.
func FuzzPods(f *testing.F) {
	f.Add(`{"items":[{"spec":{"nodeName":"n","containers":[{"resources":{"requests":{"cpu":"1"}}}]}}]}`)
	f.Add(`{"items":[{"spec":{"nodeName":"n","overhead":{"memory":"-9E"}},"status":{"phase":"Failed"}}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		found, err := measure(t.Context(), lists{pods: body}, []*corev1.Node{readyNode("n")})
		if err != nil {
			return
		}
		for name, score := range found.scores {
			if score < -100 || score > 100 {
				t.Errorf("%s is %d", name, score)
			}
		}
	})
}
