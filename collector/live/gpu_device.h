/*
 * Which GPU everything is on, where there is one only.
 *
 * Source   collector specification 2.5: labels only when certain
 */
#pragma once

#define GPU_DEVICE_TEXT 64

/*
 * The UUID of the one GPU that the driver below `proc` ("/proc") lists, or "unknown" where
 * there are none or several.
 */
void gpu_device_name(const char *proc, char out[static GPU_DEVICE_TEXT]);
