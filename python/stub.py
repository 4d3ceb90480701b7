"""Makes the stub of the extension module. Arguments: those of nanobind.stubgen.

It looks the module's types up by name, by which an installed tangere would be imported beside the module that was just built.
"""
import runpy
import sys

sys.modules["tangere"] = None
runpy.run_module("nanobind.stubgen", run_name="__main__", alter_sys=True)
