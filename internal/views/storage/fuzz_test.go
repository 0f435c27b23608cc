package storage_test

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// FuzzList lists with any query. The list contains the visible objects only and is whole, or the request is rejected as invalid
// or expired.
func FuzzList(f *testing.F) {
	for _, query := range []string{
		"", "limit=1", "limit=-1", "limit=9223372036854775807", "continue=x", "resourceVersion=1", "resourceVersion=18446744073709551615",
		"resourceVersion=0&resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan&resourceVersion=1", "labelSelector=colour%3Dred",
		"labelSelector=colour+in+(red,,)",
		"fieldSelector=metadata.name%3Da", "fieldSelector=metadata.namespace!%3Da",
		"continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0",
		"continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiLi4vLi4vc2VjcmV0In0", "timeoutSeconds=0", "limit=1&labelSelector=!colour",
	} {
		f.Add(query)
	}
	codec := metav1.ParameterCodec
	f.Fuzz(func(t *testing.T, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Skip("no query")
		}
		var external metav1.ListOptions
		if codec.DecodeParameters(values, metav1.SchemeGroupVersion, &external) != nil {
			t.Skip("refused before the storage is called")
		}
		var options metainternalversion.ListOptions
		if metainternalversion.Convert_v1_ListOptions_To_internalversion_ListOptions(&external, &options, nil) != nil {
			t.Skip("refused before the storage is called")
		}
		h := newFixture(set("a", "red"), set("b", "blue"), set("c", "red"), set("secret", "red"), visible("a", "b", "c"))
		seen := []string{}
		for page := 0; ; page++ {
			object, err := h.sets.List(as(t, "jane"), &options)
			if err != nil {
				checkClientError(t, err)
				return
			}
			names := namesOf(t, object)
			for _, name := range names {
				if !slices.Contains([]string{"a", "b", "c"}, name) || slices.Contains(seen, name) {
					t.Fatalf("page %d has %s, which is invisible or was on an earlier page", page, name)
				}
			}
			seen = append(seen, names...)
			list, err := meta.ListAccessor(object)
			if err != nil {
				t.Fatal(err)
			}
			if list.GetRemainingItemCount() != nil {
				t.Error("the response counts the remaining objects")
			}
			if options.Continue = list.GetContinue(); options.Continue == "" {
				return
			}
			if page > len(seen) {
				t.Fatalf("the pages do not end: %v", seen)
			}
		}
	})
}

func namesOf(t *testing.T, list runtime.Object) []string {
	t.Helper()
	var out []string
	err := meta.EachListItem(list, func(item runtime.Object) error {
		out = append(out, item.(metav1.Object).GetName())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// checkClientError checks that an error is a bad request or an expired resource version.
func checkClientError(t *testing.T, err error) {
	t.Helper()
	status, ok := err.(apierrors.APIStatus)
	if !ok || status.Status().Code != http.StatusBadRequest && status.Status().Code != http.StatusGone {
		t.Fatalf("refused with %v, want a client error", err)
	}
}
