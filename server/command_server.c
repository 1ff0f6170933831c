/*
 * vramscope server: the profile store on its port, without privileges.
 */
#include "server/command.h"
#include "server/command_options.h"
#include "server/server_process.h"

int command_server(int argc, char **argv)
{
	CLEANUP(options_freep) struct options *options = NULL;
	int status;

	if (!command_options("server", OPTION_OF_SERVER, argc, argv, &options, &status))
		return status;
	return server_process_run(
		&(struct server_process){ .options = options, .argc = argc, .argv = argv });
}
