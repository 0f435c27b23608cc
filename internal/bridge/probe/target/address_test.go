package target

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func allow(t *testing.T, entries ...string) Allowed {
	t.Helper()
	out, err := ParseAllowed(entries)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAddressesAreCheckedAtTheConnection(t *testing.T) {
	for sentence, test := range map[string]struct {
		allowed []string
		host    string
		address string
		want    bool
	}{
		"nothing is allowed by default":                         {nil, "", "8.8.8.8", false},
		"a listed address":                                      {[]string{"8.8.8.8"}, "", "8.8.8.8", true},
		"another address":                                       {[]string{"8.8.8.8"}, "", "8.8.8.9", false},
		"an address of a listed network":                        {[]string{"10.1.0.0/16"}, "", "10.1.2.3", true},
		"an address of another network":                         {[]string{"10.1.0.0/16"}, "", "10.2.0.1", false},
		"a network with host bits":                              {[]string{"10.1.2.3/16"}, "", "10.1.9.9", true},
		"IPv4 in IPv6 counts as IPv4":                           {[]string{"10.1.0.0/16"}, "", "::ffff:10.1.2.3", true},
		"loopback as IPv4 in IPv6":                              {[]string{"0.0.0.0/0", "::/0"}, "", "::ffff:127.0.0.1", false},
		"a listed name with a public address":                   {[]string{"edge.example"}, "edge.example", "8.8.8.8", true},
		"a listed name with a public IPv6 address":              {[]string{"edge.example"}, "edge.example", "2a00:1450::1", true},
		"a name below a listed one":                             {[]string{"*.example"}, "a.b.example", "8.8.8.8", true},
		"the name above":                                        {[]string{"*.edge.example"}, "edge.example", "8.8.8.8", false},
		"a name with the same end":                              {[]string{"*.example"}, "evilexample", "8.8.8.8", false},
		"a name with the same begin":                            {[]string{"edge.example"}, "edge.example.evil", "8.8.8.8", false},
		"a listed name that resolves to a private address":      {[]string{"edge.example"}, "edge.example", "10.0.0.1", false},
		"a listed name that resolves to a shared address":       {[]string{"edge.example"}, "edge.example", "100.64.0.1", false},
		"a listed name that resolves to a unique local address": {[]string{"edge.example"}, "edge.example", "fd12::1", false},
		"a listed name with a listed private address":           {[]string{"edge.example", "10.0.0.0/8"}, "edge.example", "10.0.0.1", true},
		"a listed name that resolves to loopback":               {[]string{"edge.example"}, "edge.example", "127.0.0.1", false},
		"a listed name that resolves to link-local":             {[]string{"edge.example"}, "edge.example", "169.254.1.1", false},
		"a listed name that resolves to the unspecified":        {[]string{"edge.example"}, "edge.example", "0.0.0.0", false},
		"another name in a listed network":                      {[]string{"10.0.0.0/8"}, "any.example", "10.0.0.1", true},
		"another name with a public address":                    {[]string{"10.0.0.0/8"}, "any.example", "8.8.8.8", false},
		"all of IPv4 does not include loopback":                 {[]string{"0.0.0.0/0"}, "", "127.0.0.1", false},
		"nor link-local":                                        {[]string{"0.0.0.0/0"}, "", "169.254.1.1", false},
		"all of IPv4 includes private networks":                 {[]string{"0.0.0.0/0"}, "", "10.0.0.1", true},
		"all of IPv6 does not include loopback":                 {[]string{"::/0"}, "", "::1", false},
		"nor link-local in IPv6":                                {[]string{"::/0"}, "", "fe80::1", false},
		"nor addresses of a gateway to IPv4":                    {[]string{"::/0"}, "", "64:ff9b::a00:1", false},
		"nor 6to4":                                              {[]string{"::/0"}, "", "2002:a00:1::1", false},
		"nor Teredo":                                            {[]string{"::/0"}, "", "2001:0:a00:1::1", false},
		"nor addresses compatible with IPv4":                    {[]string{"::/0"}, "", "::10.0.0.1", false},
		"loopback where it is listed":                           {[]string{"127.0.0.1"}, "", "127.0.0.1", true},
		"all of loopback where it is listed":                    {[]string{"127.0.0.0/8"}, "", "127.9.9.9", true},
		"loopback of IPv6 where it is listed":                   {[]string{"::1"}, "", "::1", true},
		"link-local where it is listed":                         {[]string{"169.254.1.0/24"}, "", "169.254.1.1", true},
		"the metadata service of AWS, Azure and Google, listed": {
			[]string{"169.254.0.0/16", "169.254.169.254"},
			"", "169.254.169.254",
			false,
		},
		"the metadata service as IPv4 in IPv6":      {[]string{"169.254.169.254"}, "", "::ffff:169.254.169.254", false},
		"the metadata service through a gateway":    {[]string{"64:ff9b::/96"}, "", "64:ff9b::a9fe:a9fe", false},
		"the metadata service through 6to4":         {[]string{"2002::/16"}, "", "2002:a9fe:a9fe::1", false},
		"the metadata service of containers on AWS": {[]string{"169.254.170.2"}, "", "169.254.170.2", false},
		"the metadata service of AWS on IPv6":       {[]string{"fd00:ec2::254"}, "", "fd00:ec2::254", false},
		"the metadata service of Google on IPv6":    {[]string{"fd20:ce::254"}, "", "fd20:ce::254", false},
		"the metadata service of Alibaba":           {[]string{"100.64.0.0/10"}, "", "100.100.100.200", false},
		"the host of Azure":                         {[]string{"168.63.129.16"}, "", "168.63.129.16", false},
		"the metadata service of Oracle":            {[]string{"192.0.0.192"}, "", "192.0.0.192", false},
		"a name that resolves to the metadata service": {
			[]string{"metadata.google.internal", "0.0.0.0/0"},
			"metadata.google.internal", "169.254.169.254", false,
		},
		"the unspecified address, listed":                           {[]string{"0.0.0.0/0"}, "", "0.0.0.0", false},
		"the unspecified address of IPv6, listed":                   {[]string{"::/0"}, "", "::", false},
		"multicast, listed":                                         {[]string{"224.0.0.0/4"}, "", "224.0.0.1", false},
		"broadcast, listed":                                         {[]string{"255.255.255.255"}, "", "255.255.255.255", false},
		"an address with a zone, listed":                            {[]string{"fe80::/10"}, "", "fe80::1%eth0", false},
		"a gateway to IPv4 where it is listed, and leads elsewhere": {[]string{"64:ff9b::/96"}, "", "64:ff9b::808:808", true},
	} {
		t.Run(sentence, func(t *testing.T) {
			err := allow(t, test.allowed...).Address(test.host, netip.MustParseAddr(test.address))
			if (err == nil) != test.want || err != nil && !errors.Is(err, ErrAddress) {
				t.Errorf("error %v, want allowed = %t", err, test.want)
			}
		})
	}
}

func TestHostsAreCheckedBeforeTheyAreResolved(t *testing.T) {
	for sentence, test := range map[string]struct {
		allowed []string
		host    string
		want    bool
	}{
		"a listed name":                           {[]string{"edge.example"}, "edge.example", true},
		"another name":                            {[]string{"edge.example"}, "other.example", false},
		"any name where addresses decide":         {[]string{"10.0.0.0/8"}, "other.example", true},
		"a listed address":                        {[]string{"10.0.0.0/8"}, "10.0.0.1", true},
		"an address that is not listed":           {[]string{"10.0.0.0/8"}, "8.8.8.8", false},
		"loopback":                                {[]string{"0.0.0.0/0"}, "127.0.0.1", false},
		"loopback in IPv6":                        {[]string{"::/0"}, "::1", false},
		"an IPv4 address in three numbers":        {[]string{"0.0.0.0/0", "127.0.0.0/8"}, "127.1", false},
		"an IPv4 address in one number":           {[]string{"0.0.0.0/0"}, "2130706433", false},
		"an IPv4 address in hexadecimal":          {[]string{"0.0.0.0/0"}, "0x7f000001", false},
		"an IPv4 address in octal":                {[]string{"0.0.0.0/0"}, "0177.0.0.1", false},
		"a name whose last part begins as number": {[]string{"0.0.0.0/0"}, "example.0x1", false},
		"a name with a space":                     {[]string{"0.0.0.0/0"}, "a b", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if err := allow(t, test.allowed...).Host(test.host); (err == nil) != test.want {
				t.Errorf("error %v, want allowed = %t", err, test.want)
			}
		})
	}
}

func TestAllowListsAreValidated(t *testing.T) {
	for _, entry := range []string{
		"", "*", "*.", "http://a", "a b", "10.0.0.0/33", "10.0.0", "fe80::1%eth0", "*.*.example", "a:443",
		"::ffff:10.0.0.0/104",
	} {
		if _, err := ParseAllowed([]string{entry}); err == nil || !strings.Contains(err.Error(), "must be an IP address, a network") {
			t.Errorf("%q: error %v", entry, err)
		}
	}
	if _, err := ParseAllowed(make([]string, maxAllowed+1)); err == nil {
		t.Error("the list is not bounded")
	}
}
