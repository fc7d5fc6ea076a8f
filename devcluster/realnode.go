package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ktdev/terraform-provider-kt/devcluster/internal/pki"
	"github.com/ktdev/terraform-provider-kt/devcluster/internal/realnode"
)

// checkMachine checks the requirements of real nodes before anything is started.
func (c *Cluster) checkMachine(context.Context) error {
	if c.opts.RealNodes == 0 {
		return nil
	}
	return realnode.Check()
}

// startRealNodes starts the real nodes.
func (c *Cluster) startRealNodes(context.Context) error {
	var networks []netip.Prefix
	for i := range c.opts.RealNodes {
		network, err := realnode.FreeNetwork(networks)
		if err != nil {
			return err
		}
		networks = append(networks, network)
		name := realnode.Name(i)
		config := realnode.Config{
			Name:    name,
			Dir:     filepath.Join(c.opts.DataDir(), "node-"+name),
			LogFile: c.opts.NodeLogFile(),
			Network: network,
			Images:  c.opts.Images,
		}
		if err := c.certs.identify(&config, c.config.Host); err != nil {
			return err
		}
		c.launch("node "+name, func(ctx context.Context) error { return realnode.Run(ctx, config) }, nil)
	}
	return nil
}

// identify sets the keys of the node's kubelet as a client of the API server and as a server.
func (f certFiles) identify(config *realnode.Config, server string) error {
	now := time.Now()
	id := pki.Identity{CommonName: "system:node:" + config.Name, Organizations: []string{"system:nodes"}}
	client, err := f.issuer.Issue(id, now)
	if err != nil {
		return err
	}
	if config.Kubeconfig, err = pki.Kubeconfig(server, id.CommonName, f.issuer.Cert, client); err != nil {
		return fmt.Errorf("render the kubeconfig of %s: %w", config.Name, err)
	}
	id.IPs, id.DNSNames = []net.IP{config.Address().AsSlice()}, []string{config.Name}
	serving, err := f.issuer.Issue(id, now)
	if err != nil {
		return err
	}
	config.ClientCA, config.ServerCert, config.ServerKey = f.issuer.Cert, serving.Cert, serving.Key
	return nil
}

// awaitRealNodes waits until each real node is ready and has run a pod.
func (c *Cluster) awaitRealNodes(ctx context.Context) error {
	for i := range c.opts.RealNodes {
		name := realnode.Name(i)
		if err := waitNode(ctx, c.client, name); err != nil {
			return err
		}
		if err := runCheckPod(ctx, c.client, name); err != nil {
			return err
		}
	}
	return nil
}

// runCheckPod runs a pod on a real node and deletes it. The error contains the events of the pod.
func runCheckPod(ctx context.Context, client kubernetes.Interface, node string) error {
	pods := client.CoreV1().Pods(metav1.NamespaceSystem)
	name := "devcluster-check-" + node
	err := poll(ctx, "a pod to be accepted", func(ctx context.Context) (bool, error) {
		_, err := pods.Create(ctx, checkPod(name, node), metav1.CreateOptions{})
		if apierrors.IsForbidden(err) {
			return false, nil // the service account of the namespace may not exist yet
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}
	err = poll(ctx, "a pod to run on node "+node, func(ctx context.Context) (bool, error) {
		pod, err := pods.Get(ctx, name, metav1.GetOptions{})
		return err == nil && pod.Status.Phase == corev1.PodRunning, err
	})
	if err != nil {
		return errors.Join(err, eventsOf(context.WithoutCancel(ctx), client, name))
	}
	if err := pods.Delete(ctx, name, *metav1.NewDeleteOptions(1)); err != nil {
		return err
	}
	return poll(ctx, "a pod to be gone from node "+node, func(ctx context.Context) (bool, error) {
		_, err := pods.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}

func checkPod(name, node string) *corev1.Pod {
	token := false
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			NodeSelector:                 map[string]string{corev1.LabelHostname: node},
			Tolerations:                  []corev1.Toleration{realnode.Toleration()},
			AutomountServiceAccountToken: &token,
			Containers:                   []corev1.Container{{Name: "pause", Image: realnode.PauseImage}},
		},
	}
}

// eventsOf returns the events of a pod as an error.
func eventsOf(ctx context.Context, client kubernetes.Interface, pod string) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	events, err := client.CoreV1().Events(metav1.NamespaceSystem).List(ctx,
		metav1.ListOptions{FieldSelector: "involvedObject.name=" + pod})
	if err != nil {
		return err
	}
	var lines []string
	for _, event := range events.Items {
		lines = append(lines, event.Reason+": "+event.Message)
	}
	return errors.New("events of the pod:\n" + strings.Join(lines, "\n"))
}

// initNode is the first process of a real node.
func initNode(args []string) error {
	if len(args) != 1 {
		return errors.New(realnode.InitCommand + " is an internal command")
	}
	err := realnode.Init(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return err
}
