package settings

import "slices"

// What follows is fyne.Preferences. A value of another type than the one that is
// asked for is none; lists are copies.

// Bool returns a value, false if there is none.
func (s *Store) Bool(key string) bool { return get(s, key, false) }

// BoolWithFallback returns a value, fallback if there is none.
func (s *Store) BoolWithFallback(key string, fallback bool) bool { return get(s, key, fallback) }

// SetBool changes a value.
func (s *Store) SetBool(key string, value bool) { s.set(key, value) }

// BoolList returns a list, an empty one if there is none.
func (s *Store) BoolList(key string) []bool { return get(s, key, []bool{}) }

// BoolListWithFallback returns a list, fallback if there is none.
func (s *Store) BoolListWithFallback(key string, fallback []bool) []bool {
	return get(s, key, fallback)
}

// SetBoolList changes a list.
func (s *Store) SetBoolList(key string, value []bool) { setList(s, key, value) }

// Float returns a value, 0 if there is none.
func (s *Store) Float(key string) float64 { return get(s, key, 0.0) }

// FloatWithFallback returns a value, fallback if there is none.
func (s *Store) FloatWithFallback(key string, fallback float64) float64 {
	return get(s, key, fallback)
}

// SetFloat changes a value. An infinite one is not kept.
func (s *Store) SetFloat(key string, value float64) { s.set(key, value) }

// FloatList returns a list, an empty one if there is none.
func (s *Store) FloatList(key string) []float64 { return get(s, key, []float64{}) }

// FloatListWithFallback returns a list, fallback if there is none.
func (s *Store) FloatListWithFallback(key string, fallback []float64) []float64 {
	return get(s, key, fallback)
}

// SetFloatList changes a list.
func (s *Store) SetFloatList(key string, value []float64) { setList(s, key, value) }

// Int returns a value, 0 if there is none.
func (s *Store) Int(key string) int { return get(s, key, 0) }

// IntWithFallback returns a value, fallback if there is none.
func (s *Store) IntWithFallback(key string, fallback int) int { return get(s, key, fallback) }

// SetInt changes a value.
func (s *Store) SetInt(key string, value int) { s.set(key, value) }

// IntList returns a list, an empty one if there is none.
func (s *Store) IntList(key string) []int { return get(s, key, []int{}) }

// IntListWithFallback returns a list, fallback if there is none.
func (s *Store) IntListWithFallback(key string, fallback []int) []int { return get(s, key, fallback) }

// SetIntList changes a list.
func (s *Store) SetIntList(key string, value []int) { setList(s, key, value) }

// String returns a value, "" if there is none.
func (s *Store) String(key string) string { return get(s, key, "") }

// StringWithFallback returns a value, fallback if there is none.
func (s *Store) StringWithFallback(key, fallback string) string { return get(s, key, fallback) }

// SetString changes a value.
func (s *Store) SetString(key string, value string) { s.set(key, value) }

// StringList returns a list, an empty one if there is none.
func (s *Store) StringList(key string) []string { return get(s, key, []string{}) }

// StringListWithFallback returns a list, fallback if there is none.
func (s *Store) StringListWithFallback(key string, fallback []string) []string {
	return get(s, key, fallback)
}

// SetStringList changes a list.
func (s *Store) SetStringList(key string, value []string) { setList(s, key, value) }

// setList changes a list; nil is an empty one.
func setList[T any](s *Store, key string, value []T) {
	if value == nil {
		value = []T{}
	}
	s.set(key, value)
}

// RemoveValue removes a value or list.
func (s *Store) RemoveValue(key string) { s.set(key, nil) }

// AddChangeListener has a function called after each change, on the goroutine of the
// change.
func (s *Store) AddChangeListener(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(slices.Clone(s.listeners), f)
}

// ChangeListeners returns the functions that hear of changes.
func (s *Store) ChangeListeners() []func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.listeners)
}
