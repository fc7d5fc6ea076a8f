// Package kai renders a queue of the KAI scheduler.
//
// It is pure: it reads nothing from a cluster, a file or the environment. The fields are those of v2 in
// pkg/apis/scheduling of https://github.com/kai-scheduler/KAI-Scheduler.
package kai

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Queue is the input for the Queue of one kt_queue. A zero field is an attribute that is not set.
type Queue struct {
	Name        string
	ParentQueue string // empty: a top-level queue
	DisplayName string
	Priority    *int64 // nil: KAI's default, 100

	// Minimum run times before a workload of the queue is evicted for one of the same queue, or of another; nil:
	// that of the parent queue, or of KAI's configuration.
	PreemptMinRuntime, ReclaimMinRuntime *time.Duration

	GPU, CPU, Memory Share

	Labels, Annotations map[string]string
	// From the configuration of the provider. Labels and Annotations override them.
	DefaultLabels, DefaultAnnotations map[string]string
}

// Share is what a queue gets of one resource.
type Share struct {
	Quota Amount // guaranteed
	Limit Amount // including what is unused by others
	// OverQuotaWeight is the weight in the division of the resources that are left after all quotas; nil: KAI's
	// default, 0.
	OverQuotaWeight *float64
}

// Amount is a quantity of GPUs, CPUs or bytes.
type Amount struct {
	Unlimited bool // Quantity is ignored
	Quantity  resource.Quantity
}

// NoLimit is the text of an unlimited amount.
const NoLimit = "-1"

// UnmarshalText parses a quantity, or [NoLimit]. An error has no subject.
func (a *Amount) UnmarshalText(text []byte) (err error) {
	if a.Unlimited = string(text) == NoLimit; !a.Unlimited {
		a.Quantity, err = manifest.ParseQuantity(string(text))
	}
	return err
}

// MarshalText is the inverse of UnmarshalText.
func (a Amount) MarshalText() ([]byte, error) {
	if a.Unlimited {
		return []byte(NoLimit), nil
	}
	return []byte(a.Quantity.String()), nil
}

// unlimited is KAI's number for an amount without a limit.
const unlimited = -1

// unit converts between quantities and KAI's numbers.
type unit struct {
	resource string  // field of spec.resources
	perUnit  float64 // numbers for each GPU, CPU or byte
	format   func(number float64) *resource.Quantity
	share    func(q *Queue) *Share
}

// units returns the units of KAI: GPUs, thousandths of a CPU, and millions of bytes.
func units() []unit {
	milli := func(per float64) func(float64) *resource.Quantity {
		return func(number float64) *resource.Quantity {
			return resource.NewMilliQuantity(int64(math.Round(number*per)), resource.DecimalSI)
		}
	}
	return []unit{
		{"gpu", 1, milli(1000), func(q *Queue) *Share { return &q.GPU }},
		{"cpu", 1000, milli(1), func(q *Queue) *Share { return &q.CPU }},
		{"memory", 1e-6, bytesOf, func(q *Queue) *Share { return &q.Memory }},
	}
}

// bytesOf returns millions of bytes as a quantity, with the binary suffix that fits, if one does.
func bytesOf(number float64) *resource.Quantity {
	const mebibyte = 1 << 20
	amount, format := int64(math.Round(number*1e6)), resource.DecimalSI
	if amount%mebibyte == 0 {
		format = resource.BinarySI
	}
	return resource.NewQuantity(amount, format)
}

// number returns the amount in the unit of KAI.
func (u unit) number(a Amount) float64 {
	if a.Unlimited {
		return unlimited
	}
	number := a.Quantity.AsApproximateFloat64() * u.perUnit
	const precision = 1e6 // removes the error of the multiplication: 1e-6 has no exact binary form
	return math.Round(number*precision) / precision
}

// amount is the inverse of number.
func (u unit) amount(number float64) Amount {
	if number == unlimited {
		return Amount{Unlimited: true}
	}
	return Amount{Quantity: *u.format(number)}
}

// Exceeding returns the resources of which a queue has a larger quota than its parent queue: "gpu", "cpu", "memory".
func Exceeding(q, parent Queue) []string {
	var exceeding []string
	for _, of := range units() {
		mine, theirs := of.share(&q).Quota, of.share(&parent).Quota
		if !theirs.Unlimited && (mine.Unlimited || mine.Quantity.Cmp(theirs.Quantity) > 0) {
			exceeding = append(exceeding, of.resource)
		}
	}
	return exceeding
}
