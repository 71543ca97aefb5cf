package web

import "time"

// keeping holds things for a while, those of all keys together up to a weight. When that is passed, the key that has most
// loses its oldest: what others do costs nobody who has less than they.
//
// Its owner's mutex guards it.
type keeping[T any] struct {
	age    time.Duration
	most   int64
	forget func(T) // is told of each thing that goes

	weight int64
	shares map[*Key]*share[T]
}

// share is what one key has, oldest first.
type share[T any] struct {
	things []kept[T]
	weight int64
}

type kept[T any] struct {
	thing  T
	at     time.Time
	weight int64
}

func newKeeping[T any](age time.Duration, most int64, forget func(T)) keeping[T] {
	return keeping[T]{age: age, most: most, forget: forget, shares: map[*Key]*share[T]{}}
}

func (k *keeping[T]) add(key *Key, thing T, weight int64, now time.Time) {
	s := k.shares[key]
	if s == nil {
		s = &share[T]{}
		k.shares[key] = s
	}
	s.things = append(s.things, kept[T]{thing, now, weight})
	s.weight += weight
	k.weight += weight
	k.trim(now)
}

// trim lets go of what is too old or too much.
func (k *keeping[T]) trim(now time.Time) {
	for key, s := range k.shares {
		for len(s.things) > 0 && now.Sub(s.things[0].at) > k.age {
			k.drop(key, s)
		}
	}
	for k.weight > k.most {
		key, s := k.largest()
		k.drop(key, s)
	}
}

// largest is the share that weighs most. Preconditions: there is one.
func (k *keeping[T]) largest() (key *Key, most *share[T]) {
	for owner, s := range k.shares {
		if most == nil || s.weight > most.weight {
			key, most = owner, s
		}
	}
	return key, most
}

// drop lets go of the oldest thing of a share, and of the share with its last one.
func (k *keeping[T]) drop(key *Key, s *share[T]) {
	oldest := s.things[0]
	s.things[0] = kept[T]{}
	s.things = s.things[1:]
	s.weight -= oldest.weight
	k.weight -= oldest.weight
	if len(s.things) == 0 {
		delete(k.shares, key)
	}
	k.forget(oldest.thing)
}
