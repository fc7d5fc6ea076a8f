package manifest

import (
	"encoding/json"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// ObserveRegistration returns the attributes that only the KubetorchWorkload of a
// compute shows: Logging, Selector, Endpoint and Distribute. seen contains the
// attributes of its workload. A setting with its default value is not set.
func ObserveRegistration(registration *unstructured.Unstructured, seen Compute) Compute {
	var out Compute
	out.Logging = observeLogging(registration)
	if url := kind.TextAt(registration.Object, "spec", "serviceConfig", "url"); url != "" && !kindOf(seen).OwnService {
		out.Endpoint = &Endpoint{URL: url}
	}
	out.Selector = kind.TextsAt(registration.Object, "spec", "selector")
	if selector := kind.TextsAt(registration.Object, "spec", "serviceConfig", "selector"); len(selector) > 0 {
		out.Endpoint = &Endpoint{Selector: selector}
	}
	config := kind.FieldsAt(registration.Object, "spec", "workloadMetadata", "distributedConfig")
	if len(config) > 0 {
		out.Distribute = observeDistribution(config, seen)
	}
	return out
}

// IsOnlyURL reports whether a KubetorchWorkload is the only object of a compute: one whose pods run elsewhere, and that
// calls reach by a URL.
func IsOnlyURL(registration *unstructured.Unstructured) bool {
	return kind.TextAt(registration.Object, "spec", "serviceConfig", "url") != "" &&
		kind.TextAt(registration.Object, "spec", "resourceKind") == ""
}

func observeLogging(registration *unstructured.Unstructured) Logging {
	var l Logging
	var config map[string]any
	if json.Unmarshal([]byte(registration.GetAnnotations()[kind.LoggingAnnotation]), &config) != nil {
		return l
	}
	for name, into := range map[string]**bool{
		"stream_logs": &l.StreamLogs, "include_system_logs": &l.IncludeSystemLogs, "include_events": &l.IncludeEvents,
		"include_name": &l.IncludeName,
	} {
		if value, ok := config[name].(bool); ok {
			*into = &value
		}
	}
	for name, into := range map[string]**time.Duration{
		"grace_period": &l.GracePeriod, "poll_timeout": &l.PollTimeout, "shutdown_grace_period": &l.ShutdownGracePeriod,
	} {
		if value, ok := config[name].(float64); ok {
			*into = new(time.Duration(value * float64(time.Second)))
		}
	}
	return l
}

// observeDistribution is the inverse of distributedConfig.
func observeDistribution(config map[string]any, seen Compute) *Distribute {
	config = maps.Clone(config)
	take := func(name string) any {
		value := kind.Number(config[name])
		delete(config, name)
		return value
	}
	d := &Distribute{Workers: seen.Replicas}
	d.Type, _ = take("distribution_type").(string)
	if quorum, ok := take("quorum_workers").(int64); ok && quorum != seen.Replicas {
		d.QuorumWorkers = &quorum
	}
	if seconds, ok := take("quorum_timeout").(int64); ok && time.Duration(seconds)*time.Second != seen.LaunchTimeout {
		d.QuorumTimeout = (time.Duration(seconds) * time.Second).String()
	}
	if monitors, ok := take("monitor_members").(bool); ok {
		d.MonitorMembers = &monitors
	}
	if len(config) > 0 {
		d.Args = config
	}
	return d
}
