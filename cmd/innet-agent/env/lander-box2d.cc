/*
 * lander-box2d - the lander as bodies of Box2D 2.4
 *
 * This file is compiled only after configure --with-box2d.  It is the only file
 * in C++, because Box2D has no interface for C.
 */
#include <box2d/box2d.h>

#include <new>

#include "cmd/innet-agent/env/lander.h"

static_assert(b2_maxPolygonVertices >= 6, "the hull has six corners");

namespace {

constexpr float scale = float(LANDER_SCALE), w = float(LANDER_W),
	h = float(LANDER_H);
constexpr int pushes = 180, moves = 60;	// iterations, as Gymnasium has them

struct World : b2ContactListener {
	b2World *world = nullptr;
	b2Body *hull, *leg[LANDER_LEGS];
	bool down[LANDER_LEGS], crashed;

	~World() override { delete world; }

	void on(b2Contact *c, bool begins)
	{
		const b2Body *a = c->GetFixtureA()->GetBody();
		const b2Body *b = c->GetFixtureB()->GetBody();

		crashed |= begins && (a == hull || b == hull);
		for (int i = 0; i < LANDER_LEGS; i++)
			if (a == leg[i] || b == leg[i])
				down[i] = begins;
	}
	void BeginContact(b2Contact *c) override { on(c, true); }
	void EndContact(b2Contact *c) override { on(c, false); }
};

// A body that touches the ground and no other body.
b2Body *
body(b2World *world, const b2Vec2 *corner, int n, float density,
    float friction, b2Vec2 at, float angle)
{
	b2PolygonShape shape;
	b2FixtureDef f;
	b2BodyDef d;

	shape.Set(corner, n);
	d.type = b2_dynamicBody;
	d.position = at;
	d.angle = angle;
	f.shape = &shape;
	f.density = density;
	f.friction = friction;
	f.filter.categoryBits = 2;
	f.filter.maskBits = 1;

	b2Body *b = world->CreateBody(&d);

	b->CreateFixture(&f);
	return b;
}

b2Body *
hang(World *l, float side)
{
	const float x = 2 / scale, y = 8 / scale;
	const b2Vec2 box[] = { { -x, -y }, { x, -y }, { x, y }, { -x, y } };
	b2RevoluteJointDef d;

	d.bodyA = l->hull;
	d.bodyB = body(l->world, box, 4, 1, 0.2f,
	    b2Vec2(w / 2 - side * 20 / scale, h), 0.05f * side);
	d.localAnchorB.Set(side * 20 / scale, 18 / scale);
	d.referenceAngle = 0.05f * side;
	d.enableMotor = d.enableLimit = true;
	d.maxMotorTorque = 40;
	d.motorSpeed = 0.3f * side;
	d.lowerAngle = side < 0 ? 0.4f : -0.9f;
	d.upperAngle = side < 0 ? 0.9f : -0.4f;
	l->world->CreateJoint(&d);
	return d.bodyB;
}

void
lay(b2Body *ground, b2Vec2 from, b2Vec2 to)
{
	b2EdgeShape edge;
	b2FixtureDef f;

	edge.SetTwoSided(from, to);
	f.shape = &edge;
	f.friction = 0.1f;
	ground->CreateFixture(&f);
}

void *
open()
{
	return new (std::nothrow) World;
}

void
close(void *world)
{
	delete static_cast<World *>(world);
}

void
start(void *world, const double ground[LANDER_POSTS], double fx, double fy)
{
	static const float px[][2] = { { -14, 17 }, { -17, 0 }, { -17, -10 },
	    { 17, -10 }, { 17, 0 }, { 14, 17 } };
	World *l = static_cast<World *>(world);
	b2Vec2 corner[6];
	b2BodyDef fixed;

	delete l->world;
	l->world = new b2World(b2Vec2(0, -10));
	l->world->SetContactListener(l);
	l->crashed = l->down[0] = l->down[1] = false;

	b2Body *moon = l->world->CreateBody(&fixed);

	lay(moon, b2Vec2(0, 0), b2Vec2(w, 0));
	for (int i = 0; i + 1 < LANDER_POSTS; i++)
		lay(moon, b2Vec2(w / 10 * float(i), float(ground[i])),
		    b2Vec2(w / 10 * float(i + 1), float(ground[i + 1])));
	for (int i = 0; i < 6; i++)
		corner[i].Set(px[i][0] / scale, px[i][1] / scale);
	l->hull = body(l->world, corner, 6, 5, 0.1f, b2Vec2(w / 2, h), 0);
	l->hull->ApplyForceToCenter(b2Vec2(float(fx), float(fy)), true);
	l->leg[0] = hang(l, -1);
	l->leg[1] = hang(l, 1);
}

void
hit(void *world, double ix, double iy, double x, double y)
{
	static_cast<World *>(world)->hull->ApplyLinearImpulse(
	    b2Vec2(float(ix), float(iy)), b2Vec2(float(x), float(y)), true);
}

void
step(void *world)
{
	static_cast<World *>(world)->world->Step(1.0f / LANDER_FPS, pushes,
	    moves);
}

lander_pose
pose(const void *world)
{
	const World *l = static_cast<const World *>(world);
	const b2Vec2 at = l->hull->GetPosition();
	const b2Vec2 v = l->hull->GetLinearVelocity();

	return { at.x, at.y, v.x, v.y, l->hull->GetAngle(),
	    l->hull->GetAngularVelocity(), { l->down[0], l->down[1] },
	    l->crashed, !l->hull->IsAwake() };
}

}

extern "C" const lander_physics lander_box2d = {
	open, close, start, hit, step, pose, 0,
};
