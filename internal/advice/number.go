package advice

import "fmt"

// Number formats a count with its noun: "1 node", "3 nodes".
func Number[N int | int32 | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
