package limits

import (
	"errors"
	"fmt"
	"regexp"
	"sync"
)

// Review is what a program may not use, looked for in its source by the parser of its language before it runs.
type Review struct {
	// Deny lists names: of modules ("subprocess": its parts too), of what is in one ("os.system"), and of what is
	// always there ("eval").
	Deny []string
}

// denied is costly to compile, and needed by few programs.
var denied = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\pL_$@][\pL\pN_$@/:-]*(\.[\pL_$][\pL\pN_$]*)*$`)
})

// maxDenied bounds the names of a review.
const maxDenied = 1000

// Check says what is wrong with r.
func (r Review) Check() error {
	if len(r.Deny) > maxDenied {
		return fmt.Errorf("%d denied names are more than %d", len(r.Deny), maxDenied)
	}
	var errs []error
	for _, n := range r.Deny {
		if len(n) > 200 || !denied().MatchString(n) {
			errs = append(errs, fmt.Errorf("denied name %q: it must be a module, a part of one or a global, such as subprocess, os.system or eval", n))
		}
	}
	return errors.Join(errs...)
}
