"""Closed loops: constraint rows, closure errors, wrenches and their elimination on the inward pass, on any scalar.

| file                   | what it holds                                                             |
|------------------------|---------------------------------------------------------------------------|
| records.py             | records of constraints and elimination nodes, linked with those of bodies |
| closing_joint.py       | where a closing joint is, how it moves, its coordinates                   |
| residual.py            | closure errors                                                            |
| constraint_rows.py     | rows as wrenches on the bodies at the ends; biases                        |
| wrenches.py            | wrenches of loops on bodies                                               |
| elimination.py         | the inward and outward steps that solve for Lagrange multipliers          |
| constraint_jacobian.py | the constraint Jacobian J, row by row                                     |

A constraint is a record. It has ends, numbered from 0, each at a body; a loop that a joint closes has two, of which
end 0 is at the joint's first body. Its rows, the scalar constraints, are wrenches on the bodies at the ends. O is the
origin of the second frame of a closing joint.

| field of a constraint     | given by                      | meaning                                                 |
|---------------------------|-------------------------------|---------------------------------------------------------|
| ends                      | records                       | how many ends it has                                    |
| body0, ...                | records                       | the record of the body at each end                      |
| node                      | records                       | the record of the elimination node where it is closed   |
| ground                    | records                       | the record of the ground, where that moves              |
| joint_type                | records                       | the type of the closing joint                           |
| first_frame, second_frame | records                       | its frames F and M in the first and the second body     |
| fixed_rows                | records                       | the rows that the first body carries, in its axes, at O |
| per_length                | records                       | 1 / length of the loop                                  |
| anchor_offset             | records                       | between the points where the paths to the first and to  |
|                           |                               | the second body leave the ground                        |
| E                         | place_constraints             | rotation from axes of the second body to the first's    |
| origin                    | place_constraints             | O as seen from the first body, in its axes              |
| rows                      | place_constraints             | all rows, in axes of the first body, at O               |
| rows_on0, ...             | place_constraints             | the rows as wrenches on the body at each end            |
| bias                      | place_constraints, *_bias     | of each row: known part of its velocity, acceleration   |
| misfit                    | place_constraints             | square of the closure error over the length of the loop |
| closure_error             | measure_closure_error         | of each row (m, rad)                                    |
| targets                   | hamiltonian.opening_step      | of each row: minus the velocity that it shall have      |
| q, u                      | find_joint_coordinates        | of the closing joint, angles in (-pi, pi]               |
| dual_subspace             | find_joint_coordinates        | A (A' A)^-1 by columns: wrenches on the second body     |
| loaded, driven, along     | equations/forces.py           | generalized forces of the closing joint                 |
| wrench_on0, ...           | wrenches                      | a wrench on the body at each end, at its frame          |
| constraint_velocity       | find_constraint_velocities    | of each row                                             |
| constraint_acceleration   | find_constraint_accelerations | of each row                                             |

| field of a body or node | given by          | meaning                                                    |
|-------------------------|-------------------|------------------------------------------------------------|
| slots                   | records           | where open rows stand (structure/elimination.py)           |
| reach                   | records           | of each open row: bounds of its scale (structure/reach.py) |
| constraint0, ...        | records           | the constraints with an end here, in order of `slots.ends` |
| closing                 | records           | of a node: the constraint that is closed there             |
| anchored                | records           | the joint is on the ground                                 |
| r                       | carry_offset      | from where the path leaves the ground, in inertial axes    |
| open                    | begin_constraints | `OpenConstraints`: F, b, Phi and scales of the open rows   |
| G_b, G_F, G_o           | close             | of a node: eta = -(G_b + G_F' v + G_o eta_o)               |
| eta0, ...               | numbered          | impulse, or Lagrange multiplier, of each open row          |

Read besides: X, X_0, A, v, dv, free, applied, M_star, W, D, `rest` (p - A' phi), and the fields that a formalism has
for phi and v^r.
"""
