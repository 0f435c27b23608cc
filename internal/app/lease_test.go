package app

import (
	"testing"

	"k8s.io/client-go/rest"
)

func TestWhoHoldsTheLease(t *testing.T) {
	holder := func(identity string) string {
		options := DefaultOptions()
		options.Identity = identity
		lock, err := lease(&rest.Config{Host: "https://hub.example"}, options)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := lock.Describe(), "berth-system/berth-manager"; got != want {
			t.Errorf("the lease is %s, want %s", got, want)
		}
		return lock.Identity()
	}
	if got := holder("me"); got != "me" {
		t.Errorf("holder %q, want the one that was given", got)
	}
	if one, other := holder(""), holder(""); one == other || one == "" {
		t.Errorf("holders %q and %q, want two that differ", one, other)
	}
}
