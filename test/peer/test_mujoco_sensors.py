"""What sensors read against MuJoCo's sensordata: every kind that both have, in the order of the file, at random states with accelerations
that MuJoCo finds itself (without constraints), so that accelerometers are compared too."""
import ctypes

import mujoco
import numpy as np

from tangere import KINDS, Sim, lib

lib.tg_model_nsensordata.argtypes, lib.tg_model_nsensordata.restype = [ctypes.c_void_p], ctypes.c_int
lib.tg_sim_sensors.argtypes, lib.tg_sim_sensors.restype = [ctypes.c_void_p] * 3, ctypes.c_int
lib.tg_sim_step.argtypes, lib.tg_sim_step.restype = [ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p], ctypes.c_int
lib.tg_sim_act.argtypes, lib.tg_sim_act.restype = [ctypes.c_void_p], ctypes.c_void_p
REFS = [("", ""), ("xbody", "b"), ("site", "s"), ("geom", "g1"), ("site", "w")]
OBJECTS = [("body", "c"), ("xbody", "d"), ("geom", "g1"), ("site", "t"), ("xbody", "world")]


def frames():
    text = ""
    for word in ("framepos", "framequat", "framexaxis", "frameyaxis", "framezaxis", "framelinvel", "frameangvel", "framelinacc", "frameangacc"):
        for kind, name in OBJECTS:
            if kind == "body" and word in ("framequat", "framexaxis", "frameyaxis", "framezaxis"):
                continue
            for ref, refname in REFS if "acc" not in word else REFS[:1]:
                text += f"<{word} objtype='{kind}' objname='{name}'" + (f" reftype='{ref}' refname='{refname}'" if ref else "") + "/>"
    return text


SCENE = f"""<mujoco><option gravity='1 -2 -9'><flag contact='disable' frictionloss='disable'/></option><worldbody>
<site name='w' pos='.3 .1 .5' quat='.8 .2 .1 .5'/><geom name='g0' type='sphere' size='.1' pos='1 1 1' quat='.5 .5 .1 .3'/>
<body name='a' pos='0 0 1'><freejoint/><inertial pos='.1 .02 .03' mass='2' fullinertia='.3 .4 .5 .02 .03 .01'/>
<site name='s' pos='.1 .2 -.1' euler='10 20 30'/>
<body name='b' pos='.2 0 .1' euler='20 0 40'><joint name='ball' type='ball' pos='.05 0 0' damping='.3'/>
<geom name='g1' type='box' size='.1 .2 .1' pos='0 .1 .1' euler='0 30 0' density='400'/>
<body name='c' pos='0 .3 0'><joint name='slide' type='slide' axis='1 1 0' stiffness='3'/><joint name='hinge' axis='0 1 1' range='20 50'/>
<geom type='capsule' size='.05 .2' density='600'/><site name='t' pos='.1 0 .3' euler='40 0 10'/>
<body name='d' pos='.3 0 0'><joint name='last' axis='1 0 0' actuatorfrcrange='-2 1'/><geom size='.1' pos='.1 .2 0'/></body>
</body></body></body></worldbody>
<tendon><fixed name='ten' limited='true' range='3 5'><joint joint='hinge' coef='1.5'/><joint joint='last' coef='-.7'/></fixed></tendon>
<actuator><general name='m0' joint='hinge' gear='2' gaintype='affine' gainprm='1 .3 .2' biastype='affine' biasprm='.1 -2 -.4'/>
<general name='m1' joint='ball' gear='1 2 3' biastype='affine' biasprm='.1 -2 -.4' dyntype='filter' dynprm='.3'/>
<position name='m2' tendon='ten' kp='3' forcerange='-1 .5'/><motor name='m3' joint='last' gear='3' ctrlrange='-.5 .5'/></actuator><sensor>
<jointpos joint='slide'/><jointvel joint='hinge'/><jointlimitpos joint='hinge'/><jointlimitvel joint='hinge'/>
<jointactuatorfrc joint='last'/><jointactuatorfrc joint='hinge'/><ballquat joint='ball'/><ballangvel joint='ball'/>
<tendonpos tendon='ten'/><tendonvel tendon='ten'/><tendonlimitpos tendon='ten'/><tendonlimitvel tendon='ten'/>
<tendonactuatorfrc tendon='ten'/><actuatorpos actuator='m1'/><actuatorpos actuator='m2'/><actuatorvel actuator='m1'/>
<actuatorvel actuator='m2'/><actuatorfrc actuator='m0'/><actuatorfrc actuator='m1'/><actuatorfrc actuator='m2'/><actuatorfrc actuator='m3'/>
<accelerometer site='t'/><accelerometer site='s'/><velocimeter site='t'/><gyro site='t'/>
<subtreecom body='a'/><subtreecom body='world'/><subtreelinvel body='b'/><subtreeangmom body='b'/><subtreeangmom body='world'/>
<framepos objtype='xbody' objname='d' cutoff='.3' name='cut'/><gyro site='t' cutoff='.2'/>{frames()}</sensor></mujoco>"""


def test_values(tmp_path):
    file = tmp_path / "sensors.xml"
    file.write_text(SCENE)
    model, sim = mujoco.MjModel.from_xml_path(str(file)), Sim(file)
    data, rng = mujoco.MjData(model), np.random.default_rng(1)
    n = lib.tg_model_nsensordata(sim.model)
    assert n == model.nsensordata and lib.tg_model_count(sim.model, KINDS["sensor"]) == model.nsensor
    act = np.ctypeslib.as_array(ctypes.cast(lib.tg_sim_act(sim.sim), ctypes.POINTER(ctypes.c_double)), (model.na,))
    overstepped = 0
    for trial in range(20):
        mujoco.mj_resetData(model, data)
        mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 1.0)
        data.qvel, data.ctrl, data.act = rng.normal(size=model.nv), rng.normal(size=model.nu), rng.normal(size=model.na)
        mujoco.mj_forward(model, data)
        sim.qpos[:], sim.qvel[:], sim.ctrl[:], act[:] = data.qpos, data.qvel, data.ctrl, data.act
        value, qacc = np.zeros(n), np.ascontiguousarray(data.qacc)
        assert lib.tg_sim_sensors(sim.sim, qacc.ctypes.data, value.ctypes.data) == 0
        for i in range(model.nsensor):
            at = slice(model.sensor_adr[i], model.sensor_adr[i] + model.sensor_dim[i])
            scale = max(1, np.abs(data.sensordata[at]).max())
            assert np.abs(value[at] - data.sensordata[at]).max() <= 1e-10 * scale, \
                f"{mujoco.mjtSensor(model.sensor_type[i]).name}, sensor {i}: {value[at]} {data.sensordata[at]}"
        overstepped += data.sensordata[model.sensor_adr[2]] < 0
    assert 0 < overstepped < 20                        # limits were overstepped and not


SITES = """<mujoco><option><flag contact='disable'/></option><compiler autolimits='true'/><worldbody><site name='w' pos='.3 .1 .5' quat='.8 .2 .1 .5'/>
<body name='a' pos='0 0 3'><freejoint/><geom size='.2' mass='2'/><site name='s' pos='.1 .2 -.1' euler='10 20 30'/>
<body name='b' pos='.2 0 .1' euler='20 0 40'><joint name='ball' type='ball' pos='.05 0 0'/><geom type='capsule' size='.05 .1' mass='.5'/>
<body name='c' pos='0 .3 0'><joint name='slide' type='slide' axis='1 1 0'/><joint name='hinge' axis='0 1 1' actuatorfrcrange='-2 2'/>
<geom size='.05' mass='.4'/><site name='t' pos='.1 0 .3' euler='40 0 10'/></body></body></body></worldbody>
<actuator><motor site='s' gear='1 2 3 .1 .2 .3'/>
<general site='t' refsite='w' gear='.4 .5 1 0 .2 .1' gaintype='affine' gainprm='1 .3 .2' biastype='affine' biasprm='.1 -2 -.4'/>
<position site='t' refsite='s' gear='0 0 0 1 0 .5' kp='2' kv='.3'/><position site='s' refsite='t' gear='0 1 0' kp='3'/>
<general site='t' gear='0 0 1' biastype='affine' biasprm='0 0 -.2' forcerange='-.1 .1'/></actuator></mujoco>"""


def random_states(model, sim, seed):
    """MuJoCo's data at twenty random states and controls, which the simulation has too."""
    data, rng = mujoco.MjData(model), np.random.default_rng(seed)
    for trial in range(20):
        mujoco.mj_resetData(model, data)
        mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 1.0)
        data.qvel, data.ctrl = rng.normal(size=model.nv), rng.normal(size=model.nu)
        mujoco.mj_forward(model, data)
        sim.qpos[:], sim.qvel[:], sim.ctrl[:] = data.qpos, data.qvel, data.ctrl
        sim.forward()
        yield data


def test_site_actuators(tmp_path):
    """Length, speed, force and generalised force of actuators at sites."""
    file = tmp_path / "sites.xml"
    file.write_text(SITES)
    model, sim = mujoco.MjModel.from_xml_path(str(file)), Sim(file)
    for data in random_states(model, sim, 2):
        for ours, theirs in (("act_length", data.actuator_length), ("act_velocity", data.actuator_velocity), ("act_force", data.actuator_force),
                             ("qfrc_actuator", data.qfrc_actuator)):
            assert np.abs(sim.field(ours).ravel() - theirs).max() <= 1e-10 * max(1, np.abs(theirs).max()), (ours, sim.field(ours).ravel(), theirs)


STRANDS = """<mujoco><option gravity='1 -2 -9'><flag contact='disable' frictionloss='disable' limit='disable'/></option><worldbody>
<site name='w' pos='.3 .1 .5'/><site name='x' pos='-.4 .2 .9'/><body name='a' pos='0 0 1'><freejoint/><geom size='.2' mass='2'/><site name='s' pos='.1 .2 -.1'/>
<body name='b' pos='.2 0 .1' euler='20 0 40'><joint name='ball' type='ball' pos='.05 0 0'/><geom type='capsule' size='.05 .1' mass='.5'/>
<body name='c' pos='0 .3 0'><joint name='slide' type='slide' axis='1 1 0' springref='.2'/><joint name='hinge' axis='0 1 1' pos='.1 0 .2' springref='40'/>
<geom size='.05' mass='.4'/><site name='t' pos='.1 0 .3'/></body></body></body>
<body name='e' pos='1 .5 1'><joint name='swing' axis='1 2 0' pos='0 0 .3' springref='-30'/><geom size='.1' mass='.6'/><site name='u' pos='.1 .1 -.1'/></body>
</worldbody><tendon><spatial name='rope' stiffness='6' damping='.5' springlength='1.2 1.9' range='1 3'><site site='w'/><site site='s'/><site site='t'/></spatial>
<spatial name='tackle' stiffness='2' damping='.3' range='2 4'><pulley divisor='.7'/><site site='x'/><site site='s'/>
<pulley divisor='2'/><site site='s'/><site site='u'/><site site='t'/></spatial></tendon>
<actuator><position name='m0' tendon='rope' gear='.8' kp='3' kv='.4'/><general name='m1' tendon='tackle' gear='1.5' gaintype='affine' gainprm='1 .3 .2'
 biastype='affine' biasprm='.1 -2 -.4' forcerange='-9 9'/></actuator><sensor><tendonpos tendon='rope'/><tendonvel tendon='rope'/><tendonpos tendon='tackle'/>
<tendonvel tendon='tackle'/><tendonactuatorfrc tendon='rope'/><tendonactuatorfrc tendon='tackle'/><actuatorpos actuator='m1'/><actuatorvel actuator='m1'/>
<jointactuatorfrc joint='hinge'/></sensor></mujoco>"""


def test_spatial_tendons(tmp_path):
    """Resting lengths, lengths, rates and forces of tendons over sites and pulleys, their sensors."""
    file = tmp_path / "strands.xml"
    file.write_text(STRANDS)
    model, sim = mujoco.MjModel.from_xml_path(str(file)), Sim(file)
    assert np.abs(sim.field("ten_lengthspring") - model.tendon_lengthspring).max() <= 1e-12
    for data in random_states(model, sim, 4):
        value, qacc = np.zeros(model.nsensordata), np.ascontiguousarray(data.qacc)
        assert lib.tg_sim_sensors(sim.sim, qacc.ctypes.data, value.ctypes.data) == 0
        for ours, theirs in ((sim.field("ten_length"), data.ten_length), (sim.field("act_length"), data.actuator_length),
                             (sim.field("act_velocity"), data.actuator_velocity), (sim.field("act_force"), data.actuator_force),
                             (sim.field("qfrc_actuator"), data.qfrc_actuator), (sim.field("qfrc_passive"), data.qfrc_passive),
                             (value, data.sensordata)):
            assert np.abs(ours.ravel() - theirs).max() <= 1e-10 * max(1, np.abs(theirs).max()), (ours.ravel(), theirs)


LOADS = """<mujoco><option timestep='0.001' gravity='1 2 -9'><flag contact='disable'/></option><worldbody>
<body name='a' pos='0 0 3'><joint type='ball'/><geom size='.2' pos='.3 0 0' mass='2'/><site name='s' pos='.1 .2 -.1' euler='10 20 30'/>
<body name='b' pos='.2 0 .1' euler='20 0 40'><joint axis='0 1 1'/><geom type='capsule' size='.05 .1' mass='.5'/>
<body name='c' pos='0 .3 0'><geom size='.05' mass='.4'/><site name='t' pos='.1 0 .3' euler='40 0 10'/></body></body></body></worldbody>
<sensor><force site='s'/><torque site='s'/><force site='t'/><torque site='t'/></sensor></mujoco>"""


def test_force_and_torque(tmp_path):
    """What joints and welds carry: ours of a step from the state that MuJoCo tells of."""
    file = tmp_path / "loads.xml"
    file.write_text(LOADS)
    model, sim = mujoco.MjModel.from_xml_path(str(file)), Sim(file)
    data, rng = mujoco.MjData(model), np.random.default_rng(3)
    for trial in range(10):
        mujoco.mj_resetData(model, data)
        mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 1.0)
        data.qvel = rng.normal(size=model.nv)
        mujoco.mj_forward(model, data)
        sim.qpos[:], sim.qvel[:] = data.qpos, data.qvel
        value = np.zeros(12)
        assert lib.tg_sim_step(sim.sim, 0.001, None) == 0
        assert lib.tg_sim_sensors(sim.sim, None, value.ctypes.data) == 0
        assert np.abs(value - data.sensordata).max() <= 1e-9 * np.abs(data.sensordata).max(), (value, data.sensordata)
