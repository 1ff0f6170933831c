#include "collector/identity/cgroup_path.h"

#include "base/cleanup.h"
#include "base/uuid.h"

/* Names of components that hold an id, as systemd's scope or as a plain folder. */
static const struct {
	struct str prefix;
	enum container_runtime runtime;
} prefixes[] = {
	{ STR("cri-containerd-"), RUNTIME_CONTAINERD },
	{ STR("crio-"), RUNTIME_CRIO },
	{ STR("docker-"), RUNTIME_DOCKER },
	{ STR("libpod-"), RUNTIME_PODMAN },
	{ STR("nerdctl-"), RUNTIME_NERDCTL },
};

/* Folders that hold ids, of engines that leave the groups to no systemd. */
static const struct {
	struct str folder;
	enum container_runtime runtime;
} folders[] = {
	{ STR("docker"), RUNTIME_DOCKER },
	{ STR("default"), RUNTIME_NERDCTL },
};

/* ---- texts ---- */

static bool is_hex(struct str text, size_t length)
{
	if (text.length != length)
		return false;
	for (size_t i = 0; i < length; i++)
		if (!(text.data[i] >= '0' && text.data[i] <= '9') &&
		    !(text.data[i] >= 'a' && text.data[i] <= 'f'))
			return false;
	return true;
}

static bool is_number(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] < '0' || text.data[i] > '9')
			return false;
	return text.length > 0;
}

/* Takes a prefix, or a suffix, off; false when it is not there. */
static bool take_prefix(struct str *text, struct str prefix)
{
	if (!str_starts_with(*text, prefix))
		return false;
	*text = str_skip(*text, prefix.length);
	return true;
}

static bool take_suffix(struct str *text, struct str suffix)
{
	if (!str_ends_with(*text, suffix))
		return false;
	text->length -= suffix.length;
	return true;
}

/* Also without systemd's escapes: "\x2d" is '-'. What is too long for a label is cut. */
static void set_name(struct label_text *out, struct str text)
{
	char unescaped[LABEL_TEXT_BYTES];
	size_t length = 0;

	while (text.length > 0 && length < sizeof(unescaped)) {
		uint8_t byte;

		if (text.length >= 4 && text.data[0] == '\\' && text.data[1] == 'x' &&
		    hex_decode(str_make(text.data + 2, 2), &byte, 1)) {
			unescaped[length++] = (char)byte;
			text = str_skip(text, 4);
			continue;
		}
		unescaped[length++] = text.data[0];
		text = str_skip(text, 1);
	}
	(void)label_text_set(out, str_make(unescaped, length));
}

static void set_id(char *out, struct str id)
{
	memcpy(out, id.data, id.length);
	out[id.length] = '\0';
}

/* ---- pods ---- */

static bool set_uid(char out[POD_UID_LENGTH + 1], struct str uid, char separator)
{
	char text[POD_UID_LENGTH];

	if (is_hex(uid, 32)) { /* of a static pod: a hash */
		set_id(out, uid);
		return true;
	}
	if (uid.length != POD_UID_LENGTH)
		return false;
	for (size_t i = 0; i < POD_UID_LENGTH; i++) {
		const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (is_dash ? uid.data[i] != separator : !is_hex(str_make(uid.data + i, 1), 1))
			return false;
		text[i] = uid.data[i];
		if (is_dash)
			text[i] = '-';
	}
	set_id(out, str_make(text, sizeof(text)));
	return true;
}

/* "kubelet-kubepods-burstable-pod<uid>.slice", or "pod<uid>". */
static bool read_pod(struct str component, char out[POD_UID_LENGTH + 1])
{
	ptrdiff_t place;

	if (take_suffix(&component, STR(".slice"))) {
		if (str_find(component, STR("kubepods")) < 0)
			return false;
		place = str_find(component, STR("-pod"));
		return place >= 0 &&
		       set_uid(out, str_skip(component, (size_t)place + strlen("-pod")), '_');
	}
	return take_prefix(&component, STR("pod")) && set_uid(out, component, '-');
}

/* ---- containers ---- */

/* Id and runtime of a component below `folder`; false when it names no container. */
static bool find_id(struct str component, struct str folder, struct str *out_id,
                    enum container_runtime *out_runtime)
{
	struct str id = component;

	(void)take_suffix(&id, STR(".scope"));
	for (size_t i = 0; i < ARRAY_LENGTH(prefixes); i++) {
		struct str rest = id;

		if (!take_prefix(&rest, prefixes[i].prefix) || !is_hex(rest, CONTAINER_ID_LENGTH))
			continue;
		*out_id = rest;
		*out_runtime = prefixes[i].runtime;
		return true;
	}
	if (!is_hex(component, CONTAINER_ID_LENGTH))
		return false;
	*out_id = component;
	*out_runtime = RUNTIME_UNKNOWN;
	for (size_t i = 0; i < ARRAY_LENGTH(folders); i++)
		if (str_equal(folder, folders[i].folder))
			*out_runtime = folders[i].runtime;
	return true;
}

/* "<slice>:cri-containerd:<id>": containerd told systemd's names to plain folders. */
static bool find_mixed_id(struct str component, struct str *out_slice, struct str *out_id)
{
	struct str parts[3];

	for (size_t i = 0; i < ARRAY_LENGTH(parts); i++)
		if (!str_split(&component, ':', &parts[i]))
			return false;
	*out_slice = parts[0];
	*out_id = parts[2];
	return !component.data && str_equals(parts[1], "cri-containerd") &&
	       is_hex(parts[2], CONTAINER_ID_LENGTH);
}

/* Whatever stood left of it belongs to whoever runs the container. */
static void forget_outside(struct cgroup_path *path)
{
	path->unit.text[0] = '\0';
	path->is_login = false;
	path->container_id[0] = '\0';
	path->container_name.text[0] = '\0';
}

static void set_container(struct cgroup_path *path, struct str id, enum container_runtime runtime)
{
	forget_outside(path);
	path->runtime = runtime;
	set_id(path->container_id, id);
	if (path->pod_uid[0] && !path->pod_container_id[0])
		set_id(path->pod_container_id, id);
}

static bool set_named_container(struct cgroup_path *path, struct str component)
{
	const bool is_lxc = take_prefix(&component, STR("lxc.payload."));

	if (!is_lxc &&
	    !(take_prefix(&component, STR("machine-")) && take_suffix(&component, STR(".scope"))))
		return false;
	forget_outside(path);
	path->runtime = is_lxc ? RUNTIME_LXC : RUNTIME_NSPAWN;
	set_name(&path->container_name, component);
	return true;
}

/* ---- units and jobs ---- */

static bool set_unit(struct cgroup_path *path, struct str component)
{
	struct str name = component;
	bool is_login;

	if (take_suffix(&name, STR(".service"))) {
		is_login = str_starts_with(name, STR("user@"));
	} else if (take_suffix(&name, STR(".scope"))) {
		is_login = str_starts_with(name, STR("session-"));
		if (!is_login && !str_starts_with(name, STR("app-")))
			return false;
	} else {
		return false;
	}
	path->is_login = is_login;
	set_name(&path->unit, name);
	return true;
}

static bool set_job(struct cgroup_path *path, struct str component)
{
	if (!take_prefix(&component, STR("job_")) || !is_number(component) ||
	    component.length > SLURM_JOB_LENGTH)
		return false;
	path->unit.text[0] = '\0'; /* Slurm's own */
	path->is_login = false;
	set_id(path->slurm_job, component);
	return true;
}

/* "user-1000.slice": the outermost one is systemd's own, what lies in it the user's. */
static void set_owner(struct cgroup_path *path, struct str component)
{
	uint64_t uid;

	if (path->has_owner || !take_prefix(&component, STR("user-")) ||
	    !take_suffix(&component, STR(".slice")) || !str_to_u64(component, UINT32_MAX, &uid))
		return;
	path->has_owner = true;
	path->owner = (uint32_t)uid;
}

/* ---- paths ---- */

static void read_component(struct cgroup_path *path, struct str component, struct str folder)
{
	enum container_runtime runtime;
	struct str slice = component;
	struct str id;
	const bool is_mixed = find_mixed_id(component, &slice, &id);

	set_owner(path, component);
	if (!path->pod_uid[0])
		(void)read_pod(is_mixed ? slice : component, path->pod_uid);
	if (is_mixed) {
		set_container(path, id, RUNTIME_CONTAINERD);
	} else if (find_id(component, folder, &id, &runtime)) {
		set_container(path, id, runtime);
	} else if (!set_named_container(path, component) && !set_job(path, component)) {
		(void)set_unit(path, component);
	}
}

/* "4:memory,hugetlb:/path": whether the path of these controllers is one that counts. */
static bool counts(struct str hierarchy, struct str controllers)
{
	struct str controller;

	if (str_equals(hierarchy, "0") && controllers.length == 0)
		return true;
	while (str_split(&controllers, ',', &controller))
		if (str_equals(controller, "memory") || str_equals(controller, "pids") ||
		    str_equals(controller, "name=systemd"))
			return true;
	return false;
}

static struct str choose_path(struct str text)
{
	struct str chosen = STR("");
	struct str line;

	while (str_split(&text, '\n', &line)) {
		struct str hierarchy;
		struct str controllers;

		if (str_split(&line, ':', &hierarchy) && str_split(&line, ':', &controllers) &&
		    line.data && counts(hierarchy, controllers) && line.length > chosen.length)
			chosen = line; /* paths may hold colons */
	}
	(void)take_suffix(&chosen, STR(" (deleted)"));
	return chosen;
}

void cgroup_path_read(struct str text, struct cgroup_path *out)
{
	struct str rest = choose_path(text);
	struct str folder = STR("");
	struct str component;

	*out = (struct cgroup_path){ .runtime = RUNTIME_NONE };
	while (str_split(&rest, '/', &component)) {
		read_component(out, component, folder);
		folder = component;
	}
}
