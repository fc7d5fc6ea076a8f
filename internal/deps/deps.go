// Package deps holds go.sum complete while the packages that use these are being written.
package deps

import (
	_ "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	_ "github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	_ "github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	_ "github.com/hashicorp/terraform-plugin-framework/providerserver"
	_ "github.com/hashicorp/terraform-plugin-framework/resource"
	_ "github.com/hashicorp/terraform-plugin-go/tfprotov6"
	_ "github.com/hashicorp/terraform-plugin-log/tflog"
	_ "github.com/hashicorp/terraform-plugin-testing/helper/resource"
	_ "k8s.io/api/core/v1"
	_ "k8s.io/client-go/applyconfigurations/apps/v1"
	_ "k8s.io/client-go/dynamic"
	_ "k8s.io/client-go/tools/cache"
	_ "k8s.io/client-go/tools/clientcmd"
	_ "k8s.io/component-helpers/resource"
	_ "k8s.io/component-helpers/scheduling/corev1"
	_ "k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	_ "sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	_ "sigs.k8s.io/yaml"
)
