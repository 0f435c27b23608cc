package expression

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/itchyny/gojq"
)

// TestJSONPathsSelectTheSameFieldsInJQ runs each translation over one object.
func TestJSONPathsSelectTheSameFieldsInJQ(t *testing.T) {
	const text = `{"spec":{"replicas":2,"list":[{"name":"a","v":1},{"name":"b","v":2,"on":true}]},"data":{"a.b":"x"}}`
	var object any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		".spec.replicas":                         `["spec","replicas"]`,
		".spec.other.deep":                       `["spec","other","deep"]`,
		`.data.a\.b`:                             `["data","a.b"]`,
		".spec.list[0].v":                        `["spec","list",0,"v"]`,
		".spec.list[*].v":                        `["spec","list",0,"v"] ["spec","list",1,"v"]`,
		".spec.list[0:1].v":                      `["spec","list",0,"v"]`,
		".spec.list[1:].v":                       `["spec","list",1,"v"]`,
		`.spec.list[?(@.name=="b")].v`:           `["spec","list",1,"v"]`,
		`.spec.list[?(@.v<2)].v`:                 `["spec","list",0,"v"]`,
		`.spec.list[?(@.on)].v`:                  `["spec","list",1,"v"]`,
		`.spec['replicas','list']`:               `["spec","replicas"] ["spec","list"]`,
		".spec..on":                              `["spec","on"] ["spec","list",0,"on"] ["spec","list",1,"on"]`,
		`.spec.list[?(@.name=="b") && (@.v==2)]`: "error",
		".spec.list[-1]":                         "error",
		".spec.list[0:2:2]":                      "error",
		"{.spec}":                                "error",
	} {
		t.Run(path, func(t *testing.T) {
			translated, err := JSONPathAsJQ(path)
			if err != nil {
				if want != "error" {
					t.Fatal(err)
				}
				return
			}
			query, err := gojq.Parse("path(" + translated + ")")
			if err != nil {
				t.Fatalf("%s: %v", translated, err)
			}
			var got []string
			for results := query.Run(object); ; {
				found, more := results.Next()
				if !more {
					break
				}
				encoded, _ := json.Marshal(found)
				got = append(got, string(encoded))
			}
			if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", translated, diff)
			}
		})
	}
}
