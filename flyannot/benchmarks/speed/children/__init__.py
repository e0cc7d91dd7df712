"""What runs inside a measured process.

`flyannot.benchmarks.speed.runs` starts a process for every measurement, and
`flyannot.benchmarks.speed.worker` calls in it the
function that "module:function" names: `module` is a module of this package, and the arguments and the
dict that it returns are JSON.  Who runs against whom say the sections, one package up.
"""
