package get

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-project/berth/internal/cli/resource"
)

// sortBy orders rows by a field, those without it first.
func sortBy(rows []resource.Row, text string) error {
	path, err := fieldPath(text)
	if err != nil {
		return fmt.Errorf("--sort-by %w", err)
	}
	keys := make(map[string]any, len(rows))
	known := len(rows) == 0
	for _, row := range rows {
		object, err := row.Object()
		if err != nil {
			return err
		}
		values, err := valuesAt(path, object)
		if err != nil {
			return err
		}
		if len(values) > 0 {
			keys[row.Key()], known = values[0], true
		}
	}
	if !known {
		return errors.New("--sort-by " + text + ": nothing that is shown has such a field; -o json shows those there are")
	}
	slices.SortStableFunc(rows, func(a, b resource.Row) int { return compareValues(keys[a.Key()], keys[b.Key()]) })
	return nil
}

// compareValues orders values of JSON: numbers and quantities by size, other texts by letters, and what is absent first.
func compareValues(a, b any) int {
	if a == nil || b == nil {
		return cmp.Compare(presence(a), presence(b))
	}
	first, isNumber := a.(float64)
	second, isNumberToo := b.(float64)
	if isNumber && isNumberToo {
		return cmp.Compare(first, second)
	}
	x, y := fmt.Sprint(a), fmt.Sprint(b)
	amount, err := apiresource.ParseQuantity(x)
	other, otherErr := apiresource.ParseQuantity(y)
	if err == nil && otherErr == nil {
		return amount.Cmp(other)
	}
	return cmp.Compare(x, y)
}

func presence(value any) int {
	if value == nil {
		return 0
	}
	return 1
}
