/* capture.c - read ages from a capture that was taken at a receiver */
#include <stdlib.h>

#include "cmd/innet-plot/plot.h"
#include "common/base/message.h"
#include "common/capture/updates.h"
#include "common/olaf/aom.h"

enum { CLUSTERS = 65536 };

/*
 * Compute the ages of every cluster up to its last packet in the capture at
 * path, as innet-olaf(7) defines them.
 */
static void
read_ages(struct figure *fig, const char *path, struct aom *of,
    uint64_t *last_ns)
{
	struct updates in;
	struct update u = { 0 };
	uint64_t t;
	int got;

	if (updates_open(&in, path) == -1)
		errx(1, "%s: %s", pcapio_name(path, false), in.in.why);
	in.bare = fig->bare;
	in.headers = true;
	while ((got = updates_next(&in, &t, &u)) == 1) {
		if (u.kind != UPDATE_UPDATE || u.following != 0)
			continue;
		if (fig->cluster != -1 && u.cluster != fig->cluster)
			continue;
		last_ns[u.cluster] = t;
		if (aom_deliver(&of[u.cluster], t, u.generated_ns) ==
		    AOM_NOMEM)
			err(1, "no memory for ages");
	}
	updates_warn_odd(&in);
	if (got == -1)
		fig->rc = pcapio_warn_damage(&in.in);
	for (int c = 0; c < CLUSTERS; c++)
		if (aom_end(&of[c], last_ns[c]) == -1)
			err(1, "no memory for ages");
	updates_close(&in);
}

void
add_capture(struct figure *fig, const char *path, const char *name)
{
	struct aom *of = calloc(CLUSTERS, sizeof(*of));
	const struct aom **set = calloc(CLUSTERS, sizeof(*set));
	uint64_t *last_ns = calloc(CLUSTERS, sizeof(*last_ns));
	char **label = calloc(CLUSTERS, sizeof(*label));
	size_t n = 0;

	if (of == NULL || set == NULL || label == NULL || last_ns == NULL)
		err(1, "no memory for clusters");
	read_ages(fig, path, of, last_ns);
	for (int c = 0; c < CLUSTERS; c++) {
		if (!of[c].started)
			continue;
		set[n] = &of[c];
		if (asprintf(&label[n++], "%d", c) == -1)
			err(1, "no memory for a label");
	}
	if (n == 0)
		warnx("%s: there are no updates%s", pcapio_name(path, false),
		    fig->cluster == -1 ? "" : " of this cluster");
	add_ages(fig, name, set, label, n);
	for (size_t i = 0; i < n; i++)
		free(label[i]);
	for (int c = 0; c < CLUSTERS; c++)
		aom_free(&of[c]);
	free(label);
	free(last_ns);
	free(set);
	free(of);
}
