#include "server/routes/gpu_request.h"

int gpu_request_question(const struct own_request *request, const char *end_name,
                         struct gpu_question *out, struct error *err)
{
	const bool has_end = own_request_text(request, end_name).length > 0;
	int64_t start_ms = 0;
	int64_t end_ms = 0;

	gpu_question_init(out, &request->context);
	if (own_request_range(request, "from", has_end ? end_name : "until", &start_ms, &end_ms,
	                      err) < 0 ||
	    gpu_question_set_range(out, start_ms, end_ms, err) < 0)
		return -1;
	return gpu_question_set_selector(out, own_request_text(request, "selector"), err);
}
