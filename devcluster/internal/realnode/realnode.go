// Package realnode runs one real node, containerd and a kubelet, so that pods on it really run.
//
// Both are started by an init process (Init) in a PID and a mount namespace of their own, with a /run and a /var
// of their own: the paths that containerd, CNI and the kubelet have built in never meet those of the machine, and
// when init ends, the kernel ends every process and drops every mount. Beyond that a node has a bridge and a
// cgroup, which init removes, also when the dev cluster was killed.
package realnode

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const (
	// Name is the node's.
	Name = "real-0"
	// Key is the node's label (value "true") and its taint, so that only pods that ask for it run there.
	Key = "kt.dev/real"
	// PauseImage holds a pod's namespaces open; it is made here.
	PauseImage = "localhost/devcluster/pause:1"
	// Packages are Debian's that the node needs.
	Packages = "containerd runc containernetworking-plugins iproute2"
)

// Toleration lets a pod run on the node.
func Toleration() corev1.Toleration {
	return corev1.Toleration{Key: Key, Operator: corev1.TolerationOpExists}
}

// Config says what node to start.
type Config struct {
	Dir        string       // a folder of its own on a disk; the caller removes it at the end
	LogFile    string       // containerd's and the kubelet's log
	Network    netip.Prefix // a /24 that pods get addresses from, see PickNetwork
	Images     []string     // archives to import, as `docker save` or `make tensor-image` write them
	Kubeconfig []byte       // by which the kubelet reaches the API server, as node Name
	ClientCA   []byte       // PEM; signs the API server's client certificate
	ServerCert []byte       // PEM, for Address
	ServerKey  []byte       // PEM
}

// Address is the node's on its bridge: it listens there, and pods have it as their gateway.
func (c Config) Address() netip.Addr { return c.Network.Masked().Addr().Next() }

// networks is where PickNetwork looks: beside the ranges of Services (10.96.0.0/16) and of pods on fake nodes.
func networks() netip.Prefix { return netip.MustParsePrefix("10.88.0.0/13") }

// PickNetwork returns a random /24 that no address of the machine is in, given as the prefixes of its interfaces.
func PickNetwork(taken []netip.Prefix) (netip.Prefix, error) {
	all := networks()
	count := uint32(1) << (24 - all.Bits())
	base, start := binary.BigEndian.Uint32(all.Addr().AsSlice()), rand.Uint32N(count)
	for i := range count {
		var address [4]byte
		binary.BigEndian.PutUint32(address[:], base+(start+i)%count<<8)
		network := netip.PrefixFrom(netip.AddrFrom4(address), 24)
		if !slices.ContainsFunc(taken, network.Overlaps) {
			return network, nil
		}
	}
	return netip.Prefix{}, fmt.Errorf("every /24 of %s is in use on this machine", all)
}

// unique is part of the names of what a node has on the machine; no two nodes have one network.
func (c Config) unique() string {
	octets := strings.Split(c.Network.Masked().Addr().String(), ".")
	return strings.Join(octets[:3], "-")
}

// bridge is the name of the network interface that pods are attached to; Linux allows 15 characters.
func (c Config) bridge() string { return "kt-" + c.unique() }

// cgroup is the path of the cgroup that the pods' are under.
func (c Config) cgroup() string { return "/devcluster-" + c.unique() }
