#include "formats/otlp_request.h"

#include "base/clock.h"
#include "base/uuid.h"
#include "formats/otlp_attribute.h"
#include "formats/otlp_detect.h"
#include "formats/otlp_samples.h"
#include "formats/otlp_services.h"
#include "formats/otlp_wire.h"

/* Field numbers that all layouts share. */
enum {
	REQUEST_RESOURCES = 1,
	REQUEST_DICTIONARY = 2,
	RESOURCE = 1,
	RESOURCE_SCOPES = 2,
	RESOURCE_ATTRIBUTES = 1,
	SCOPE = 1,
	SCOPE_PROFILES = 2,
	SCOPE_ATTRIBUTES = 3,
};

#define EXECUTABLE_NAME "process.executable.name"
#define UNKNOWN_SERVICE "unknown_service"

#define YEAR_1970_NS ((uint64_t)365 * 86400 * NS_PER_S)

struct decoder {
	struct arena *arena;
	const struct otlp_layout *layout;
	const struct ingest_limits *limits;
	struct str message;
	struct hash128 message_hash;

	struct otlp_work work;
	struct otlp_dictionary dictionary;
	struct otlp_symbols symbols;
	struct otlp_services services;

	struct str service;                /* of the resource */
	struct otlp_attributes attributes; /* of the resource, then also of the scope */

	struct otlp_request *request;
	size_t profile_capacity;
};

/* ---- the dictionary ---- */

/* Makes everything ready that hangs on decoder->dictionary. */
static int use_dictionary(struct decoder *decoder, size_t profile_bytes, struct error *err)
{
	decoder->symbols = (struct otlp_symbols){
		.layout = decoder->layout,
		.dictionary = &decoder->dictionary,
		.arena = decoder->arena,
		.profile_bytes = profile_bytes,
		.max_depth = decoder->limits->max_depth,
	};
	decoder->services = (struct otlp_services){
		.layout = decoder->layout,
		.dictionary = &decoder->dictionary,
		.arena = decoder->arena,
	};
	return otlp_symbols_init(&decoder->symbols, err) < 0 ||
	                       otlp_services_init(&decoder->services, err) < 0
	               ? -1
	               : 0;
}

/* ---- labels ---- */

/* Those that the series has whatever its resource says. */
static bool is_reserved(struct str name)
{
	return str_equals(name, "__name__") || str_equals(name, "__delta__") ||
	       str_equals(name, "__otel__") || str_equals(name, "service_name");
}

static int make_labels(struct decoder *decoder, struct str name, struct str service,
                       struct label_set *out, struct error *err)
{
	const struct otlp_attributes *attributes = &decoder->attributes;
	struct label *labels =
		arena_array_raw(decoder->arena, attributes->count + 4, sizeof(*labels));
	size_t count = 0;

	if (!labels)
		return arena_error(decoder->arena, err);
	labels[count++] = (struct label){ STR("__delta__"), STR("false") };
	labels[count++] = (struct label){ STR("__otel__"), STR("true") };
	labels[count++] = (struct label){ STR("__name__"), name };
	for (size_t i = 0; i < attributes->count; i++)
		if (!is_reserved(attributes->labels[i].name))
			labels[count++] = attributes->labels[i];
	labels[count++] = (struct label){ STR("service_name"),
		                          service.length > 0 ? service : decoder->service };
	*out = (struct label_set){ labels, count };
	return 0;
}

/* The service that a resource is; its scopes have no say in it. */
static int name_service(struct decoder *decoder, struct error *err)
{
	const struct otlp_attributes *attributes = &decoder->attributes;
	const struct str name = otlp_attributes_find(attributes, STR(OTLP_SERVICE_NAME));
	const struct str program = otlp_attributes_find(attributes, STR(EXECUTABLE_NAME));

	decoder->service = STR(UNKNOWN_SERVICE);
	if (name.length > 0)
		decoder->service = name;
	else if (program.length > 0)
		decoder->service =
			arena_printf(decoder->arena, UNKNOWN_SERVICE ":%.*s", STR_ARGS(program));
	return decoder->service.data ? 0 : arena_error(decoder->arena, err);
}

/* ---- profiles ---- */

/* What tells a request that is sent again from another one: its bytes and the place in it. */
static struct str payload_key(struct decoder *decoder)
{
	const struct hash128 parts[] = { decoder->message_hash, { decoder->request->count, 0 } };

	return arena_copy(decoder->arena, str_make(parts, sizeof(parts)));
}

static struct ingest_profile *add_pair(struct decoder *decoder, struct error *err)
{
	struct otlp_request *request = decoder->request;
	struct pprof_input *input = arena_alloc(decoder->arena, sizeof(*input));
	const struct str payload = payload_key(decoder);

	if (!input || !payload.data ||
	    !ARENA_GROW(decoder->arena, request->profiles, request->count,
	                decoder->profile_capacity)) {
		(void)arena_error(decoder->arena, err);
		return NULL;
	}
	request->profiles[request->count] =
		(struct ingest_profile){ .input = input, .payload = payload };
	return &request->profiles[request->count++];
}

static int add_all_samples(const struct decoder *decoder, struct otlp_samples *samples,
                           const struct otlp_profile *profile, struct error *err)
{
	struct wire_reader reader = wire_reader(profile->message);
	struct wire_field field;

	while (wire_next(&reader, &field) > 0)
		if (otlp_meaning(decoder->layout->profile, field.number) == OTLP_PROFILE_SAMPLE &&
		    field.type == WIRE_BYTES && otlp_samples_add(samples, field.bytes, err) < 0)
			return -1;
	return 0; /* otlp_profile_read() saw that it is well formed */
}

/* The samples of one service, or, without one, all of a profile. */
static int convert(struct decoder *decoder, const struct otlp_profile *profile,
                   const struct otlp_service *service, struct error *err)
{
	struct otlp_samples samples = {
		.symbols = &decoder->symbols,
		.limits = decoder->limits,
		.sent = profile,
	};
	struct ingest_profile *pair = add_pair(decoder, err);

	if (!pair || otlp_samples_begin(&samples, service ? service->count : profile->sample_count,
	                                pair->input, err) < 0)
		return -1;
	if (!service && add_all_samples(decoder, &samples, profile, err) < 0)
		return -1;
	for (size_t i = 0; service && i < service->count; i++)
		if (otlp_samples_add(&samples,
		                     otlp_message_at(decoder->message, service->samples[i]),
		                     err) < 0)
			return -1;
	otlp_samples_finish(&samples);
	return make_labels(decoder, samples.name, service ? service->name : STR(""), &pair->labels,
	                   err);
}

static int convert_services(struct decoder *decoder, const struct otlp_profile *profile,
                            struct error *err)
{
	struct otlp_services *services = &decoder->services;

	if (!services->is_named)
		return convert(decoder, profile, NULL, err);
	if (otlp_services_split(services, profile, err) < 0)
		return -1;
	for (size_t i = 0; i < services->count; i++)
		if (convert(decoder, profile, &services->services[i], err) < 0)
			return -1;
	return 0;
}

static void repair_time(struct decoder *decoder, struct otlp_profile *profile)
{
	if (profile->time == 0 || (profile->time >= YEAR_1970_NS && profile->time <= INT64_MAX))
		return;
	profile->time = 0;
	decoder->request->times_replaced++;
}

static int take_profile(void *context, struct str bytes, struct error *err)
{
	struct decoder *decoder = context;
	struct otlp_profile profile;

	if (otlp_profile_read(decoder->layout, bytes, &profile, err) < 0)
		return -1;
	if (profile.sample_count == 0)
		return 0;
	repair_time(decoder, &profile);
	if (decoder->layout->tables_in == OTLP_TABLES_IN_PROFILE &&
	    (otlp_dictionary_read_own(decoder->layout, decoder->message, bytes, &decoder->work,
	                              decoder->arena, &decoder->dictionary, err) < 0 ||
	     use_dictionary(decoder, bytes.length, err) < 0))
		return -1;
	return convert_services(decoder, &profile, err) < 0
	               ? error_context(err, "failed to convert otel profile")
	               : 0;
}

/* ---- resources and scopes ---- */

/* What is said of a resource or a scope, by the fields of their messages. */
struct attribute_source {
	struct decoder *decoder;
	uint32_t field;
};

static int take_attributes(void *context, struct str bytes, struct error *err)
{
	const struct attribute_source *source = context;
	struct decoder *decoder = source->decoder;

	return otlp_attributes_add(&decoder->dictionary, bytes, source->field, decoder->arena,
	                           &decoder->attributes, err);
}

static int take_scope(void *context, struct str bytes, struct error *err)
{
	struct decoder *decoder = context;
	struct attribute_source source = { decoder, SCOPE_ATTRIBUTES };
	const size_t of_resource = decoder->attributes.count;
	int result = otlp_each(bytes, SCOPE, "ScopeProfiles", take_attributes, &source, err);

	if (result == 0)
		result = otlp_each(bytes, SCOPE_PROFILES, "ScopeProfiles", take_profile, decoder,
		                   err);
	decoder->attributes.count = of_resource;
	return result;
}

static int take_resource(void *context, struct str bytes, struct error *err)
{
	struct decoder *decoder = context;
	struct attribute_source source = { decoder, RESOURCE_ATTRIBUTES };

	decoder->attributes.count = 0;
	if (otlp_each(bytes, RESOURCE, "ResourceProfiles", take_attributes, &source, err) < 0 ||
	    name_service(decoder, err) < 0)
		return -1;
	return otlp_each(bytes, RESOURCE_SCOPES, "ResourceProfiles", take_scope, decoder, err);
}

/* ---- the request ---- */

/* Which of its parts a request has, and their bytes. */
struct parts {
	size_t resources;
	size_t resource_bytes;
	size_t dictionaries;
};

static int find_parts(struct str message, struct parts *out, struct error *err)
{
	struct wire_reader reader = wire_reader(message);
	struct wire_field field;
	int more;

	while ((more = wire_next(&reader, &field)) > 0) {
		if (field.number == REQUEST_RESOURCES && field.type == WIRE_BYTES) {
			out->resources++;
			out->resource_bytes += field.bytes.length;
		} else if (field.number == REQUEST_DICTIONARY && field.type == WIRE_BYTES) {
			out->dictionaries++;
		}
	}
	return more < 0 ? otlp_malformed(err, "ExportProfilesServiceRequest") : 0;
}

static int find_layout(struct decoder *decoder, const struct otlp_options *options,
                       struct error *err)
{
	struct parts parts = { 0 };

	decoder->layout = options->layout;
	if (!decoder->layout && otlp_detect(decoder->message, &decoder->layout, err) < 0)
		return -1;
	if (find_parts(decoder->message, &parts, err) < 0)
		return -1;
	if (decoder->layout->tables_in == OTLP_TABLES_IN_PROFILE)
		return 0;
	if (parts.dictionaries == 0)
		return error_set(err, ERROR_INVALID, "missing profile metadata dictionary");
	if (parts.resources == 0)
		return error_set(err, ERROR_INVALID, "missing resource profiles");
	if (otlp_dictionary_read(decoder->layout, decoder->message, REQUEST_DICTIONARY,
	                         &decoder->work, decoder->arena, &decoder->dictionary, err) < 0)
		return -1;
	return use_dictionary(decoder, parts.resource_bytes, err);
}

int otlp_request_decode(struct str message, const struct otlp_options *options, struct arena *arena,
                        struct otlp_request *out, struct error *err)
{
	struct otlp_request request = { 0 };
	struct decoder decoder = {
		.arena = arena,
		.limits = options->limits,
		.message = message,
		.message_hash = hash128_str(0, message),
		.request = &request,
		.work = otlp_work_of(message.length),
	};
	const struct uuid random = uuid_random();

	memcpy(&decoder.attributes.secret, random.bytes, sizeof(decoder.attributes.secret));
	if (find_layout(&decoder, options, err) < 0 ||
	    otlp_each(message, REQUEST_RESOURCES, "ExportProfilesServiceRequest", take_resource,
	              &decoder, err) < 0)
		return -1;
	request.layout = decoder.layout;
	*out = request;
	return 0;
}
