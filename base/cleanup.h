/*
 * Release at the end of a scope, and handing on what would be released.
 *
 * Shape    CLEANUP(fn) on a local runs fn(&local) when its scope ends; TAKE(p)
 *          gives the pointer away and leaves NULL behind.
 */
#pragma once

#define CLEANUP(fn) __attribute__((cleanup(fn)))

#define TAKE(ptr)                               \
	({                                      \
		__typeof__(ptr) taken_ = (ptr); \
		(ptr) = NULL;                   \
		taken_;                         \
	})

/* Defines noun_freep(struct noun **) from noun_free(struct noun *). */
#define DEFINE_FREEP(noun)                               \
	static inline void noun##_freep(struct noun **p) \
	{                                                \
		noun##_free(*p);                         \
	}

/* A result that must not be ignored: ignoring it would lose data. */
#define MUST_CHECK __attribute__((warn_unused_result))

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))
