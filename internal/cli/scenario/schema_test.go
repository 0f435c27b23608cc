package scenario

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/engine/verdict"
)

// node is the part of a schema that these tests read.
type node struct {
	Type                 any             `json:"type"`
	Description          string          `json:"description"`
	Properties           map[string]node `json:"properties"`
	Required             []string        `json:"required"`
	AdditionalProperties any             `json:"additionalProperties"`
	Items                *node           `json:"items"`
	MaxItems             *int            `json:"maxItems"`
	MaxLength            *int            `json:"maxLength"`
	Enum                 []string        `json:"enum"`
}

// TestTheSchemaAndTheTypeHaveTheSameFields compares the fields in both directions. Each must be described, bounded and
// strict.
func TestTheSchemaAndTheTypeHaveTheSameFields(t *testing.T) {
	var root node
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	compare(t, "", root, reflect.TypeFor[Scenario]())
}

func compare(t *testing.T, path string, schema node, goType reflect.Type) {
	t.Helper()
	for goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	want := map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Uint64: "integer",
		reflect.Slice: "array", reflect.Map: "object", reflect.Struct: "object",
	}[goType.Kind()]
	if schema.Type != want {
		t.Errorf("%s: type %v in the schema, want %s", path, schema.Type, want)
	}
	switch goType.Kind() {
	case reflect.String:
		if schema.MaxLength == nil && schema.Enum == nil {
			t.Errorf("%s: is not bounded", path)
		}
	case reflect.Slice:
		if schema.MaxItems == nil {
			t.Errorf("%s: is not bounded", path)
		}
		compare(t, path+"[]", *schema.Items, goType.Elem())
	case reflect.Struct:
		if schema.AdditionalProperties != false {
			t.Errorf("%s: takes fields that it does not have", path)
		}
		fields, required := fieldsOf(goType)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(fields)), slices.Sorted(maps.Keys(schema.Properties))); diff != "" {
			t.Errorf("%s: fields (-type +schema):\n%s", path, diff)
		}
		if diff := cmp.Diff(required, slices.Sorted(slices.Values(schema.Required))); diff != "" {
			t.Errorf("%s: required fields (-type +schema):\n%s", path, diff)
		}
		for name, field := range fields {
			if schema.Properties[name].Description == "" {
				t.Errorf("%s.%s: is not described", path, name)
			}
			compare(t, path+"."+name, schema.Properties[name], field)
		}
	default: // the type is enough
	}
}

// fieldsOf returns the fields of a struct by their JSON names, including the fields of embedded structs, and the names of
// the required fields.
func fieldsOf(of reflect.Type) (fields map[string]reflect.Type, required []string) {
	fields = map[string]reflect.Type{}
	for field := range of.Fields() {
		tag := field.Tag.Get("json")
		switch {
		case field.Anonymous:
			inner, more := fieldsOf(field.Type)
			maps.Copy(fields, inner)
			required = append(required, more...)
		case field.IsExported():
			name, options, _ := strings.Cut(tag, ",")
			fields[name] = field.Type
			if !strings.Contains(options, "omit") {
				required = append(required, name)
			}
		}
	}
	slices.Sort(required)
	return fields, required
}

func TestTheSchemaHasEveryVerdict(t *testing.T) {
	var root node
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	var want []string
	for code := verdict.Selected; code.String() != verdict.Code(0).String(); code++ {
		want = append(want, code.String())
	}
	got := root.Properties["steps"].Items.Properties["expect"].Items.Properties["verdicts"].Items.Properties["code"].Enum
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("codes (-engine +schema):\n%s", diff)
	}
}

func TestThePublishedSchemaIsThisOne(t *testing.T) {
	published, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "scenario.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(Schema()), string(published)); diff != "" {
		t.Errorf("run make generate (-code +docs):\n%s", diff)
	}
}
