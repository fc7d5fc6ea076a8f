// Package realnode runs real nodes, each with containerd and a kubelet, which really run pods.
//
// The two are started by an init process (Init) in a separate PID and mount namespace, with a separate /run and /var.
// The built-in paths of containerd, CNI and the kubelet therefore never conflict with those of the machine. When init
// exits, the kernel stops all processes and removes all mounts. In addition, a node has a bridge and a cgroup, which
// init removes even if the dev cluster is killed.
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
	// Key is the key of the node's label (value "true") and taint, so that only pods that select it run there.
	Key = "kt.dev/real"
	// PauseImage is the image of the container that keeps the namespaces of a pod. This package creates it.
	PauseImage = "localhost/devcluster/pause:1"
	// Packages are the Debian packages that the node requires.
	Packages = "containerd runc containernetworking-plugins iproute2"
)

// Name returns the name of a node by its index.
func Name(index int) string { return fmt.Sprintf("real-%d", index) }

// Toleration lets a pod run on the node.
func Toleration() corev1.Toleration {
	return corev1.Toleration{Key: Key, Operator: corev1.TolerationOpExists}
}

// Config configures the node.
type Config struct {
	Name       string       // see Name
	Dir        string       // a separate directory on a disk, which the caller must remove
	LogFile    string       // log of containerd and the kubelet
	Network    netip.Prefix // a /24 for the addresses of pods, see PickNetwork
	Images     []string     // archives of `docker save` or `make tensor-image` to import
	Kubeconfig []byte       // kubeconfig of the kubelet, as the node
	ClientCA   []byte       // PEM; signs the API server's client certificate
	ServerCert []byte       // PEM, for Address
	ServerKey  []byte       // PEM
}

// Address returns the address of the node on its bridge, at which it listens and which is the gateway of pods.
func (c Config) Address() netip.Addr { return c.Network.Masked().Addr().Next() }

// networks returns the range of PickNetwork, which does not overlap with the ranges of Services (10.96.0.0/16) and of
// pods on fake nodes.
func networks() netip.Prefix { return netip.MustParsePrefix("10.88.0.0/13") }

// PickNetwork returns a random /24 that does not overlap with the networks of the machine's interfaces.
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

// unique returns a part of the names of the node's objects on the machine, derived from its unique network.
func (c Config) unique() string {
	octets := strings.Split(c.Network.Masked().Addr().String(), ".")
	return strings.Join(octets[:3], "-")
}

// bridge returns the name of the bridge of the pods. Linux allows 15 characters.
func (c Config) bridge() string { return "kt-" + c.unique() }

// cgroup returns the path of the parent cgroup of the pods.
func (c Config) cgroup() string { return "/devcluster-" + c.unique() }
