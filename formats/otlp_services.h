/*
 * The samples of a Profile by the service that they name: each service gets a profile of
 * its own.
 *
 * Shape    otlp_services_init() once a dictionary, otlp_services_split() for each profile.
 *          A sample's service is the text of its attribute service.name; without one it is
 *          the resource's. Where no attribute of the dictionary has that key, which is the
 *          rule, is_named is false and there is nothing to split.
 * Errors   ERROR_INVALID for malformed bytes and attribute indices outside of the table;
 *          arena_error().
 * Threads  none.
 * Source   ingest specification, 5.4 (1 and 12)
 */
#pragma once

#include "formats/otlp_dictionary.h"
#include "formats/otlp_profile.h"
#include "profile/intern.h"

/* Samples of one service. */
struct otlp_service {
	struct str name;         /* empty: the resource's */
	const uint32_t *samples; /* their places in the dictionary's message */
	size_t count;
	uint32_t id;
};

/* A service of the request; place: in the services of the profile that has it. */
struct otlp_service_name {
	struct str text;
	uint32_t place;
};

struct otlp_services {
	const struct otlp_layout *layout;
	const struct otlp_dictionary *dictionary;
	struct arena *arena;
	bool is_named;

	uint32_t *kinds; /* by attribute: what is known of it */
	uint64_t key;    /* of the hashes in ids */
	struct intern ids;
	struct otlp_service_name *names; /* by id */
	size_t name_capacity;

	/* of the last profile that was split */
	struct otlp_service *services; /* in the order of their first samples */
	size_t count;
	size_t capacity;
	uint32_t *places; /* by sample, as they came */
	uint32_t *owners; /* services, by sample */
	uint32_t *sorted; /* places, by service */
	size_t place_capacity;
	size_t owner_capacity;
	size_t sorted_capacity;
	size_t sample_count;
};

/* `services` has layout, dictionary and arena set and is zero otherwise. */
int otlp_services_init(struct otlp_services *services, struct error *err);

/* Fills services->services, until the next call. */
int otlp_services_split(struct otlp_services *services, const struct otlp_profile *profile,
                        struct error *err);
