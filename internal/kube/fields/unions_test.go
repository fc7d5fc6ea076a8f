package fields

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStructsOfAPodTemplateWithTwoMembersAreFound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wanted, live string
		want         []string // the position of the struct; nil for none
	}{
		"a volume": {`volumes: [{name: v, emptyDir: {}}]`, `volumes: [{name: v, hostPath: {}, emptyDir: {}}]`,
			[]string{"volumes", "0"}},
		"a projected volume": {`sources: [{name: v, secret: {}}]`, `sources: [{name: v, configMap: {}}]`,
			[]string{"sources", "0"}},
		"a variable": {`env: [{name: v, value: x}]`, `env: [{name: u}, {name: v, valueFrom: {}}]`,
			[]string{"env", "1"}},
		"the source of a variable": {`valueFrom: {fieldRef: {}}`, `valueFrom: {secretKeyRef: {}, fieldRef: {}}`,
			[]string{"valueFrom"}},
		"a source of variables": {`envFrom: [{name: v, secretRef: {}}]`, `envFrom: [{name: v, configMapRef: {}}]`,
			[]string{"envFrom", "0"}},
		"a liveness probe": {`livenessProbe: {exec: {}}`, `livenessProbe: {httpGet: {}}`, []string{"livenessProbe"}},
		"a readiness probe": {`readinessProbe: {grpc: {}}`, `readinessProbe: {exec: {}, grpc: {}}`,
			[]string{"readinessProbe"}},
		"a startup probe":   {`startupProbe: {tcpSocket: {}}`, `startupProbe: {grpc: {}}`, []string{"startupProbe"}},
		"a hook at the end": {`preStop: {sleep: {}}`, `preStop: {exec: {}}`, []string{"preStop"}},
		"a hook at the start": {`postStart: {exec: {}}`, `postStart: {tcpSocket: {}, sleep: {}}`,
			[]string{"postStart"}},
		"a probe that lost its handler": {`livenessProbe: {exec: {}}`, `livenessProbe: {periodSeconds: 1}`, nil},
		"a probe with another period": {`livenessProbe: {exec: {}}`, `livenessProbe: {exec: {}, periodSeconds: 1}`,
			nil},
		"a member without a value": {`livenessProbe: {exec: {}}`, `livenessProbe: {exec: {}, httpGet: null}`, nil},
		"no member of ours":        {`livenessProbe: {periodSeconds: 1}`, `livenessProbe: {httpGet: {}}`, nil},
		"another name of a volume": {`volumes: [{name: v, emptyDir: {}}]`, `volumes: [{name: w, hostPath: {}}]`,
			nil},
		"a struct that is no union":       {`strategy: {type: x}`, `strategy: {type: x, rollingUpdate: {}}`, nil},
		"something else instead":          {`env: [{name: v, value: x}]`, `env: {name: v}`, nil},
		"something else instead of a map": {`livenessProbe: {exec: {}}`, `livenessProbe: []`, nil},
		"a variable with a prefix of ours": {`envFrom: [{name: v, secretRef: {}}]`,
			`envFrom: [{name: v, secretRef: {}, prefix: x}]`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := MixedUnions(document(t, test.wanted), document(t, test.live))
			if (len(found) > 0) != (test.want != nil) || len(found) > 1 {
				t.Fatalf("found %+v", found)
			}
			if test.want == nil {
				return
			}
			if diff := cmp.Diff(test.want, found[0].Path); diff != "" {
				t.Error(diff)
			}
		})
	}
}
