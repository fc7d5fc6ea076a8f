package main

import (
	"context"
	"errors"
	"fmt"
	"net"
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

// checkMachine checks the requirements of a real node before anything is started.
func (c *Cluster) checkMachine(context.Context) error {
	if !c.opts.Kubelet {
		return nil
	}
	return realnode.Check()
}

// startRealNode starts the real node if it is enabled.
func (c *Cluster) startRealNode(context.Context) error {
	if !c.opts.Kubelet {
		return nil
	}
	network, err := realnode.FreeNetwork()
	if err != nil {
		return err
	}
	config := realnode.Config{
		Dir:     filepath.Join(c.opts.DataDir(), "node"),
		LogFile: c.opts.NodeLogFile(),
		Network: network,
		Images:  c.opts.Images,
	}
	if err := c.certs.identify(&config, c.config.Host); err != nil {
		return err
	}
	c.launch("node "+realnode.Name, func(ctx context.Context) error { return realnode.Run(ctx, config) }, nil)
	return nil
}

// identify sets the keys of the node's kubelet as a client of the API server and as a server.
func (f certFiles) identify(config *realnode.Config, server string) error {
	now := time.Now()
	id := pki.Identity{CommonName: "system:node:" + realnode.Name, Organizations: []string{"system:nodes"}}
	client, err := f.issuer.Issue(id, now)
	if err != nil {
		return err
	}
	if config.Kubeconfig, err = pki.Kubeconfig(server, id.CommonName, f.issuer.Cert, client); err != nil {
		return fmt.Errorf("render the kubeconfig of %s: %w", realnode.Name, err)
	}
	id.IPs, id.DNSNames = []net.IP{config.Address().AsSlice()}, []string{realnode.Name}
	serving, err := f.issuer.Issue(id, now)
	if err != nil {
		return err
	}
	config.ClientCA, config.ServerCert, config.ServerKey = f.issuer.Cert, serving.Cert, serving.Key
	return nil
}

// awaitRealNode waits until the node is ready and has run a pod.
func (c *Cluster) awaitRealNode(ctx context.Context) error {
	if !c.opts.Kubelet {
		return nil
	}
	if err := waitNode(ctx, c.client, realnode.Name); err != nil {
		return err
	}
	return runCheckPod(ctx, c.client)
}

// runCheckPod runs a pod on the real node and deletes it. The error contains the events of the pod.
func runCheckPod(ctx context.Context, client kubernetes.Interface) error {
	pods := client.CoreV1().Pods(metav1.NamespaceSystem)
	name := "devcluster-check"
	err := poll(ctx, "a pod to be accepted", func(ctx context.Context) (bool, error) {
		_, err := pods.Create(ctx, checkPod(name), metav1.CreateOptions{})
		if apierrors.IsForbidden(err) {
			return false, nil // the service account of the namespace may not exist yet
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}
	err = poll(ctx, "a pod to run on node "+realnode.Name, func(ctx context.Context) (bool, error) {
		pod, err := pods.Get(ctx, name, metav1.GetOptions{})
		return err == nil && pod.Status.Phase == corev1.PodRunning, err
	})
	if err != nil {
		return errors.Join(err, eventsOf(context.WithoutCancel(ctx), client, name))
	}
	if err := pods.Delete(ctx, name, *metav1.NewDeleteOptions(1)); err != nil {
		return err
	}
	return poll(ctx, "a pod to be gone from node "+realnode.Name, func(ctx context.Context) (bool, error) {
		_, err := pods.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}

func checkPod(name string) *corev1.Pod {
	token := false
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			NodeSelector:                 map[string]string{realnode.Key: "true"},
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

// initNode is the first process of the real node.
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
