package manager

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestWhichControllersRun(t *testing.T) {
	cases := map[string]bool{
		"*": true, "placement": true, "*,-placement": false, "-placement,*": false, "-placement": false, "": false,
		"placement,-placement": true, "-placement,placement": false,
	}
	for flag, want := range cases {
		options := Options{Controllers: strings.Split(flag, ",")}
		if got := options.runsController("placement"); got != want {
			t.Errorf("--controllers=%s: the placement controller runs: %v, want %v", flag, got, want)
		}
	}
}

// TestControllersThatRegisterClustersAreNamed: an upgrade of a hub must not start a second registration.
func TestControllersThatRegisterClustersAreNamed(t *testing.T) {
	for flag, want := range map[string]bool{
		"*": false, "*,csr": true, "*,probe": false, "csr": true, "-csr,csr": false,
		"*,acceptance": false,
	} {
		options := Options{Controllers: strings.Split(flag, ",")}
		if got := options.runsController("csr"); got != want {
			t.Errorf("--controllers=%s: the controller csr runs: %v, want %v", flag, got, want)
		}
	}
}

func TestOptionsAreValidated(t *testing.T) {
	cases := map[string]struct {
		args []string
		want []string // parts of the error; empty: accepted
	}{
		"defaults":              {nil, nil},
		"no bound on requests":  {[]string{"--kube-api-qps=-1", "--kube-api-burst=0"}, nil},
		"no requests at all":    {[]string{"--kube-api-qps=0"}, []string{"--kube-api-qps 0"}},
		"no burst":              {[]string{"--kube-api-burst=0"}, []string{"--kube-api-burst 0"}},
		"profiles on this host": {[]string{"--profile-bind-address=[::1]:8083"}, nil},
		"profiles on all addresses": {
			[]string{"--profile-bind-address=:8083"},
			[]string{`--profile-bind-address ":8083": must be host:port with a loopback host`},
		},
		"profiles for a network":  {[]string{"--profile-bind-address=10.0.0.1:8083"}, []string{`--profile-bind-address "10.0.0.1:8083"`}},
		"profiles without a port": {[]string{"--profile-bind-address=localhost"}, []string{`--profile-bind-address "localhost"`}},
		"metrics on this host":    {[]string{"--metrics-bind-address=localhost:8081"}, nil},
		"metrics for a network": {
			[]string{"--metrics-bind-address=:8081"},
			[]string{`--metrics-bind-address ":8081": needs --metrics-secure`},
		},
		"secure metrics for a network": {[]string{"--metrics-bind-address=:8081", "--metrics-secure"}, nil},
		"no workers":                   {[]string{"--workers=0"}, []string{"--workers 0: must be 1 to 256"}},
		"an unreachable limit above 100": {
			[]string{"--unreachable-limit=101"},
			[]string{"--unreachable-limit 101: must be a percentage, 1 to 100"},
		},
		"a CA without a certificate": {[]string{"--tls-ca-file=a"}, []string{`--tls-ca-file "a"`}},
		"webhooks without TLS":       {[]string{"--webhook-url=http://a"}, []string{`--webhook-url "http://a": must be an https URL`}},
		"webhooks without a host":    {[]string{"--webhook-url=https:a"}, []string{`--webhook-url "https:a"`}},
		"webhooks on another host":   {[]string{"--webhook-url=https://a:1"}, nil},
		"no port":                    {[]string{"--view-service-port=65536"}, []string{"--view-service-port 65536"}},
		"unknown format and level": {
			[]string{"--log-format=xml", "--log-level=loud"},
			[]string{`--log-format "xml"`, `--log-level "loud"`},
		},
		"probes of any server":        {[]string{"--controllers=*,probe"}, []string{"--controllers probe: needs --probe-allow"}},
		"probes of a network":         {[]string{"--controllers=*,probe", "--probe-allow=10.0.0.0/8,*.example.com"}, nil},
		"probes of all names":         {[]string{"--probe-allow=*"}, []string{`--probe-allow: "*": must be an IP address`}},
		"certificates without a life": {[]string{"--max-certificate-duration=0"}, []string{"--max-certificate-duration 0s"}},
		"no works at once":            {[]string{"--fanout-bytes=-1"}, []string{"--fanout-bytes -1: must be 0 or more"}},
		"a cleanup before the end":    {[]string{"--work-cleanup-timeout=-1s"}, []string{"--work-cleanup-timeout -1s: must be 0 or more"}},
		"scores without a file":       {[]string{"--controllers=*,score"}, []string{"--controllers score and --score-config: give both"}},
		"a file of scores is missing": {[]string{"--controllers=score", "--score-config=gone"}, []string{"--score-config: reading"}},
		"profiles without a manager":  {[]string{"--profile-manager="}, []string{`--profile-manager ""`}},
		"an import from nowhere":      {[]string{"--controllers=*,inventory"}, []string{"--controllers inventory and --inventory-name"}},
		"a grace below 0":             {[]string{"--inventory-grace=-1s"}, []string{"--inventory-grace -1s"}},
		"an unknown source of Kueue":  {[]string{"--kueue-source=x"}, []string{`--kueue-source "x": must be Secret or ClusterProfile`}},
		"works that are too large":    {[]string{"--manifest-limit=1572865"}, []string{"--manifest-limit 1572865"}},
		"a console without views":     {[]string{"--console-bind-address=:1"}, []string{`--console-bind-address ":1": needs the views`}},
		"statuses later than a soak": {
			[]string{"--rollout-status-interval=3s"}, []string{"--rollout-status-interval 3s: must be from 0 to 2s"},
		},
		"faults of two sections":        {[]string{"--workers=0", "--fanout-bytes=-1"}, []string{"--workers 0", "; ", "--fanout-bytes -1"}},
		"unknown controller":            {[]string{"--controllers=pacement"}, []string{`"pacement": no such controller; there are placement`}},
		"unknown controller not to run": {[]string{"--controllers=*,-pacement"}, []string{`"-pacement"`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			options := DefaultOptions()
			flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
			options.AddFlags(flags)
			if err := flags.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			err := options.validate()
			if (err == nil) != (len(tc.want) == 0) {
				t.Fatalf("error %v, want %v", err, tc.want)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q, want %q in it", err, want)
				}
			}
		})
	}
}
