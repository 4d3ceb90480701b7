#!/usr/bin/env python3
"""Writes the models of the barrier paper's experiments that are too regular to write by hand: models/planks.xml, billiards.xml,
billiards_shot.xml, billiards_small.xml, billiards_round.xml, billiards_table.xml, billiards_hard_round.xml,
billiards_hard_table.xml, ant_push.xml.

  tools/barrier_models.py

What the paper gives is in the comments that are written; the rest is chosen here.
"""
import math
import pathlib

MODELS = pathlib.Path(__file__).resolve().parent.parent / "models"
HEAD = "Written by tools/barrier_models.py for this project, Apache-2.0."


def numbers(values):
    return " ".join(f"{v:.12g}" for v in values)


def box_mesh(half):
    """Corners and the twelve triangles of a box, counter-clockwise from outside."""
    corners = [[sx * half[0], sy * half[1], sz * half[2]] for sz in (-1, 1) for sy in (-1, 1) for sx in (-1, 1)]
    quads = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    return corners, [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]


def planks(count=20, size=(2.0, 0.4, 0.2), mass=0.16, inward=0.001, gap=0.005):
    """Plank k from the top overhangs the next by L/(2k), less 0.1 % of L, which the stack can just carry."""
    vertices, faces = box_mesh([s / 2 for s in size])
    x, bodies = 0.0, []
    for k in range(count, 0, -1):               # from the bottom, which lies whole on the floor, to the top
        level = count - k
        z = size[2] / 2 + gap + level * (size[2] + gap)
        shade = 0.55 + 0.3 * level / count
        bodies.append(f'    <body name="plank{level}" pos="{x:.12g} 0 {z:.12g}"><freejoint/>'
                      f'<geom name="plank{level}" mesh="plank" rgba="{shade:.3g} {0.7 * shade:.3g} {0.45 * shade:.3g} 1"/></body>')
        if k > 1:
            x += size[0] / (2 * (k - 1)) - inward * size[0]
    text = f"""<!-- Book stacking: {count} planks of {size[0]:g} x {size[1]:g} x {size[2]:g} m and {mass:g} kg, each at the greatest overhang that the stack can carry, drawn
     back by {100 * inward:g} % of the length: barrier paper (000), section 6 and figure 4. Planks start {1000 * gap:g} mm apart (ours); friction 0.4 (ours). {HEAD} -->
<mujoco model="planks">
  <option timestep="0.04"/>
  <default><geom type="mesh" mass="{mass:g}" friction="0.4"/></default>
  <asset>
    <mesh name="plank" vertex="{numbers(c for v in vertices for c in v)}"
          face="{numbers(i for f in faces for i in f)}"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="8 4 1" mass="0" rgba="0.75 0.78 0.8 1"/>
""" + "\n".join(bodies) + "\n  </worldbody>\n</mujoco>\n"
    (MODELS / "planks.xml").write_text(text)


def ball_mesh(radius, frequency):
    """Octahedral geodesic sphere, 8 frequency^2 triangles, one corner of the octahedron's face towards -z up to a turn: it lies on a face."""
    index, vertices, faces = {}, [], []

    def vertex(p):
        key = tuple(p)
        if key not in index:
            n = math.sqrt(sum(c * c for c in p))
            index[key] = len(vertices)
            vertices.append([radius * c / n for c in p])
        return index[key]

    f = frequency
    for sx in (1, -1):
        for sy in (1, -1):
            for sz in (1, -1):
                def at(i, j):
                    return vertex((sx * i, sy * j, sz * (f - i - j)))
                flip = sx * sy * sz < 0
                for i in range(f):
                    for j in range(f - i):
                        t = [(at(i, j), at(i + 1, j), at(i, j + 1))]
                        if i + j < f - 1:
                            t.append((at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)))
                        faces += [(a, c, b) if flip else (a, b, c) for a, b, c in t]
    # turn (1, 1, 1) to -z: rows of the rotation are an orthonormal basis whose last is -(1, 1, 1)/sqrt 3
    r2, r3, r6 = math.sqrt(2), math.sqrt(3), math.sqrt(6)
    rows = [(1 / r2, -1 / r2, 0), (-1 / r6, -1 / r6, 2 / r6), (-1 / r3, -1 / r3, -1 / r3)]
    turned = [[sum(r * c for r, c in zip(row, v)) for row in rows] for v in vertices]
    return turned, faces


def billiards(name="billiards", rows=5, radius=0.1, mass=0.5, spacing=2.2, frequency=2, friction=0.02):
    vertices, faces = ball_mesh(radius, frequency)
    z = -min(v[2] for v in vertices) + 0.005
    places = [("cue", -1.0, 0.0)]
    for row in range(rows):
        for k in range(row + 1):
            places.append((f"ball{len(places)}", row * spacing * radius * math.sqrt(3) / 2, (k - row / 2) * spacing * radius))
    bodies = []
    for ball, x, y in places:
        color = "0.8 0.2 0.15 1" if ball == "cue" else "0.35 0.5 0.75 1"
        bodies.append(f'    <body name="{ball}" pos="{x:.12g} {y:.12g} {z:.12g}"><freejoint name="{ball}"/><geom name="{ball}" mesh="ball" rgba="{color}"/></body>')
    text = f"""<!-- Billiards: {len(places) - 1} balls in a rack and a cue ball, {len(faces)} triangles each: barrier paper (000), section 6; the scene whose frames are timed. Radius {radius:g} m, mass {mass:g} kg, friction {friction:g}, places
     {spacing:g} radii apart and the cue ball 1 m in front are ours: they are not published. {HEAD} -->
<mujoco model="{name}">
  <option timestep="0.04"/>
  <default><geom type="mesh" mass="{mass:g}" friction="{friction:g}"/></default>
  <asset>
    <mesh name="ball" vertex="{numbers(c for v in vertices for c in v)}"
          face="{numbers(i for f in faces for i in f)}"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="4 4 1" mass="0" rgba="0.45 0.6 0.5 1"/>
""" + "\n".join(bodies) + "\n  </worldbody>\n</mujoco>\n"
    (MODELS / f"{name}.xml").write_text(text)


def shot(name, rows):
    """The rack of the task: places, in units of which a ball's radius is 1/1.1, as in the authors' loader; one unit is a metre. The mass is so small that the
    potential stops a ball over centimetres at the paper's mu: faces are then hardly felt."""
    radius, frequency, mass = 1 / 1.1, 2, 3e-4
    vertices, faces = ball_mesh(radius, frequency)
    z = -min(v[2] for v in vertices) + 0.0116
    rack = [(1.6 * row, 2.2 * (k - row / 2)) for row in range(rows) for k in range(row + 1)]
    places = [("cue", -4.0, 0.0)] + [(f"ball{n + 1}", x, y) for n, (x, y) in enumerate(rack)]
    bodies = []
    for ball, x, y in places:
        color = "0.8 0.2 0.15 1" if ball == "cue" else "0.35 0.5 0.75 1"
        bodies.append(f'    <body name="{ball}" pos="{x:.12g} {y:.12g} {z:.12g}"><freejoint name="{ball}"/><geom name="{ball}" mesh="ball" rgba="{color}"/></body>')
    text = f"""<!-- Billiards: {len(places) - 1} balls in a rack and a cue ball, {len(faces)} triangles each: barrier paper (000), section 6{"" if rows == 5 else ", cut from its 15"}. Radius, row step 1.6 m and distance in a row
     2.2 m follow published figures of the authors' loader with its unit taken as a metre; mass {1000 * mass:g} g (docs/reproductions.md says why), friction 0.02 with the floor and
     none between balls, and the cue ball 4 m in front are ours: they are not published. {HEAD} -->
<mujoco model="{name}">
  <option timestep="0.04"/>
  <default><geom type="mesh" mass="{mass:g}" friction="0"/></default>
  <asset>
    <mesh name="ball" vertex="{numbers(c for v in vertices for c in v)}"
          face="{numbers(i for f in faces for i in f)}"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="20 20 1" mass="0" friction="0.02" rgba="0.45 0.6 0.5 1"/>
""" + "\n".join(bodies) + "\n  </worldbody>\n</mujoco>\n"
    (MODELS / f"{name}.xml").write_text(text)


def round_shot(name, radius, mass, above=None):
    """The rack of six of the task with spheres in place of meshes, of a radius, all lengths along with it. above: the floor they start; None: where the potential of the barrier about carries them."""
    unit = 1.1 * radius
    z = radius + (0.0116 * unit if above is None else above)
    rack = [(1.6 * row, 2.2 * (k - row / 2)) for row in range(3) for k in range(row + 1)]
    places = [("cue", -4.0, 0.0)] + [(f"ball{n + 1}", x, y) for n, (x, y) in enumerate(rack)]
    bodies = []
    for ball, x, y in places:
        color = "0.8 0.2 0.15 1" if ball == "cue" else "0.35 0.5 0.75 1"
        at = f"{unit * x:.12g} {unit * y:.12g} {z:.12g}"
        bodies.append(f'    <body name="{ball}" pos="{at}"><freejoint name="{ball}"/><geom name="{ball}" size="{radius:.12g}" rgba="{color}"/></body>')
    text = f"""<!-- Billiards with balls that are spheres: the rack of billiards_small.xml, all lengths {unit:g} times, mass {mass:g} kg. {HEAD} -->
<mujoco model="{name}">
  <option timestep="0.04"/>
  <default><geom mass="{mass:g}" friction="0"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="{20 * unit:g} {20 * unit:g} 1" mass="0" friction="0.02" rgba="0.45 0.6 0.5 1"/>
""" + "\n".join(bodies) + "\n  </worldbody>\n</mujoco>\n"
    (MODELS / f"{name}.xml").write_text(text)


def ant(body=(0.1, 0.1, 0.05), upper=0.148, lower=0.295, thick=0.03, lift=10, knee=60):
    """Base on three slides and a turn; four legs of two crossed hinges and a knee. Drawn pose = rest pose of the servos (control 0)."""
    legs, joints = [], []
    foot = -lower * math.sin(math.radians(knee)) + upper * math.sin(math.radians(lift)) - thick * math.cos(math.radians(knee))
    for k, angle in enumerate((45, 135, 225, 315)):
        at = 0.14
        c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        hip, bend = f"hip{k}", f"knee{k}"
        joints += [f"swing{k}", f"lift{k}", bend]
        legs.append(f"""      <body name="upper{k}" pos="{at * c:.12g} {at * s:.12g} 0" euler="0 0 {angle}">
        <joint name="swing{k}" axis="0 0 1" range="-40 40"/>
        <joint name="lift{k}" axis="0 1 0" range="-50 50"/>
        <geom name="upper{k}" size="{upper / 2 - 0.01:g} {thick:g} {thick:g}" pos="{upper / 2 * math.cos(math.radians(lift)):.12g} 0 {upper / 2 * math.sin(math.radians(lift)):.12g}" euler="0 {-lift} 0" mass="0.1"/>
        <body name="lower{k}" pos="{(upper + 0.02) * math.cos(math.radians(lift)):.12g} 0 {(upper + 0.02) * math.sin(math.radians(lift)):.12g}">
          <joint name="{bend}" axis="0 1 0" range="-40 70"/>
          <geom name="lower{k}" size="{lower / 2:g} {thick:g} {thick:g}" pos="{(lower / 2) * math.cos(math.radians(knee)):.12g} 0 {-(lower / 2) * math.sin(math.radians(knee)):.12g}" euler="0 {knee} 0" mass="0.1"/>
        </body>
      </body>""")
    servos = "\n".join(f'    <position name="{j}" joint="{j}" kp="15"/>' for j in joints)
    text = f"""<!-- Ant-Push: an ant of 9 links and 16 degrees of freedom and a box: barrier paper (000), section 6 and appendix A.6.2. The base moves along three axes and
     turns about the vertical; an upper leg hangs on two crossed hinges (the paper's ball joints have two degrees of freedom, or 16 would not come out), a lower
     leg on one. Sizes follow published figures of the authors' loader; masses, gains, friction and shapes (boxes) are ours. Control 0 is the drawn pose. {HEAD} -->
<mujoco model="ant_push">
  <compiler angle="degree"/>
  <option timestep="0.02"/>
  <default><geom type="box" friction="0.8" rgba="0.55 0.6 0.68 1"/><joint damping="0.4" armature="0.01"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="4 4 1" mass="0" rgba="0.75 0.78 0.8 1"/>
    <body name="ant" pos="0 0 {-foot + 0.005:.12g}">
      <joint name="ant_x" type="slide" axis="1 0 0" damping="0" armature="0"/>
      <joint name="ant_y" type="slide" axis="0 1 0" damping="0" armature="0"/>
      <joint name="ant_z" type="slide" axis="0 0 1" damping="0" armature="0"/>
      <joint name="ant_turn" axis="0 0 1" damping="0" armature="0"/>
      <geom name="base" size="{numbers(body)}" mass="0.6" rgba="0.3 0.4 0.55 1"/>
""" + "\n".join(legs) + f"""
    </body>
    <body name="box" pos="0.75 0 0.155"><freejoint name="box"/><geom name="box" size="0.15 0.15 0.15" mass="0.3" friction="0.4" rgba="0.8 0.3 0.2 1"/></body>
  </worldbody>
  <actuator>
{servos}
  </actuator>
</mujoco>
"""
    (MODELS / "ant_push.xml").write_text(text)


if __name__ == "__main__":
    planks()
    billiards()
    shot("billiards_shot", rows=5)
    shot("billiards_small", rows=3)
    round_shot("billiards_round", radius=1 / 1.1, mass=3e-4)
    round_shot("billiards_table", radius=0.03, mass=0.17)
    round_shot("billiards_hard_round", radius=1 / 1.1, mass=3e-4, above=1e-6)
    round_shot("billiards_hard_table", radius=0.03, mass=0.17, above=1e-6)
    ant()
