package main

import (
	"errors"
	"fmt"
)

// leastRatio is the least plausible ratio of the provider to the echo provider. The latter does only what every
// provider has to do, so the provider cannot be faster. The difference to 1 is for what the medians leave of the noise.
const leastRatio = 0.97

// judge returns an error for each row that cannot be true, or that needs more requests than it should.
func (r *report) judge() error {
	var errs []error
	for _, one := range r.rows() {
		if ratio, ok := one.ratio(); ok && ratio.median < leastRatio {
			errs = append(errs, fmt.Errorf("%s: kt needs %s of the time of echo, which is the lower bound; "+
				"the least plausible ratio is %.2f", one, ratio.text(3, ""), leastRatio))
		}
		if one.scenario != plan && one.scenario != replan || len(one.runs[kt]) == 0 {
			continue
		}
		most := requestsOf(one.runs[kt]).high
		if most == 0 {
			errs = append(errs, fmt.Errorf("%s: the audit log has no requests of kt", one))
		}
		if most > float64(one.of.family.requests) {
			errs = append(errs, fmt.Errorf("%s: kt sends %.0f requests, and may send %d for any number of resources",
				one, most, one.of.family.requests))
		}
	}
	return errors.Join(errs...)
}
