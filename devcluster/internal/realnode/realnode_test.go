package realnode

import (
	"net/netip"
	"slices"
	"testing"
)

func TestPickNetwork(t *testing.T) {
	t.Parallel()
	const most = "10.88.0.0/14"
	for name, taken := range map[string][]string{
		"on an idle machine":        {"127.0.0.1/8", "192.168.1.7/24", "fe80::1/64"},
		"with networks in use":      {"10.88.0.1/15", "10.90.0.1/15", "10.92.0.1/15", "10.94.3.1/16"},
		"with one address of a /24": {most, "10.92.0.1/15", "10.94.0.1/16", "10.95.128.1/17", "10.95.9.77/32"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var prefixes []netip.Prefix
			for _, text := range taken {
				prefixes = append(prefixes, netip.MustParsePrefix(text))
			}
			got, err := PickNetwork(prefixes)
			if err != nil {
				t.Fatal(err)
			}
			if got.Bits() != 24 || got != got.Masked() || !networks().Contains(got.Addr()) {
				t.Errorf("%s is not a /24 of %s", got, networks())
			}
			if slices.ContainsFunc(prefixes, got.Overlaps) {
				t.Errorf("%s is in use: %s", got, prefixes)
			}
		})
	}
}

func TestPickNetworkReportsThatNoNetworkIsFree(t *testing.T) {
	t.Parallel()
	if got, err := PickNetwork([]netip.Prefix{netip.MustParsePrefix("10.0.0.1/8")}); err == nil {
		t.Errorf("picked %s", got)
	}
}

func TestNamesOnTheMachineAreDerivedFromTheNetwork(t *testing.T) {
	t.Parallel()
	c := Config{Network: netip.MustParsePrefix("10.95.254.0/24")}
	const longestInterface = 15
	if got := c.bridge(); got != "kt-10-95-254" || len(got) > longestInterface {
		t.Errorf("bridge %q", got)
	}
	if got := c.cgroup(); got != "/devcluster-10-95-254" {
		t.Errorf("cgroup %q", got)
	}
	if got := c.Address().String(); got != "10.95.254.1" {
		t.Errorf("address %q", got)
	}
}
