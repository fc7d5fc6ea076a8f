package manifest

import (
	"fmt"
	"regexp"
	"strconv"
)

// fileMode matches the permission bits of files in the notation of default_mode.
var fileMode = regexp.MustCompile(`^0[0-7]{3}$`)

// ParseFileMode parses permission bits of four octal digits, "0000" to "0777", the values that the API server accepts
// as defaultMode.
func ParseFileMode(text string) (int32, error) {
	if !fileMode.MatchString(text) {
		return 0, fmt.Errorf("is %q, but must be four octal digits from 0000 to 0777, such as 0400", text)
	}
	mode, err := strconv.ParseInt(text, 8, 32)
	return int32(mode), err
}

// FileModeText is the inverse of [ParseFileMode].
func FileModeText(mode int32) string { return fmt.Sprintf("%04o", mode) }
