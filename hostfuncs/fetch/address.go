package fetch

import (
	"net/netip"
)

// special are the IPv4 ranges that are not the public internet (IANA's registry of special-purpose addresses), and one
// public address that is the metadata service of a large cloud.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
	"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32",
)

// global is the part of IPv6 that is given out; special6 are the ranges in it that are not public, those that carry IPv4
// addresses (Teredo, 6to4) among them. All that is outside of global (loopback, link-local, unique local, multicast, mapped,
// compatible, NAT64 …) is special.
var (
	global   = netip.MustParsePrefix("2000::/3")
	special6 = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)

var loopback = prefixes("127.0.0.0/8", "::1/128")

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		list[i] = netip.MustParsePrefix(t)
	}
	return list
}

func within(a netip.Addr, list []netip.Prefix) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// public says whether a is an address of the public internet, and not one that translates to another.
func public(a netip.Addr) bool {
	switch {
	case !a.IsValid() || a.Zone() != "":
		return false
	case a.Is4():
		return !within(a, special)
	}
	return global.Contains(a) && !within(a, special6)
}
