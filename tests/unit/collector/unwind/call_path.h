/* The entries of call_path.c, one a variant of options, and of call_path_template.cc. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

int o0_path(int depth);
int o2_path(int depth);
int o3_path(int depth);
int o0_signal_path(void);
int o2_signal_path(void);
int o3_signal_path(void);

/* Captures through templates, a lambda, a virtual method and a namespace. */
int template_path(void);

#ifdef __cplusplus
}
#endif
