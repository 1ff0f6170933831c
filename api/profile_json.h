/*
 * A profile as protobuf's JSON of google.v1.Profile.
 *
 * Source   read specification, 3.3 and 2.8
 */
#pragma once

#include "base/json.h"
#include "profile/profile.h"

/* Writes one object: every table as it stands, ids are index + 1. */
void profile_json_write(const struct profile *profile, struct json_writer *writer);
