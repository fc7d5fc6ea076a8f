package manager

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Webhooks configures the webhooks of the controllers.
type Webhooks struct {
	// ObjectSelectors restricts webhooks, by name, as the project's own
	// kustomization does.
	ObjectSelectors map[string]Selector
	// Converted lists the CustomResourceDefinitions whose versions the
	// controllers convert.
	Converted []string
}

// Selector is a label selector in its YAML form.
type Selector map[string]any

// OwnPods restricts the webhooks for pods to the pods with a label, as the kustomizations of JobSet and LeaderWorkerSet
// do (config/components/webhook/patches and config/webhook/*-patch.yaml).
func OwnPods(label string) *Webhooks {
	pods := Selector{"matchExpressions": []any{map[string]any{"key": label, "operator": "Exists"}}}
	return &Webhooks{ObjectSelectors: map[string]Selector{"mpod.kb.io": pods, "vpod.kb.io": pods}}
}

// registration contains the objects that register the webhooks with the API
// server.
type registration struct {
	configurations []*unstructured.Unstructured
	markers        []marker
	converted      []string
	conversion     map[string]any // spec.conversion of the converted definitions
}

// registration reads the configurations from a file and redirects them to this
// process.
func (w *Webhooks) registration(name, file string, server *server) (*registration, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--webhooks: %w", err)
	}
	configurations, err := readConfigurations(content)
	if err != nil {
		return nil, fmt.Errorf("--webhooks %s: %w", file, err)
	}
	r := &registration{converted: w.Converted, conversion: conversion(server.url("/convert"), server.ca)}
	for _, configuration := range configurations {
		own, err := w.adapt(configuration, name, server.url, server.ca)
		if err != nil {
			return nil, fmt.Errorf("--webhooks %s: %s: %w", file, configuration.GetName(), err)
		}
		mark := newMarker(own.GetName())
		if err := mark.addTo(own, server.url, server.ca); err != nil {
			return nil, err
		}
		r.configurations, r.markers = append(r.configurations, own), append(r.markers, mark)
	}
	return r, nil
}

// readConfigurations reads the webhook configurations of a YAML stream.
func readConfigurations(content []byte) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		object := &unstructured.Unstructured{}
		switch err := decoder.Decode(&object.Object); {
		case errors.Is(err, io.EOF):
			if len(found) == 0 {
				return nil, errors.New("no webhook configuration found")
			}
			return found, nil
		case err != nil:
			return nil, err
		}
		if _, known := resources()[object.GetKind()]; known {
			found = append(found, object)
		}
	}
}

// adapt returns a copy of a configuration with another name, whose webhooks are
// called at a URL instead of through a Service.
func (w *Webhooks) adapt(
	configuration *unstructured.Unstructured, name string, url func(path string) string, ca []byte,
) (*unstructured.Unstructured, error) {
	own := configuration.DeepCopy()
	own.SetName(name + "-" + configuration.GetName())
	hooks, _, err := unstructured.NestedSlice(own.Object, "webhooks")
	if err != nil {
		return nil, err
	}
	for i, item := range hooks {
		hook, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("webhooks[%d] is not an object", i)
		}
		path, found, err := unstructured.NestedString(hook, "clientConfig", "service", "path")
		if err != nil || !found {
			return nil, fmt.Errorf("webhooks[%d] has no clientConfig.service.path", i)
		}
		hook["clientConfig"] = clientConfig(url(path), ca)
		if selector, found := w.ObjectSelectors[fmt.Sprint(hook["name"])]; found {
			hook["objectSelector"] = map[string]any(selector)
		}
	}
	return own, unstructured.SetNestedSlice(own.Object, hooks, "webhooks")
}

func clientConfig(url string, ca []byte) map[string]any {
	return map[string]any{"url": url, "caBundle": base64.StdEncoding.EncodeToString(ca)}
}

func conversion(url string, ca []byte) map[string]any {
	return map[string]any{"strategy": "Webhook", "webhook": map[string]any{
		"clientConfig":             clientConfig(url, ca),
		"conversionReviewVersions": []any{"v1"},
	}}
}
