package manifest

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// ParseQuantity parses a Kubernetes quantity that is not negative, such as "500m",
// "2" or "4Gi". The result prints in canonical form: "1000m" as "1". An error is a
// sentence without its subject ("is empty …"), with a suggestion if possible.
//
// The syntax is that of k8s.io/apimachinery/pkg/api/resource. A value of 2^63-1 or
// more, which Kubernetes limits silently, is an error.
func ParseQuantity(s string) (resource.Quantity, error) {
	if err := quantityForm(s); err != nil {
		return resource.Quantity{}, err
	}
	q, err := resource.ParseQuantity(s)
	if err != nil {
		return resource.Quantity{}, unknownQuantity(s)
	}
	if q.Sign() < 0 {
		return resource.Quantity{}, fmt.Errorf("is %q, but must not be negative", s)
	}
	if q.CmpInt64(math.MaxInt64) >= 0 {
		return resource.Quantity{}, fmt.Errorf("is %q, but must be less than 2^63-1, the limit of Kubernetes", s)
	}
	return canonical(q), nil
}

// CheckBytes returns an error for a fraction of a byte, and for less than a megabyte without a binary unit, which are
// usually typos: 10m instead of 10M, and 32 or 16000 instead of 32Gi and 16000Mi.
func CheckBytes(q resource.Quantity) error {
	switch bytes := q.Value(); { // Value rounds up
	case q.CmpInt64(bytes) != 0:
		return fmt.Errorf("is %q, which is a fraction of a byte: m means a thousandth, M a million: set a size such "+
			"as \"10Gi\"", q.String())
	case bytes > 0 && bytes < 1e6 && q.Format != resource.BinarySI:
		return fmt.Errorf("is %q, less than 1M (bytes if it has no unit): set a size such as \"10Gi\"", q.String())
	}
	return nil
}

// canonical returns the quantity in the form that does not change when it is
// printed and parsed again. The parser keeps the text of some quantities ("+1",
// "01"), which adding zero removes, and "62.5Ki" prints as "64000", which is then
// parsed as "64k".
func canonical(q resource.Quantity) resource.Quantity {
	q.Add(resource.Quantity{Format: q.Format})
	if printed, err := resource.ParseQuantity(q.String()); err == nil {
		q.Format = printed.Format
		q.Add(resource.Quantity{Format: q.Format})
	}
	return q
}

var (
	quantityParts = regexp.MustCompile(`^[+-]?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(.*)$`)
	exponent      = regexp.MustCompile(`^[eE][+-]?[0-9]+$`)
	smallExponent = regexp.MustCompile(`^[eE][+-]?0*[0-9]{1,2}$`)
)

// quantityForm checks the format of a quantity before it is parsed. It also
// rejects large exponents, which the parser would compute completely.
func quantityForm(s string) error {
	const longest = 64
	if s == "" {
		return errors.New(`is empty: set a quantity such as "500m", "2" or "4Gi", or remove the attribute`)
	}
	if len(s) > longest {
		return fmt.Errorf("has %d characters, but a quantity has at most %d", len(s), longest)
	}
	if joined := strings.Join(strings.Fields(s), ""); joined != s {
		if _, err := ParseQuantity(joined); err != nil {
			return err
		}
		return fmt.Errorf("is %q, but a quantity has no spaces: use %q", s, joined)
	}
	parts := quantityParts.FindStringSubmatch(s)
	if parts == nil {
		return fmt.Errorf(`is %q, which is not a quantity: it must start with a number, as in "500m", "2" or "4Gi"`, s)
	}
	if exponent.MatchString(parts[2]) && !smallExponent.MatchString(parts[2]) {
		return fmt.Errorf("is %q, whose exponent is too large", s)
	}
	return nil
}

const quantityUnits = "n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei"

// unknownQuantity suggests a unit for a number with an unknown one.
func unknownQuantity(s string) error {
	parts := quantityParts.FindStringSubmatch(s)
	number, unit := strings.TrimSuffix(s, parts[2]), parts[2]
	if strings.HasPrefix(unit, ".") || strings.HasPrefix(unit, ",") {
		return fmt.Errorf("is %q, which is not a number: a quantity has at most one decimal point and no other "+
			"separators", s)
	}
	letters := strings.TrimSuffix(strings.ToLower(unit), "b")
	prefix, binary := strings.CutSuffix(letters, "i")
	if len(prefix) != 1 || !strings.ContainsRune("kmgtpe", rune(prefix[0])) {
		return fmt.Errorf("is %q, but %q is not a unit: use one of %s, or none", s, unit, quantityUnits)
	}
	upper := number + strings.ToUpper(prefix)
	decimal := upper
	if prefix == "k" {
		decimal = number + "k"
	}
	if binary {
		return fmt.Errorf("is %q, but %q is not a unit: did you mean %q? Units are case-sensitive", s, unit, upper+"i")
	}
	return fmt.Errorf("is %q, but %q is not a unit: did you mean %q (powers of 1000) or %q (powers of 1024)?", s, unit,
		decimal, upper+"i")
}
