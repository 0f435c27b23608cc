package prose // want revive: should have a package comment

import "fmt"

// comment that starts with another word. want is below.
func Exported() {} // want revive: comment on exported function Exported

// Unfinished sentence
type Unfinished struct{} // want godot: Comment should end in a period

// Repeated says the the word twice.
func Repeated() {} // want dupword: Duplicate words (the)

// Misspelt is definately wrong.
func Misspelt() {} // want misspell: `definately` is a misspelling

// Shadow hides a builtin.
func Shadow(len int) int { return len } // want predeclared: len: shadows predeclared identifier

// Count counts by hand.
func Count(n int) (total int) {
	for i := 0; i < n; i++ { // want intrange: for loop can be changed
		total += i
	}
	return total
}

// Old uses an old form.
func Old(v interface{}) string { // want modernize: interface{} can be replaced by any
	fmt.Println(v) // want forbidigo: write to the injected io.Writer
	return ""
}

// Same converts a string to a string.
func Same(s string) string {
	return string(s) // want unconvert: unnecessary conversion
}

// Silent hides a finding without saying why.
func Silent() {
	panic("x") //nolint:revive
	// want nolintlint: should provide explanation
}
