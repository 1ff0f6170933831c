/*
 * The pprof of the ingest specification, 8.5: types samples/count and cpu/nanoseconds,
 * stacks main;work (3, 30000000, label vm=work) and main (1, 10000000), file main.go.
 */
#pragma once

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

#define VECTOR_TIME_NS INT64_C(1700000000000000000)

#define VECTOR_PPROF_HEX                                                   \
	"0a04080110020a040803100412110a0202011205038087a70e1a040808100612" \
	"0a0a010112050180ade2041a0408013801220a0801100122040801100a220a08" \
	"0210012204080210142a0808011005180520072a080802100618062007320032" \
	"0773616d706c65733205636f756e743203637075320b6e616e6f7365636f6e64" \
	"7332046d61696e3204776f726b32076d61696e2e676f3202766d488080a8b1e3" \
	"9fe7cb175080c8afa0255a04080310046080ade204"

#define VECTOR_PPROF_GZIP_BASE64                                               \
	"H4sIAAAAAAAC/+Ni4WAUYOJi4WAWYBES5GJiYhRiZW5oX84nxcLBIcAmxMXFCBRhbFj7" \
	"iAUowmjBqMQF1MCoBNLGBWQzgdlMAiJaHEARVglWBXYgi0mATYJNgd2IwYi9ODG3ICe1" \
	"2Ig1Ob80r8SIObmg1Ig7LzEvvzg1OT8vpdiIJTcxM8+IpTy/KNuIHcTWS883YirL9Who" \
	"WLHx8fznp8UDGk6sX6AaBXZjAsglADmVYpC1AAAA"

#define VECTOR_PUSH_HEX                                                    \
	"0a9d020a170a085f5f6e616d655f5f120b70726f636573735f6370750a150a0c" \
	"736572766963655f6e616d6512057376632d610a0a0a03656e76120364657612" \
	"de010ab5010a04080110020a040803100412110a0202011205038087a70e1a04" \
	"08081006120a0a010112050180ade2041a0408013801220a0801100122040801" \
	"100a220a080210012204080210142a0808011005180520072a08080210061806" \
	"20073200320773616d706c65733205636f756e743203637075320b6e616e6f73" \
	"65636f6e647332046d61696e3204776f726b32076d61696e2e676f3202766d48" \
	"8080a8b1e39fe7cb175080c8afa0255a04080310046080ade204122437333466" \
	"643539392d363836352d343139652d393437352d393332373632643866343639"

#define VECTOR_PUSH_JSON                                                                  \
	"{\"series\":[{\"labels\":[{\"name\":\"__name__\",\"value\":\"process_cpu\"},"    \
	"{\"name\":\"service_name\",\"value\":\"svc-a\"},{\"name\":\"env\",\"value\":"    \
	"\"dev\"}],\"samples\":[{\"rawProfile\":\"CgQIARACCgQIAxAEEhEKAgIBEgUDgIenDhoECA" \
	"gQBhIKCgEBEgUBgK3iBBoECAE4ASIKCAEQASIECAEQCiIKCAIQASIECAIQFCoICAEQBRgFIAcqCAgC"  \
	"EAYYBiAHMgAyB3NhbXBsZXMyBWNvdW50MgNjcHUyC25hbm9zZWNvbmRzMgRtYWluMgR3b3JrMgdtYW"  \
	"luLmdvMgJ2bUiAgKix45/nyxdQgMivoCVaBAgDEARggK3iBA==\",\"ID\":\"734fd599-6865-41"  \
	"9e-9475-932762d8f469\"}]}]}"

#define VECTOR_ID "734fd599-6865-419e-9475-932762d8f469"

static inline struct str vector_unhex(struct arena *arena, const char *hex)
{
	const size_t length = strlen(hex) / 2;
	char *bytes = arena_alloc(arena, length + 1);

	assert(bytes);
	for (size_t i = 0; i < length; i++)
		bytes[i] = (char)strtoul((char[]){ hex[2 * i], hex[2 * i + 1], '\0' }, NULL, 16);
	return (struct str){ bytes, length };
}
