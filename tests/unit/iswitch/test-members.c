/*
 * Test the members of a job: ids, ranks, and which members count at each
 * iteration.
 */
#include "common/iswitch/members.h"
#include "tests/unit/tap.h"

int
main(void)
{
	struct members s = { 0 };
	uint32_t a = members_assign_id(&s, CONTROL_WORKER, 9);
	uint32_t b = members_assign_id(&s, CONTROL_WORKER, 3);
	uint32_t c = members_assign_id(&s, CONTROL_SWITCH, 3), next = 0, id = 0;
	struct member *m;

	ok(a == 0 && b == 1 && c == 2, "ids are assigned in order");
	ok(s.rank[a] == 2 && s.rank[b] == 0 && s.rank[c] == 1,
	    "ranks follow the number, then the type");
	ok(members_assign_id(&s, CONTROL_WORKER, 3) == b,
	    "a known member gets the same id");
	members_enter(&s, a, 5);
	members_enter(&s, b, 7);
	ok(s.present == 2 && members_count_at(&s, 4) == 0 &&
		members_count_at(&s, 5) == 1 && members_count_at(&s, 7) == 2 &&
		members_count_at(&s, 100) == 2,
	    "a member counts from its first iteration on");
	members_enter(&s, a, 5);
	ok(s.present == 2, "a member that joins twice counts once");
	m = members_next(&s, &next);
	ok(m == &s.m[a] && members_next(&s, &next) == &s.m[b] &&
	    members_next(&s, &next) == NULL, "the present members can be "
	    "listed");
	members_leave(&s, b);
	ok(s.present == 1 && members_count_at(&s, 5) == 1,
	    "a member that has left does not count");
	members_enter(&s, b, 7);
	for (uint32_t w = 100; w < 100 + MEMBERS_MAX; w++) {
		id = members_assign_id(&s, CONTROL_WORKER, w);
		if (id != MEMBERS_NONE)
			members_enter(&s, id, 7);
	}
	ok(s.count == MEMBERS_MAX && id == MEMBERS_NONE,
	    "the number of ids is limited");
	members_leave(&s, 30);
	s.m[30].gone_ns = 2;
	members_leave(&s, 20);
	s.m[20].gone_ns = 1;
	ok(members_assign_id(&s, CONTROL_WORKER, 9999) == 20 &&
		s.m[20].reused && s.m[20].push == MEMBERS_NO_PUSH,
	    "a new member gets the id of the member that has been gone "
	    "longest");
	members_free(&s);
	return tap_end();
}
