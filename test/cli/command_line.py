"""What the tests of the command line share: the program, how it is run, models and tasks."""
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXE = pathlib.Path(os.environ.get("TANGERE_EXE") or ROOT / "build" / "bin" / "tangere")
TASK = "models/half_cheetah_reach.yaml"
MODEL = "models/half_cheetah.xml"


def run(*args, code=0, cwd=ROOT):
    done = subprocess.run([EXE, *map(str, args)], cwd=cwd, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, f"exit {done.returncode}, wanted {code}\n{done.stdout}\n{done.stderr}"
    return done


ARM = """<robot name="arm">
  <link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><sphere radius="0.2"/></geometry></collision></link>
  <link name="upper"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><sphere radius="0.2"/></geometry></collision></link>
  <link name="lower"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><sphere radius="0.2"/></geometry></collision></link>
  <joint name="a" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/><origin xyz="0 0 0.15"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="b" type="revolute"><parent link="upper"/><child link="lower"/><axis xyz="0 0 1"/><origin xyz="0 0 0.15"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""


def one_stage(tmp_path):
    """The task's own stage alone, by its own motion: what holds elsewhere is another question."""
    text = (ROOT / TASK).read_text().replace("model: half", f"model: {ROOT}/models/half")
    file = tmp_path / "cheetah.yaml"
    file.write_text("".join(line for line in text.splitlines(True) if not line.startswith("refine:")) + "verify: {rows: [none]}\n")
    return file
