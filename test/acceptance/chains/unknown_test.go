package chains_test

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
)

// unknown begins a value of a declaration that only the apply knows.
const unknown = "known_after_apply("

// applied returns the declarations as they are in the apply.
func applied(bodies map[string]string) map[string]string {
	out := map[string]string{}
	for name, body := range bodies {
		out[name] = core.Applied(body)
	}
	return out
}

// withUnknown returns the declarations, half of them with values that only the apply knows.
func (b *bench) withUnknown(before, bodies map[string]string) map[string]string {
	b.t.Helper()
	out := maps.Clone(bodies)
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		if b.later.IntN(2) == 0 {
			out[name] = withUnknown(b.t, b.later, before[name], bodies[name])
		}
	}
	return out
}

// withUnknown makes a value of one to three attributes unknown: in half of the cases of an attribute that differs from
// the declaration before, otherwise of any one but the name. The value is a leaf, or what contains some.
func withUnknown(t *testing.T, random *rand.Rand, before, body string) string {
	t.Helper()
	was, is := attributesOf(t, before), attributesOf(t, body)
	delete(is, "name")
	all := slices.Sorted(maps.Keys(is))
	changed := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return is[name].text == was[name].text })
	drawn := map[string]hcl.Range{}
	for range 1 + random.IntN(3) {
		from := all
		if len(changed) > 0 && random.IntN(2) == 0 {
			from = changed
		}
		name := from[random.IntN(len(from))]
		values := valuesIn(is[name].value)
		drawn[name] = values[random.IntN(len(values))]
	}
	last := func(a, b hcl.Range) int { return cmp.Compare(b.Start.Byte, a.Start.Byte) }
	for _, r := range slices.SortedFunc(maps.Values(drawn), last) {
		body = body[:r.Start.Byte] + unknown + body[r.Start.Byte:r.End.Byte] + ")" + body[r.End.Byte:]
	}
	return body
}

// attribute is an attribute of a declaration.
type attribute struct {
	text  string
	value hclsyntax.Expression
}

func attributesOf(t *testing.T, body string) map[string]attribute {
	t.Helper()
	file, problems := hclsyntax.ParseConfig([]byte(body), "declaration", hcl.InitialPos)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	all := map[string]attribute{}
	for name, a := range file.Body.(*hclsyntax.Body).Attributes {
		r := a.Expr.Range()
		all[name] = attribute{body[r.Start.Byte:r.End.Byte], a.Expr}
	}
	return all
}

// valuesIn returns where an expression and all values in it are, without keys.
func valuesIn(e hclsyntax.Expression) []hcl.Range {
	all := []hcl.Range{e.Range()}
	switch e := e.(type) {
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			all = append(all, valuesIn(item.ValueExpr)...)
		}
	case *hclsyntax.TupleConsExpr:
		for _, element := range e.Exprs {
			all = append(all, valuesIn(element)...)
		}
	case *hclsyntax.FunctionCallExpr:
		for _, argument := range e.Args {
			all = append(all, valuesIn(argument)...)
		}
	}
	return all
}

// TestOnlyTheApplyKnowsSomeValues draws unknown values of a declaration until each of its values was drawn.
func TestOnlyTheApplyKnowsSomeValues(t *testing.T) {
	t.Parallel()
	const before = "name = \"NAME\"\nreplicas = 2\n"
	const body = before + "env_vars = { A = \"b\", \"c d\" = \"e\" }\n" +
		"affinity = jsonencode({ a = [1, { b = true }] })\n"
	const values = 1 + 3 + 6 // of replicas, env_vars and affinity
	random, drawn := rand.New(rand.NewPCG(1, 0)), map[string]bool{}
	for range 1000 {
		out := withUnknown(t, random, before, body)
		if n := strings.Count(out, unknown); n == 1 {
			drawn[out] = true
		} else if n < 1 || n > 3 {
			t.Fatalf("%d values are unknown in\n%s", n, out)
		}
		if known := strings.NewReplacer(unknown, "", ")", "").Replace(out); known != strings.ReplaceAll(body, ")", "") {
			t.Fatalf("%s became\n%s", body, out)
		}
	}
	if len(drawn) != values {
		t.Errorf("%d of %d values were unknown: %q", len(drawn), values, slices.Sorted(maps.Keys(drawn)))
	}
}
