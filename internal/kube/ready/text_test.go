package ready

import (
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/printable"
)

func TestPullErrorKeepsTheInnermostError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ message, want, hint string }{
		"containerd, no such tag": {
			`rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/nginx:nope": ` +
				`failed to resolve reference "docker.io/library/nginx:nope": docker.io/library/nginx:nope: not found`,
			"docker.io/library/nginx:nope: not found", "does not contain the image",
		},
		"back-off with the error of the pull": {
			`Back-off pulling image "a/b:1": ErrImagePull: rpc error: code = Unknown desc = failed to pull and ` +
				`unpack image "a/b:1": failed to resolve reference "a/b:1": unexpected status from HEAD request to ` +
				`https://a/v2/b/manifests/1: 403 Forbidden`,
			"unexpected status from HEAD request to https://a/v2/b/manifests/1: 403 Forbidden",
			"the image pull secrets",
		},
		"CRI-O, wrong architecture": {
			`rpc error: code = Unknown desc = choosing image instance: no image found in manifest list for ` +
				`architecture "arm64", variant "v8", OS "linux"`,
			`choosing image instance: no image found in manifest list for architecture "arm64", variant "v8", OS ` +
				`"linux"`,
			"architecture",
		},
		"rate limit": {
			`failed to pull and unpack image "docker.io/library/a:1": failed to copy: httpReadSeeker: failed open: ` +
				`unexpected status code https://registry-1.docker.io/v2/library/a: 429 Too Many Requests - Server ` +
				`message: toomanyrequests: You have reached your pull rate limit.`,
			`failed to copy: httpReadSeeker: failed open: unexpected status code ` +
				`https://registry-1.docker.io/v2/library/a: 429 Too Many Requests - Server message: toomanyrequests: ` +
				`You have reached your pull rate limit.`, "limits the request rate",
		},
		"certificate": {
			`failed to do request: Head "https://r/v2/a/manifests/1": tls: failed to verify certificate: x509: ` +
				`certificate signed by unknown authority`,
			`Head "https://r/v2/a/manifests/1": tls: failed to verify certificate: x509: certificate signed by ` +
				`unknown authority`, "certificate",
		},
		"disk full": {
			`failed to extract layer sha256:0: write /var/lib/x: no space left on device`,
			`failed to extract layer sha256:0: write /var/lib/x: no space left on device`, "larger disk",
		},
		"back-off without the error": {`Back-off pulling image "a/b:1"`, "", "Check the image"},
		"empty":                      {"", "", "Check the image"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := pullError(c.message)
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if hint := pullHintOf(got, advice.Of("%s", advice.Image)).hint.In(); !strings.Contains(hint, c.hint) {
				t.Errorf("hint %q does not contain %q", hint, c.hint)
			}
		})
	}
}

func TestAmountIsReadable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           corev1.ResourceName
		quantity, want string
	}{
		{"memory", "65861528Ki", "62.8Gi"},
		{"memory", "2Ti", "2Ti"},
		{"memory", "1000", "1k"},
		{"memory", "1536Mi", "1.5Gi"},
		{"ephemeral-storage", "1536Mi", "1.5Gi"},
		{"hugepages-2Mi", "1536Ki", "1.5Mi"},
		{"cpu", "7910m", "7910m"},
		{"cpu", "8", "8"},
		{"nvidia.com/gpu", "8", "8"},
	} {
		if got := amount(c.name, resource.MustParse(c.quantity)); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.quantity, c.name, got, c.want)
		}
	}
}

func TestClipReturnsOneReadableLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"white space":       {" a\n\tb  c ", "a b c"},
		"colors":            {"\x1b[1;31mred\x1b[0m end", "red end"},
		"title":             {"\x1b]0;title\x07x", "x"},
		"control and bytes": {"a\x00b\xffc", "ab�c"},
		"long":              {strings.Repeat("ü", 301), strings.Repeat("ü", 299) + "…"},
		"maximum length":    {strings.Repeat("ü", 300), strings.Repeat("ü", 300)},
		"no-break space":    {"a\u00a0b", "a b"},
		"direction marks":   {"a\u202eb", "ab"},
	} {
		if got := clip(c.in); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	end := clipEnd(strings.Repeat("a", 400) + "the end")
	if utf8.RuneCountInString(end) != maxText || !strings.HasPrefix(end, "…") || !strings.HasSuffix(end, "the end") {
		t.Errorf("clipEnd kept %q", end)
	}
	if whole := strings.Repeat("a", maxText); clipEnd(whole) != whole {
		t.Errorf("clipEnd kept %q of a text of the maximum length", clipEnd(whole))
	}
	if got, want := printable.Line("a\tb\nc\rd"), "a b cd"; got != want {
		t.Errorf("Line returned %q, want %q", got, want)
	}
}

func TestListedCountsOnlyWhatItOmits(t *testing.T) {
	t.Parallel()
	for want, items := range map[string][]string{"": nil, "a, b": {"a", "b"}, "a, b and 1 more": {"a", "b", "c"}} {
		if got := Listed(items, 2); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestExplainShowsTheLastLogLines(t *testing.T) {
	t.Parallel()
	var logs []string
	for i := range 30 {
		logs = append(logs, strings.Repeat("x", i+1))
	}
	logs = append(logs, "", "   ", "\x1b[31mlast\x1b[0m")
	text := Explain(&Cause{Summary: "It crashed.", Logs: &LogRef{Container: "main", Previous: true}}, logs)
	lines := strings.Split(text, "\n")
	if lines[0] != "It crashed." || lines[len(lines)-1] != "  last" {
		t.Errorf("first and last line of %q", text)
	}
	if got := strings.Count(text, "\n  "); got != maxLogLines {
		t.Errorf("%d log lines, want %d", got, maxLogLines)
	}
	if !strings.Contains(text, "Last log lines of container main before it ended:") {
		t.Errorf("no title in %q", text)
	}
	if strings.Contains(text, "Next step:") || strings.Contains(text, "Recent events:") {
		t.Errorf("empty parts are shown in %q", text)
	}
	if got := Explain(&Cause{Summary: "It crashed."}, logs[:1]); got != "It crashed.\n\n\nLast log lines:\n  x" {
		t.Errorf("without a container: %q", got)
	}
	if got := Explain(nil, logs); got != "" {
		t.Errorf("no cause gives %q", got)
	}
}

func TestTallyCountsMostFrequentFirst(t *testing.T) {
	t.Parallel()
	counts := map[string]int{"b": 1, "a": 1, "z": 3}
	if got, want := tally(counts), "z (3 nodes), a (1 node), b (1 node)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, v := range "cdefghij" {
		counts[string(v)] = 1
	}
	if got, want := tally(counts), "and 3 more"; !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want the end %q", got, want)
	}
}
