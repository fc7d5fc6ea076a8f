package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// needsContainers skips a test of a real node, which requires root and containerd, unless `make e2e` runs it.
func needsContainers(t *testing.T) {
	t.Helper()
	if os.Getenv("KT_E2E") == "" {
		t.Skip("requires root and containerd: make e2e")
	}
}

func TestRealNodeRunsOnlyPodsThatSelectIt(t *testing.T) { //nolint:paralleltest // compares the state of the machine
	needsContainers(t)
	before := machine(t)
	mark := fmt.Sprintf("KT_TEST_MARK=%s-%d", t.Name(), os.Getpid())
	p := launch(t, []string{mark, "TMPDIR=" + t.TempDir()}, "--kubelet", "--node", "name=fake-0")
	_, client := connect(t, p.ready(t))

	node, err := client.CoreV1().Nodes().Get(t.Context(), "real-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if node.Labels["kt.dev/real"] != "true" || node.Spec.Taints[0].Key != "kt.dev/real" ||
		!strings.HasPrefix(node.Status.NodeInfo.ContainerRuntimeVersion, "containerd://") {
		t.Errorf("labels %v, taints %v, runs %s", node.Labels, node.Spec.Taints,
			node.Status.NodeInfo.ContainerRuntimeVersion)
	}
	if pod := runPod(t, client, pausePod("asks", true)); pod.Spec.NodeName != "real-0" {
		t.Errorf("the pod that selects the real node is on %s", pod.Spec.NodeName)
	} else {
		wantShim(t, mark)
		wantInNetwork(t, pod.Status.PodIP, node)
	}
	if pod := runPod(t, client, pausePod("does-not-ask", false)); pod.Spec.NodeName != "fake-0" {
		t.Errorf("the pod that does not select the real node is on %s", pod.Spec.NodeName)
	}

	during := machine(t)
	for _, kind := range []string{"interface", "cgroup"} {
		if !slices.ContainsFunc(during,
			func(line string) bool { return strings.HasPrefix(line, kind) && !slices.Contains(before, line) }) {
			t.Errorf("a running node has no %s: this test checks the wrong names", kind)
		}
	}
	p.stop(t, syscall.SIGTERM)
	wantNothingLeft(t, mark, before)
}

//nolint:paralleltest // compares the state of the machine
func TestRealNodeIsRemovedWhenTheClusterIsKilled(t *testing.T) {
	needsContainers(t)
	before := machine(t)
	mark := fmt.Sprintf("KT_TEST_MARK=%s-%d", t.Name(), os.Getpid())
	p := launch(t, []string{mark}, "--dir", t.TempDir(), "--kubelet")
	_, client := connect(t, p.ready(t))
	runPod(t, client, pausePod("asks", true))
	p.end()
	wantNothingLeft(t, mark, before)
}

func TestTwoClustersCanHaveRealNodes(t *testing.T) { //nolint:paralleltest // must not run while other tests compare
	needsContainers(t)
	first, second := launch(t, nil, "--dir", t.TempDir(), "--kubelet=2"),
		launch(t, nil, "--dir", t.TempDir(), "--kubelet")
	addresses := map[string]string{}
	for i, p := range []*process{first, second} {
		_, client := connect(t, p.ready(t))
		for _, node := range []string{"real-0", "real-1"}[:2-i] {
			pod := pausePod("asks-for-"+node, true)
			pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
			addresses[runPod(t, client, pod).Status.HostIP] = fmt.Sprintf("%s of cluster %d", node, i)
		}
	}
	if len(addresses) != 3 {
		t.Errorf("two nodes have the same address: %v", addresses)
	}
	first.stop(t, syscall.SIGTERM)
	_, client := connect(t, second.kubeconfig)
	runPod(t, client, pausePod("asks-again", true))
	second.stop(t, syscall.SIGTERM)
}

func TestRealNodeReportsWhyItExited(t *testing.T) { //nolint:paralleltest // must not run while other tests compare
	needsContainers(t)
	image := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(image, []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	p := launch(t, []string{"TMPDIR=" + temp}, "--kubelet", "--image", image)
	for line := range p.lines {
		t.Errorf("stdout: %q", line)
	}
	if err := p.command.Wait(); err == nil || !strings.Contains(p.stderr.String(), "images import") {
		t.Errorf("%v, stderr: %s; want the failed import of the image", err, p.stderr.String())
	}
	wantEntries(t, temp)
}

// pausePod returns a pod that optionally selects the real node.
func pausePod(name string, asks bool) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "pause", Image: "localhost/devcluster/pause:1"}}},
	}
	if asks {
		pod.Spec.NodeSelector = map[string]string{"kt.dev/real": "true"}
		pod.Spec.Tolerations = []corev1.Toleration{{Key: "kt.dev/real", Operator: corev1.TolerationOpExists}}
	}
	return pod
}

// runPod creates a pod and waits until it is running.
func runPod(t *testing.T, client kubernetes.Interface, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	pods := client.CoreV1().Pods(pod.Namespace)
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "pod "+pod.Name+" to run", func(ctx context.Context) (string, bool) {
		got, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		pod = got
		return string(got.Status.Phase), got.Status.Phase == corev1.PodRunning && got.Status.PodIP != ""
	})
	return pod
}

func wantInNetwork(t *testing.T, podIP string, node *corev1.Node) {
	t.Helper()
	_, network, err := net.ParseCIDR(node.Status.Addresses[0].Address + "/24")
	if err != nil {
		t.Fatal(err)
	}
	if !network.Contains(net.ParseIP(podIP)) {
		t.Errorf("the pod's address %s is not in the node's network %s", podIP, network)
	}
}

// machine lists the objects of the machine that a node creates or might change, one per line: network interfaces,
// cgroups, mounts, iptables rules if iptables is installed, kernel parameters.
func machine(t *testing.T) []string {
	t.Helper()
	var lines []string
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		lines = append(lines, "interface "+i.Name)
	}
	for _, pattern := range []string{"/sys/fs/cgroup/devcluster-*", "/sys/fs/cgroup/*/devcluster-*",
		"/sys/fs/cgroup/kubepods*", "/sys/fs/cgroup/*/kubepods*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			lines = append(lines, "cgroup "+path)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		lines = append(lines, "mount "+line)
	}
	if path, err := exec.LookPath("iptables-save"); err == nil {
		rules, err := exec.CommandContext(t.Context(), path).Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(rules)) {
			if !strings.HasPrefix(line, "#") {
				lines = append(lines, "iptables "+line)
			}
		}
	}
	for _, name := range []string{"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
		"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes", "net/ipv4/ip_forward"} {
		value, err := os.ReadFile(filepath.Join("/proc/sys", name))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, "parameter "+name+" = "+string(value))
	}
	for _, dir := range []string{"/run/containerd", "/run/netns", "/var/lib/containerd", "/var/lib/kubelet",
		"/var/lib/cni", "/var/log/pods", "/opt/containerd", "/usr/libexec/kubernetes"} {
		if _, err := os.Stat(dir); err == nil {
			lines = append(lines, "directory "+dir)
		}
	}
	return lines
}

// wantNothingLeft waits until no process with the inherited mark is running, and the machine is in its previous state.
func wantNothingLeft(t *testing.T, mark string, before []string) {
	t.Helper()
	eventually(t, "the removal of the node", func(context.Context) (string, bool) {
		left := processes(t, mark)
		for _, line := range machine(t) {
			if !slices.Contains(before, line) {
				left = append(left, line)
			}
		}
		return strings.Join(left, "\n"), len(left) == 0
	})
}

// wantShim checks that a shim process between containerd and a container is running.
func wantShim(t *testing.T, mark string) {
	t.Helper()
	found := processes(t, mark)
	if !slices.ContainsFunc(found, func(line string) bool { return strings.Contains(line, "containerd-shim") }) {
		t.Errorf("no shim of containerd is running; running processes:\n%s", strings.Join(found, "\n"))
	}
}

// processes returns the command lines of the processes whose environment contains an entry.
func processes(t *testing.T, entry string) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, dir := range dirs {
		environ, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !slices.Contains(strings.Split(string(environ), "\x00"), entry) {
			continue // exited, or of another user
		}
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		found = append(found, "process "+filepath.Base(dir)+" "+strings.ReplaceAll(string(command), "\x00", " "))
	}
	return found
}
