#include "collector/trouble_log.h"

#include "base/log.h"

void trouble_log_source(const struct event_source *source)
{
	struct error trouble;
	const enum event_trouble kind = source->trouble ? source->trouble(source->context, &trouble)
	                                                : EVENT_TROUBLE_NONE;

	if (kind == EVENT_TROUBLE_OFTEN)
		log_rarely(LOG_WARN, "%s", trouble.message);
	if (kind == EVENT_TROUBLE_ONCE)
		log_error("%s", trouble.message);
}

void trouble_log_stacks(struct call_stacks *stacks)
{
	struct error why;

	if (call_stacks_trouble(stacks, &why))
		log_rarely(LOG_WARN, "%s; its Python frames are shown as native ones", why.message);
}

void trouble_log_devices(struct device_round *round)
{
	struct error why;

	switch (device_round_trouble(round, &why)) {
	case DEVICE_TROUBLE_NONE:
		break;
	case DEVICE_TROUBLE_ABSENT:
		log_info("devices are not asked what they hold: %s", why.message);
		break;
	case DEVICE_TROUBLE_BROKEN:
		log_warn("devices are not asked what they hold: %s", why.message);
		break;
	default:
		log_rarely(LOG_WARN, "devices do not say what they hold: %s", why.message);
		break;
	}
}
