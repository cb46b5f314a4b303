"""Closed loops: constraint rows, closure errors, wrenches and their elimination on the inward pass, on any scalar.

| file                    | what it holds                                                             |
|-------------------------|---------------------------------------------------------------------------|
| records.py              | records of constraints and elimination nodes, linked with those of bodies |
| closing_joint.py        | where a closing joint is, how it moves, its coordinates                   |
| residual.py             | closure errors                                                            |
| constraint_rows.py      | rows as wrenches on the bodies at the ends; biases                        |
| wrenches.py             | wrenches of loops on bodies                                               |
| elimination.py          | the inward and outward steps that solve for Lagrange multipliers          |
| constraint_jacobian.py  | the constraint Jacobian J, row by row                                     |

A constraint is a record. It has ends, numbered from 0, each at a body; a loop that a joint closes has two, of which
end 0 is at the joint's first body. Its rows, the scalar constraints, are wrenches on the bodies at the ends. O is the
origin of the second frame of a closing joint.

| field of a constraint   | given by            | meaning                                                            |
|-------------------------|---------------------|--------------------------------------------------------------------|
| body0, body1, ...       | records             | the record of the body at each end                                 |
| ends                    | records             | how many it has                                                    |
| node                    | records             | the record of the elimination node where it is closed              |
| ground                  | records             | the record of the ground, where that moves                         |
| joint_type              | records             | the type of the closing joint                                      |
| first_frame, second_frame | records           | its frames F and M in the first and the second body                |
| fixed_rows              | records             | its rows that the first body carries, in its axes, at O            |
| per_length              | records             | 1 / length of the loop                                             |
| anchor_offset           | records             | from where the path to the first body leaves the ground to where that to the second does |
| E, origin               | place_constraints   | rotation from the second body's axes to the first's; O as seen from the first body, in its axes |
| rows                    | place_constraints   | all rows, in axes of the first body, at O                          |
| rows_on0, rows_on1, ... | place_constraints   | the rows as wrenches on the body at each end, at its frame         |
| bias                    | place_constraints, ..._bias | of each row: the part of its velocity or acceleration that is known |
| misfit                  | place_constraints   | the square of the closure error over the length of the loop        |
| closure_error           | measure_closure_error | of each row (m, rad)                                             |
| targets                 | the caller          | of each row: minus the constraint velocity that is wanted          |
| q, u                    | find_joint_coordinates | nearest coordinates of the closing joint, angles in (-pi, pi]; its velocities |
| dual_subspace           | find_joint_coordinates | A (A' A)^-1 by columns: wrenches on the second body of unit generalized forces |
| generalized forces `along` | equations/forces.py | of the closing joint                                            |
| wrench_on0, wrench_on1, ... | wrenches        | a wrench on the body at each end, at its frame                     |
| constraint_velocity     | find_constraint_velocities | of each row                                                 |
| constraint_acceleration | find_constraint_accelerations | of each row                                              |

| field of a body or node | given by            | meaning                                                            |
|-------------------------|---------------------|--------------------------------------------------------------------|
| slots                   | records             | where rows of open constraints stand (structure/elimination.py)     |
| reach                   | records             | of each open row: how much the joint could move it (structure/reach.py) |
| constraint0, ...        | records             | the constraints that have an end here, as `slots.ends`             |
| closing                 | records             | of a node: the constraint that is closed there                     |
| anchored                | records             | the joint is on the ground                                         |
| r                       | carry_offset        | from where the path to the body leaves the ground, in inertial axes |
| open                    | begin_constraints   | `OpenConstraints`: F, b, Phi and scales of the open rows           |
| G_b, G_F, G_o           | close               | of a node: eta = -(G_b + G_F' v + G_o eta_o)                       |
| eta0, ...               | numbered            | constraint impulse, or Lagrange multiplier, of each open row       |
"""
