package tf

import (
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"k8s.io/apimachinery/pkg/util/validation"
)

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
