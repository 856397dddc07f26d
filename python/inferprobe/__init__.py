"""Shows where the time of neural-network inference goes.

    import inferprobe

    result = inferprobe.run("model.pte", threads=2)
    print(result)                          # the tables of the command `inferprobe perf`
    result.latency_ms.p50.value            # 0.195, or None: then .why and .hint say why
    for row in result.ops: ...             # where the time goes, in program order
    result.save("result.json")
    inferprobe.load("result.json")         # the same again; opens what `inferprobe show` opens
    for region in inferprobe.run("model.pte", regions=True).regions: ...   # parallel loops
    inferprobe.regions("result.json")      # those of a file

    with inferprobe.profile(model) as prof:    # a torch.nn.Module, in your own program
        model(x)
    print(prof)                                # its modules, and the operators in them

The rule that people break: a figure that was not measured is no zero. It is a `Metric` whose
`value` is None. The latency always comes from runs without profiling.

Importing this package imports neither numpy nor torch.
"""

from inferprobe._delegates import (
    ProfileReach,
    get_profile_execution,
    get_profile_format,
    get_profile_path_prefix,
    get_profile_reach,
    last_delegate_error,
    register_openvino_delegate,
    set_profile_execution,
    set_profile_format,
    set_profile_path_prefix,
)
from inferprobe._error import Error
from inferprobe._load import load, regions
from inferprobe._module_comparison import ModuleChange, ModuleComparison
from inferprobe._profile import ModuleEvent, ModuleProfile, profile
from inferprobe._regions import Location, Region, Regions
from inferprobe._result import Metric, Result, Section
from inferprobe._run import run
from inferprobe._version import __version__

__all__ = [
    "Error",
    "Location",
    "Metric",
    "ModuleChange",
    "ModuleComparison",
    "ModuleEvent",
    "ModuleProfile",
    "ProfileReach",
    "Region",
    "Regions",
    "Result",
    "Section",
    "__version__",
    "get_profile_execution",
    "get_profile_format",
    "get_profile_path_prefix",
    "get_profile_reach",
    "last_delegate_error",
    "load",
    "profile",
    "regions",
    "register_openvino_delegate",
    "run",
    "set_profile_execution",
    "set_profile_format",
    "set_profile_path_prefix",
]
