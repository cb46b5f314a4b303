"""Studies of a mechanism: mobility, redundant constraints, actuation, comparison of formulations.

| study                                                | where                                            |
|------------------------------------------------------|--------------------------------------------------|
| degrees of freedom (mobility), redundant constraints | `system.mobility`, `system.mobility_at`          |
| singular configurations, rank, Delassus matrix       | `system.toggles`, `momentree.analyse.redundancy` |
| torques that a motion takes                          | `system.actuation`                               |
| one motion by every formulation                      | `momentree.compare`                              |
| decay rates, admissible dissipation, control         | `momentree.programme`, programmes/               |
| Ivanov's iteration for Lagrange multipliers          | `momentree.ivanov_iteration`                     |
| Coriolis matrix, forms, factors, multipliers, ...    | methods of a system: system_quantities.py        |
"""
