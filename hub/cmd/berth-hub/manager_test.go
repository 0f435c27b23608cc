package main

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/berth-project/berth/hub/internal/cli"
	berthmanager "github.com/berth-project/berth/internal/manager"
)

// TestEveryManagerFlagIsForwarded: berth-hub has every flag of "berth manager". The help shows the default of that command if it
// differs.
func TestEveryManagerFlagIsForwarded(t *testing.T) {
	manager := berthmanager.DefaultOptions()
	want := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	manager.AddFlags(want)
	got := cli.Command(wiring()).Flags()
	var differ []string
	want.VisitAll(func(flag *pflag.Flag) {
		forwarded := got.Lookup(flag.Name)
		switch {
		case forwarded == nil:
			t.Errorf("--%s is missing", flag.Name)
		case forwarded.DefValue != flag.DefValue:
			differ = append(differ, flag.Name)
			if !strings.Contains(forwarded.Usage, "(berth manager: "+flag.DefValue) {
				t.Errorf("--%s has the default %s, and its help does not name the manager's %s: %s", flag.Name, forwarded.DefValue, flag.DefValue,
					forwarded.Usage)
			}
		}
	})
	slices.Sort(differ)
	if diff := cmp.Diff(flagsWithOtherDefault(), differ); diff != "" {
		t.Errorf("flags with another default (-want +got):\n%s", diff)
	}
}

// flagsWithOtherDefault are the flags with another default in berth-hub.
func flagsWithOtherDefault() []string {
	return []string{
		"controllers", "emptying-edits", "health-probe-bind-address", "leader-elect-lease-duration", "leader-elect-renew-deadline",
		"leader-elect-retry-period", "metrics-bind-address", "metrics-secure", "nil-executor", "simulate", "view-bind-address",
		"webhook-bind-address",
	}
}

// TestForwardedFlags: the values of the flags reach the manager.
func TestForwardedFlags(t *testing.T) {
	m := newManager()
	flags := pflag.NewFlagSet("berth-hub", pflag.ContinueOnError)
	m.addFlags(flags)
	if err := flags.Parse([]string{"--workers=3", "--controllers=*,-health", "--webhook-bind-address=0", "--log-level=warn"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"*", "-health"}, m.options.Controllers); diff != "" || m.options.Placement.Workers != 3 ||
		m.options.EnabledServers().Webhooks || !m.logsItself() {
		t.Errorf("workers %d, webhooks %v, controllers (-want +got):\n%s", m.options.Placement.Workers, m.options.EnabledServers().Webhooks, diff)
	}
}

// TestDeletionProtection: the flags reach the policies. Where a flag decides what becomes of workloads, only namespaces are protected.
func TestDeletionProtection(t *testing.T) {
	for args, want := range map[string]string{
		"":                           "[Deny] [Deny]",
		"--deletion-protection=Warn": "[Warn] [Warn]",
		"--deletion-protection=Off":  "[Audit] [Audit]",
		"--on-delete=Remove":         "[Audit] [Deny]",
		"--deletion-protection=Off --on-delete=Keep": "[Audit] [Audit]",
		"--deletion-protection=deny":                 `--deletion-protection "deny": must be Deny, Warn or Off`,
	} {
		m := newManager()
		flags := pflag.NewFlagSet("berth-hub", pflag.ContinueOnError)
		m.addFlags(flags)
		if err := flags.Parse(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		var got []string
		policies, err := m.protectionManifests()
		if err != nil {
			got = []string{err.Error()}
		} else {
			for _, name := range []string{"clusters.yaml", "namespaces.yaml"} {
				data, err := fs.ReadFile(policies, name)
				if err != nil {
					t.Fatal(err)
				}
				_, action, _ := strings.Cut(string(data), "validationActions: ")
				got = append(got, strings.TrimSpace(action))
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q: actions for clusters and namespaces (-want +got):\n%s", args, diff)
		}
	}
}
