package realnode

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Paths inside the node. /var is the directory "var" in the directory of the node.
const (
	home       = "/var/lib/devcluster"
	planFile   = home + "/plan.json"
	imagesDir  = home + "/images"
	cniDir     = home + "/cni"
	sysctls    = home + "/sysctl"
	containerd = "/run/containerd/containerd.sock"
)

// plan is the configuration that init reads. All other files have fixed paths.
type plan struct {
	Bridge string `json:"bridge"`
	// Address of the bridge with the prefix length of the network.
	Address string `json:"address"`
	Cgroup  string `json:"cgroup"`
	Node    string `json:"node"`
	NodeIP  string `json:"nodeIP"`
}

// containerdConfig has version 2, which containerd supports since 1.3. The native snapshotter copies files, so it
// works on every file system, and the images are small. restrict_oom_score_adj is for machines on which root must not
// lower the score of a process. No AppArmor profile is loaded, because it would remain in the kernel.
const containerdConfig = `version = 2
disabled_plugins = ["io.containerd.nri.v1.nri"]
[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
`

// cniConfig attaches pods to the existing bridge. The bridge is not a gateway, which would enable ip_forward on the
// machine, and nothing is masqueraded, which would require iptables. Pods can reach each other and the machine.
const cniConfig = `{
  "cniVersion": "0.4.0",
  "name": "devcluster",
  "plugins": [{
    "type": "bridge",
    "bridge": %q,
    "ipam": {
      "type": "host-local",
      "ranges": [[{"subnet": %q, "gateway": %q}]],
      "routes": [{"dst": "0.0.0.0/0"}]
    }
  }]
}
`

// kubeletConfig disables changes to the machine (iptables, flex volumes), fixed ports, which would conflict between
// clusters, and reactions to a full or small disk (evictions, image removal). The node has no DNS server, but without
// clusterDNS every pod would get a warning.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %[1]s
healthzPort: 0
authentication: {x509: {clientCAFile: %[2]s/ca.crt}}
tlsCertFile: %[2]s/kubelet.crt
tlsPrivateKeyFile: %[2]s/kubelet.key
containerRuntimeEndpoint: unix://%[3]s
cgroupDriver: cgroupfs
cgroupRoot: %[4]s
failCgroupV1: false
enforceNodeAllocatable: []
failSwapOn: false
oomScoreAdj: 0
makeIPTablesUtilChains: false
volumePluginDir: /var/lib/kubelet/volume-plugins
clusterDomain: cluster.local
clusterDNS: [%[1]s]
resolvConf: ""
serializeImagePulls: false
imageGCHighThresholdPercent: 100
evictionHard:
  memory.available: 0%%
  nodefs.available: 0%%
  nodefs.inodesFree: 0%%
  imagefs.available: 0%%
  imagefs.inodesFree: 0%%
registerWithTaints: [{key: %[5]s, value: "true", effect: NoSchedule}]
`

// writeFiles writes the files of the node, with the paths inside the node.
func (c Config) writeFiles(cniBin string) error {
	plan, err := json.Marshal(plan{
		Bridge:  c.bridge(),
		Address: fmt.Sprintf("%s/%d", c.Address(), c.Network.Bits()),
		Cgroup:  c.cgroup(),
		Node:    c.Name,
		NodeIP:  c.Address().String(),
	})
	if err != nil {
		return err
	}
	pause, err := pauseArchive()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		planFile:                    plan,
		home + "/containerd.toml":   fmt.Appendf(nil, containerdConfig, PauseImage, cniBin, cniDir),
		home + "/kubelet.yaml":      fmt.Appendf(nil, kubeletConfig, c.Address(), home, containerd, c.cgroup(), Key),
		home + "/kubeconfig":        c.Kubeconfig,
		home + "/ca.crt":            c.ClientCA,
		home + "/kubelet.crt":       c.ServerCert,
		home + "/kubelet.key":       c.ServerKey,
		cniDir + "/bridge.conflist": fmt.Appendf(nil, cniConfig, c.bridge(), c.Network.Masked(), c.Address()),
		imagesDir + "/pause.tar":    pause,
	} {
		file := filepath.Join(c.Dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return err
		}
	}
	// Standard directories in /var. /var/run is /run.
	for _, dir := range []string{"/var/log", "/var/tmp"} {
		if err := os.MkdirAll(filepath.Join(c.Dir, dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.Symlink("/run", filepath.Join(c.Dir, "/var/run")); err != nil {
		return err
	}
	for i, image := range c.Images {
		if err := copyFile(image, filepath.Join(c.Dir, imagesDir, fmt.Sprintf("%d.tar", i))); err != nil {
			return fmt.Errorf("--image: %w", err)
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}
