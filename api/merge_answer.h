/*
 * What SelectMergeStacktraces and its neighbours answer: graphs, trees and profiles.
 *
 * Shape    written from profile/'s structs straight into the answer, as protobuf or JSON,
 *          and completed as connect_reply() does: these answers are large. Texts that are
 *          no UTF-8 are repaired, since protobuf's readers refuse them.
 * Source   read specification, 3.2, 3.3 and 3.7
 */
#pragma once

#include "api/connect.h"
#include "profile/flame_graph.h"
#include "profile/profile.h"

/*
 * {flamegraph} of SelectMergeStacktraces, SelectMergeSpanProfile and Diff: field 1 of
 * each.
 */
void merge_answer_graph(const struct connect_call *call, const struct flame_graph *graph,
                        struct arena *arena, struct http_response *response);

/* The bytes of function_tree_encode(): field 2; absent when empty. */
void merge_answer_tree(const struct connect_call *call, struct str tree,
                       struct http_response *response);

/* Graphviz text: field 3; absent when empty. */
void merge_answer_dot(const struct connect_call *call, struct str dot,
                      struct http_response *response);

/*
 * {pprof:{profile}} of SelectMergeStacktraces: field 5. A profile without samples becomes
 * an empty message that is there.
 */
void merge_answer_pprof(const struct connect_call *call, struct profile *profile,
                        struct http_response *response);

/* The profile by itself: SelectMergeProfile. Without samples: the empty message. */
void merge_answer_profile(const struct connect_call *call, struct profile *profile,
                          struct http_response *response);
