package tf

import (
	"cmp"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"k8s.io/apimachinery/pkg/util/validation"
)

// ConfigMapKey requires a key of a ConfigMap.
func ConfigMapKey() validator.String {
	return textRule("Invalid key of a ConfigMap", "a key of a ConfigMap: at most 253 letters, digits, dashes, "+
		"underscores and dots, such as mode", validation.IsConfigMapKey)
}

// VolumeName requires the name of a volume or a container of a pod, an RFC 1123 label.
func VolumeName() validator.String {
	return name("the name of a volume or container: at most 63 lowercase letters, digits and dashes, without a "+
		"dash at the start or end, such as models", validation.IsDNS1123Label)
}

// SubPath requires a relative path in a volume.
func SubPath() validator.String {
	return check("a relative path in the volume, such as models/llama", "Invalid path", func(s string) error {
		if s == "" || path.IsAbs(s) || slices.Contains(strings.Split(s, "/"), "..") {
			return fmt.Errorf("is %s, but must be a relative path without .., such as models/llama", quoted(s))
		}
		return nil
	})
}

// StorageMedium requires a medium of an emptyDir volume.
func StorageMedium() validator.String {
	return check("Memory, HugePages or HugePages-<size>", "Invalid medium", func(s string) error {
		if s != "Memory" && s != "HugePages" && !strings.HasPrefix(s, "HugePages-") {
			return fmt.Errorf("is %s: use Memory, HugePages or HugePages-<size>", quoted(s))
		}
		return nil
	})
}

// Capability requires the name of a Linux capability, as Kubernetes spells it.
func Capability() validator.String {
	return check("a Linux capability, such as IPC_LOCK", "Invalid capability", func(s string) error {
		if other := strings.TrimPrefix(strings.ToUpper(s), "CAP_"); s == "" || s != other {
			return fmt.Errorf("is %s: use the name in uppercase without the prefix CAP_, such as %s", quoted(s),
				quoted(cmp.Or(other, "IPC_LOCK")))
		}
		return nil
	})
}

// PortName requires the name of a port of a container.
func PortName() validator.String {
	return textRule("Invalid name of a port", "the name of a port: at most 15 lowercase letters, digits and single "+
		"dashes with at least one letter, such as metrics", validation.IsValidPortName)
}

// AppProtocol requires the application protocol of a port of a Service.
func AppProtocol() validator.String {
	return textRule("Invalid application protocol", "an application protocol, such as grpc, http or kubernetes.io/h2c",
		validation.IsQualifiedName)
}

// AddressRange requires a range of IP addresses.
func AddressRange() validator.String {
	return textRule("Invalid range of addresses", "a range of IP addresses in CIDR notation, such as 10.0.0.0/8",
		func(s string) []string {
			if _, err := netip.ParsePrefix(s); err != nil {
				return []string{err.Error()}
			}
			return nil
		})
}
