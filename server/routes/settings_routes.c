/*
 * settings.v1: a key and value store for each tenant.
 *
 * Source   read specification, 3.16
 */
#include "api/connect_message.h"
#include "api/proto_bytes.h"
#include "proto/settings.pb-c.h"
#include "server/app.h"
#include "server/routes/handlers.h"
#include "server/routes/read_query_request.h"

#define SETTING_NAME_MAX  1024      /* bytes; a guess */
#define SETTING_VALUE_MAX (1 << 20) /* bytes; Drilldown keeps a JSON object in it; a guess */

/* ---- Get ---- */

struct settings_listing {
	struct arena *arena;
	Settings__V1__Setting **items;
	size_t count;
	size_t capacity;
};

static int add_setting(void *context, const struct store_setting *setting, struct error *err)
{
	struct settings_listing *listing = context;
	Settings__V1__Setting *item = arena_alloc(listing->arena, sizeof(*item));
	const struct str name = arena_copy(listing->arena, setting->name);
	const struct str value = arena_copy(listing->arena, setting->value);

	if (!item || !name.data || !value.data ||
	    !ARENA_GROW(listing->arena, listing->items, listing->count, listing->capacity))
		return arena_error(listing->arena, err);
	settings__v1__setting__init(item);
	item->name = proto_bytes(name);
	item->value = proto_bytes(value);
	item->modifiedat = setting->modified_unix_ms;
	listing->items[listing->count++] = item;
	return 0;
}

enum exchange_state serve_settings_get(struct exchange *exchange)
{
	struct connect_call call;
	struct settings_listing listing = { .arena = exchange->arena };
	Settings__V1__GetSettingsResponse response = SETTINGS__V1__GET_SETTINGS_RESPONSE__INIT;
	struct error err = { 0 };

	if (!rpc_read(exchange, &call, &settings__v1__get_settings_request__descriptor))
		return EXCHANGE_DONE;
	if (store_settings(exchange->app->store, exchange->tenant, add_setting, &listing, &err) < 0)
		return rpc_fail(exchange, &err);
	response.n_settings = listing.count;
	response.settings = listing.items;
	connect_write(&call, &response.base, &exchange->response);
	return EXCHANGE_DONE;
}

/* ---- Set ---- */

static int put_setting(struct exchange *exchange, Settings__V1__Setting *wanted, struct error *err)
{
	struct store_setting setting;

	if (!wanted)
		return error_set(err, ERROR_INVALID, "no setting values provided");
	if (wanted->name.len == 0)
		return error_set(err, ERROR_INVALID, "no setting name provided");
	if (wanted->name.len > SETTING_NAME_MAX || wanted->value.len > SETTING_VALUE_MAX)
		return error_set(err, ERROR_INVALID,
		                 "a setting's name has at most %d bytes and its value %d",
		                 SETTING_NAME_MAX, SETTING_VALUE_MAX);
	setting = (struct store_setting){
		.name = proto_str(wanted->name),
		.value = proto_str(wanted->value),
		.modified_unix_ms = wanted->modifiedat,
	};
	if (store_put_setting(exchange->app->store, exchange->tenant, &setting, err) < 0) {
		if (err->code == ERROR_EXISTS)
			(void)error_set(err, ERROR_EXISTS,
			                "failed to update %.*s: newer update already written",
			                STR_ARGS(str_first(setting.name, 200)));
		return -1;
	}
	wanted->modifiedat = setting.modified_unix_ms;
	return 0;
}

enum exchange_state serve_settings_set(struct exchange *exchange)
{
	struct connect_call call;
	ProtobufCMessage *message =
		rpc_read(exchange, &call, &settings__v1__set_settings_request__descriptor);
	Settings__V1__SetSettingsRequest *request = (void *)message;
	Settings__V1__SetSettingsResponse response = SETTINGS__V1__SET_SETTINGS_RESPONSE__INIT;
	struct error err = { 0 };

	if (!message)
		return EXCHANGE_DONE;
	if (put_setting(exchange, request->setting, &err) < 0)
		return rpc_fail(exchange, &err);
	response.setting = request->setting;
	connect_write(&call, &response.base, &exchange->response);
	return EXCHANGE_DONE;
}

/* ---- Delete ---- */

static int remove_setting(struct exchange *exchange, struct str name, struct error *err)
{
	if (name.length == 0)
		return error_set(err, ERROR_INVALID, "no setting name provided");
	if (store_remove_setting(exchange->app->store, exchange->tenant, name, err) == 0)
		return 0;
	if (err->code == ERROR_EXISTS)
		(void)error_set(err, ERROR_EXISTS,
		                "failed to delete %.*s: newer update already written",
		                STR_ARGS(str_first(name, 200)));
	return -1;
}

enum exchange_state serve_settings_delete(struct exchange *exchange)
{
	struct connect_call call;
	const ProtobufCMessage *message =
		rpc_read(exchange, &call, &settings__v1__delete_settings_request__descriptor);
	const Settings__V1__DeleteSettingsRequest *request = (const void *)message;
	const Settings__V1__DeleteSettingsResponse response =
		SETTINGS__V1__DELETE_SETTINGS_RESPONSE__INIT;
	struct error err = { 0 };

	if (!message)
		return EXCHANGE_DONE;
	if (remove_setting(exchange, proto_str(request->name), &err) < 0)
		return rpc_fail(exchange, &err);
	connect_write(&call, &response.base, &exchange->response);
	return EXCHANGE_DONE;
}
