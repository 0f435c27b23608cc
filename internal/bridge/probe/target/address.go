// Package target owns which servers the probe may connect to, and how.
//
// It reads the kubeconfig of a member from a Secret, and makes a connection that only reads: to allowed addresses, with bounded
// responses, without proxies and redirects. The author of such a Secret chooses an address that the hub connects to, so every part
// of it is checked. The invariant: no packet of a probe goes to an address that the allow-list does not permit.
package target

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// maxAllowed bounds the entries of an allow-list.
const maxAllowed = 1000

// ErrAddress is the error of a server that the allow-list does not permit.
var ErrAddress = errors.New("the server is not allowed")

// Allowed are the servers that the probe may connect to. The zero value allows none.
type Allowed struct {
	// names are host names; a name that begins with a dot stands for all names below it.
	names    []string
	networks []netip.Prefix
}

// ParseAllowed reads an allow-list: IP addresses, networks such as 10.0.0.0/8, host names, and *.example.com for the names below one.
func ParseAllowed(entries []string) (Allowed, error) {
	if len(entries) > maxAllowed {
		return Allowed{}, fmt.Errorf("%d entries: at most %d are supported, combine networks", len(entries), maxAllowed)
	}
	var out Allowed
	for _, entry := range entries {
		if network, ok := parseNetwork(entry); ok {
			out.networks = append(out.networks, network)
			continue
		}
		name, below := strings.CutPrefix(strings.ToLower(entry), "*.")
		if !isName(name) {
			return Allowed{}, fmt.Errorf("%q: must be an IP address, a network such as 10.0.0.0/8, a host name, or *.example.com", entry)
		}
		if below {
			name = "." + name
		}
		out.names = append(out.names, name)
	}
	return out, nil
}

func parseNetwork(entry string) (netip.Prefix, bool) {
	if network, err := netip.ParsePrefix(entry); err == nil {
		return network.Masked(), !network.Addr().Is4In6()
	}
	address, err := netip.ParseAddr(entry)
	if err != nil || address.Zone() != "" {
		return netip.Prefix{}, false
	}
	address = address.Unmap()
	return netip.PrefixFrom(address, address.BitLen()), true
}

// isName returns whether a host is a DNS name. Some resolvers read numbers such as 127.1 and 0x7f000001 as IPv4 addresses, so a name
// has a letter at the begin of its last part.
func isName(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	return len(validation.IsDNS1123Subdomain(host)) == 0 && (last[0] < '0' || last[0] > '9')
}

// name returns whether the list has a host name.
func (a Allowed) name(host string) bool {
	return slices.ContainsFunc(a.names, func(name string) bool {
		return name == host || name[0] == '.' && strings.HasSuffix(host, name)
	})
}

// Host checks the host of a server before it is resolved. It is a name in the list, an allowed address, or any name where the list
// has networks; then its addresses decide.
func (a Allowed) Host(host string) error {
	if address, err := netip.ParseAddr(host); err == nil {
		return a.Address("", address)
	}
	if !isName(host) {
		return fmt.Errorf("%w: %q is neither an IP address nor a host name", ErrAddress, host)
	}
	if len(a.networks) == 0 && !a.name(host) {
		return fmt.Errorf("%w: the host %s is not in --probe-allow", ErrAddress, host)
	}
	return nil
}

// Address checks an address that a connection goes to. host is the name that was resolved to it; empty where the server is an address.
// A listed name permits public addresses only: the owner of a name chooses its addresses. Each other address needs a network.
func (a Allowed) Address(host string, address netip.Addr) error {
	address = address.Unmap()
	refuse := func(why string) error {
		if host != "" {
			return fmt.Errorf("%w: %s has the address %s, which %s", ErrAddress, host, address, why)
		}
		return fmt.Errorf("%w: the address %s %s", ErrAddress, address, why)
	}
	if address.Zone() != "" {
		return refuse("has a zone")
	}
	if within(neverAllowed(), embedded(address)) {
		return refuse("is never allowed: it is no member's, or belongs to a metadata service")
	}
	listed := slices.ContainsFunc(a.networks, func(network netip.Prefix) bool { return network.Contains(address) })
	for _, special := range specialNetworks() {
		if special.Contains(address) {
			return a.special(special, address, refuse)
		}
	}
	switch {
	case listed:
		return nil
	case within(privateNetworks(), address):
		return refuse("is private, and in no network of --probe-allow")
	case host == "" || !a.name(host):
		return refuse("is in no network of --probe-allow")
	default:
		return nil
	}
}

// special checks an address of a special network. A wide network such as 0.0.0.0/0 does not permit it; a network within the special
// one does.
func (a Allowed) special(special netip.Prefix, address netip.Addr, refuse func(string) error) error {
	if slices.ContainsFunc(a.networks, func(network netip.Prefix) bool {
		return network.Contains(address) && network.Bits() >= special.Bits()
	}) {
		return nil
	}
	return refuse("is in the special network " + special.String() + ", and in no network of --probe-allow within it")
}

func within(networks []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(networks, func(network netip.Prefix) bool { return network.Contains(address) })
}

// embedded returns the IPv4 address that a gateway reaches by an IPv6 address; otherwise the address itself.
func embedded(address netip.Addr) netip.Addr {
	if !address.Is6() || address.IsLoopback() {
		return address
	}
	bytes := address.As16()
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(address), netip.MustParsePrefix("::/96").Contains(address):
		return netip.AddrFrom4([4]byte(bytes[12:]))
	case netip.MustParsePrefix("2002::/16").Contains(address):
		return netip.AddrFrom4([4]byte(bytes[2:6]))
	default:
		return address
	}
}

// neverAllowed are the addresses of metadata services of clouds, and addresses that no server has.
func neverAllowed() []netip.Prefix {
	return prefixes(
		// AWS, Azure, Google, and others
		"169.254.169.254/32", "169.254.169.253/32", "169.254.169.123/32", "169.254.170.2/32", "169.254.170.23/32",
		"169.254.0.23/32",                   // Tencent
		"100.100.100.200/32",                // Alibaba
		"168.63.129.16/32",                  // Azure
		"192.0.0.192/32",                    // Oracle
		"fd00:ec2::/32", "fd20:ce::254/128", // AWS, Google
		"0.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4", // unspecified, multicast, reserved
		"::/128", "ff00::/8",
	)
}

// specialNetworks lead to the hub itself, to its link, or through a gateway.
func specialNetworks() []netip.Prefix {
	return prefixes(
		"127.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"::1/128", "::/96", "fe80::/10", "fec0::/10", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16",
	)
}

// privateNetworks are those of organizations and providers.
func privateNetworks() []netip.Prefix {
	return prefixes("10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
}

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}
